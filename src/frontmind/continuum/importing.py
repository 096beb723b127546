"""Reads a conversation from JSON: a list of role/content messages as Anthropic or OpenAI APIs take them.

Of a provider's own machinery only reasoning comes along, for the provider that signed it. Cache markers are left
out, and what neither text, picture nor file can hold is named in its place. Every such change is said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frontmind.errors import UsageError
from frontmind.providers.decoding.anthropic import read_file
from frontmind.providers.decoding.openai_chat import read_reasoning
from frontmind.providers.decoding.openai_parts import read_document, read_image
from frontmind.providers.decoding.results import readable_result
from frontmind.providers.encoding.anthropic import WIRE as ANTHROPIC
from frontmind.providers.encoding.openai_chat import REASONING
from frontmind.values.message import Message, Role
from frontmind.values.parts import Document, Image, Part, Text, Thinking, ToolCall
from frontmind.values.tool import AnyTool, Tool
from frontmind.window.canonical import canonical_json, parse_json
from frontmind.window.normalise import normalise

_SYSTEM_ROLES = frozenset({"system", "developer"})
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
# Keys of an assistant message whose content no value holds.
_LEFT_OUT = ("function_call", "audio")
_SYSTEM_KEY = 0
"""The number of the system text that stands beside the list of messages."""


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A foreign conversation, made valid.

    Attributes:
        system: the texts of its leading system messages.
        messages: alternating, beginning with the user; may end with either role.
        changes: one line for each thing that had to be changed.
        tools: the tools that the conversation had.
    """

    system: str
    messages: tuple[Message, ...]
    changes: tuple[str, ...]
    tools: tuple[AnyTool, ...] = ()


def import_conversation(text: str, *, source: str) -> ImportedConversation:
    """Read a conversation file's text.

    Args:
        source: the file's name, for the errors.

    Raises:
        UsageError: it is not JSON, not a list of messages, has an unknown role or content, or is empty.
    """
    try:
        data = parse_json(text)
    except ValueError as error:
        raise UsageError(
            f"{source} is not valid JSON ({_one_line(error)}); pass a JSON list of role/content messages"
        ) from error
    reader = _Reader(source)
    tools: tuple[AnyTool, ...] = ()
    if isinstance(data, dict) and isinstance(data.get("messages"), list):
        if data.get("system"):
            reader.read(_SYSTEM_KEY, {"role": "system", "content": data["system"]})
        tools = _tools(data.get("tools"), source)
        data = data["messages"]
    if not isinstance(data, list):
        raise UsageError(f"{source} is not a JSON list of role/content messages")
    for number, item in enumerate(data, start=1):
        reader.read(number, item)
    if not reader.messages:
        raise UsageError(f"{source} has no messages; pass a list with at least one user or assistant message")
    # Every item but the leading system messages has become one message.
    normalised = normalise(reader.messages, first=len(data) - len(reader.messages) + 1)
    if not normalised.messages:
        raise UsageError(f"all messages of {source} are empty; pass a list with at least one text")
    changes = (*reader.changes, *normalised.changes)
    return ImportedConversation("\n\n".join(reader.system), normalised.messages, changes, tools)


def read_message(number: int, item: object, *, source: str) -> Message | None:
    """One message by itself, as either API takes it; None for a system message.

    Args:
        number: its place among the others, for the errors.
        source: what it stands in, for the errors.

    Raises:
        UsageError: it is no message, or has an unknown role or content.
    """
    reader = _Reader(source)
    reader.read(number, item)
    return reader.messages[0] if reader.messages else None


def _tools(data: object, source: str) -> tuple[AnyTool, ...]:
    """The tools of a request: each a function of either API; others are the provider's own and left to it."""
    tools = []
    for number, item in enumerate(data if isinstance(data, list) else ()):
        function = item.get("function", item) if isinstance(item, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str) or not function["name"]:
            raise UsageError(f"tool {number} of {source} has no name; give it one or leave it out")
        schema = function.get("input_schema", function.get("parameters"))
        description = function.get("description")
        if isinstance(schema, Mapping):
            said = description if isinstance(description, str) else None
            tools.append(Tool(function["name"], canonical_json(dict(schema)).decode(), said))
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise UsageError(f"two tools of {source} have the same name; give each a name of its own")
    return tuple(tools)


class _Reader:
    """Reads message after message of one source."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.system: list[str] = []
        self.messages: list[Message] = []
        self.changes: list[str] = []

    def read(self, number: int, item: object) -> None:
        if not isinstance(item, Mapping):
            raise self._error(number, "is not an object with role and content")
        role = item.get("role")
        if not isinstance(role, str) or role not in {"user", "assistant", "tool", *_SYSTEM_ROLES}:
            raise self._error(number, f"has the unknown role {role!r}; use user, assistant, system or tool")
        parts = self._parts(number, item)
        if role in _SYSTEM_ROLES:
            self._read_system(number, parts)
        elif role == "tool":
            self._read_tool_result(number, item, parts)
        else:
            speaker = Role(role)
            if speaker is Role.ASSISTANT:
                parts = [*self._openai_reasoning(number, item), *parts, *self._refusal(number, item)]
                parts += self._openai_calls(number, item)
            self.messages.append(Message(speaker, tuple(parts)))

    def _read_system(self, number: int, parts: list[Part]) -> None:
        text = "\n\n".join(part.text for part in parts if isinstance(part, Text))
        if not self.messages:
            self.system.append(text)
            return
        self.changes.append(f"message {number} is a system message inside the conversation: sent as the user's")
        self.messages.append(Message(Role.USER, (Text(f"(system message) {text}"),) if text.strip() else ()))

    def _read_tool_result(self, number: int, item: Mapping[str, Any], parts: list[Part]) -> None:
        call_id = item.get("tool_call_id")
        if not isinstance(call_id, str):
            raise self._error(number, "is a tool message without tool_call_id")
        self.messages.append(Message(Role.USER, (readable_result(call_id, parts),)))

    def _parts(self, number: int, item: Mapping[str, Any]) -> list[Part]:
        content = item.get("content")
        if content is None:
            return []
        if isinstance(content, str):
            return [Text(content)]
        if not isinstance(content, list):
            raise self._error(number, "has a content that is neither a text nor a list of parts")
        parts: list[Part] = []
        for index, block in enumerate(content, start=1):
            parts += self._part(number, index, block)
        return parts

    def _part(self, number: int, index: int, block: object) -> list[Part]:
        if isinstance(block, str):
            return [Text(block)]
        if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
            raise self._error(number, f"part {index} is not an object with a type")
        kind = block["type"]
        if kind in _TEXT_TYPES:
            if not isinstance(block.get("text"), str):
                raise self._error(number, f"part {index} is a {kind} part without a text")
            return [Text(block["text"])]
        if kind == "refusal":
            return self._refusal(number, block)
        if kind == "tool_use":
            arguments = json.dumps(block.get("input", {}), ensure_ascii=False, sort_keys=True)
            return [ToolCall(self._string(number, block, "id"), self._string(number, block, "name"), arguments)]
        if kind == "tool_result":
            parts = self._parts(number, block)
            call_id = self._string(number, block, "tool_use_id")
            return [readable_result(call_id, parts, is_error=block.get("is_error") is True)]
        if kind == "thinking" and not block.get("signature"):
            self.changes.append(f"{_place(number)}, part {index} is reasoning without a signature: left out")
            return []
        if kind in _THINKING_TYPES:
            plain = {key: value for key, value in block.items() if key != "cache_control"}
            return [Thinking(str(block.get("thinking", "")), ANTHROPIC, canonical_json(plain).decode())]
        if kind == "reasoning":
            self.changes.append(f"{_place(number)}, part {index} is {kind}: left out")
            return []
        if number != _SYSTEM_KEY and (file := _file(kind, block)) is not None:
            return [file]
        self.changes.append(f"{_place(number)}, part {index} is of the type {kind!r}: named in its place")
        return [Text(f"({kind})")]

    def _openai_reasoning(self, number: int, item: Mapping[str, Any]) -> list[Part]:
        """The reasoning beside the content; what else stands there and cannot be kept is said."""
        known = {key: item[key] for key in REASONING if _is_reasoning(item.get(key))}
        for key in (*REASONING, *_LEFT_OUT):
            if item.get(key) and key not in known:
                self.changes.append(f"message {number} has {key}: left out")
        return [*read_reasoning(known)]

    def _refusal(self, number: int, item: Mapping[str, Any]) -> list[Part]:
        refusal = item.get("refusal")
        if refusal and not isinstance(refusal, str):
            raise self._error(number, "has a refusal that is no text")
        return [Text(refusal)] if refusal else []

    def _openai_calls(self, number: int, item: Mapping[str, Any]) -> list[Part]:
        calls = item.get("tool_calls") or []
        if not isinstance(calls, list):
            raise self._error(number, "has tool_calls that are not a list")
        parts: list[Part] = []
        for call in calls:
            function = call.get("function") if isinstance(call, Mapping) else None
            if not isinstance(function, Mapping):
                raise self._error(number, "has a tool call without a function")
            arguments = function.get("arguments", "")
            if not _is_json_object(arguments):
                self.changes.append(f"message {number} has a tool call with broken arguments: kept as text")
                parts.append(Text(f"(call of the tool {function.get('name')} with {arguments})"))
                continue
            parts.append(ToolCall(self._string(number, call, "id"), self._string(number, function, "name"), arguments))
        return parts

    def _string(self, number: int, block: Mapping[str, Any], key: str) -> str:
        value = block.get(key)
        if not isinstance(value, str) or not value:
            raise self._error(number, f"has a tool part without {key}")
        return value

    def _error(self, number: int, what: str) -> UsageError:
        return UsageError(f"{_place(number)} of {self._source} {what}")


def _place(number: int) -> str:
    return "the system text" if number == _SYSTEM_KEY else f"message {number}"


def _file(kind: str, block: Mapping[str, Any]) -> Image | Document | None:
    """A picture or file as either API writes it; None for everything else."""
    if kind in ("image", "document"):
        return read_file({key: value for key, value in block.items() if key != "cache_control"})
    if kind in ("image_url", "input_image"):
        source = block.get("image_url")
        url = source.get("url") if isinstance(source, Mapping) else source
        return read_image(url, None)
    if kind in ("file", "input_file"):
        source = block.get("file") if kind == "file" else block
        if isinstance(source, Mapping):
            return read_document(source.get("file_data"), source.get("file_url"), source.get("filename"))
    return None


def _is_reasoning(value: object) -> bool:
    """A text, or a list of details, as servers say it."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(detail, Mapping) for detail in value)
    return isinstance(value, str) and bool(value)


def _is_json_object(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(parse_json(text or "{}"), dict)
    except ValueError:
        return False


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
