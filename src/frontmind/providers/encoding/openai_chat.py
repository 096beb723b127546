"""The OpenAI Chat Completions format, as OpenAI and most other servers take it.

Where a profile says so, texts are sent as plain strings: many local chat templates do not take lists of parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from frontmind.providers.encoding.dialect import DEFAULT_TTL, Head, JsonDict, as_text, own_data
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
    Thinking,
    ToolCall,
    ToolResult,
    Voice,
)
from frontmind.values.tool import AnyTool, ProviderTool
from frontmind.window.framing import FramedMessage

WIRE: Final = "openai_chat"
REASONING: Final = ("reasoning_details", "reasoning_content", "reasoning")
"""The keys of a message under which servers say their reasoning, the one that is signed first."""
# Which of them a provider takes back, from its API's documentation; to others the reasoning of a model means nothing.
_TAKEN_BACK: Final[Mapping[str, frozenset[str]]] = {
    "deepseek": frozenset({"reasoning_content"}),
    "openrouter": frozenset({"reasoning_details", "reasoning"}),
}
# OpenRouter, prompt caching: `cache_control` on texts only. OpenAI: a breakpoint on what a user or a tool said.
_CACHE_CONTROL_PARTS: Final = frozenset({"text"})
_BREAKPOINT_PARTS: Final = frozenset({"text", "image_url", "file"})
_BREAKPOINT_ROLES: Final = frozenset({"user", "tool"})


class ChatDialect:
    """A `Dialect`."""

    def message(self, framed: FramedMessage, profile: Profile, place: str) -> list[JsonDict]:
        if framed.voice is Voice.OPERATOR:
            return [{"role": profile.operator_role, "content": _joined(framed.parts)}]
        if framed.voice is Voice.ASSISTANT:
            return [_assistant(framed, profile, place)]
        results = [_result(part, profile) for part in framed.parts if isinstance(part, ToolResult)]
        said = tuple(part for part in framed.parts if not isinstance(part, ToolResult))
        said += tuple(
            item
            for part in framed.parts
            if isinstance(part, ToolResult) and not _is_own(part)
            for item in part.attachments
        )
        content = _content(said, profile)
        return [*results, {"role": "user", "content": content}] if content else results

    def marked(self, message: JsonDict, ttl: str, profile: Profile) -> JsonDict | None:
        content = message.get("content")
        if not isinstance(content, list) or not content:
            return None
        if profile.markers is MarkerKind.CACHE_CONTROL:
            marker, markable = {"cache_control": _cache_control(ttl)}, _CACHE_CONTROL_PARTS
        elif message["role"] in _BREAKPOINT_ROLES:
            marker, markable = dict(BREAKPOINT), _BREAKPOINT_PARTS
        else:
            return None
        for index in range(len(content) - 1, -1, -1):
            if content[index].get("type") in markable:
                marked = {**content[index], **marker}
                return {**message, "content": [*content[:index], marked, *content[index + 1 :]]}
        return None

    def request(self, head: Head, messages: list[JsonDict], profile: Profile) -> JsonDict:
        request: JsonDict = {"model": head.model, profile.max_tokens_key: head.max_output_tokens, **head.extra}
        if head.session:
            request[profile.session_key] = head.session
        if head.tools:
            request["tools"] = [_tool(tool) for tool in head.tools]
        request |= cache_options(head, profile)
        request["messages"] = [*_system(head, profile), *messages]
        return request


def _system(head: Head, profile: Profile) -> list[JsonDict]:
    texts = [text for text in (head.cached_system, head.uncached_system) if text.strip()]
    if not texts:
        return []
    if profile.markers is MarkerKind.NONE or profile.plain_content:
        return [{"role": "system", "content": wire_text("\n\n".join(texts))}]
    blocks: list[JsonDict] = [{"type": "text", "text": wire_text(text)} for text in texts]
    if marks_system(head, profile):
        blocks[0] |= BREAKPOINT
    elif profile.markers is MarkerKind.CACHE_CONTROL and head.system_ttl is not None:
        blocks[0]["cache_control"] = _cache_control(head.system_ttl)
    return [{"role": "system", "content": blocks}]


def _cache_control(ttl: str) -> JsonDict:
    return {"type": "ephemeral"} if ttl == DEFAULT_TTL else {"type": "ephemeral", "ttl": ttl}


def _assistant(framed: FramedMessage, profile: Profile, place: str) -> JsonDict:
    for number, part in enumerate(framed.parts):
        if isinstance(part, Image | Document):
            refuse_spoken_file(part, f"{place}, part {number}")
    content = _content(framed.parts, profile)
    encoded: JsonDict = {"role": "assistant", "content": content or ""}
    calls = [part for part in framed.parts if isinstance(part, ToolCall)]
    if calls:
        encoded["content"] = content or None
        encoded["tool_calls"] = [_call(call) for call in calls]
    for part in framed.parts:
        if isinstance(part, Thinking) and part.wire.partition(":")[0] == WIRE:
            encoded |= _taken_back(part, profile)
    if profile.empty_reasoning:
        encoded.setdefault("reasoning_content", "")
    return encoded


def reasoning_wire(key: str) -> str:
    """The wire format of reasoning that a server says under this key: it goes back to servers of its kind alone."""
    return f"{WIRE}:{key}"


def _taken_back(part: Thinking, profile: Profile) -> JsonDict:
    foreign = frozenset(REASONING) - _TAKEN_BACK.get(profile.provider, frozenset())
    return {key: value for key, value in own_data(part).items() if key not in foreign}


def _joined(parts: tuple[Part, ...]) -> str:
    texts = [text for part in parts if (text := _text(part)) is not None]
    return wire_text("\n\n".join(text for text in texts if text.strip()))


def _text(part: Part) -> str | None:
    return part.text if isinstance(part, Notice) else as_text(part, WIRE)


def _content(parts: tuple[Part, ...], profile: Profile) -> str | list[JsonDict]:
    blocks = [block for part in parts if (block := _block(part)) is not None]
    # A block of another program may say that it is a text and have none; it goes back as it came.
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    if profile.plain_content and len(texts) == len(blocks):
        return "\n\n".join(texts)
    if len(texts) == len(blocks) == 1 and profile.markers is MarkerKind.NONE:
        return str(texts[0])
    return blocks


def _block(part: Part) -> JsonDict | None:
    match part:
        case Image():
            return {"type": "image_url", "image_url": {"url": wire_text(part.url) or data_url(part)}}
        case Document():
            # An address in the place of the bytes is how OpenRouter takes it.
            data = wire_text(part.url) or data_url(part)
            return {"type": "file", "file": {"file_data": data, "filename": wire_text(file_name(part))}}
        case ProviderBlock() if part.wire == WIRE:
            return own_data(part)
        case _:
            text = _text(part)
            return {"type": "text", "text": wire_text(text)} if text and text.strip() else None


def _is_own(part: ToolResult) -> bool:
    """Whether the result goes back as it came, with its files inside."""
    return part.wire == WIRE and bool(part.data)


def _result(part: ToolResult, profile: Profile) -> JsonDict:
    text = wire_text(part.text)
    if _is_own(part):
        own = {"role": "tool", "tool_call_id": wire_text(part.call_id), **own_data(part)}
        # A template that takes no lists still takes what their texts say.
        return own if part.attachments or not profile.plain_content else {**own, "content": text}
    # Only a part of a list can carry a marker, and what was sent as a list stays one.
    listed = profile.markers is not MarkerKind.NONE and not profile.plain_content and text.strip()
    content = [{"type": "text", "text": text}] if listed else text
    return {"role": "tool", "tool_call_id": wire_text(part.call_id), "content": content}


def _call(call: ToolCall) -> JsonDict:
    return {
        "id": wire_text(call.id),
        "type": "function",
        "function": {"name": wire_text(call.name), "arguments": wire_text(call.arguments)},
    }


def _tool(tool: AnyTool) -> JsonDict:
    if isinstance(tool, ProviderTool):
        return own_tool(tool, WIRE)
    function: JsonDict = {"name": wire_text(tool.name), "parameters": wire_schema(tool.parameters)}
    if tool.description is not None:
        function["description"] = wire_text(tool.description)
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}
