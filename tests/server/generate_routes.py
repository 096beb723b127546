"""The tables of routes in docs/server.md, out of the document that the server gives of itself.

Run as a program it writes them anew. It runs no server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from fastapi import FastAPI

from frontmind.server.routers import ROUTERS
from support import REPOSITORY

Schema: TypeAlias = Mapping[str, Any]

FILE: Final = REPOSITORY / "docs" / "server.md"
BEGIN: Final = "<!-- The routes: written by tests/server/generate_routes.py -->\n"
END: Final = "<!-- The end of the routes -->\n"
_REFERENCE: Final = "#/components/schemas/"
_STREAM: Final = "text/event-stream"


def documented() -> Schema:
    """What the server's routes say of themselves."""
    app = FastAPI()
    for router in ROUTERS:
        app.include_router(router)
    return app.openapi()


def route_tables(document: Schema) -> str:
    """A table for each group of routes, in the order of the document."""
    operations = [
        (method.upper(), path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    common = frozenset.intersection(*(_errors(operation) for _, path, operation in operations if _is_own(path)))
    groups: dict[str, list[str]] = {}
    for method, path, operation in operations:
        groups.setdefault(operation["tags"][0], []).append(_row(method, path, operation, common))
    return "\n".join("".join(_table(name, rows)) for name, rows in groups.items())


def with_tables(text: str, tables: str) -> str:
    """The page with these tables in the place of its own."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{tables}\n{END}{rest.partition(END)[2]}"


def _table(name: str, rows: list[str]) -> Iterator[str]:
    yield f"| {name} | | takes | gives | errors of its own |\n|---|---|---|---|---|\n"
    yield from rows


def _row(method: str, path: str, operation: Schema, common: frozenset[str]) -> str:
    cells = [
        f"`{method} {path}`",
        operation["summary"],
        ", ".join(_taken(operation)),
        ", ".join(_given(operation)),
        ", ".join(sorted(_errors(operation) - common)) if _is_own(path) else "",
    ]
    return f"| {' | '.join(cells)} |\n"


def _is_own(path: str) -> bool:
    return path.startswith("/api/")


def _taken(operation: Schema) -> Iterator[str]:
    body = operation.get("requestBody")
    if body is not None:
        name = _name(body["content"]["application/json"]["schema"])
        yield name if name else "JSON"
    for parameter in operation.get("parameters", ()):
        if parameter["in"] != "path":
            yield f"`{'?' if parameter['in'] == 'query' else ''}{parameter['name']}`"


def _given(operation: Schema) -> Iterator[str]:
    for status, reply in sorted(operation["responses"].items()):
        if not status.startswith("2"):
            continue
        content = reply.get("content", {})
        what = [_name(schema.get("schema", {})) or _KINDS.get(kind, kind) for kind, schema in content.items()]
        yield " ".join([*([status] if status != "200" else []), " or ".join(what)]).strip()


_KINDS: Final = {_STREAM: "events", "application/octet-stream": "bytes", "application/json": "JSON"}


def _errors(operation: Schema) -> frozenset[str]:
    return frozenset(status for status in operation["responses"] if status[0] in "45")


def _name(schema: Schema) -> str:
    match schema:
        case {"$ref": str(reference)}:
            return re.sub(r"\W", "", reference.removeprefix(_REFERENCE))
        case {"anyOf": [first, {"type": "null"}]}:
            return f"{_name(first)} or nothing"
    return ""


if __name__ == "__main__":
    FILE.write_text(with_tables(FILE.read_text(encoding="utf-8"), route_tables(documented())), encoding="utf-8")
