"""The Anthropic Messages format: https://docs.anthropic.com/en/api/messages.

Bedrock's InvokeModel takes the same body for Claude. Turn-scoped system messages need the beta header that stands
under ``betas``, which is how the SDK's ``beta.messages`` takes it; it is no key of the body.
"""

from __future__ import annotations

import base64
import re
from typing import Any, Final

from frontmind.errors import UsageError
from frontmind.providers.encoding.dialect import DEFAULT_TTL, Head, JsonDict, own_data
from frontmind.providers.encoding.text import wire_call_id, wire_json, wire_schema, wire_text
from frontmind.providers.profiles.profile import Profile
from frontmind.values.parts import (
    Document,
    Image,
    Notice,
    Part,
    ProviderBlock,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Voice,
)
from frontmind.values.tool import AnyTool, ProviderTool
from frontmind.window.canonical import parse_json
from frontmind.window.framing import FramedMessage

WIRE: Final = "anthropic"
CLEAR_AT_BETA: Final = "mid-conversation-system-clear-at-2026-08-21"
# Anthropic, prompt caching: these blocks take a marker, thinking and blocks of server tools do not.
_MARKABLE: Final = frozenset({"text", "image", "document", "search_result", "tool_use", "tool_result"})
_REASONING: Final = frozenset({"thinking", "redacted_thinking"})
_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")


class AnthropicDialect:
    """A `Dialect`."""

    def message(self, framed: FramedMessage, profile: Profile, place: str) -> list[JsonDict]:
        content = _with_plain_errors([block for part in framed.parts if (block := _block(part, place)) is not None])
        # A reply that was cut off behind its reasoning: the API refuses an assistant message that ends with it.
        while content and content[-1]["type"] in _REASONING:
            content.pop()
        if framed.voice is Voice.OPERATOR:
            lasting = all(isinstance(part, Notice) and part.lasting for part in framed.parts)
            scope = {} if lasting else {"clear_at": "next_user_message"}
            return [{"role": "system", "content": content, **scope}]
        return [{"role": framed.voice.value, "content": content}]

    def marked(self, message: JsonDict, ttl: str, profile: Profile) -> JsonDict | None:
        if message["role"] == "system":
            return None
        content = message["content"]
        for index in range(len(content) - 1, -1, -1):
            block = content[index]
            if block["type"] in _MARKABLE and not (block["type"] == "text" and not block["text"].strip()):
                marked = {**block, "cache_control": _marker(ttl)}
                return {**message, "content": [*content[:index], marked, *content[index + 1 :]]}
        return None

    def request(self, head: Head, messages: list[JsonDict], profile: Profile) -> JsonDict:
        request: JsonDict = {"model": head.model, "max_tokens": head.max_output_tokens, **head.extra}
        if head.operator_messages:
            request["betas"] = [CLEAR_AT_BETA]
        if head.tools:
            request["tools"] = [_tool(tool) for tool in head.tools]
        system = []
        if head.cached_system.strip():
            block: JsonDict = {"type": "text", "text": wire_text(head.cached_system)}
            system.append(block if head.system_ttl is None else {**block, "cache_control": _marker(head.system_ttl)})
        if head.uncached_system.strip():
            system.append({"type": "text", "text": wire_text(head.uncached_system)})
        if system:
            request["system"] = system
        request["messages"] = messages
        return request


def _marker(ttl: str) -> JsonDict:
    return {"type": "ephemeral"} if ttl == DEFAULT_TTL else {"type": "ephemeral", "ttl": ttl}


def _tool(tool: AnyTool) -> JsonDict:
    if isinstance(tool, ProviderTool):
        if tool.wire != WIRE:
            raise UsageError(f"the tool {tool.name!r} is one of the format {tool.wire}; leave it out")
        return dict(parse_json(tool.data))
    spelled: JsonDict = {"name": wire_text(tool.name), "input_schema": wire_schema(tool.parameters)}
    if tool.description is not None:
        spelled["description"] = wire_text(tool.description)
    if tool.strict is not None:
        spelled["strict"] = tool.strict
    return spelled


def _block(part: Part, place: str) -> JsonDict | None:
    """The part as a block; None for one that has nothing to say here."""
    match part:
        case Thinking():
            return _thinking(part) if part.wire == WIRE else None
        case ProviderBlock() if part.wire == WIRE:
            return own_data(part)
        case Text() | Notice() | ProviderBlock():
            # The API refuses blank text.
            return {"type": "text", "text": wire_text(part.text)} if part.text.strip() else None
        case ToolCall():
            return {
                "type": "tool_use",
                "id": wire_call_id(part.id, _CALL_ID),
                "name": wire_text(part.name),
                "input": tool_input(part.arguments),
            }
        case ToolResult():
            return _result(part)
        case Image() | Document():
            return _file(part)


def _thinking(part: Thinking) -> JsonDict | None:
    data = own_data(part)
    # The API refuses reasoning that it did not sign, such as that of a reply that was cut off inside it.
    return data if data.get("signature") or data.get("type") != "thinking" else None


def _result(part: ToolResult) -> JsonDict:
    own = own_data(part) if part.wire == WIRE and part.data else result_content(part)
    return {"type": "tool_result", "tool_use_id": wire_call_id(part.call_id, _CALL_ID), **own}


def result_content(part: ToolResult) -> JsonDict:
    """What a result's block has of its text and its files, beside the call that it answers."""
    content: str | list[JsonDict] = wire_text(part.text)
    if part.attachments:
        text = [{"type": "text", "text": content}] if part.text.strip() else []
        content = [*text, *(_file(item) for item in part.attachments)]
    return {"content": content, **({"is_error": True} if part.is_error else {})}


def _with_plain_errors(content: list[JsonDict]) -> list[JsonDict]:
    """The blocks with results first, and what is no text in a failed one behind them.

    The API refuses anything between a call and its result, and anything but text in a result that is an error.
    """
    results: list[JsonDict] = []
    moved: list[JsonDict] = []
    for block in content:
        if block["type"] != "tool_result":
            continue
        inner = block.get("content")
        if block.get("is_error") and isinstance(inner, list) and any(item["type"] != "text" for item in inner):
            moved += [item for item in inner if item["type"] != "text"]
            block = {**block, "content": [item for item in inner if item["type"] == "text"]}
        results.append(block)
    return [*results, *moved, *(block for block in content if block["type"] != "tool_result")]


def _file(part: Image | Document) -> JsonDict:
    source: JsonDict
    if part.url:
        source = {"type": "url", "url": wire_text(part.url)}
    elif part.media_type == "text/plain":
        text = base64.b64decode(part.data).decode("utf-8", "replace")
        source = {"type": "text", "media_type": part.media_type, "data": text}
    else:
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    if isinstance(part, Image):
        return {"type": "image", "source": source}
    title = {"title": wire_text(part.name)} if part.name else {}
    return {"type": "document", "source": source, **title}


def tool_input(arguments: str) -> dict[str, Any]:
    """The arguments of a call where the format takes nothing but an object: other text is sent as a text in one."""
    try:
        value = parse_json(arguments or "{}")
    except ValueError:
        value = None
    return wire_json(value) if isinstance(value, dict) else {"arguments": wire_text(arguments)}
