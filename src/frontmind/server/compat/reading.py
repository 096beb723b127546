"""Reads the messages and tools of a request in any of the three formats. Knows no store and no route."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from frontmind.continuum.importing import read_message
from frontmind.errors import UsageError
from frontmind.server.compat.asked import Asked, asked_of
from frontmind.server.compat.body import Body
from frontmind.server.compat.errors import RequestProblem, unsupported
from frontmind.values.message import Message, Role
from frontmind.values.parts import Document, Image
from frontmind.values.tool import Tool
from frontmind.window.canonical import canonical_text

_OPERATORS: Final = frozenset({"system", "developer"})
_WORDS: Final = frozenset({"text", "input_text", "output_text", "refusal", "tool_result", "tool_use"})
_FILES: Final = frozenset({"image", "document", "image_url", "input_image", "file", "input_file"})
# How a document may be cited says nothing to the assistant, and does not keep it from being read.
_CITING: Final = frozenset({"citations", "context", "detail"})
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SOURCE: Final = "the request"


def read_items(items: Sequence[Any], *, key: str) -> tuple[Asked, tuple[str, ...]]:
    """What is asked, and the texts of the client's operator.

    Args:
        items: messages with role and content, as either API has them.
        key: where they stand in the body, for the errors.

    Raises:
        RequestProblem: one cannot be read, or the last is not the client's.
    """
    said = [item.get("role") if isinstance(item, Mapping) else None for item in items]
    roles = [role if isinstance(role, str) else None for role in said]
    last_reply = max((number for number, role in enumerate(roles, 1) if role == "assistant"), default=0)
    operator: list[str] = []
    messages: list[Message] = []
    for number, (item, role) in enumerate(zip(items, roles, strict=True), 1):
        if role in _OPERATORS:
            operator += _operator_texts(number, item, key)
            continue
        message = _read(number, _readable(number, item, key) if number > last_reply else item, key)
        if message is not None:
            messages.append(message)
    return asked_of(messages), tuple(text for text in operator if text.strip())


def read_input(items: Sequence[Any]) -> tuple[Asked, tuple[str, ...]]:
    """As `read_items`, for the items of the Responses API."""
    converted: list[Any] = []
    for number, item in enumerate(items, 1):
        kind = item.get("type", "message") if isinstance(item, Mapping) else "message"
        match kind:
            case "message":
                converted.append(item)
            case "function_call":
                function = {"name": item.get("name"), "arguments": item.get("arguments")}
                call = {"id": item.get("call_id"), "function": function}
                converted.append({"role": "assistant", "content": None, "tool_calls": [call]})
            case "function_call_output":
                output = {"tool_call_id": item.get("call_id"), "content": item.get("output")}
                converted.append({"role": "tool", **output})
            case "reasoning":
                # Another server's own; nothing that was said.
                converted.append({"role": "assistant", "content": None})
            case _:
                raise unsupported(f"item {number} of input is of the type {kind!r}", param=f"input[{number - 1}]")
    return read_items(converted, key="input")


def read_tools(body: Body, *, nested: bool) -> tuple[Tool, ...]:
    """The functions that the client carries out itself.

    Args:
        nested: whether each stands under ``function``, as in Chat Completions.

    Raises:
        RequestProblem: one cannot be read, or is a tool that a provider would carry out.
    """
    tools = []
    for index, item in enumerate(body.sequence("tools")):
        param = f"tools[{index}]"
        if not isinstance(item, Mapping):
            raise RequestProblem(f"{param} is not an object", param=param)
        kind = item.get("type")
        if kind not in (None, "function", "custom") or (kind == "custom" and "input_schema" not in item):
            raise unsupported(f"{param} is of the type {kind!r}, which only its provider can carry out", param=param)
        tools.append(_tool(Body(item).object("function") if nested else Body(item), param))
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise RequestProblem("two tools have the same name; give each a name of its own", param="tools")
    return tuple(tools)


def chosen_tools(body: Body, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools that may be called with this ``tool_choice``.

    Raises:
        RequestProblem: the model is to be held to a call, which no server can promise for every model.
    """
    choice = body.data.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, Mapping) else choice
    match kind:
        case None | "auto":
            return tools
        case "none":
            return ()
        case _:
            raise unsupported("tool_choice can be auto or none here", param="tool_choice")


def _tool(body: Body, param: str) -> Tool:
    name = body.text("name")
    if not _TOOL_NAME.fullmatch(name):
        raise RequestProblem(f"{param} has no usable name; use 1 to 64 letters, digits, _ and -", param=f"{param}.name")
    key = "input_schema" if body.has("input_schema") else "parameters"
    schema = body.object(key).data or {"type": "object", "properties": {}}
    strict = body.flag("strict") if body.has("strict") else None
    return Tool(name, canonical_text(dict(schema)), body.text("description") or None, strict)


def _operator_texts(number: int, item: Mapping[str, Any], key: str) -> list[str]:
    message = _read(number, {"role": "user", "content": item.get("content")}, key)
    return [] if message is None else [message.text]


def _read(number: int, item: object, key: str) -> Message | None:
    try:
        return read_message(number, item, source=_SOURCE)
    except UsageError as error:
        raise RequestProblem(str(error), param=f"{key}[{number - 1}]") from error


def _readable(number: int, item: object, key: str) -> object:
    """A message that is new: it must reach the model as it was meant. Of what was said before, the store has its own
    account.

    Raises:
        RequestProblem: a part is of a kind that cannot be read.
    """
    content = item.get("content") if isinstance(item, Mapping) else None
    if not isinstance(item, Mapping) or not isinstance(content, list):
        return item
    places = [f"{key}[{number - 1}].content[{index}]" for index in range(len(content))]
    blocks = [_readable_block(number, block, key, place) for block, place in zip(content, places, strict=True)]
    return {**item, "content": blocks}


def _readable_block(number: int, block: object, key: str, place: str) -> object:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or not isinstance(kind, str) or kind in _WORDS:
        return block
    if kind not in _FILES:
        raise unsupported(f"{place} is of the type {kind!r}", param=place)
    plain = {name: value for name, value in block.items() if name not in _CITING}
    message = _read(number, {"role": Role.USER.value, "content": [plain]}, key)
    if message is None or not all(_is_readable(part) for part in message.parts):
        raise RequestProblem(
            f"{place} cannot be read; send its bytes in base64, as a data URL where the API takes a URL, "
            "or an http address",
            param=place,
        )
    return plain


def _is_readable(part: object) -> bool:
    if not isinstance(part, Image | Document):
        return False
    try:
        return bool(part.url) or bool(base64.b64decode(part.data, validate=True))
    except ValueError:
        # No base64, or no ASCII.
        return False
