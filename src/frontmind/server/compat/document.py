"""What the API's document says of the compatible routes: the bodies that they read, the replies and the errors.

The formats are those of OpenAI and Anthropic, described by them; here stands what this server asks for of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from frontmind.server.compat.errors import ApiShape
from frontmind.server.errors import described
from frontmind.window.canonical import JsonObject

_ERRORS: Final = (400, 401, 403, 404, 405, 409, 413, 415, 421, 429, 500, 502, 503)
_TEXT: Final = {"type": "string"}
_CODED: Final[JsonObject] = {
    "type": "object",
    "required": ["type", "message", "code"],
    "properties": {"type": _TEXT, "message": _TEXT, "code": _TEXT},
}
_OPENAI_ERROR: Final[JsonObject] = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": _CODED},
}
_ANTHROPIC_ERROR: Final[JsonObject] = {
    "type": "object",
    "required": ["type", "error"],
    "properties": {"type": {"const": "error"}, "error": _CODED},
}
_ALSO: Final[Mapping[int, str]] = {
    400: "invalid_request, unsupported, previous_response_not_found",
    404: "model_not_found",
}
"""The codes that only these APIs have."""

_SAYS_HELLO: Final[list[Any]] = [{"role": "user", "content": "Good morning"}]
_MESSAGES: Final[JsonObject] = {"type": "array", "minItems": 1, "items": {"type": "object"}}
_INPUT: Final[JsonObject] = {"anyOf": [_TEXT, {"type": "array", "minItems": 1, "items": {"type": "object"}}]}
_LIMIT: Final[JsonObject] = {"type": "integer", "minimum": 1}
_STREAM: Final[JsonObject] = {"type": "boolean", "default": False}
_PROPERTIES: Final[Mapping[str, JsonObject]] = {
    "model": {"type": "string", "description": "`frontmind`, or the name of the model that answers."},
    "messages": _MESSAGES,
    "input": _INPUT,
    "max_tokens": _LIMIT,
    "stream": _STREAM,
    "tools": {"type": "array", "items": {"type": "object"}, "description": "Functions that the client carries out."},
    "previous_response_id": {"type": "string", "description": "The response behind which the client goes on."},
}
_EXAMPLES: Final[Mapping[str, object]] = {
    "model": "frontmind",
    "messages": _SAYS_HELLO,
    "input": "Good morning",
    "max_tokens": 1024,
}
_HEADERS: Final[list[dict[str, Any]]] = [
    {
        "name": "Frontmind-Conversation",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "maxLength": 900},
        "description": "The conversation, percent-encoded; without it the client's history is recognised.",
    }
]


def replies(what: str, *shapes: ApiShape, is_streamed: bool = False) -> dict[int | str, dict[str, Any]]:
    """The replies of a route, for the OpenAPI document.

    Args:
        shapes: those that errors have.
        is_streamed: whether the reply can be a stream of events.
    """
    content: dict[str, Any] = {"application/json": {"schema": {"type": "object"}}}
    if is_streamed:
        event = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
        content["text/event-stream"] = {"itemSchema": event}
    forms = [_ANTHROPIC_ERROR if shape is ApiShape.ANTHROPIC else _OPENAI_ERROR for shape in shapes]
    error = {"application/json": {"schema": forms[0] if len(forms) == 1 else {"anyOf": forms}}}
    found: dict[int | str, dict[str, Any]] = {200: {"description": what, "content": content}}
    for status in _ERRORS:
        found[status] = {**described(status), "content": error}
        if status in _ALSO:
            found[status]["description"] = f"{found[status]['description'].rstrip('.')}, {_ALSO[status]}."
    return found


def takes(*required: str, optional: tuple[str, ...] = (), is_named: bool = True) -> dict[str, Any]:
    """The body of a route, for the OpenAPI document: what it must and may have, beside what else the API knows.

    Args:
        is_named: whether a header may name a conversation.
    """
    schema = {
        "type": "object",
        "required": [*required],
        "properties": {key: _PROPERTIES[key] for key in (*required, *optional)},
    }
    content = {"schema": schema, "example": {key: _EXAMPLES[key] for key in required}}
    body = {"requestBody": {"required": True, "content": {"application/json": content}}}
    return {**body, "parameters": _HEADERS} if is_named else body
