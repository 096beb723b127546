"""The tool calls of a reply, made such that every provider takes them back in the history. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from frontmind.values.message import Message
from frontmind.values.parts import Part, ToolCall
from frontmind.window.canonical import Json, canonical_text, parse_json

_NOT_IN_A_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME: Final = 64
_UNREADABLE: Final = "unreadable"
"""The key under which arguments that are no JSON object stand in the history."""


def tool_calls(message: Message) -> tuple[ToolCall, ...]:
    """The calls of a message, in their order."""
    return tuple(part for part in message.parts if isinstance(part, ToolCall))


def numbered(message: Message, is_taken: Callable[[str], bool]) -> Message:
    """The message with an id of its own for each call: servers repeat them, or give none.

    Args:
        is_taken: whether an earlier call of the conversation has this id.
    """
    used: set[str] = set()
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            asked = part.id or "call"
            name, copy = asked, 1
            while name in used or is_taken(name) or not name:
                copy += 1
                name = f"{asked}_{copy}"
            used.add(name)
            parts.append(part if name == part.id else replace(part, id=name))
        else:
            parts.append(part)
    return Message(message.role, tuple(parts))


def acceptable(message: Message) -> Message:
    """The message as it stands in the history: names that a provider takes, arguments that are a JSON object."""
    return Message(message.role, tuple(_acceptable(p) if isinstance(p, ToolCall) else p for p in message.parts))


def _acceptable(call: ToolCall) -> ToolCall:
    name = _NOT_IN_A_NAME.sub("_", call.name)[:_LONGEST_NAME] or "_"
    arguments = call.arguments
    # What is an object with this key already is wrapped too, so that what was wrapped can be told.
    if _object(arguments) is None or _wrapped(arguments) is not None:
        arguments = canonical_text({_UNREADABLE: arguments} if arguments.strip() else {})
    return call if (name, arguments) == (call.name, call.arguments) else replace(call, name=name, arguments=arguments)


def to_carry_out(said: Message) -> tuple[ToolCall, ...]:
    """The calls of an `acceptable` message as they are to be carried out, in their order: under the names that stand in
    the history, with the arguments that the model wrote, readable or not.
    """
    return tuple(_as_written(call) for call in tool_calls(said))


def _as_written(call: ToolCall) -> ToolCall:
    written = _wrapped(call.arguments)
    return call if written is None else replace(call, arguments=written)


def _wrapped(arguments: str) -> str | None:
    """What stands in the arguments under the key for those that are no object, and beside nothing else."""
    read = _object(arguments) or {}
    written = read.get(_UNREADABLE)
    return written if len(read) == 1 and isinstance(written, str) else None


def _object(arguments: str) -> dict[str, Json] | None:
    """The arguments, where they are a JSON object."""
    try:
        read = parse_json(arguments)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None
