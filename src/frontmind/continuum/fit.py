"""Which turns leave the window when it no longer fits into the model's context. Pure.

Leaving a turn out rewrites the start of the history and so costs the whole prompt cache; therefore it
happens rarely and in a large step, to half of the room that the rest of the window leaves, never one turn at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frontmind.continuum.history import settled
from frontmind.values.message import Message
from frontmind.values.records import Turn, TurnState
from frontmind.window.blocks import message_text

_CHARACTERS: Final = 3
"""About so many characters are a token."""


def window_start_to_fit(turns: Sequence[Turn], *, start: int, tokens: int, room: int) -> int | None:
    """The number of the first turn to keep so that the turns fill about half of the room that they have, at most.

    Args:
        turns: all turns by number.
        start: the first turn in the window now.
        tokens: tokens of the window as it is.
        room: the most tokens that the window may have.

    Returns:
        A number larger than ``start``, or None when there is no answered turn left to leave out.
    """
    sizes = {
        turn.number: sum(len(message_text(message)) for message in _messages(turn))
        for turn in map(settled, turns)
        if turn.state is TurnState.DONE and turn.number >= start
    }
    if not sizes:
        return None
    # Characters stand for tokens here; the caller counts again and comes back when it was not enough.
    others = max(0, tokens - sum(sizes.values()) // _CHARACTERS)
    surplus = tokens - others - max(0, room - others) // 2
    characters_to_drop = surplus * _CHARACTERS
    dropped = 0
    for number, size in sizes.items():
        dropped += size
        if dropped >= characters_to_drop:
            return number + 1
    return max(sizes) + 1


def _messages(turn: Turn) -> list[Message]:
    steps = [message for step in turn.steps for message in (step.said, step.results)]
    return [message for message in (turn.user, *steps, turn.reply) if message is not None]
