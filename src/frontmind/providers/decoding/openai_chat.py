"""Reads the Chat Completions format: replies, streams and requests, of OpenAI and of the servers that imitate it.

Several of those say more than the format has: DeepSeek and vLLM a text of their reasoning, OpenRouter its signed
details, llama.cpp its timings.
"""

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
from frontmind.providers.encoding.openai_chat import REASONING, WIRE, reasoning_wire
from frontmind.providers.profiles.profile import UsageMeaning
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, ProviderBlock, Text, Thinking, ToolCall, ToolResult, is_blank_text
from frontmind.values.tool import AnyTool, ProviderTool, Tool
from frontmind.values.usage import Usage, read_token_count
from frontmind.window.canonical import canonical_json, canonical_text, digest

_STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "length": StopReason.LENGTH,
    "model_length": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "content_filter": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
}
# DeepSeek and OpenRouter say with these that they could not go on.
_BROKEN_OFF: Final = frozenset({"insufficient_system_resource", "error"})
_READ: Final = frozenset({"role", "content", "tool_calls", "refusal"})
_CALL_KEYS: Final = frozenset({"role", "tool_call_id"})
_ID_LENGTH: Final = 16


class ChatDecoder:
    """A `Decoder`."""

    def reply(self, body: JsonObject, meaning: UsageMeaning | None = None) -> Reply:
        choices = body.get("choices") or ()
        choice: Mapping[str, Any] = choices[0] if choices else {}
        message = choice.get("message") or {}
        parts = [*read_reasoning(message), *_spoken(message, body)]
        said = tuple(part for part in parts if not is_blank_text(part))
        stop = stop_of(_stop(choice, message), said)
        return Reply(Message(Role.ASSISTANT, said), self._usage(body, meaning), stop)

    def usage(self, usage: JsonObject, meaning: UsageMeaning | None = None) -> Usage | None:
        """``prompt_tokens`` is the total: it holds the cached tokens and the written ones."""
        prompt = read_token_count(usage.get("prompt_tokens"))
        output = read_token_count(usage.get("completion_tokens"))
        if prompt is None or output is None:
            return None
        details = usage.get("prompt_tokens_details")
        known: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
        cached = read_token_count(known.get("cached_tokens"))
        if cached is None:
            # DeepSeek's own names, of which the two add up to the total.
            cached = read_token_count(usage.get("prompt_cache_hit_tokens")) or 0
        written = read_token_count(known.get("cache_write_tokens")) or 0
        total = input_tokens(prompt, cached, written, meaning or UsageMeaning.TOTAL)
        return Usage(total, cached, written, output)

    def _usage(self, body: JsonObject, meaning: UsageMeaning | None) -> Usage | None:
        usage, timings = body.get("usage"), body.get("timings")
        read = self.usage(usage, meaning) if isinstance(usage, Mapping) else None
        if read is not None or not isinstance(timings, Mapping):
            return read
        cached, fresh, output = (read_token_count(timings.get(key)) for key in ("cache_n", "prompt_n", "predicted_n"))
        return None if fresh is None or output is None else Usage(fresh + (cached or 0), cached or 0, 0, output)

    def assembler(self) -> StreamAssembler:
        return _Assembler()

    def request(self, body: JsonObject) -> DecodedRequest:
        conversation = Conversation()
        for index, message in enumerate(body["messages"]):
            _read(conversation, message, index)
        return DecodedRequest(
            model=str(body.get("model", "")),
            system=tuple(conversation.system),
            tools=tuple(_tool(tool) for tool in body.get("tools") or ()),
            messages=tuple(conversation.messages),
            rest={key: value for key, value in body.items() if key not in ("model", "messages", "tools")},
        )


class _Assembler:
    """Of chunks."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None
        self._rest: dict[str, Any] = {}

    def add(self, event: JsonObject) -> str:
        self._rest |= {key: event[key] for key in ("id", "created", "usage", "timings") if event.get(key)}
        text = ""
        for choice in event.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            # Some servers send a last choice without a delta.
            text += self._delta(choice.get("delta") or {})
        return text

    def _delta(self, delta: Mapping[str, Any]) -> str:
        content, refusal = delta.get("content") or "", delta.get("refusal") or ""
        if isinstance(content, list):
            # Mistral's reasoning models: what is no text there is reasoning, which need not be given back.
            content = "".join(str(block.get("text") or "") for block in content if block.get("type") == "text")
        self._text.append(content)
        self._refusal.append(refusal)
        for key in ("reasoning_content", "reasoning"):
            if delta.get(key):
                self._reasoning.setdefault(key, []).append(delta[key])
        for detail in delta.get("reasoning_details") or ():
            self._add_detail(dict(detail))
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        return str(content + refusal)

    def _add_detail(self, detail: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        same = all(last.get(key) == detail.get(key) for key in ("type", "index"))
        pieces = [key for key in ("text", "summary") if key in detail or key in last]
        if not last or not same or not pieces:
            self._details.append(detail)
            return
        joined = {key: (last.get(key) or "") + (detail.get(key) or "") for key in pieces}
        last |= {key: value for key, value in detail.items() if value is not None} | joined

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        # A server that sends each call in one piece may leave its index out.
        index = piece.get("index")
        new = {"id": "", "name": "", "arguments": ""}
        call = self._calls.setdefault(len(self._calls) if index is None else index, new)
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function") or {}
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""

    def body(self) -> JsonObject:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text)}
        message["refusal"] = "".join(self._refusal) or None
        message |= {key: "".join(pieces) for key, pieces in self._reasoning.items()}
        if self._details:
            message["reasoning_details"] = self._details
        calls = [self._calls[index] for index in sorted(self._calls)]
        if calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in calls
            ]
        return {"choices": [{"index": 0, "message": message, "finish_reason": self._finish}], **self._rest}


def _stop(choice: Mapping[str, Any], message: Mapping[str, Any]) -> StopReason | None:
    reason = choice.get("finish_reason")
    if reason is None or reason in _BROKEN_OFF:
        return None
    return StopReason.REFUSAL if message.get("refusal") else _STOP_REASONS.get(str(reason), StopReason.END)


def read_reasoning(message: Mapping[str, Any]) -> list[Thinking]:
    """The reasoning of a message, under the first key that has it: the others say the same in other words."""
    for key in REASONING:
        if message.get(key):
            return [Thinking(_reasoning_text(message), reasoning_wire(key), canonical_text({key: message[key]}))]
    return []


def _reasoning_text(message: Mapping[str, Any]) -> str:
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str):
            return str(message[key])
    details = message.get("reasoning_details") or ()
    return "".join(str(detail.get("text") or detail.get("summary") or "") for detail in details)


def _own(message: Mapping[str, Any]) -> list[Thinking]:
    """What a message of a request is given back with, beside the keys that every server has."""
    rest = {key: value for key, value in without_marker(message).items() if key not in _READ}
    reasoning = {key: rest.pop(key) for key in REASONING if key in rest}
    if message.get("tool_calls") == []:
        rest["tool_calls"] = []
    text = _reasoning_text(message)
    own = [
        Thinking("" if index else text, reasoning_wire(key), canonical_text({key: value}))
        for index, (key, value) in enumerate(reasoning.items())
    ]
    return [*own, Thinking("", WIRE, canonical_text(rest))] if rest else own


def _spoken(message: Mapping[str, Any], seed: Any) -> list[Part]:
    """What an assistant message says and calls.

    Args:
        seed: makes the ids of calls without one different from those of other messages; plain JSON.
    """
    parts: list[Part] = [*_content(message.get("content"))]
    if message.get("refusal"):
        parts.append(Text(str(message["refusal"])))
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        # The result must name its call, so a call without an id is given one.
        call_id = call.get("id") or f"call_{digest(canonical_json([seed, index]))[:_ID_LENGTH]}"
        parts.append(ToolCall(call_id, function["name"], function.get("arguments") or "{}"))
    return parts


def _read(conversation: Conversation, message: Mapping[str, Any], index: int) -> None:
    role, content = message["role"], message.get("content")
    if role in OPERATOR_ROLES:
        conversation.operator(plain_texts(content))
    elif role == "tool":
        conversation.say(Role.USER, [_result(message)], joined=True)
    elif role == "assistant":
        seed = [index, {key: value for key, value in message.items() if key in _READ}]
        conversation.say(Role.ASSISTANT, [*_own(message), *_spoken(message, seed)])
    elif role == "user":
        conversation.say(Role.USER, _content(content))
    else:
        raise ValueError(f"message {index} has the role {role!r}, which Chat Completions does not have")


def _result(message: Mapping[str, Any]) -> ToolResult:
    own = {key: value for key, value in without_marker(message).items() if key not in _CALL_KEYS}
    if isinstance(own.get("content"), list):
        own["content"] = [without_marker(block) for block in own["content"]]
    parts = [*_content(own.get("content"))]
    result = readable_result(str(message["tool_call_id"]), parts)
    # A text and a list of one text are the same: which of them is sent, the profile says.
    is_one = len(parts) == 1 and isinstance(parts[0], Text)
    spelled = {**own, "content": result.text} if is_one else own
    return kept_result(result, WIRE, spelled, {"content": result.text})


def _content(content: object) -> Iterable[Part]:
    if content is None:
        return ()
    return (Text(content),) if isinstance(content, str) else _blocks(content)


def _blocks(content: Any) -> Iterable[Part]:
    for block in content:
        plain = without_marker(block)
        part: Part | None = None
        match plain:
            case {"type": "text", "text": str(text)} if plain.keys() == {"type", "text"}:
                part = Text(text)
            case {"type": "refusal", "refusal": str(text)}:
                part = Text(text)
            case {"type": "image_url", "image_url": Mapping() as image}:
                part = read_image(image.get("url"), image.get("detail"))
            case {"type": "file", "file": Mapping() as file}:
                part = read_document(file.get("file_data"), None, file.get("filename"))
        yield part or ProviderBlock(WIRE, canonical_text(plain), str(plain.get("text") or ""))


def _tool(tool: Mapping[str, Any]) -> AnyTool:
    plain = without_marker(tool)
    function = plain.get("function")
    known = {"name", "description", "parameters", "strict"}
    if not isinstance(function, Mapping) or function.keys() - known or "parameters" not in function:
        named = function.get("name") if isinstance(function, Mapping) else plain.get("name")
        return ProviderTool(str(named or plain.get("type", "")), WIRE, canonical_text(plain))
    return Tool(
        function["name"], canonical_text(function["parameters"]), function.get("description"), function.get("strict")
    )
