"""Google Gemini's ``generateContent`` format, in the camel case of its wire.

A signature belongs to the part that it came with and goes back beside it, byte for byte: that of a call is kept with
the `ToolCall`, that of a text in a `Thinking` right behind the text. The format has no cache markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frontmind.errors import UsageError
from frontmind.providers.encoding.anthropic import tool_input
from frontmind.providers.encoding.dialect import Head, JsonDict, own_data
from frontmind.providers.encoding.text import wire_json, wire_schema, wire_text
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

WIRE: Final = "gemini"
SIGNATURE: Final = "thoughtSignature"
UNNAMED_CALL: Final = "gemini_call_"
"""How our own id for a call begins that Gemini gave none; such an id is not sent."""
_OUTPUT: Final = "output"
_ERROR: Final = "error"


class GeminiDialect:
    """A `Dialect`."""

    def message(self, framed: FramedMessage, profile: Profile, place: str) -> list[JsonDict]:
        if framed.voice is Voice.OPERATOR:
            raise UsageError(f"{place}: Gemini has no messages of the operator; set operator_messages=none")
        names = {call.id: (order, call.name) for order, call in enumerate(framed.before.calls)}
        results = [part for part in framed.parts if isinstance(part, ToolResult)]
        # A call without an id is known by its place alone, and nothing may come between a call and its result.
        results.sort(key=lambda result: names.get(result.call_id, (len(names), ""))[0])
        parts = [_response(result, names.get(result.call_id, (0, ""))[1], place) for result in results]
        parts += [_file(item) for result in results if not _is_own(result) for item in result.attachments]
        for part in framed.parts:
            if isinstance(part, Thinking) and part.wire == WIRE and own_data(part).keys() == {SIGNATURE} and parts:
                parts[-1] = {**parts[-1], **own_data(part)}
            elif (spelled := _part(part)) is not None:
                parts.append(spelled)
        return [{"role": "model" if framed.voice is Voice.ASSISTANT else "user", "parts": parts}]

    def marked(self, message: JsonDict, ttl: str, profile: Profile) -> JsonDict | None:
        return None

    def request(self, head: Head, messages: list[JsonDict], profile: Profile) -> JsonDict:
        request: JsonDict = {
            "model": head.model,
            "generationConfig": {"maxOutputTokens": head.max_output_tokens},
            **head.extra,
        }
        texts = [text for text in (head.cached_system, head.uncached_system) if text.strip()]
        if texts:
            instruction = request.get("systemInstruction", {})
            request["systemInstruction"] = {**instruction, "parts": [{"text": wire_text(text)} for text in texts]}
        if head.tools:
            request["tools"] = _tools(head.tools)
        request["contents"] = messages
        return request


def response_of(text: str, *, is_error: bool) -> JsonDict:
    """The ``response`` of a function that gave back this text: an object is sent as it is."""
    if is_error:
        return {_ERROR: wire_text(text)}
    if text.lstrip().startswith("{"):
        try:
            value = parse_json(text)
        except ValueError:
            value = None
        if isinstance(value, dict):
            return dict(wire_json(value))
    return {_OUTPUT: wire_text(text)}


def _response(part: ToolResult, name: str, place: str) -> JsonDict:
    if not name:
        raise UsageError(
            f"{place}: the call of the tool result {part.call_id!r} is not in the message in front of it; Gemini "
            "needs its name"
        )
    said = own_data(part) if _is_own(part) else {"response": response_of(part.text, is_error=part.is_error)}
    return {"functionResponse": _identified({"name": wire_text(name), **said}, part.call_id)}


def _is_own(part: ToolResult) -> bool:
    """Whether the result goes back as it came, with its files inside."""
    return part.wire == WIRE and bool(part.data)


def _identified(body: JsonDict, call_id: str) -> JsonDict:
    return body if call_id.startswith(UNNAMED_CALL) else {"id": wire_text(call_id), **body}


def _part(part: Part) -> JsonDict | None:
    """The part as the wire has it; None for one that has nothing to say here, or is a tool result."""
    match part:
        case Thinking():
            return own_data(part) if part.wire == WIRE else None
        case ProviderBlock() if part.wire == WIRE:
            return own_data(part)
        case ProviderBlock():
            return {"text": wire_text(part.text)} if part.text.strip() else None
        case Text() | Notice():
            return {"text": wire_text(part.text)} if part.text else None
        case ToolCall():
            call: JsonDict = {"name": wire_text(part.name), "args": tool_input(part.arguments)}
            signature = {SIGNATURE: part.signature} if part.signature else {}
            return {"functionCall": _identified(call, part.id), **signature}
        case ToolResult():
            return None
        case Image() | Document():
            return _file(part)


def _file(part: Image | Document) -> JsonDict:
    if part.url:
        return {"fileData": {"mimeType": part.media_type, "fileUri": wire_text(part.url)}}
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


def _tools(tools: Sequence[AnyTool]) -> list[JsonDict]:
    declarations: list[JsonDict] = []
    own: list[JsonDict] = []
    for tool in tools:
        if isinstance(tool, ProviderTool):
            if tool.wire != WIRE:
                raise UsageError(f"the tool {tool.name!r} is one of the format {tool.wire}; leave it out")
            data = dict(parse_json(tool.data))
            (declarations if "name" in data else own).append(data)
        else:
            declarations.append(_declaration(tool.name, tool.description, tool.parameters))
    return [*([{"functionDeclarations": declarations}] if declarations else []), *own]


def _declaration(name: str, description: str | None, parameters: str) -> JsonDict:
    declared: JsonDict = {"name": wire_text(name), "parametersJsonSchema": wire_schema(parameters)}
    if description is not None:
        declared["description"] = wire_text(description)
    return declared
