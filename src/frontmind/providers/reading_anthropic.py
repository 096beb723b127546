"""Reads the blocks of an Anthropic Messages request, and of a Bedrock Converse request."""

from __future__ import annotations

from typing import Any, Final

from frontmind.providers.reading_blocks import (
    CACHE_POINT,
    Blocks,
    JsonDict,
    ReadMessages,
    Spot,
    marker_of,
    require_list,
    require_object,
)
from frontmind.window.layout import THINKING, TOOL_CALL, TOOL_RESULT, Area, Marker

_THINKING = frozenset({"thinking", "redacted_thinking"})
# Anthropic, prompt caching: searching the web is switched on in the system prompt, whose cache alone it breaks.
_WEB_SEARCH: Final = "web_search_"


def read_anthropic(body: JsonDict, read: ReadMessages | None = None) -> Blocks:
    """The blocks of a Messages request.

    Args:
        read: the messages that were read before.

    Raises:
        UsageError: something in it has not the shape that it should have.
    """
    blocks = Blocks(read)
    searches: list[tuple[str, JsonDict]] = []
    for index, item in enumerate(require_list(body.get("tools") or [], "tools")):
        tool = require_object(item, f"tools[{index}]")
        if str(tool.get("type", "")).startswith(_WEB_SEARCH):
            searches.append((f"tools[{index}]", tool))
        else:
            blocks.tool(f"tools[{index}]", tool, _tool_name(tool))
    for place, tool in searches:
        blocks.tool(place, tool, _tool_name(tool), Area.SYSTEM)
    system = Spot(Area.SYSTEM, "system", "system")
    with blocks.message(body.get("system"), system) as is_new:
        if is_new:
            _content(blocks, system, body.get("system") or [], "")
    for index, item in enumerate(require_list(body.get("messages"), "messages")):
        message = require_object(item, f"messages[{index}]")
        role = str(message.get("role", ""))
        spot = Spot(Area.MESSAGES, f"messages[{index}]", role, index, cleared=bool(message.get("clear_at")))
        with blocks.message(message, spot) as is_new:
            if is_new:
                _content(blocks, spot, message.get("content"), ".content")
    return blocks


def _tool_name(tool: JsonDict) -> str:
    return str(tool.get("name") or tool.get("type") or "")


def _content(blocks: Blocks, spot: Spot, content: Any, step: str) -> None:
    if isinstance(content, str):
        blocks.text(spot.at(f"{step}[0]"), content, extra=_scope(spot))
        return
    for index, item in enumerate(require_list(content, f"{spot.place}{step}")):
        _block(blocks, spot.at(f"{step}[{index}]"), require_object(item, f"{spot.place}{step}[{index}]"))


def _scope(spot: Spot) -> JsonDict:
    return {"clear_at": "next_user_message"} if spot.cleared else {}


def _block(blocks: Blocks, spot: Spot, item: JsonDict) -> None:
    kind = str(item.get("type", ""))
    if kind == "text" and isinstance(item.get("text"), str):
        extra = {key: value for key, value in item.items() if key not in ("type", "text", "cache_control") and value}
        blocks.text(spot, item["text"], marker_of(item), extra | _scope(spot))
    elif kind == "tool_result":
        blocks.other(spot, TOOL_RESULT, item, call_id=str(item.get("tool_use_id", "")))
    elif kind == "tool_use":
        blocks.other(spot, TOOL_CALL, item, call_id=str(item.get("id", "")), name=str(item.get("name", "")))
    else:
        blocks.other(spot, THINKING if kind in _THINKING else kind or "unknown", item)


def read_converse(body: JsonDict, read: ReadMessages | None = None) -> Blocks:
    """The blocks of a Converse request.

    Args:
        read: the messages that were read before.

    Raises:
        UsageError: something in it has not the shape that it should have.
    """
    blocks = Blocks(read)
    tools = require_object(body.get("toolConfig") or {}, "toolConfig").get("tools") or []
    for index, item in enumerate(require_list(tools, "toolConfig.tools")):
        place = f"toolConfig.tools[{index}]"
        tool = require_object(item, place)
        if CACHE_POINT in tool:
            blocks.mark(_cache_point(tool))
        else:
            spec = tool.get("toolSpec")
            blocks.tool(place, tool, str(spec.get("name", "")) if isinstance(spec, dict) else next(iter(tool), ""))
    _converse_content(blocks, Spot(Area.SYSTEM, "system", "system"), body.get("system") or [])
    for index, item in enumerate(require_list(body.get("messages"), "messages")):
        message = require_object(item, f"messages[{index}]")
        spot = Spot(Area.MESSAGES, f"messages[{index}].content", str(message.get("role", "")), index)
        _converse_message(blocks, spot, message)
    return blocks


def _converse_message(blocks: Blocks, spot: Spot, message: JsonDict) -> None:
    content = message.get("content")
    if isinstance(content, list) and content and isinstance(content[0], dict) and CACHE_POINT in content[0]:
        # It closes the message in front, which is known without it.
        _converse_content(blocks, spot, content)
        return
    with blocks.message(message, spot) as is_new:
        if is_new:
            _converse_content(blocks, spot, content)


def _cache_point(item: JsonDict) -> Marker:
    point = item[CACHE_POINT]
    return Marker(CACHE_POINT, str((isinstance(point, dict) and point.get("ttl")) or "5m"))


def _converse_content(blocks: Blocks, spot: Spot, content: Any) -> None:
    for index, entry in enumerate(require_list(content, spot.place)):
        here = spot.at(f"[{index}]")
        item = require_object(entry, here.place)
        if CACHE_POINT in item:
            blocks.mark(_cache_point(item))
        elif isinstance(item.get("text"), str):
            blocks.text(here, item["text"])
        elif "toolUse" in item or "toolResult" in item:
            kind, key = (TOOL_CALL, "toolUse") if "toolUse" in item else (TOOL_RESULT, "toolResult")
            value = require_object(item[key], f"{here.place}.{key}")
            blocks.other(
                here, kind, item, call_id=str(value.get("toolUseId", "")), name=str(value.get("name", "") or "")
            )
        else:
            blocks.other(here, THINKING if "reasoningContent" in item else next(iter(item), "unknown"), item)
