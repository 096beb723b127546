"""The Anthropic Messages format: https://docs.anthropic.com/en/api/messages.

Markers (``cache_control``): at the end of the cached system text and on the last message of the history,
which is the last byte that the next turn will send again. The notification center and the current message
stand behind both, so that nothing volatile is ever written to the cache.
"""

from __future__ import annotations

from typing import Any

from frontmind.providers.encoding.text import wire_json, wire_text
from frontmind.values.message import Message
from frontmind.values.parts import Part, Text, ToolCall
from frontmind.window.canonical import parse_json
from frontmind.window.framing import Origin, frame
from frontmind.window.window import Window

_MARKER = {"type": "ephemeral"}


def encode_anthropic(window: Window, *, model: str, max_output_tokens: int) -> dict[str, Any]:
    """The body of ``POST /v1/messages`` for this window, without ``stream``."""
    request: dict[str, Any] = {"model": model, "max_tokens": max_output_tokens}
    system = []
    if window.cached_system:
        text = wire_text(window.cached_system)
        system.append({"type": "text", "text": text, "cache_control": dict(_MARKER)})
    if window.uncached_system:
        system.append({"type": "text", "text": wire_text(window.uncached_system)})
    if system:
        request["system"] = system
    framed = frame(window)
    messages = [_encode(item.message) for item in framed]
    history = sum(item.origin is Origin.HISTORY for item in framed)
    if history:
        # No block is an empty text, so the last one may carry the marker.
        messages[history - 1]["content"][-1]["cache_control"] = dict(_MARKER)
    request["messages"] = messages
    return request


def _encode(message: Message) -> dict[str, Any]:
    # The API refuses blank text blocks; a window's message never has only those.
    parts = [part for part in message.parts if not (isinstance(part, Text) and not part.text.strip())]
    return {"role": message.role.value, "content": [_encode_part(part) for part in parts]}


def _encode_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": wire_text(part.text)}
    if isinstance(part, ToolCall):
        return {
            "type": "tool_use",
            "id": wire_text(part.id),
            "name": wire_text(part.name),
            "input": _input(part.arguments),
        }
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": wire_text(part.call_id),
        "content": wire_text(part.text),
    }
    if part.is_error:
        block["is_error"] = True
    return block


def _input(arguments: str) -> dict[str, Any]:
    try:
        value = parse_json(arguments or "{}")
    except ValueError:
        value = None
    # The API takes nothing but an object here; what a model wrote instead of one is sent as a text in it.
    return wire_json(value) if isinstance(value, dict) else {"arguments": wire_text(arguments)}
