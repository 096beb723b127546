"""Where in a conversation a turn begins: at its end, in the place of an earlier turn, or wherever else who asks has it
from. Says which turns are then what was said; `begin_turn` of a store makes it true.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Protocol

from frontmind.errors import UsageError
from frontmind.values.records import Line, Turn, TurnState


class Place(Protocol):
    """Where a turn begins. Asked and told under the conversation's lock: nothing moves until the message is stored."""

    async def line(self, states: Mapping[int, TurnState]) -> Line:
        """What was said in front of the turn.

        Args:
            states: those of all turns of the conversation, by number.

        Raises:
            UsageError: there is no such place. Nothing is changed.
        """
        ...

    async def taken(self, turn: Turn) -> None:
        """The turn was begun there; what was imported stands right in front of it. Nobody has heard of it yet."""
        ...


@dataclass(frozen=True, slots=True)
class InPlaceOf:
    """The place of an earlier turn: that one and all behind it are replaced."""

    number: int

    async def line(self, states: Mapping[int, TurnState]) -> Line:
        """The turns in front of that one."""
        _require_turn(states, self.number)
        return Line([number for number, state in states.items() if number < self.number and state.counts])

    async def taken(self, turn: Turn) -> None:
        """Nothing is to be noted."""


def without_line_from(turns: Sequence[Turn], number: int) -> list[Turn]:
    """The turns (by number) as they would stand if the conversation went on in the place of this one.

    Raises:
        UsageError: there is no turn of that number.
    """
    _require_turn([turn.number for turn in turns], number)
    return [
        replace(turn, state=TurnState.REPLACED) if turn.number >= number and turn.state.counts else turn
        for turn in turns
    ]


def replaced_behind(turns: Sequence[Turn]) -> frozenset[int]:
    """The numbers of the turns (of turns by number) that were replaced behind the newest one that counts."""
    behind = takewhile(lambda turn: not turn.state.counts, reversed(turns))
    return frozenset(turn.number for turn in behind if turn.state is TurnState.REPLACED)


def _require_turn(numbers: Collection[int], number: int) -> None:
    if number not in numbers:
        raise UsageError(f"the conversation has no turn {number} to go on from; look at its turns again")
