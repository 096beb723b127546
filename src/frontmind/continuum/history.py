"""From stored turns to the messages that are sent. Pure.

A message that was accepted but never answered (the process died, the network was down) is not lost: its
text stands in front of the next message, in the same user message, and stays there in the history. What a framing
keeps beside a message stands with it as a `Notice`; whether it is sent is the framing's matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, Thinking, Voice
from frontmind.values.records import Turn, TurnState


@dataclass(frozen=True, slots=True)
class Continuum:
    """A conversation as the next window sees it.

    Attributes:
        history: complete exchanges, user and assistant in turns.
        turns: the turn of each exchange.
        unanswered: the parts of the messages that wait for a reply, in order.
        previous_message_at: when the newest message was stored; None when there is none.
        last_done: the newest answered turn.
    """

    history: tuple[Message, ...]
    turns: tuple[Turn, ...]
    unanswered: tuple[Part, ...]
    previous_message_at: datetime | None
    last_done: Turn | None


def unanswered_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The turns (by number) whose messages wait for a reply.

    An open turn in front of an answered one is not among them: its message went along and is part of the history.
    """
    waiting: list[Turn] = []
    for turn in turns:
        if turn.state is TurnState.DONE:
            waiting.clear()
        elif turn.state is TurnState.OPEN:
            waiting.append(turn)
    return waiting


def read_turns(turns: Sequence[Turn], *, window_start: int = 1, model: str | None = None) -> Continuum:
    """The continuum of these turns (by number).

    Args:
        window_start: the number of the first turn that is sent.
        model: the full name of the model that will read it; reasoning of another one is bound to nothing.
    """
    history: list[Message] = []
    answered: list[Turn] = []
    waiting: list[Part] = []
    last_done: Turn | None = None
    previous_message_at: datetime | None = None
    for turn in turns:
        previous_message_at = turn.answered_at or turn.asked_at
        if turn.state is TurnState.REFUSED:
            continue
        if turn.number < window_start and turn.state is TurnState.DONE:
            waiting.clear()
            last_done = turn
            continue
        waiting.extend(turn.user.parts)
        if turn.state is TurnState.DONE and turn.reply is not None:
            history += [Message(Role.USER, _noticed(waiting, turn)), _bound(turn.reply, turn, model)]
            answered.append(turn)
            waiting.clear()
            last_done = turn
    return Continuum(tuple(history), tuple(answered), tuple(waiting), previous_message_at, last_done)


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
