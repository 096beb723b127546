"""Reads the blocks of a Chat Completions request, and of a Responses request."""

from __future__ import annotations

from typing import Any, Final

from frontmind.providers.reading_blocks import (
    Blocks,
    JsonDict,
    ReadMessages,
    Spot,
    marker_of,
    own_marker,
    require_list,
    require_object,
)
from frontmind.window.layout import TEXT, THINKING, TOOL_CALL, TOOL_RESULT, Area

_OPERATOR: Final = frozenset({"system", "developer"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_REASONING: Final = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
_KNOWN: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "cache_control", *_REASONING})


def read_chat(body: JsonDict, read: ReadMessages | None = None) -> Blocks:
    """The blocks of a Chat Completions request, of OpenAI or of another server that speaks it.

    Args:
        read: the messages that were read before.

    Raises:
        UsageError: something in it has not the shape that it should have.
    """
    blocks = Blocks(read)
    _tools(blocks, body)
    leading = True
    for index, item in enumerate(require_list(body.get("messages"), "messages")):
        message = require_object(item, f"messages[{index}]")
        role = str(message.get("role", ""))
        leading = leading and role in _OPERATOR
        area = Area.SYSTEM if leading else Area.MESSAGES
        spot = Spot(area, f"messages[{index}]", role, -1 if leading else index)
        with blocks.message(message, spot) as is_new:
            if is_new:
                _message(blocks, spot, message)
    return blocks


def _message(blocks: Blocks, spot: Spot, message: JsonDict) -> None:
    before = len(blocks.items)
    for key in _REASONING:
        if message.get(key):
            blocks.other(spot.at(f".{key}"), THINKING, {key: message[key]})
    if spot.role == "tool":
        _tool_message(blocks, spot, message)
    else:
        _content(blocks, spot, message.get("content"), silent=bool(message.get("tool_calls")))
    for number, entry in enumerate(require_list(message.get("tool_calls") or [], f"{spot.place}.tool_calls")):
        call = require_object(entry, f"{spot.place}.tool_calls[{number}]")
        blocks.other(
            spot.at(f".tool_calls[{number}]"), TOOL_CALL, call, call_id=str(call.get("id", "")), name=_name(call)
        )
    extra = {key: value for key, value in message.items() if key not in _KNOWN and value}
    if extra:
        blocks.other(spot, "fields", extra)
    marker = own_marker(message)
    if marker is not None and len(blocks.items) > before:
        blocks.mark(marker)


def _tools(blocks: Blocks, body: JsonDict) -> None:
    for index, item in enumerate(require_list(body.get("tools") or [], "tools")):
        tool = require_object(item, f"tools[{index}]")
        blocks.tool(f"tools[{index}]", tool, _name(tool))


def _name(item: JsonDict) -> str:
    function = item.get("function")
    named = function if isinstance(function, dict) else item
    return str(named.get("name") or item.get("type") or "")


def _tool_message(blocks: Blocks, spot: Spot, message: JsonDict) -> None:
    value = {"tool_call_id": message.get("tool_call_id"), "content": message.get("content")}
    blocks.other(spot, TOOL_RESULT, value, call_id=str(message.get("tool_call_id", "")))


def _content(blocks: Blocks, spot: Spot, content: Any, *, silent: bool = False) -> None:
    if isinstance(content, str):
        # Beside tool calls an empty text stands for none.
        if content or not silent:
            blocks.text(spot.at(".content[0]"), content)
        return
    if content is None:
        return
    for index, entry in enumerate(require_list(content, f"{spot.place}.content")):
        here = spot.at(f".content[{index}]")
        item = require_object(entry, here.place)
        kind = str(item.get("type", ""))
        if kind in _TEXTS and isinstance(item.get("text"), str):
            blocks.text(here, item["text"], marker_of(item))
        else:
            blocks.other(here, THINKING if kind == "thinking" else _kind(kind), item)


def _kind(kind: str) -> str:
    short = kind.removeprefix("input_").removesuffix("_url")
    return short if short and short != TEXT else "unknown"


def read_responses(body: JsonDict, read: ReadMessages | None = None) -> Blocks:
    """The blocks of a Responses request.

    Args:
        read: the messages that were read before.

    Raises:
        UsageError: something in it has not the shape that it should have.
    """
    blocks = Blocks(read)
    _tools(blocks, body)
    if body.get("instructions"):
        _content(blocks, Spot(Area.SYSTEM, "instructions", "system"), body["instructions"])
    given = body.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    leading = True
    for index, entry in enumerate(require_list(given, "input")):
        item = require_object(entry, f"input[{index}]")
        role = str(item.get("role", ""))
        leading = leading and role in _OPERATOR
        area = Area.SYSTEM if leading else Area.MESSAGES
        spot = Spot(area, f"input[{index}]", role, -1 if leading else index)
        with blocks.message(item, spot) as is_new:
            if is_new:
                _item(blocks, spot, item)
    return blocks


def _item(blocks: Blocks, spot: Spot, item: JsonDict) -> None:
    kind = str(item.get("type") or "message")
    # The id of an item is the server's and no part of what the model reads, unless it stands for the item.
    dropped = () if kind == "item_reference" else ("id", "status")
    value = {key: content for key, content in item.items() if key not in dropped}
    if kind == "message":
        _content(blocks, spot, item.get("content"))
        return
    role = "tool" if kind.endswith("_output") else "assistant"
    here = Spot(Area.MESSAGES, spot.place, role, spot.message)
    if kind in ("function_call", "custom_tool_call"):
        blocks.other(here, TOOL_CALL, value, call_id=str(item.get("call_id", "")), name=str(item.get("name", "")))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        blocks.other(here, TOOL_RESULT, value, call_id=str(item.get("call_id", "")))
    else:
        blocks.other(here, THINKING if kind == "reasoning" else kind, value)
