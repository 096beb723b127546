"""The size of a text or of a block of any wire format without a tokenizer: one rule of thumb for all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from frontmind.values.parts import Document, Image, Part, ToolResult, part_text
from frontmind.values.tokens import estimate_tokens
from frontmind.window.canonical import Json

__all__ = ["estimate_json", "estimate_part", "estimate_tokens"]

# Between what Anthropic and OpenAI count for a picture of usual size.
_FILE_TOKENS: Final = 1000
# Roles, types, markers and ids are the wire's words, not the model's.
_WIRE_KEYS: Final = frozenset(
    {
        "role",
        "type",
        "cache_control",
        "cachePoint",
        "prompt_cache_breakpoint",
        "id",
        "tool_use_id",
        "toolUseId",
        "tool_call_id",
        "call_id",
        "clear_at",
        "signature",
        "thoughtSignature",
        "encrypted_content",
        "media_type",
        "mimeType",
        "anthropic_version",
        "detail",
    }
)
# What a model writes or reads as JSON: every key of it is its own.
_JSON_KEYS: Final = frozenset(
    {"input", "args", "arguments", "input_schema", "parameters", "inputSchema", "json", "response"}
)
_FILE_TYPES: Final = frozenset({"image", "document", "image_url", "input_image", "input_file", "file"})
_FILE_KEYS: Final = frozenset({"image", "document", "inlineData", "fileData", "inline_data", "file_data"})


def estimate_json(value: Json) -> int:
    """About how many tokens a piece of a request has: its texts, without the JSON around them; a file counts 1,000."""
    if isinstance(value, str):
        return estimate_tokens(value)
    if isinstance(value, Mapping):
        kind = value.get("type")
        if isinstance(kind, str) and kind in _FILE_TYPES:
            return _estimate_file(value)
        return sum(_estimate_item(key, item) for key, item in value.items() if key not in _WIRE_KEYS)
    if isinstance(value, Sequence):
        return sum(estimate_json(item) for item in value)
    return 0


def estimate_part(part: Part) -> int:
    """About how many tokens a part of a message has."""
    match part:
        case Image() | Document():
            return _FILE_TOKENS
        case ToolResult():
            return estimate_tokens(part.text) + _FILE_TOKENS * len(part.attachments)
        case _:
            return estimate_tokens(part_text(part))


def _estimate_item(key: str, item: Json) -> int:
    if isinstance(item, str) or not isinstance(item, Mapping | Sequence):
        return estimate_json(item)
    if key in _JSON_KEYS:
        return estimate_tokens(json.dumps(item, ensure_ascii=False))
    if key in _FILE_KEYS and isinstance(item, Mapping):
        return _FILE_TOKENS
    return estimate_json(item)


def _estimate_file(block: Mapping[str, Json]) -> int:
    match block.get("source"):
        case {"type": "text", "data": str(text)}:
            return estimate_tokens(text)
        case _:
            return _FILE_TOKENS
