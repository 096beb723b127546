"""From stored turns to the messages that are sent. Pure.

A message that was accepted but never answered (the process died, the network was down) is not lost: its
text stands in front of the next message, in the same user message, and stays there in the history. What a framing
keeps beside a message stands with it as a `Notice`; whether it is sent is the framing's matter. What stands for the
turns that are no longer sent is a text in front of the first message that is.

A turn whose process died after its tools had begun cannot simply be asked again: they may have taken effect. It is
closed as it stands: a call without a result gets one that says so, and the reply says that it was interrupted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from frontmind.providers.profiles.profile import Profile
from frontmind.values.message import Message, Role, assistant
from frontmind.values.parts import (
    Document,
    Image,
    Part,
    ProviderBlock,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Voice,
    part_text,
)
from frontmind.values.records import Turn, TurnState


@dataclass(frozen=True, slots=True)
class Continuum:
    """A conversation as the next window sees it.

    Attributes:
        history: complete exchanges, user and assistant in turns, with the tool calls and results of each.
        turns: the turn of each exchange.
        unanswered: the parts of the messages that wait for a reply, in order.
        previous_message_at: when the newest message was stored; None when there is none.
        last_done: the newest answered turn.
        opening: what stands in front of the unanswered parts, because no answered turn is sent that it could stand in
            front of.
    """

    history: tuple[Message, ...]
    turns: tuple[Turn, ...]
    unanswered: tuple[Part, ...]
    previous_message_at: datetime | None
    last_done: Turn | None
    opening: tuple[Part, ...] = ()


INTERRUPTED: Final = "(I was interrupted here, before I could answer.)"
"""Stands for the reply of a turn that ended after its tools had begun and before the model said anything more."""

LOST: Final = "No result: the turn ended while this ran. It is not known whether it took effect; look before repeating."

NOT_GIVEN: Final = (
    "No result: the program that has this tool never gave one. It is not known whether it took effect; look before "
    "repeating."
)
"""Stands for the result of a tool that was not the assistant's own to run."""

NOT_RUN: Final = "Not run: the turn ended while it waited for another tool. Call it again where it is still needed."


def settled(turn: Turn) -> Turn:
    """The turn as it stands in the history: one that broke off behind a tool call is closed, any other as it is."""
    if turn.state is not TurnState.OPEN or not turn.steps:
        return turn
    last = turn.steps[-1]
    names = turn.sent.caller_tools if turn.sent is not None else ()
    results = last.results or Message(Role.USER, never_given(last.said, names))
    return replace(
        turn,
        state=TurnState.DONE,
        steps=(*turn.steps[:-1], replace(last, results=results)),
        reply=assistant(INTERRUPTED),
        # Nobody knows when it ended; the same answer in every process.
        answered_at=turn.asked_at,
        request=last.request,
        model=last.model,
        usage=last.usage,
        interrupted=True,
    )


def unanswered(said: Message, why: str) -> tuple[ToolResult, ...]:
    """A result for each call of the message that says why there is none."""
    return tuple(ToolResult(part.id, why, is_error=True) for part in said.parts if isinstance(part, ToolCall))


def never_given(said: Message, caller_tools: Collection[str]) -> tuple[ToolResult, ...]:
    """What stands for the results of a step that ended without any.

    Args:
        caller_tools: the names of the tools that the program that asked carries out.
    """
    calls = [part for part in said.parts if isinstance(part, ToolCall)]
    if not any(call.name in caller_tools for call in calls):
        return unanswered(said, LOST)
    # As long as a step waits for the program, nothing of it is run here.
    return tuple(
        ToolResult(call.id, NOT_GIVEN if call.name in caller_tools else NOT_RUN, is_error=True) for call in calls
    )


def newest_message_at(turns: Sequence[Turn]) -> datetime | None:
    """When the newest message of these turns (by number) was stored; None when there is none."""
    last = next((turn for turn in reversed(turns) if turn.state is not TurnState.REPLACED), None)
    if last is None:
        return None
    newest = settled(last)
    return newest.answered_at or newest.asked_at


def next_segment(turns: Sequence[Turn], now: datetime, *, pause: timedelta) -> int:
    """The number of the segment that a turn behind these (by number) belongs to when it begins now."""
    segment = max((turn.segment for turn in turns if turn.state is not TurnState.REPLACED), default=0)
    if not segment:
        return 1
    newest = last_said(turns, now)
    return segment + (1 if newest is not None and now - newest >= pause else 0)


def last_said(turns: Sequence[Turn], now: datetime) -> datetime | None:
    """When something was said last in these turns. What lies after now does not count: a clock that was wrong once
    would hide every pause until then.
    """
    said = (turn for turn in turns if turn.state is not TurnState.REPLACED)
    moments = (moment for turn in said for moment in (turn.asked_at, turn.answered_at))
    return max((moment for moment in moments if moment is not None and moment <= now), default=None)


def unanswered_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The turns (by number) whose messages wait for a reply.

    An open turn in front of an answered one is not among them: its message went along and is part of the history.
    """
    waiting: list[Turn] = []
    for turn in map(settled, turns):
        if turn.state is TurnState.DONE:
            waiting.clear()
        elif turn.state is TurnState.OPEN:
            waiting.append(turn)
    return waiting


def read_turns(
    turns: Sequence[Turn],
    *,
    window_start: int = 1,
    summary: str = "",
    model: str | None = None,
    profile: Profile | None = None,
) -> Continuum:
    """The continuum of these turns (by number).

    Args:
        window_start: the number of the first turn that is sent.
        summary: what stands for those in front of it; empty for nothing.
        model: the full name of the model that will read it; reasoning of another one is bound to nothing.
        profile: what is known of that model: what it cannot take, an earlier one may have, is said in a line instead.
    """
    history: list[Message] = []
    answered: list[Turn] = []
    waiting: list[Part] = []
    opening: tuple[Part, ...] = (Text(summary),) if summary else ()
    last_done: Turn | None = None
    for turn in map(settled, turns):
        if not turn.state.counts:
            continue
        if turn.number < window_start and turn.state is TurnState.DONE:
            waiting.clear()
            last_done = turn
            continue
        waiting.extend(turn.user.parts)
        if turn.state is TurnState.DONE and turn.reply is not None:
            history.append(Message(Role.USER, _noticed((*opening, *waiting), turn)))
            for step in turn.steps:
                if step.results is not None:
                    history += [_bound(step.said, turn, model), step.results]
            history.append(_bound(turn.reply, turn, model))
            answered.append(turn)
            waiting.clear()
            opening = ()
            last_done = turn
    if profile is not None:
        history = [_taken(message, profile) for message in history]
        waiting = [_taken_part(part, profile) for part in waiting]
    return Continuum(tuple(history), tuple(answered), tuple(waiting), newest_message_at(turns), last_done, opening)


def _taken(message: Message, profile: Profile) -> Message:
    """The message without what this model cannot take: a conversation goes on after a change of models."""
    parts = tuple(_taken_part(part, profile) for part in message.parts)
    return (
        message
        if all(one is other for one, other in zip(parts, message.parts, strict=True))
        else (Message(message.role, parts))
    )


def _taken_part(part: Part, profile: Profile) -> Part:
    match part:
        case Image() | Document() if part.media_type not in profile.inputs:
            return Text(_not_taken(part))
        case ProviderBlock(wire, _, "") if wire != profile.wire:
            return Text(part_text(part))
        case ToolResult(attachments=[_, *_]):
            left_out = [item for item in part.attachments if item.media_type not in profile.inputs]
            if left_out:
                kept = tuple(item for item in part.attachments if item.media_type in profile.inputs)
                text = "\n".join([part.text, *map(_not_taken, left_out)])
                return replace(part, text=text, attachments=kept, wire="", data="")
    return part


def _not_taken(file: Image | Document) -> str:
    return f"({file.media_type}, left out: this model does not take it)"


def _noticed(said: Sequence[Part], turn: Turn) -> tuple[Part, ...]:
    notices = turn.sent.notices if turn.sent is not None else ()
    in_front = [notice for notice in notices if notice.voice is Voice.USER]
    behind = [notice for notice in notices if notice.voice is not Voice.USER]
    return (*in_front, *said, *behind)


def _bound(reply: Message, turn: Turn, model: str | None) -> Message:
    """The reply, its reasoning bound to what was in front of it when this model wrote it."""
    if not any(isinstance(part, Thinking) for part in reply.parts):
        return reply
    head = turn.sent.head if turn.sent is not None and turn.model == model else ""
    parts = (replace(part, head=head) if isinstance(part, Thinking) else part for part in reply.parts)
    return Message(reply.role, tuple(parts))
