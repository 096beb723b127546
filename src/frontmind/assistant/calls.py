"""The tool calls of a reply, made such that every provider takes them back in the history. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from frontmind.values.message import Message
from frontmind.values.parts import Part, ToolCall
from frontmind.window.canonical import canonical_text, parse_json

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
    try:
        readable = isinstance(parse_json(arguments), dict)
    except ValueError:
        readable = False
    if not readable:
        arguments = canonical_text({_UNREADABLE: arguments} if arguments.strip() else {})
    return call if (name, arguments) == (call.name, call.arguments) else replace(call, name=name, arguments=arguments)
