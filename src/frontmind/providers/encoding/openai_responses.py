"""The OpenAI Responses format: https://platform.openai.com/docs/api-reference/responses, without a server's memory.

Every request holds the whole conversation: ``previous_response_id`` would keep the notification center of earlier
turns on the server.
"""

from __future__ import annotations

from typing import Final

from frontmind.providers.encoding.dialect import Head, JsonDict, as_text, own_data
from frontmind.providers.encoding.openai_parts import (
    BREAKPOINT,
    cache_options,
    data_url,
    file_name,
    marks_system,
    own_tool,
    refuse_spoken_file,
)
from frontmind.providers.encoding.text import wire_schema, wire_text
from frontmind.providers.profiles.profile import MarkerKind, Profile
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
from frontmind.window.framing import FramedMessage

WIRE: Final = "openai_responses"
# OpenAI, prompt caching: these parts take a breakpoint; text of the model's own does not.
_MARKABLE: Final = frozenset({"input_text", "input_image", "input_file"})


class ResponsesDialect:
    """A `Dialect`."""

    def message(self, framed: FramedMessage, profile: Profile, place: str) -> list[JsonDict]:
        if framed.voice is Voice.ASSISTANT:
            return _spoken(framed, place)
        if framed.voice is Voice.OPERATOR:
            return [{"role": profile.operator_role, "content": _content(framed.parts, profile)}]
        # Results stand first: the API refuses a message between a call and its result.
        items = [_result(part, profile) for part in framed.parts if isinstance(part, ToolResult)]
        items += [item for part in framed.parts if (item := _own_item(part)) is not None]
        said = tuple(part for part in framed.parts if not isinstance(part, ToolResult) and _own_item(part) is None)
        content = _content(said, profile)
        return [*items, {"role": "user", "content": content}] if content else items

    def marked(self, message: JsonDict, ttl: str, profile: Profile) -> JsonDict | None:
        key = "output" if message.get("type") == "function_call_output" else "content"
        if key == "content" and message.get("role") != "user":
            return None
        parts = message.get(key)
        if not isinstance(parts, list):
            return None
        for index in range(len(parts) - 1, -1, -1):
            if parts[index]["type"] in _MARKABLE:
                return {**message, key: [*parts[:index], {**parts[index], **BREAKPOINT}, *parts[index + 1 :]]}
        return None

    def request(self, head: Head, messages: list[JsonDict], profile: Profile) -> JsonDict:
        request: JsonDict = {
            "model": head.model,
            "max_output_tokens": head.max_output_tokens,
            "store": False,
            **head.extra,
        }
        if profile.encrypted_reasoning:
            # Without the server's memory, reasoning can be given back only in its encrypted form.
            request.setdefault("include", ["reasoning.encrypted_content"])
        if head.session:
            request[profile.session_key] = head.session
        if head.tools:
            request["tools"] = [_tool(tool) for tool in head.tools]
        request |= cache_options(head, profile)
        request["input"] = [*_system(head, profile), *messages]
        return request


def _system(head: Head, profile: Profile) -> list[JsonDict]:
    # Not as `instructions`: those take no breakpoint, so nothing of a changed conversation could be read again, and
    # text that changes could not be kept apart behind the text that does not.
    texts = [text for text in (head.cached_system, head.uncached_system) if text.strip()]
    if not texts:
        return []
    if profile.plain_content:
        return [{"role": profile.operator_role, "content": wire_text("\n\n".join(texts))}]
    parts: list[JsonDict] = [{"type": "input_text", "text": wire_text(text)} for text in texts]
    if marks_system(head, profile):
        parts[0] |= BREAKPOINT
    return [{"role": profile.operator_role, "content": parts}]


def _own_item(part: Part) -> JsonDict | None:
    """A block of the format's own that is an item of the list, and not content of a message."""
    if not isinstance(part, ProviderBlock) or part.wire != WIRE:
        return None
    data = own_data(part)
    return None if str(data.get("type", "")).startswith("input_") else data


def _spoken(framed: FramedMessage, place: str) -> list[JsonDict]:
    """What the assistant said, thought and called, in its order: reasoning must stand in front of what it led to."""
    items: list[JsonDict] = []
    keys: JsonDict = {}
    for number, part in enumerate(framed.parts):
        match part:
            case Thinking() if part.wire == WIRE:
                data = own_data(part)
                if "type" not in data:
                    # It belongs to the text right behind it, and to no later one.
                    keys = data
                    continue
                if data.get("encrypted_content") or data.get("content"):
                    # The API looks for any other reasoning in its own memory, which is not used.
                    items.append(data)
            case ProviderBlock() if part.wire == WIRE:
                items.append(own_data(part))
            case ToolCall():
                items.append(_call(part))
            case Image() | Document():
                refuse_spoken_file(part, f"{place}, part {number}")
            case _:
                text = _text(part)
                if text and text.strip():
                    # A plain text: the list form is for replies that are named by an id on the server.
                    items.append({"role": "assistant", "content": wire_text(text), **keys})
        keys = {}
    return items


def _text(part: Part) -> str | None:
    return part.text if isinstance(part, Notice) else as_text(part, WIRE)


def _content(parts: tuple[Part, ...], profile: Profile) -> str | list[JsonDict]:
    blocks = [block for part in parts if (block := _block(part)) is not None]
    if profile.plain_content and all(block.get("type") == "input_text" for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return blocks


def _block(part: Part) -> JsonDict | None:
    match part:
        case Image():
            return {"type": "input_image", "detail": "auto", "image_url": wire_text(part.url) or data_url(part)}
        case Document() if part.url:
            return {"type": "input_file", "file_url": wire_text(part.url)}
        case Document():
            return {"type": "input_file", "filename": wire_text(file_name(part)), "file_data": data_url(part)}
        case ProviderBlock() if part.wire == WIRE:
            return own_data(part)
        case _:
            text = _text(part)
            return {"type": "input_text", "text": wire_text(text)} if text and text.strip() else None


def _result(part: ToolResult, profile: Profile) -> JsonDict:
    if part.wire == WIRE and part.data:
        return {"type": "function_call_output", "call_id": wire_text(part.call_id), **own_data(part)}
    # Only a part of a list can carry a breakpoint, and what was sent as a list stays one.
    is_list = part.attachments or (profile.markers is MarkerKind.BREAKPOINT and part.text.strip())
    output = result_blocks(part) if is_list else wire_text(part.text)
    return {"type": "function_call_output", "call_id": wire_text(part.call_id), "output": output}


def result_blocks(part: ToolResult) -> list[JsonDict]:
    """A result's text and files as the parts of a list; blank text is none of them."""
    return [block for item in (Text(part.text), *part.attachments) if (block := _block(item)) is not None]


def _call(call: ToolCall) -> JsonDict:
    return {
        "type": "function_call",
        "call_id": wire_text(call.id),
        "name": wire_text(call.name),
        "arguments": wire_text(call.arguments),
    }


def _tool(tool: AnyTool) -> JsonDict:
    if isinstance(tool, ProviderTool):
        return own_tool(tool, WIRE)
    # The API insists on the key `strict`.
    spelled: JsonDict = {
        "type": "function",
        "name": wire_text(tool.name),
        "parameters": wire_schema(tool.parameters),
        "strict": tool.strict,
    }
    if tool.description is not None:
        spelled["description"] = wire_text(tool.description)
    return spelled
