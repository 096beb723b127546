"""Makes a list of messages from anywhere into a history that can be sent, and says what it changed.

Nothing is lost but what is empty: texts are moved, never shortened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, Text, ToolCall, ToolResult, is_blank

OPENING_PLACEHOLDER = "(The conversation begins with the assistant.)"

_Numbered: TypeAlias = tuple[int, Message]
_Place: TypeAlias = tuple[int, int]
"""The number of a message, and the index of a part in it."""


@dataclass(frozen=True, slots=True)
class Normalised:
    """A valid list of messages, and one line for each thing that had to be changed."""

    messages: tuple[Message, ...]
    changes: tuple[str, ...]


def normalise(messages: Sequence[Message], *, first: int = 1) -> Normalised:
    """Roles alternate and begin with the user; no empty text; tool calls and results stand in pairs of one id each.

    The result may end with either role.

    Args:
        first: the number that the changes give to the first message.
    """
    changes: list[str] = []
    kept = _merged(_paired(_without_blank(enumerate(messages, start=first), changes), changes), changes)
    if kept and kept[0].role is Role.ASSISTANT:
        changes.append("it begins with the assistant: a user message that says so was put in front")
        kept.insert(0, Message(Role.USER, (Text(OPENING_PLACEHOLDER),)))
    return Normalised(tuple(kept), tuple(changes))


def split_at_turn(
    messages: Sequence[Message], new: Message | None = None
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Divide normalised messages into history and current turn.

    The turn begins with the last user message that carries no tool result, when no plain answer follows it;
    ``new`` joins it, or is the turn when the messages end with the assistant. Without either, the turn is empty.
    """
    kept = list(messages)
    if new is not None:
        if kept and kept[-1].role is Role.USER:
            kept[-1] = Message(Role.USER, (*kept[-1].parts, *new.parts))
        else:
            kept.append(new)
    if not kept or kept[-1].role is Role.ASSISTANT:
        return tuple(kept), ()
    start = max(
        index
        for index, message in enumerate(kept)
        if message.role is Role.USER and not any(isinstance(part, ToolResult) for part in message.parts)
    )
    return tuple(kept[:start]), tuple(kept[start:])


def _without_blank(messages: Iterable[_Numbered], changes: list[str]) -> list[_Numbered]:
    kept = []
    for number, message in messages:
        parts = tuple(part for part in message.parts if not (isinstance(part, Text) and is_blank(part)))
        if all(is_blank(part) for part in parts):
            changes.append(f"message {number} ({message.role.value}) is empty: left out")
            continue
        if len(parts) < len(message.parts):
            changes.append(f"message {number} ({message.role.value}) has empty texts: left out")
        kept.append((number, Message(message.role, parts)))
    return kept


def _merged(messages: Sequence[Message], changes: list[str]) -> list[Message]:
    kept: list[Message] = []
    merged = {Role.USER: 0, Role.ASSISTANT: 0}
    for message in messages:
        if kept and kept[-1].role is message.role:
            kept[-1] = Message(message.role, _results_first((*kept[-1].parts, *message.parts)))
            merged[message.role] += 1
        else:
            kept.append(message)
    for role, count in merged.items():
        if count:
            changes.append(f"{count} message(s) of the {role.value} followed another of the same role: joined to it")
    return kept


def _results_first(parts: Iterable[Part]) -> tuple[Part, ...]:
    """In a user message: providers refuse text between a call and its result."""
    return tuple(sorted(parts, key=lambda part: not isinstance(part, ToolResult)))


def _paired(messages: Sequence[_Numbered], changes: list[str]) -> list[Message]:
    """A call counts as answered when its result stands in the user messages right after it."""
    ids = _pair_ids(_answered_calls(messages))
    kept = []
    for number, message in messages:
        parts: list[Part] = []
        for index, part in enumerate(message.parts):
            if not isinstance(part, ToolCall | ToolResult):
                parts.append(part)
                continue
            if (number, index) in ids:
                named = _named(part, ids[number, index])
                if isinstance(part, ToolCall) and named != part:
                    changes.append(f"message {number} has a tool call id that was used before: renamed")
                parts.append(named)
                continue
            parts.append(Text(_as_text(part)))
            what = "call without its result" if isinstance(part, ToolCall) else "result without its call"
            changes.append(f"message {number} has a tool {what}: kept as text")
        ordered = _results_first(parts)
        if ordered != tuple(parts):
            changes.append(f"message {number} has something in front of a tool result: put behind it")
        kept.append(Message(message.role, ordered))
    return kept


def _answered_calls(messages: Sequence[_Numbered]) -> list[tuple[str, _Place, _Place]]:
    """The id and the places of each call and its result; of calls with one id the first is answered first."""
    answered: list[tuple[str, _Place, _Place]] = []
    waiting: dict[str, deque[_Place]] = {}
    previous: Role | None = None
    for number, message in messages:
        if message.role is Role.ASSISTANT and previous is Role.USER:
            waiting.clear()
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall) and message.role is Role.ASSISTANT:
                waiting.setdefault(part.id, deque()).append((number, index))
            elif isinstance(part, ToolResult) and message.role is Role.USER and waiting.get(part.call_id):
                answered.append((part.call_id, waiting[part.call_id].popleft(), (number, index)))
        previous = message.role
    return answered


def _pair_ids(answered: Sequence[tuple[str, _Place, _Place]]) -> dict[_Place, str]:
    """The id that the call and the result at each place get: one that no call in front of it has.

    It depends on nothing behind it, so that a conversation that grows keeps the ids that it had.
    """
    ids: dict[_Place, str] = {}
    used: set[str] = set()
    for asked, call, result in sorted(answered, key=lambda pair: pair[1]):
        name, copy = asked, 1
        while name in used:
            copy += 1
            name = f"{asked}_{copy}"
        used.add(name)
        ids[call] = ids[result] = name
    return ids


def _named(part: ToolCall | ToolResult, name: str) -> ToolCall | ToolResult:
    return replace(part, id=name) if isinstance(part, ToolCall) else replace(part, call_id=name)


def _as_text(part: ToolCall | ToolResult) -> str:
    if isinstance(part, ToolCall):
        return f"(call of the tool {part.name} with {part.arguments})"
    return f"(result of a tool: {part.text})"
