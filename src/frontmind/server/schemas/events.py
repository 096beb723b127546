"""What the API's document says of the event streams: the events by their names, and the data of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from frontmind.server.person_events import Thing

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}


def _of(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(**properties: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "required": [*properties], "properties": properties, "additionalProperties": False}


REPLY_EVENTS: Final[Mapping[str, Mapping[str, object]]] = {
    "accepted": _object(turn=_NUMBER, asked_at={"type": "string", "format": "date-time"}),
    "text": _object(offset=_NUMBER, text=_TEXT),
    "html": _object(keep=_NUMBER, html=_TEXT),
    "tool_started": _of("ToolUse"),
    "tool_ended": _of("ToolUse"),
    "retrying": _object(attempt=_NUMBER, seconds={"type": "number"}, reason=_TEXT),
    "cache_loss": _object(tokens=_NUMBER, reason=_TEXT),
    "done": _object(turn=_of("Turn"), notes={"type": "array", "items": _TEXT}),
    "failed": _object(error=_of("ErrorBody"), turn={"anyOf": [_of("Turn"), {"type": "null"}]}),
}
"""The events of a turn."""

PERSON_EVENTS: Final[Mapping[str, Mapping[str, object]]] = {
    "reminder": _object(id=_NUMBER, text=_TEXT, line=_TEXT, due=_TEXT, version=_NUMBER),
    "notice": _object(text=_TEXT),
    "turn": _object(conversation=_TEXT, turn=_NUMBER, state={"enum": ["began", "ended"]}),
    "changed": _object(what={"enum": [thing.value for thing in Thing]}),
}
"""What a person's open pages are told."""


def event_stream(description: str, events: Mapping[str, Mapping[str, object]]) -> dict[str, Any]:
    """A reply that is a stream of these events."""
    items = [
        {
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": {"const": name},
                "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": data},
                "id": {"type": "string", "description": "With it a reader that was cut off goes on."},
            },
        }
        for name, data in events.items()
    ]
    return {"description": description, "content": {"text/event-stream": {"itemSchema": {"oneOf": items}}}}
