"""The history of one conversation from window to window: what was checked and encoded once is not again. Reads nothing
from anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from frontmind.continuum.history import Continuum, settled
from frontmind.values.records import Turn, TurnState
from frontmind.window.history import History

_Exchange: TypeAlias = tuple[int, ...]
"""The ids of the messages that waited in front of a turn, and of the turn. What is answered in the store never changes,
so they stand for what the exchange says."""


class KnownHistory:
    """Remembers the newest history that was made, and what of it will always be so."""

    def __init__(self) -> None:
        self._reader: tuple[str | None, str] = (None, "")
        self._exchanges: list[_Exchange] = []
        self._ends: list[int] = []
        self._history = History()

    def of(self, continuum: Continuum, turns: Sequence[Turn], *, model: str | None, summary: str) -> History:
        """The history of the continuum, which shares with the one before what both begin with.

        Args:
            turns: what the continuum was read from, by number.
            model: the full name of the model that will read it; reasoning is bound to it.
            summary: what stands in front of the first exchange.
        """
        if not continuum.turns:
            return History(continuum.history)
        exchanges = _answered(continuum, turns)
        common = 0
        if self._reader == (model, summary):
            common = _common(self._exchanges, exchanges)
        if common:
            end = self._ends[common - 1]
            history = self._history if end == len(self._history) else self._history.until(end)
            if end < len(continuum.history):
                history = history.extended(*continuum.history[end:])
        else:
            history = History(continuum.history)
        self._reader, self._exchanges, self._history = (model, summary), exchanges, history
        self._ends = self._ends[:common]
        for turn in continuum.turns[common:]:
            self._ends.append((self._ends[-1] if self._ends else 0) + 2 + 2 * len(turn.steps))
        return history


def _answered(continuum: Continuum, turns: Sequence[Turn]) -> list[_Exchange]:
    """The exchanges that begin the continuum, up to the first whose turn is not answered in the store."""
    first = continuum.turns[0].number
    found: list[_Exchange] = []
    waiting: _Exchange = ()
    for turn in turns:
        if settled(turn) is not turn:
            # Whoever is at work on it may still bring it to another end than this reading of it has.
            break
        if turn.state is TurnState.OPEN:
            waiting = (*waiting, turn.id)
        elif turn.state is TurnState.DONE:
            if turn.number >= first:
                found.append((*waiting, turn.id))
            waiting = ()
    return found


def _common(one: Sequence[_Exchange], other: Sequence[_Exchange]) -> int:
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    return next(number for number in range(shorter) if one[number] != other[number])
