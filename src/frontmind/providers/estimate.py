"""The size of a text when no tokenizer is at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frontmind.window.canonical import Json

_BYTES_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """About how many tokens: one per four bytes of UTF-8, a common rule of thumb for English."""
    return -(-len(text.encode("utf-8", errors="replace")) // _BYTES_PER_TOKEN)


def estimate_request(request: Mapping[str, Json]) -> int:
    """About how many prompt tokens a request has: its texts, without the JSON around them."""
    parts = [request.get(key) for key in ("tools", "system", "messages")]
    return sum(estimate_tokens(text) for text in _strings(parts))


def _strings(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        # Roles, types and markers are the wire's words, not the model's.
        return [
            text
            for key, item in value.items()
            if key not in ("role", "type", "cache_control", "id", "tool_use_id", "tool_call_id")
            for text in _strings(item)
        ]
    if isinstance(value, Sequence):
        return [text for item in value for text in _strings(item)]
    return []
