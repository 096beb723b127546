"""Reads Amazon Bedrock's Converse format, and InvokeModel's, whose body is that of the Anthropic Messages API.

Bytes are base64 text, in events too: who calls boto3 makes them so. This module does not know boto3.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from frontmind.providers.decoding.anthropic import AnthropicDecoder
from frontmind.providers.decoding.reply import (
    DecodedRequest,
    JsonObject,
    Reply,
    StreamAssembler,
    input_tokens,
    stop_of,
)
from frontmind.providers.decoding.results import kept_result, readable_result
from frontmind.providers.encoding.bedrock import DOCUMENT_FORMATS, WIRE, result_content
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
    "guardrail_intervened": StopReason.REFUSAL,
    "content_filtered": StopReason.REFUSAL,
    "refusal": StopReason.REFUSAL,
}
_MEDIA_TYPES: Final[Mapping[str, str]] = {name: media_type for media_type, name in DOCUMENT_FORMATS.items()}
_TTLS: Final = ("5m", "1h")


class ConverseDecoder:
    """A `Decoder`."""

    def reply(self, body: JsonObject, meaning: UsageMeaning | None = None) -> Reply:
        content = [block for block in body["output"]["message"]["content"] if not _is_unsigned(block)]
        parts = tuple(part for block in content if not is_blank_text(part := _part(block, Role.ASSISTANT)))
        reason = body.get("stopReason")
        stop = None if reason is None else _STOP_REASONS.get(str(reason), StopReason.END)
        usage = body.get("usage")
        read = self.usage(usage, meaning) if isinstance(usage, Mapping) else None
        return Reply(Message(Role.ASSISTANT, parts), read, stop_of(stop, parts))

    def usage(self, usage: JsonObject, meaning: UsageMeaning | None = None) -> Usage | None:
        """``inputTokens`` counts only what no cache point covers: the total is the sum of the three figures."""
        fresh = read_token_count(usage.get("inputTokens"))
        output = read_token_count(usage.get("outputTokens"))
        if fresh is None or output is None:
            return None
        cached = read_token_count(usage.get("cacheReadInputTokens")) or 0
        written = read_token_count(usage.get("cacheWriteInputTokens")) or 0
        total = input_tokens(fresh, cached, written, meaning or UsageMeaning.UNMARKED)
        return Usage(total, cached, written, output, written_by_ttl=_by_ttl(usage))

    def assembler(self) -> StreamAssembler:
        return _Assembler()

    def request(self, body: JsonObject) -> DecodedRequest:
        known = ("modelId", "system", "toolConfig", "messages")
        rest = {key: value for key, value in body.items() if key not in known}
        config = body.get("toolConfig") or {}
        if more := {key: value for key, value in config.items() if key != "tools"}:
            rest["toolConfig"] = more
        return DecodedRequest(
            model=str(body.get("modelId", "")),
            system=tuple(_system(block) for block in body.get("system") or () if "cachePoint" not in block),
            tools=tuple(_tool(tool) for tool in config.get("tools") or () if "cachePoint" not in tool),
            messages=tuple(_messages(body["messages"])),
            rest=rest,
        )


class InvokeDecoder(AnthropicDecoder):
    """A `Decoder`. Of a request it takes the body with its model, or the body alone."""

    def request(self, body: JsonObject) -> DecodedRequest:
        inner = dict(body.get("body", body))
        return super().request({"model": body.get("modelId", ""), **inner})


class _Assembler:
    """Of boto3's ``converse_stream`` events: each is one key with an object."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._json: dict[int, str] = {}
        self._redacted: dict[int, bytes] = {}
        self._end: dict[str, Any] = {}

    def add(self, event: JsonObject) -> str:
        match event:
            case {"contentBlockStart": Mapping() as start}:
                self._blocks[int(start["contentBlockIndex"])] = {
                    kind: dict(value) for kind, value in start["start"].items()
                }
            case {"contentBlockDelta": Mapping() as delta}:
                return self._delta(int(delta["contentBlockIndex"]), delta["delta"])
            case {"messageStop": Mapping() as stop}:
                self._end["stopReason"] = stop.get("stopReason")
            case {"metadata": Mapping() as metadata}:
                self._end["usage"] = metadata.get("usage")
        return ""

    def _delta(self, index: int, delta: JsonObject) -> str:
        block = self._blocks.setdefault(index, {})
        match delta:
            case {"text": str(text)}:
                block["text"] = block.get("text", "") + text
                return text
            case {"toolUse": {"input": str(piece)}}:
                self._json[index] = self._json.get(index, "") + piece
            case {"reasoningContent": Mapping() as reasoning}:
                self._reason(index, block.setdefault("reasoningContent", {}), reasoning)
            case {"citation": Mapping() as citation}:
                block["citations"] = [*block.get("citations", ()), dict(citation)]
            case {"toolResult": list(items)}:
                block["toolResult"]["content"] = [*block["toolResult"].get("content", ()), *items]
            case {"image": Mapping() as image}:
                block["image"] |= image
        return ""

    def _reason(self, index: int, reasoning: dict[str, Any], delta: JsonObject) -> None:
        if "redactedContent" in delta:
            # The pieces are pieces of the bytes, not of their base64.
            pieces = self._redacted.get(index, b"") + base64.b64decode(delta["redactedContent"])
            self._redacted[index] = pieces
            reasoning["redactedContent"] = base64.b64encode(pieces).decode()
            return
        text = reasoning.setdefault("reasoningText", {"text": ""})
        text["text"] += delta.get("text", "")
        if "signature" in delta:
            text["signature"] = text.get("signature", "") + delta["signature"]

    def body(self) -> JsonObject:
        content = [self._block(index, dict(block)) for index, block in sorted(self._blocks.items())]
        return {"output": {"message": {"role": "assistant", "content": content}}, **self._end}

    def _block(self, index: int, block: dict[str, Any]) -> dict[str, Any]:
        if "toolUse" in block:
            text = self._json.get(index) or "{}"
            try:
                arguments = json.loads(text)
            except ValueError:
                # A reply that was cut off inside a call.
                arguments = {"arguments": text}
            return {"toolUse": {**block["toolUse"], "input": arguments}}
        if "citations" in block:
            said = {"text": block.get("text", "")}
            return {"citationsContent": {"content": [said], "citations": block["citations"]}}
        return block


def _messages(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    read: list[Message] = []
    for message in messages:
        blocks = [block for block in message["content"] if "cachePoint" not in block]
        if message["role"] == "system":
            text = "".join(str(block.get("text", "")) for block in blocks)
            earlier = read.pop() if read else Message(Role.USER, ())
            read.append(Message(earlier.role, (*earlier.parts, Notice(text, Voice.OPERATOR))))
        else:
            role = Role(message["role"])
            read.append(Message(role, tuple(_kept(block, role) for block in blocks)))
    return read


def _kept(block: Mapping[str, Any], role: Role) -> Part:
    """The part of a request that was sent; blank text, which no encoder writes, goes back as the block that it was."""
    part = _part(block, role)
    return ProviderBlock(WIRE, canonical_text(block), str(block["text"])) if is_blank_text(part) else part


def _system(block: Mapping[str, Any]) -> str:
    guarded = block.get("guardContent")
    return str(guarded["text"]["text"] if guarded else block["text"])


def _tool(tool: Mapping[str, Any]) -> AnyTool:
    spec = tool.get("toolSpec")
    if not spec or spec.keys() - {"name", "description", "inputSchema", "strict"}:
        named: Mapping[str, Any] = next(iter(tool.values()), {})
        return ProviderTool(str(named.get("name", next(iter(tool), ""))), WIRE, canonical_text(tool))
    return Tool(spec["name"], canonical_text(spec["inputSchema"]["json"]), spec.get("description"), spec.get("strict"))


def _part(block: Mapping[str, Any], role: Role) -> Part:
    match block:
        case {"text": str(text)}:
            return Text(text)
        case {"reasoningContent": Mapping() as reasoning}:
            thought = reasoning.get("reasoningText") or {}
            return Thinking(str(thought.get("text", "")), WIRE, canonical_text(block))
        # A call that has a type is one that the provider itself carries out.
        case {"toolUse": {"toolUseId": str(call), "name": str(name), "input": arguments, **more}} if not more:
            return ToolCall(call, name, canonical_text(arguments))
        case {"toolResult": Mapping() as result} if role is Role.USER:
            return _result(result)
        case {"image": Mapping() as image} if (picture := _image(image)) is not None:
            return picture
        case {"document": Mapping() as document} if (file := _document(document)) is not None:
            return file
        case {"citationsContent": Mapping() as cited}:
            return ProviderBlock(
                WIRE, canonical_text(block), "".join(item.get("text", "") for item in cited["content"])
            )
        case {"guardContent": {"text": {"text": str(text)}}}:
            return ProviderBlock(WIRE, canonical_text(block), text)
        case {"searchResult": Mapping() as found}:
            said = [str(item.get("text", "")) for item in found.get("content") or ()]
            words = "\n".join([str(found.get("title", "")), str(found.get("source", "")), *said])
            return ProviderBlock(WIRE, canonical_text(block), words.strip())
    return ProviderBlock(WIRE, canonical_text(block))


def _result(result: Mapping[str, Any]) -> ToolResult:
    content = result["content"]
    parts = [Text(canonical_text(item["json"])) if "json" in item else _part(item, Role.USER) for item in content]
    read = readable_result(result["toolUseId"], parts, is_error=result.get("status") == "error")
    # A file stands in the list as it came: only its place, not its bytes, can differ from how it is spelled.
    files = [item for item, part in zip(content, parts, strict=True) if isinstance(part, Image | Document)]
    own = {key: value for key, value in result.items() if key != "toolUseId"}
    return kept_result(read, WIRE, own, result_content(read, files))


def _image(image: Mapping[str, Any]) -> Image | None:
    match image:
        case {"format": str(kind), "source": {"bytes": str(data)}}:
            return Image(f"image/{kind}", data)
        case {"format": str(kind), "source": {"s3Location": {"uri": str(uri), **more}}} if not more:
            return Image(f"image/{kind}", url=uri)
    return None


def _document(document: Mapping[str, Any]) -> Document | None:
    media_type = _MEDIA_TYPES.get(str(document.get("format")))
    if media_type is None or document.keys() - {"format", "name", "source"}:
        return None
    match document["source"]:
        case {"bytes": str(data)}:
            return Document(media_type, data, name=document["name"])
        case {"s3Location": {"uri": str(uri), **more}} if not more:
            return Document(media_type, url=uri, name=document["name"])
    return None


def _by_ttl(usage: JsonObject) -> tuple[tuple[str, int], ...]:
    details = usage.get("cacheDetails")
    if not isinstance(details, list):
        return ()
    tokens = dict.fromkeys(_TTLS, 0)
    for detail in details:
        if isinstance(detail, Mapping) and detail.get("ttl") in tokens:
            tokens[detail["ttl"]] += read_token_count(detail.get("inputTokens")) or 0
    return tuple((ttl, written) for ttl, written in tokens.items() if written)


def _is_unsigned(block: Mapping[str, Any]) -> bool:
    """Reasoning that was cut off before its signature, which is not taken back."""
    reasoning = block.get("reasoningContent") or {}
    return "reasoningText" in reasoning and not reasoning["reasoningText"].get("signature")
