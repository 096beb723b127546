"""The OpenAI Chat Completions format, as OpenAI and most local servers take it.

Texts are sent as plain strings: many local chat templates do not take lists of parts.
"""

from __future__ import annotations

from typing import Any

from frontmind.providers.encoding.text import wire_text
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.window.framing import frame
from frontmind.window.window import Window


def encode_openai_chat(
    window: Window, *, model: str, max_output_tokens: int, max_tokens_key: str = "max_tokens"
) -> dict[str, Any]:
    """The body of ``POST /v1/chat/completions`` for this window, without ``stream``.

    Args:
        max_tokens_key: OpenAI's own newer models take ``max_completion_tokens``, other servers ``max_tokens``.
    """
    messages: list[dict[str, Any]] = []
    system = "\n\n".join(text for text in (window.cached_system, window.uncached_system) if text)
    if system:
        messages.append({"role": "system", "content": wire_text(system)})
    for item in frame(window):
        messages.extend(_encode(item.message))
    return {"model": model, max_tokens_key: max_output_tokens, "messages": messages}


def _encode(message: Message) -> list[dict[str, Any]]:
    text = wire_text(message.text)
    if message.role is Role.ASSISTANT:
        encoded: dict[str, Any] = {"role": "assistant", "content": text}
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if calls:
            encoded["content"] = text or None
            encoded["tool_calls"] = [_encode_call(call) for call in calls]
        return [encoded]
    results: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": wire_text(part.call_id), "content": wire_text(part.text)}
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
    if any(isinstance(part, Text) for part in message.parts):
        results.append({"role": "user", "content": text})
    return results


def _encode_call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": wire_text(call.id),
        "type": "function",
        "function": {"name": wire_text(call.name), "arguments": wire_text(call.arguments)},
    }
