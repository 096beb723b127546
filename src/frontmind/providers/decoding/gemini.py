"""Reads Google Gemini's ``generateContent`` format: replies, streams of them, and requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from frontmind.providers.encoding.gemini import SIGNATURE, UNNAMED_CALL, WIRE, response_of
from frontmind.providers.profiles.profile import UsageMeaning
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message, Role
from frontmind.values.parts import Document, Image, Part, ProviderBlock, Text, Thinking, ToolCall, ToolResult
from frontmind.values.tool import AnyTool, ProviderTool, Tool
from frontmind.values.usage import Usage, read_token_count
from frontmind.window.canonical import canonical_json, canonical_text, digest

_REFUSALS: Final = (
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
)
_STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "MAX_TOKENS": StopReason.LENGTH,
    **dict.fromkeys(_REFUSALS, StopReason.REFUSAL),
}
_ID_LENGTH: Final = 16


class GeminiDecoder:
    """A `Decoder`."""

    def reply(self, body: JsonObject, meaning: UsageMeaning | None = None) -> Reply:
        candidates = body.get("candidates") or ()
        candidate: Mapping[str, Any] = candidates[0] if candidates else {}
        parts = _parts((candidate.get("content") or {}).get("parts") or (), str(body.get("responseId", "")), ())
        said = tuple(part for part in parts if not (isinstance(part, Text) and not part.text.strip()))
        reason = candidate.get("finishReason")
        stop = None if reason is None else _STOP_REASONS.get(str(reason), StopReason.END)
        if not candidates and (body.get("promptFeedback") or {}).get("blockReason"):
            stop = StopReason.REFUSAL
        usage = body.get("usageMetadata")
        read = self.usage(usage, meaning) if isinstance(usage, Mapping) else None
        return Reply(Message(Role.ASSISTANT, said), read, stop_of(stop, said))

    def usage(self, usage: JsonObject, meaning: UsageMeaning | None = None) -> Usage | None:
        """``promptTokenCount`` holds the cached tokens; reasoning is counted beside the candidates."""
        prompt = read_token_count(usage.get("promptTokenCount"))
        if prompt is None:
            return None
        cached = read_token_count(usage.get("cachedContentTokenCount")) or 0
        # What tools of the provider's own gave back was read by the model too.
        counted = prompt + (read_token_count(usage.get("toolUsePromptTokenCount")) or 0)
        return Usage(
            input=input_tokens(counted, cached, 0, meaning or UsageMeaning.TOTAL),
            cached=cached,
            written=0,
            # A count of zero is left out on this wire.
            output=sum(read_token_count(usage.get(key)) or 0 for key in ("candidatesTokenCount", "thoughtsTokenCount")),
        )

    def assembler(self) -> StreamAssembler:
        return _Assembler()

    def request(self, body: JsonObject) -> DecodedRequest:
        known = ("model", "systemInstruction", "tools", "contents")
        rest = {key: value for key, value in body.items() if key not in known}
        instruction = body.get("systemInstruction") or {}
        if more := {key: value for key, value in instruction.items() if key != "parts"}:
            rest["systemInstruction"] = more
        return DecodedRequest(
            model=str(body.get("model", "")),
            system=tuple(str(part["text"]) for part in instruction.get("parts") or ()),
            tools=tuple(tool for group in body.get("tools") or () for tool in _tools(group)),
            messages=tuple(_messages(body["contents"])),
            rest=rest,
        )


class _Assembler:
    """Of ``GenerateContentResponse`` objects, each with further parts of the first candidate."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._candidate: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._rest: dict[str, Any] = {}

    def add(self, event: JsonObject) -> str:
        self._usage |= event.get("usageMetadata") or {}
        self._rest |= {key: event[key] for key in ("responseId", "promptFeedback") if key in event}
        text = ""
        for candidate in (event.get("candidates") or ())[:1]:
            if candidate.get("finishReason"):
                self._candidate["finishReason"] = candidate["finishReason"]
            for part in (candidate.get("content") or {}).get("parts") or ():
                self._add(dict(part))
                text += "" if part.get("thought") else str(part.get("text", ""))
            self._candidate["content"] = {"role": "model", "parts": self._parts}
        return text

    def _add(self, part: dict[str, Any]) -> None:
        last = self._parts[-1] if self._parts else {}
        # A signature holds for exactly the part that it stands in.
        if _is_plain(part) and _is_plain(last) and part.get("thought") == last.get("thought"):
            last["text"] += part["text"]
        else:
            self._parts.append(part)

    def body(self) -> JsonObject:
        body = {**self._rest, "usageMetadata": self._usage}
        return {**body, "candidates": [self._candidate]} if self._candidate else body


def _is_plain(part: Mapping[str, Any]) -> bool:
    return "text" in part and not part.keys() - {"text", "thought"}


def _messages(contents: Iterable[Mapping[str, Any]]) -> list[Message]:
    read: list[Message] = []
    calls: list[ToolCall] = []
    for index, content in enumerate(contents):
        role = Role.ASSISTANT if content.get("role") == "model" else Role.USER
        parts = _parts(content.get("parts") or (), str(index), calls)
        calls = [part for part in parts if isinstance(part, ToolCall)]
        read.append(Message(role, tuple(parts)))
    return read


def _parts(parts: Iterable[Mapping[str, Any]], seed: str, calls: Sequence[ToolCall]) -> list[Part]:
    """The parts of a content; what a result belongs to is found among the calls of the content in front.

    Args:
        seed: makes the ids of calls without one different from those of other contents.
    """
    waiting = list(calls)
    read: list[Part] = []
    number = 0
    for part in parts:
        if "functionCall" in part and not part.keys() - {"functionCall", SIGNATURE}:
            read.append(_call(part, f"{seed}/{number}"))
            number += 1
        elif "functionResponse" in part:
            read.append(_result(part["functionResponse"], waiting))
        else:
            read += _said(part)
    return read


def _call(part: Mapping[str, Any], seed: str) -> ToolCall:
    call = part["functionCall"]
    arguments = canonical_text(call.get("args") or {})
    # The result must name its call, so a call without an id is given one; the encoder does not send it.
    made = UNNAMED_CALL + digest(canonical_json([seed, call["name"], arguments]))[:_ID_LENGTH]
    return ToolCall(str(call.get("id") or made), call["name"], arguments, str(part.get(SIGNATURE) or ""))


def _result(response: Mapping[str, Any], waiting: list[ToolCall]) -> ToolResult:
    asked, name = str(response.get("id") or ""), response.get("name")
    call = next(
        (call for call in waiting if call.id == asked),
        next((call for call in waiting if call.name == name), None),
    )
    if call is not None:
        waiting.remove(call)
    call_id = call.id if call is not None else asked or f"{UNNAMED_CALL}{name}"
    text, is_error = _text(response.get("response") or {})
    inside = [part for item in response.get("parts") or () for part in _said(item)]
    read = readable_result(call_id, [Text(text), *inside], is_error=is_error)
    own = {key: value for key, value in response.items() if key not in ("id", "name")}
    return kept_result(read, WIRE, own, {"response": response_of(read.text, is_error=is_error)})


def _text(response: JsonObject) -> tuple[str, bool]:
    """The result as the text that is encoded to exactly this response, and whether it is an error."""
    match response:
        case {"output": str(text), **more} if not more and response_of(text, is_error=False) == response:
            return text, False
        case {"error": str(text), **more} if not more:
            return text, True
    return canonical_text(response), False


def _said(part: Mapping[str, Any]) -> list[Part]:
    text = str(part.get("text", ""))
    if part.get("thought"):
        return [Thinking(text, WIRE, canonical_text(part))]
    if part.keys() == {"text"}:
        return [Text(text)]
    if part.keys() == {"text", SIGNATURE}:
        if not text.strip():
            return [Thinking("", WIRE, canonical_text(part))]
        # The text stays text for everybody; the encoder puts its signature back beside it.
        return [Text(text), Thinking("", WIRE, canonical_text({SIGNATURE: part[SIGNATURE]}))]
    return [_file(part) or ProviderBlock(WIRE, canonical_text(part), text)]


def _file(part: Mapping[str, Any]) -> Image | Document | None:
    match part:
        case {"inlineData": {"mimeType": str(media_type), "data": str(data), **other}, **more}:
            url = ""
        case {"fileData": {"mimeType": str(media_type), "fileUri": str(url), **other}, **more}:
            data = ""
        case _:
            return None
    if other or more or media_type.startswith(("audio/", "video/")):
        return None
    return (Image if media_type.startswith("image/") else Document)(media_type, data, url)


def _tools(group: Mapping[str, Any]) -> list[AnyTool]:
    tools: list[AnyTool] = []
    for key, value in group.items():
        if key != "functionDeclarations":
            tools.append(ProviderTool(key, WIRE, canonical_text({key: value})))
            continue
        for declared in value:
            if "parametersJsonSchema" in declared and not declared.keys() - {
                "name",
                "description",
                "parametersJsonSchema",
            }:
                schema = canonical_text(declared["parametersJsonSchema"])
                tools.append(Tool(declared["name"], schema, declared.get("description")))
            else:
                tools.append(ProviderTool(str(declared["name"]), WIRE, canonical_text(declared)))
    return tools
