"""Reads the Anthropic Messages format: replies, streams and requests. Bedrock's InvokeModel answers in it too."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from frontmind.providers.decoding.reply import (
    DecodedRequest,
    JsonObject,
    Reply,
    StreamAssembler,
    input_tokens,
    stop_of,
)
from frontmind.providers.decoding.results import kept_result, readable_result
from frontmind.providers.diagnostics import read_diagnosis
from frontmind.providers.encoding.anthropic import WIRE, result_content
from frontmind.providers.profiles.profile import UsageMeaning
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message, Role
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
    is_blank_text,
)
from frontmind.values.tool import AnyTool, ProviderTool, Tool
from frontmind.values.usage import Usage, read_token_count
from frontmind.window.canonical import canonical_text

_STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "tool_use": StopReason.TOOL_CALLS,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSED,
}
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})


class AnthropicDecoder:
    """A `Decoder`."""

    def reply(self, body: JsonObject, meaning: UsageMeaning | None = None) -> Reply:
        content = [block for block in body.get("content") or () if not _is_unsigned(block)]
        parts = tuple(part for block in content if not is_blank_text(part := _part(block)))
        reason = body.get("stop_reason")
        stop = None if reason is None else _STOP_REASONS.get(str(reason), StopReason.END)
        usage = body.get("usage")
        read = self.usage(usage, meaning) if isinstance(usage, Mapping) else None
        named = body.get("id")
        identifier = named if isinstance(named, str) else ""
        return Reply(Message(Role.ASSISTANT, parts), read, stop_of(stop, parts), identifier, read_diagnosis(body))

    def usage(self, usage: JsonObject, meaning: UsageMeaning | None = None) -> Usage | None:
        """``input_tokens`` counts only what follows the last marker: the total is the sum of the three figures."""
        fresh = read_token_count(usage.get("input_tokens"))
        output = read_token_count(usage.get("output_tokens"))
        if fresh is None or output is None:
            return None
        written = read_token_count(usage.get("cache_creation_input_tokens")) or 0
        cached = read_token_count(usage.get("cache_read_input_tokens")) or 0
        total = input_tokens(fresh, cached, written, meaning or UsageMeaning.UNMARKED)
        return Usage(total, cached, written, output, written_by_ttl=_by_ttl(usage))

    def assembler(self) -> StreamAssembler:
        return _Assembler()

    def request(self, body: JsonObject) -> DecodedRequest:
        rest = {key: value for key, value in body.items() if key not in ("model", "system", "tools", "messages")}
        return DecodedRequest(
            model=str(body.get("model", "")),
            system=tuple(_system(body.get("system"))),
            tools=tuple(_tool(tool) for tool in body.get("tools") or ()),
            messages=tuple(_messages(body["messages"])),
            rest=rest,
        )


class _Assembler:
    """Of ``message_start``, ``content_block_*`` and ``message_delta`` events."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {"content": [], "stop_reason": None, "usage": {}}
        self._json: dict[int, str] = {}

    def add(self, event: JsonObject) -> str:
        match event:
            case {"type": "message_start", "message": Mapping() as message}:
                self._message |= {**message, "content": []}
                self._message["usage"] = dict(message.get("usage") or {})
            case {"type": "content_block_start", "content_block": Mapping() as block}:
                self._message["content"].append(dict(block))
                return str(block.get("text") or "") if block.get("type") == "text" else ""
            case {"type": "content_block_delta", "delta": Mapping() as delta}:
                return self._delta(self._message["content"], int(event.get("index", 0)), delta)
            case {"type": "content_block_stop"}:
                self._stop(int(event.get("index", 0)))
            case {"type": "message_delta"}:
                self._message |= dict(event.get("delta") or {})
                figures = (event.get("usage") or {}).items()
                self._message["usage"] |= {name: figure for name, figure in figures if figure is not None}
        return ""

    def _delta(self, content: list[dict[str, Any]], index: int, delta: JsonObject) -> str:
        block = content[index]
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                block["text"] = block.get("text", "") + text
                return text
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._json[index] = self._json.get(index, "") + piece
            case {"type": "thinking_delta", "thinking": str(text)}:
                block["thinking"] = block.get("thinking", "") + text
            case {"type": "signature_delta", "signature": str(signature)}:
                block["signature"] = signature
            case {"type": "citations_delta", "citation": citation}:
                block["citations"] = [*(block.get("citations") or ()), citation]
        return ""

    def _stop(self, index: int) -> None:
        if self._json.get(index):
            # Kept as text where it is no JSON: a reply that was cut off inside a call.
            text = self._json.pop(index)
            try:
                self._message["content"][index]["input"] = json.loads(text)
            except ValueError:
                self._message["content"][index]["input"] = {"arguments": text}

    def body(self) -> JsonObject:
        for index in list(self._json):
            self._stop(index)
        return self._message


def _messages(messages: Iterable[Mapping[str, Any]]) -> Iterable[Message]:
    read: list[Message] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "system":
            text = "".join(str(block["text"]) for block in blocks)
            earlier = read.pop() if read else Message(Role.USER, ())
            lasting = message.get("clear_at") != "next_user_message"
            read.append(Message(earlier.role, (*earlier.parts, Notice(text, Voice.OPERATOR, lasting=lasting))))
        else:
            read.append(Message(Role(message["role"]), tuple(_part(block) for block in blocks)))
    return read


def _system(system: Any) -> list[str]:
    if system is None:
        return []
    return [system] if isinstance(system, str) else [str(block["text"]) for block in system]


def _tool(tool: Mapping[str, Any]) -> AnyTool:
    plain = {key: value for key, value in tool.items() if key != "cache_control"}
    if "input_schema" not in plain or plain.keys() - {"name", "description", "input_schema", "strict"}:
        return ProviderTool(str(plain.get("name", plain.get("type", ""))), WIRE, canonical_text(plain))
    return Tool(plain["name"], canonical_text(plain["input_schema"]), plain.get("description"), plain.get("strict"))


def _part(block: Mapping[str, Any]) -> Part:
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    kind = plain["type"]
    if kind in _THINKING:
        return Thinking(str(plain.get("thinking", "")), WIRE, canonical_text(plain))
    if kind == "text" and not plain.get("citations"):
        return Text(plain["text"])
    if kind == "tool_use":
        return ToolCall(plain["id"], plain["name"], canonical_text(plain["input"]))
    if kind == "tool_result":
        return _result(plain)
    if kind in ("image", "document") and (file := read_file(plain)) is not None:
        return file
    return ProviderBlock(WIRE, canonical_text(plain), _words(plain))


def _words(block: Mapping[str, Any]) -> str:
    """What a block of the format's own says to others."""
    if block["type"] != "search_result":
        return str(block.get("text", ""))
    said = [str(item.get("text", "")) for item in block.get("content") or ()]
    return "\n".join([str(block.get("title", "")), str(block.get("source", "")), *said]).strip()


def _result(block: Mapping[str, Any]) -> ToolResult:
    content = block.get("content", "")
    if isinstance(content, list):
        content = [{key: value for key, value in item.items() if key != "cache_control"} for item in content]
    parts = [Text(content)] if isinstance(content, str) else [_part(item) for item in content or ()]
    result = readable_result(block["tool_use_id"], parts, is_error=block.get("is_error") is True)
    own = {key: value for key, value in block.items() if key not in ("type", "tool_use_id")}
    if "content" in own:
        own["content"] = content
    return kept_result(result, WIRE, own, result_content(result))


def read_file(block: Mapping[str, Any]) -> Image | Document | None:
    """An image or document block; None where it says what neither of the two values can hold."""
    source = block.get("source")
    if block.keys() - {"type", "source", "title"}:
        return None
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": str(data)}:
            url = ""
        case {"type": "text", "data": str(text)}:
            media_type, data, url = "text/plain", base64.b64encode(text.encode()).decode(), ""
        case {"type": "url", "url": str(url)}:
            media_type, data = ("image/png" if block["type"] == "image" else "application/pdf"), ""
        case _:
            return None
    if block["type"] == "image":
        return Image(media_type, data, url)
    return Document(media_type, data, url, str(block.get("title") or ""))


def _by_ttl(usage: JsonObject) -> tuple[tuple[str, int], ...]:
    creation = usage.get("cache_creation")
    if not isinstance(creation, Mapping):
        return ()
    figures = ((ttl, read_token_count(creation.get(f"ephemeral_{ttl}_input_tokens")) or 0) for ttl in ("5m", "1h"))
    return tuple((ttl, tokens) for ttl, tokens in figures if tokens)


def _is_unsigned(block: Mapping[str, Any]) -> bool:
    """Reasoning that was cut off before its signature, which the API does not take back."""
    return block.get("type") == "thinking" and not block.get("signature")
