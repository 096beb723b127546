"""Amazon Bedrock's two formats: Converse, as boto3's ``converse_stream`` takes it, and InvokeModel's body for Claude.

Bytes stay base64 text here, because a request is stored and printed as JSON; `converse_arguments` makes them bytes
right before the call. This module knows neither boto3 nor the network.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from frontmind.errors import UsageError
from frontmind.providers.encoding.anthropic import AnthropicDialect, tool_input
from frontmind.providers.encoding.dialect import DEFAULT_TTL, Head, JsonDict, documents_of, own_data
from frontmind.providers.encoding.text import wire_call_id, wire_schema, wire_text
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

WIRE: Final = "bedrock_converse"
ANTHROPIC_VERSION: Final = "bedrock-2023-05-31"
DOCUMENT_FORMATS: Final[Mapping[str, str]] = {
    "application/pdf": "pdf",
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/html": "html",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
"""Converse's name for the format of a document, by its media type."""
IMAGE_FORMATS: Final = ("png", "jpeg", "gif", "webp")
NO_OUTPUT: Final = "(no output)"
"""The text of a tool result that has none: Converse refuses an empty text."""

# Converse: a cachePoint right behind a document is refused, one behind reasoning is not allowed.
_MARKABLE: Final = frozenset({"text", "image", "toolUse", "toolResult"})
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9 \-()\[\]]+")
# botocore, DocumentBlockNameString: at most 200 characters; some are left for the number of a copy.
_NAME_LENGTH: Final = 190
_FILES: Final = ("image", "document", "video", "audio")
# botocore, ToolUseId.
_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")


class ConverseDialect:
    """A `Dialect`."""

    def message(self, framed: FramedMessage, profile: Profile, place: str) -> list[JsonDict]:
        names = iter(_document_names(framed))
        content = [block for part in framed.parts if (block := _block(part, place, names)) is not None]
        # Results stand first: nothing may come between a call and its result.
        content.sort(key=lambda block: "toolResult" not in block)
        # A reply that was cut off behind its reasoning: Claude refuses an assistant message that ends with it.
        while content and "reasoningContent" in content[-1]:
            content.pop()
        role = profile.operator_role if framed.voice is Voice.OPERATOR else framed.voice.value
        return [{"role": role, "content": content}]

    def marked(self, message: JsonDict, ttl: str, profile: Profile) -> JsonDict | None:
        content = message["content"]
        for index in range(len(content) - 1, -1, -1):
            block = content[index]
            if _MARKABLE & block.keys() and str(block.get("text", "-")).strip():
                return {**message, "content": [*content[: index + 1], _cache_point(ttl), *content[index + 1 :]]}
        return None

    def request(self, head: Head, messages: list[JsonDict], profile: Profile) -> JsonDict:
        request: JsonDict = {
            "modelId": head.model,
            "inferenceConfig": {"maxTokens": head.max_output_tokens},
            **head.extra,
        }
        # Converse refuses blocks of tools where no tool is declared.
        tools = [_tool(tool) for tool in head.tools] or [_called_tool(name) for name in head.called_tools]
        if tools:
            request["toolConfig"] = {**request.get("toolConfig", {}), "tools": tools}
        system: list[JsonDict] = []
        if head.cached_system.strip():
            system.append({"text": wire_text(head.cached_system)})
            if head.system_ttl is not None:
                system.append(_cache_point(head.system_ttl))
        if head.uncached_system.strip():
            system.append({"text": wire_text(head.uncached_system)})
        if system:
            request["system"] = system
        request["messages"] = messages
        return request


class InvokeDialect(AnthropicDialect):
    """A `Dialect`: the Messages API's body, without the keys that InvokeModel has elsewhere."""

    def request(self, head: Head, messages: list[JsonDict], profile: Profile) -> JsonDict:
        body = super().request(head, messages, profile)
        model = body.pop("model")
        if "betas" in body:
            body["anthropic_beta"] = body.pop("betas")
        return {"modelId": model, "body": {"anthropic_version": ANTHROPIC_VERSION, **body}}


def converse_arguments(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request as boto3 takes it: base64 texts where Converse wants bytes are made bytes. Shares the rest.

    Raises:
        ValueError: a text is no base64.
    """
    messages = [
        {**message, "content": [_with_bytes(block) for block in message["content"]]} for message in request["messages"]
    ]
    return {**request, "messages": messages}


def _with_bytes(block: JsonDict) -> JsonDict:
    """The block with bytes; arguments of calls and other free JSON are never looked into."""
    match block:
        case {"toolResult": {"content": list(content), **result}}:
            return {**block, "toolResult": {**result, "content": [_with_bytes(item) for item in content]}}
        case {"reasoningContent": {"redactedContent": str(data)}}:
            return {**block, "reasoningContent": {"redactedContent": _bytes(data)}}
        case {"guardContent": {"image": {"source": {"bytes": str(data)}, **image}}}:
            return {**block, "guardContent": {"image": {**image, "source": {"bytes": _bytes(data)}}}}
    for kind in _FILES:
        file = block.get(kind)
        if not isinstance(file, Mapping):
            continue
        source = file.get("source")
        if isinstance(source, Mapping) and isinstance(source.get("bytes"), str):
            return {**block, kind: {**file, "source": {**source, "bytes": _bytes(source["bytes"])}}}
    return block


def _bytes(data: str) -> bytes:
    return base64.b64decode(data, validate=True)


def _cache_point(ttl: str) -> JsonDict:
    point = {"type": "default"} if ttl == DEFAULT_TTL else {"type": "default", "ttl": ttl}
    return {"cachePoint": point}


def _tool(tool: AnyTool) -> JsonDict:
    if isinstance(tool, ProviderTool):
        if tool.wire != WIRE:
            raise UsageError(f"the tool {tool.name!r} is one of the format {tool.wire}; leave it out")
        return dict(parse_json(tool.data))
    spec: JsonDict = {"name": wire_text(tool.name), "inputSchema": {"json": wire_schema(tool.parameters)}}
    if tool.description:
        spec["description"] = wire_text(tool.description)
    if tool.strict is not None:
        spec["strict"] = tool.strict
    return {"toolSpec": spec}


def _called_tool(name: str) -> JsonDict:
    return {"toolSpec": {"name": wire_text(name), "inputSchema": {"json": {"type": "object"}}}}


def _block(part: Part, place: str, names: Iterator[str]) -> JsonDict | None:
    """The part as a block; None for one that has nothing to say here."""
    match part:
        case Thinking():
            return own_data(part) if part.wire == WIRE else None
        case ProviderBlock() if part.wire == WIRE:
            return own_data(part)
        case Text() | Notice() | ProviderBlock():
            # Some models behind Converse refuse blank text.
            return {"text": wire_text(part.text)} if part.text.strip() else None
        case ToolCall():
            call = {"toolUseId": _call_id(part.id), "name": wire_text(part.name), "input": tool_input(part.arguments)}
            return {"toolUse": call}
        case ToolResult():
            return _result(part, place, names)
        case Image() | Document():
            return _file(part, place, names)


def _result(part: ToolResult, place: str, names: Iterator[str]) -> JsonDict:
    # Also where the result goes back as it came: its documents have used their names.
    files = [_file(item, place, names) for item in part.attachments]
    own = own_data(part) if part.wire == WIRE and part.data else result_content(part, files)
    return {"toolResult": {"toolUseId": _call_id(part.call_id), **own}}


def result_content(part: ToolResult, files: list[JsonDict]) -> JsonDict:
    """What a result has of its text and its spelled files, beside the call that it answers."""
    text = [{"text": wire_text(part.text)}] if part.text.strip() else []
    status = {"status": "error"} if part.is_error else {}
    return {"content": [*text, *files] or [{"text": NO_OUTPUT}], **status}


def _file(part: Image | Document, place: str, names: Iterator[str]) -> JsonDict:
    if part.url and not part.url.startswith("s3://"):
        raise UsageError(
            f"{place}: Converse fetches only addresses that begin with s3://, not {part.url[:80]!r}; give the bytes"
        )
    source = {"s3Location": {"uri": wire_text(part.url)}} if part.url else {"bytes": part.data}
    if isinstance(part, Image):
        kind = part.media_type.removeprefix("image/").replace("jpg", "jpeg")
        if kind not in IMAGE_FORMATS:
            raise UsageError(
                f"{place}: Converse has no format for {part.media_type}; it has {', '.join(IMAGE_FORMATS)}"
            )
        return {"image": {"format": kind, "source": source}}
    if part.media_type not in DOCUMENT_FORMATS:
        known = ", ".join(DOCUMENT_FORMATS.values())
        raise UsageError(f"{place}: Converse has no format for {part.media_type}; it has {known}")
    return {"document": {"name": next(names), "format": DOCUMENT_FORMATS[part.media_type], "source": source}}


def _document_names(framed: FramedMessage) -> list[str]:
    """A name for each document of the message, different from all others of the request.

    Converse refuses two of one name anywhere in a request. A name depends on those in front of it only, so that it
    stays the same for ever.
    """
    own = [document.name for document in documents_of(framed.parts)]
    if not own:
        return []
    names: list[str] = []
    taken: set[str] = set()
    for number, asked in enumerate((*framed.before.documents, *own), start=1):
        clean = _clean_name(asked) or f"Document {number}"
        name, copy = clean, 1
        while name.casefold() in taken:
            copy += 1
            name = f"{clean} ({copy})"
        taken.add(name.casefold())
        names.append(name)
    return names[-len(own) :]


def _clean_name(name: str) -> str:
    """The name in the characters that Converse takes; empty where nothing to read would be left."""
    clean = _NOT_IN_A_NAME.sub("-", " ".join(name.split()))[:_NAME_LENGTH].strip()
    return clean if re.search("[A-Za-z0-9]", clean) else ""


def _call_id(asked: str) -> str:
    return wire_call_id(asked, _CALL_ID)
