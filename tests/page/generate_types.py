"""The types of the page's modules, out of the server's own schema: what the page believes of the API cannot grow old.

Run as a program it writes `schema.d.ts` anew. It reads what the routes say of their bodies, and runs no server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from fastapi import FastAPI

from frontmind.server.page_files import FOLDER
from frontmind.server.routers import ROUTERS

Schema: TypeAlias = Mapping[str, Any]

FILE: Final = FOLDER / "schema.d.ts"
_HEAD: Final = "// The values of the HTTP API, written by tests/page/generate_types.py from the server's schema.\n"
_REFERENCE: Final = "#/components/schemas/"
_PLAIN: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def page_types() -> str:
    """The text of `schema.d.ts`: an interface for each value that the routes under ``/api`` take or give."""
    app = FastAPI()
    for router in ROUTERS:
        app.include_router(router)
    document = app.openapi()
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    own = [item for path, item in document["paths"].items() if path.startswith("/api/")]
    names = sorted(_reachable(own, schemas))
    return _HEAD + "".join(f"\n{_declared(name, schemas[name])}" for name in names)


def _reachable(value: object, schemas: Mapping[str, Schema]) -> set[str]:
    found: set[str] = set()
    waiting = list(_references(value))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _references(schemas[name])
    return found


def _references(value: object) -> Iterator[str]:
    match value:
        case {"$ref": str(reference)}:
            yield reference.removeprefix(_REFERENCE)
        case dict():
            for inner in value.values():
                yield from _references(inner)
        case list():
            for inner in value:
                yield from _references(inner)


def _declared(name: str, schema: Schema) -> str:
    if "properties" not in schema:
        return f"export type {_name(name)} = {_type(schema)};\n"
    required = frozenset(schema.get("required", ()))
    lines = [
        f"  {key}{'' if key in required else '?'}: {_type(value)};\n" for key, value in schema["properties"].items()
    ]
    return f"export interface {_name(name)} {{\n{''.join(lines)}}}\n"


def _type(schema: Schema) -> str:
    match schema:
        case {"$ref": str(reference)}:
            return _name(reference.removeprefix(_REFERENCE))
        case {"const": value}:
            return json.dumps(value)
        case {"enum": values}:
            return " | ".join(json.dumps(value) for value in values)
        case {"anyOf": choices} | {"oneOf": choices}:
            return " | ".join(dict.fromkeys(_type(choice) for choice in choices))
        case {"allOf": [only]}:
            return _type(only)
        case {"type": "array", "items": inner}:
            return f"{_grouped(_type(inner))}[]"
        case {"type": "object", "additionalProperties": dict(inner)}:
            return f"Record<string, {_type(inner)}>"
        case {"type": str(kind)} if kind in _PLAIN:
            return _PLAIN[kind]
    return "unknown"


def _grouped(kind: str) -> str:
    return f"({kind})" if " | " in kind else kind


def _name(name: str) -> str:
    return re.sub(r"\W", "", name)


if __name__ == "__main__":
    FILE.write_text(page_types(), encoding="utf-8")
