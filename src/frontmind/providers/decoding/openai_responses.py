"""Reads the OpenAI Responses format: replies, streams and requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from frontmind.providers.decoding.openai_parts import (
    OPERATOR_ROLES,
    Conversation,
    plain_texts,
    read_document,
    read_image,
    without_marker,
)
from frontmind.providers.decoding.reply import (
    DecodedRequest,
    JsonObject,
    Reply,
    StreamAssembler,
    input_tokens,
    stop_of,
)
from frontmind.providers.decoding.results import kept_result, readable_result
from frontmind.providers.encoding.openai_responses import WIRE, result_blocks
from frontmind.providers.profiles.profile import UsageMeaning
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, ProviderBlock, Text, Thinking, ToolCall, ToolResult, is_blank_text
from frontmind.values.tool import AnyTool, ProviderTool, Tool
from frontmind.values.usage import Usage, read_token_count
from frontmind.window.canonical import canonical_text

_INCOMPLETE: Final[Mapping[str, StopReason]] = {
    "max_output_tokens": StopReason.LENGTH,
    "content_filter": StopReason.REFUSAL,
}
_ENDED: Final = frozenset({"completed", "incomplete"})
_USER_ITEMS: Final = ("_output", "_response")
_TOOL_KEYS: Final = frozenset({"type", "name", "parameters", "strict", "description"})


class ResponsesDecoder:
    """A `Decoder`."""

    def reply(self, body: JsonObject, meaning: UsageMeaning | None = None) -> Reply:
        output = body.get("output") or ()
        parts = [part for item in output for part in _spoken(item) if not is_blank_text(part)]
        usage = body.get("usage")
        read = self.usage(usage, meaning) if isinstance(usage, Mapping) else None
        return Reply(Message(Role.ASSISTANT, tuple(parts)), read, stop_of(_stop(body, output), parts))

    def usage(self, usage: JsonObject, meaning: UsageMeaning | None = None) -> Usage | None:
        """``input_tokens`` is the total: it holds the cached tokens and the written ones."""
        prompt = read_token_count(usage.get("input_tokens"))
        output = read_token_count(usage.get("output_tokens"))
        if prompt is None or output is None:
            return None
        details = usage.get("input_tokens_details")
        known: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
        cached, written = (read_token_count(known.get(key)) or 0 for key in ("cached_tokens", "cache_write_tokens"))
        total = input_tokens(prompt, cached, written, meaning or UsageMeaning.TOTAL)
        return Usage(total, cached, written, output, written_by_ttl=_by_ttl(known))

    def assembler(self) -> StreamAssembler:
        return _Assembler()

    def request(self, body: JsonObject) -> DecodedRequest:
        conversation = Conversation()
        if body.get("instructions"):
            conversation.operator([str(body["instructions"])])
        items = body["input"]
        for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
            _read(conversation, item)
        read = ("model", "instructions", "tools", "input")
        return DecodedRequest(
            model=str(body.get("model", "")),
            system=tuple(conversation.system),
            tools=tuple(_tool(tool) for tool in body.get("tools") or ()),
            messages=tuple(conversation.messages),
            rest={key: value for key, value in body.items() if key not in read},
        )


class _Assembler:
    """Of the events of a stream. An item is taken when it is done: only then is its encrypted reasoning whole."""

    def __init__(self) -> None:
        self._items: dict[int, Mapping[str, Any]] = {}
        self._response: Mapping[str, Any] = {}

    def add(self, event: JsonObject) -> str:
        match event:
            case {"type": "response.output_text.delta" | "response.refusal.delta", "delta": str(text)}:
                return text
            case {"type": "response.output_item.done", "item": Mapping() as item}:
                self._items[int(event.get("output_index", len(self._items)))] = item
            case {"response": Mapping() as response}:
                self._response = response
        return ""

    def body(self) -> JsonObject:
        items = [self._items[index] for index in sorted(self._items)]
        last = self._response.get("output") or []
        return {**self._response, "output": items if len(items) >= len(last) else last}


def _stop(body: JsonObject, output: Iterable[Mapping[str, Any]]) -> StopReason | None:
    if body.get("status") not in _ENDED:
        return None
    blocks = [block for item in output if item.get("type") == "message" for block in item.get("content") or ()]
    if any(block.get("type") == "refusal" for block in blocks):
        return StopReason.REFUSAL
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return _INCOMPLETE.get(str(reason), StopReason.END)


def _by_ttl(details: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    written = details.get("cache_write_tokens_details")
    if not isinstance(written, Mapping):
        return ()
    figures = ((ttl, read_token_count(written.get(f"ttl_{ttl}_tokens")) or 0) for ttl in ("30m", "12h"))
    return tuple((ttl, tokens) for ttl, tokens in figures if tokens)


def _spoken(item: Mapping[str, Any]) -> list[Part]:
    """What an item of the model's own is as parts."""
    match item.get("type", "message"):
        case "message":
            phase: list[Part] = []
            if item.get("phase") is not None:
                # The API wants it back with the message, and no other format has it.
                phase = [Thinking("", WIRE, canonical_text({"phase": item["phase"]}))]
            texts = _output_texts(item.get("content"))
            return [part for text in texts for part in (*(phase if text.strip() else ()), Text(text))]
        case "reasoning":
            return [Thinking(_reasoning_text(item), WIRE, canonical_text(item))]
        case "function_call":
            return [ToolCall(item["call_id"], item["name"], item.get("arguments") or "{}")]
        case _:
            return [ProviderBlock(WIRE, canonical_text(item))]


def _output_texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [str(block.get("refusal") or block.get("text") or "") for block in content or ()]


def _reasoning_text(item: Mapping[str, Any]) -> str:
    blocks = [*(item.get("summary") or ()), *(item.get("content") or ())]
    return "\n\n".join(str(block.get("text") or "") for block in blocks)


def _read(conversation: Conversation, item: Mapping[str, Any]) -> None:
    kind = item.get("type", "message")
    role = item["role"] if kind == "message" else None
    if role in OPERATOR_ROLES:
        conversation.operator(plain_texts(item["content"]))
    elif role == "user":
        conversation.say(Role.USER, _content(item["content"]))
    elif kind == "function_call_output":
        conversation.say(Role.USER, [_result(item)], joined=True)
    elif role is None and str(kind).endswith(_USER_ITEMS):
        conversation.say(Role.USER, [ProviderBlock(WIRE, canonical_text(item))], joined=True)
    elif role in (None, "assistant"):
        conversation.say(Role.ASSISTANT, _spoken(item), joined=True)
    else:
        raise ValueError(f"an input item has the role {role!r}, which the Responses API does not have")


def _result(item: Mapping[str, Any]) -> ToolResult:
    output = item["output"]
    if isinstance(output, str):
        return ToolResult(str(item["call_id"]), output)
    result = readable_result(str(item["call_id"]), _content(output))
    own = [without_marker(block) for block in output]
    return kept_result(result, WIRE, {"output": own}, {"output": result_blocks(result)})


def _content(content: Any) -> Iterable[Part]:
    if isinstance(content, str):
        yield Text(content)
        return
    for block in content:
        plain = without_marker(block)
        part: Part | None = None
        match plain:
            case {"type": "input_text", "text": str(text)}:
                part = Text(text)
            case {"type": "input_image"} if not plain.get("file_id"):
                part = read_image(plain.get("image_url"), plain.get("detail"))
            case {"type": "input_file"} if not plain.get("file_id") and plain.get("detail") in (None, "auto"):
                part = read_document(plain.get("file_data"), plain.get("file_url"), plain.get("filename"))
        yield part or ProviderBlock(WIRE, canonical_text(plain), str(plain.get("text") or ""))


def _tool(tool: Mapping[str, Any]) -> AnyTool:
    if tool.get("type") != "function" or tool.keys() - _TOOL_KEYS or not isinstance(tool.get("parameters"), Mapping):
        return ProviderTool(str(tool.get("name") or tool.get("type", "")), WIRE, canonical_text(tool))
    return Tool(tool["name"], canonical_text(tool["parameters"]), tool.get("description"), tool.get("strict"))
