"""From stored turns to the messages that are sent. Pure.

A message that was accepted but never answered (the process died, the network was down) is not lost: its
text stands in front of the next message, in the same user message, and stays there in the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from frontmind.values.message import Message, Role
from frontmind.values.parts import Part
from frontmind.values.records import Turn, TurnState


@dataclass(frozen=True, slots=True)
class Continuum:
    """A conversation as the next window sees it.

    Attributes:
        history: complete exchanges, user and assistant in turns.
        unanswered: the parts of the messages that wait for a reply, in order.
        previous_message_at: when the newest message was stored; None when there is none.
        last_done: the newest answered turn.
    """

    history: tuple[Message, ...]
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


def read_turns(turns: Sequence[Turn], *, window_start: int = 1) -> Continuum:
    """The continuum of these turns (by number), of which those before ``window_start`` are not sent."""
    history: list[Message] = []
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
            history += [Message(Role.USER, tuple(waiting)), turn.reply]
            waiting.clear()
            last_done = turn
    return Continuum(tuple(history), tuple(waiting), previous_message_at, last_done)
