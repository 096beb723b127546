"""Reads the blocks of a Gemini request, in the spelling of the API or in that of its Python client."""

from __future__ import annotations

import re
from typing import Any

from frontmind.providers.reading_blocks import Blocks, JsonDict, ReadMessages, Spot, require_list, require_object
from frontmind.window.layout import THINKING, TOOL_CALL, TOOL_RESULT, Area

_CAPITAL = re.compile(r"_([a-z])")
# Below these keys names are the application's own.
_OPAQUE = frozenset({"args", "response", "parameters", "parametersJsonSchema", "properties"})


def read_gemini(body: JsonDict, read: ReadMessages | None = None) -> Blocks:
    """The blocks of a generateContent request, or of a cached content.

    Args:
        read: taken for the other formats' sake: here each message is spelled anew before it is read.

    Raises:
        UsageError: something in it has not the shape that it should have.
    """
    body = camel(body)
    settings = body.get("config")
    if isinstance(settings, dict):
        body = settings | body
    blocks = Blocks(read)
    for index, item in enumerate(require_list(body.get("tools") or [], "tools")):
        tool = require_object(item, f"tools[{index}]")
        declared = tool.get("functionDeclarations")
        for number, function in enumerate(declared if isinstance(declared, list) else []):
            place = f"tools[{index}].functionDeclarations[{number}]"
            named = require_object(function, place)
            blocks.tool(place, named, str(named.get("name", "")))
        rest = {key: value for key, value in tool.items() if key != "functionDeclarations"}
        if rest:
            blocks.tool(f"tools[{index}]", rest, next(iter(rest)))
    if body.get("systemInstruction"):
        _content(blocks, Spot(Area.SYSTEM, "systemInstruction", "system"), body["systemInstruction"])
    contents = body.get("contents")
    if not isinstance(contents, list):
        contents = [contents]
    by_name = _is_paired_by_name(contents)
    for index, content in enumerate(contents):
        value = {"parts": [{"text": content}]} if isinstance(content, str) else content
        message = require_object(value, f"contents[{index}]")
        role = "assistant" if message.get("role") == "model" else "user"
        _content(blocks, Spot(Area.MESSAGES, f"contents[{index}]", role, index), message, by_name=by_name)
    return blocks


def _is_paired_by_name(contents: list[Any]) -> bool:
    """Whether a call or a result has no id, so that only the name says which belong together."""
    listed = [content.get("parts") for content in contents if isinstance(content, dict)]
    parts = [part for found in listed if isinstance(found, list) for part in found if isinstance(part, dict)]
    functions = [part.get("functionCall") or part.get("functionResponse") for part in parts]
    return any(isinstance(function, dict) and not function.get("id") for function in functions)


def camel(value: Any) -> Any:
    """The value with the API's own spelling of its keys."""
    if isinstance(value, list):
        return [camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    spelled = {_CAPITAL.sub(lambda found: found[1].upper(), key): (key, item) for key, item in value.items()}
    return {name: item if name in _OPAQUE else camel(item) for name, (_, item) in spelled.items() if item is not None}


def _content(blocks: Blocks, spot: Spot, content: Any, *, by_name: bool = False) -> None:
    if isinstance(content, str):
        content = {"parts": [{"text": content}]}
    parts = require_object(content, spot.place).get("parts")
    for index, entry in enumerate(require_list(parts, f"{spot.place}.parts")):
        here = spot.at(f".parts[{index}]")
        part = {"text": entry} if isinstance(entry, str) else require_object(entry, here.place)
        if part.get("thought") is True:
            blocks.other(here, THINKING, part)
        elif isinstance(part.get("text"), str):
            extra = {key: value for key, value in part.items() if key not in ("text", "thought")}
            blocks.text(here, part["text"], extra=extra)
        elif "functionCall" in part or "functionResponse" in part:
            kind, key = (TOOL_CALL, "functionCall") if "functionCall" in part else (TOOL_RESULT, "functionResponse")
            value = require_object(part[key], f"{here.place}.{key}")
            name = str(value.get("name", ""))
            call_id = name if by_name else str(value.get("id") or name)
            blocks.other(here, kind, part, call_id=call_id, name=name)
        else:
            blocks.other(here, next(iter(part), "unknown"), part)
