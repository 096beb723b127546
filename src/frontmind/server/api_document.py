"""The document of the API: what FastAPI knows of the routes, and what only people know of them.

Knows no hub and no guards, only that some paths need no key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute

from frontmind.server.guards import SESSION_COOKIE, is_free
from frontmind.server.version import VERSION

_DESCRIPTION: Final = """\
An assistant that remembers, and all that it sees. Everything belongs to the person whose key is passed; what is
another's does not exist.

Every reply with a status from 400 on is JSON. Under `/api` it is `{"error": {"code", "message", "type"}}`; under `/v1`
it has the shape of the API whose clients call there, with a `code` of the same kind.

A conversation exists as soon as it is named, and takes one turn at a time. Names in paths are percent-encoded, a slash
in them too. Moments are ISO 8601 with an offset, in the person's zone; money is in US dollars, as decimal strings.
"""
DESCRIBED_TAGS: Final[Mapping[str, str]] = {
    "server": "Whether it is there.",
    "person": "Who asks, and what happens.",
    "conversations": "What was talked of.",
    "turns": "Saying something, following the reply, stopping it, reading it back.",
    "windows": "What the model saw of any turn, to the byte, and what it would see next.",
    "ledger": "What the calls of the model took and cost.",
    "reminders": "What the person is reminded of.",
    "memories": "What the assistant remembers.",
    "documents": "Texts that stand in the system prompt.",
    "search": "All that was said and kept.",
    "compatible": "The APIs of OpenAI and Anthropic, for clients that speak those.",
}
"""What the operations are about."""

_SCHEMES: Final[Mapping[str, Mapping[str, str]]] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key of `frontmind user add`."},
    "key": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same key."},
    "page": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE, "description": "What `/api/login` sets."},
}


class Api(FastAPI):
    """The application, which describes itself.

    Args:
        has_accounts: says whether people need a key.
    """

    def __init__(self, *, has_accounts: Callable[[], bool], **more: Any) -> None:
        super().__init__(
            title="Frontmind",
            version=VERSION,
            summary="An assistant that remembers, and all that it sees.",
            description=_DESCRIPTION,
            openapi_tags=[{"name": name, "description": text} for name, text in DESCRIBED_TAGS.items()],
            generate_unique_id_function=_operation_id,
            **more,
        )
        self._has_accounts = has_accounts

    def openapi(self) -> dict[str, Any]:
        """The document, made once but for whether people need a key."""
        if self.openapi_schema is None:
            _complete(super().openapi())
        made = self.openapi_schema
        assert made is not None
        keys: list[dict[str, list[str]]] = [{name: []} for name in _SCHEMES]
        # Without accounts everybody is the one person, with a key or without.
        made["security"] = keys if self._has_accounts() else [*keys, {}]
        return made


def _operation_id(route: APIRoute) -> str:
    return route.name


def _complete(document: dict[str, Any]) -> None:
    document["components"]["securitySchemes"] = _SCHEMES
    for path, item in document["paths"].items():
        for operation in item.values():
            if is_free(path):
                operation["security"] = []
            if path.startswith("/v1/"):
                # What is wrong with a body is a 400 in these APIs.
                operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
