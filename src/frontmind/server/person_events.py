"""What a person's open pages are told of: reminders, notices, and that something has changed. Knows nothing of HTTP."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, TypeAlias

_LONGEST_QUEUE: Final = 200

_KEPT: Final = 100
"""How many events that are told once are kept of each person, for one whose line was dead when they were told."""


class Thing(StrEnum):
    """What of a person's can change."""

    REMINDERS = "reminders"
    MEMORIES = "memories"
    DOCUMENTS = "documents"
    SETTINGS = "settings"
    CONVERSATIONS = "conversations"


@dataclass(frozen=True, slots=True)
class Changed:
    """Something is not what it was; whoever shows it reads it again."""

    what: Thing


@dataclass(frozen=True, slots=True)
class Reminded:
    """A reminder is due.

    Attributes:
        line: what it says, for people.
        due: the slot, a moment or a date in ISO 8601.
        version: that of the reminder; with it "done" and "snooze" mean this slot and no other.
    """

    id: int
    text: str
    line: str
    due: str
    version: int


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something went on beside the turns that the person should know."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnMoved:
    """A turn began or ended in a conversation, maybe in another window of the person's browser."""

    conversation: str
    turn: int
    state: Literal["began", "ended"]


ToldOnce: TypeAlias = Reminded | Noticed
"""What nobody finds by reading again: it has a number, and is told again to one that comes back without it."""

PersonEvent: TypeAlias = Changed | TurnMoved | ToldOnce


class Listener:
    """One that listens for a person, from the moment at which it was made.

    Attributes:
        number: that of the last `ToldOnce` that it has, or of the last one before it came.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._queue: asyncio.Queue[tuple[PersonEvent, int | None] | None] = asyncio.Queue()
        self._ended = False

    async def next(self) -> PersonEvent | None:
        """The next event; None when nothing comes any more: it was too slow, or the server ends."""
        if self._ended and self._queue.empty():
            return None
        told = await self._queue.get()
        if told is None:
            self._ended = True
            return None
        event, number = told
        self.number = self.number if number is None else number
        return event

    def put(self, event: PersonEvent, number: int | None = None) -> bool:
        """Take an event; False where too many wait already, and nothing comes behind those."""
        if self._queue.qsize() < _LONGEST_QUEUE:
            self._queue.put_nowait((event, number))
            return True
        self.end()
        return False

    def end(self) -> None:
        """Nothing comes any more."""
        self._queue.put_nowait(None)


class PersonEvents:
    """Hands events to whoever listens for a person.

    Args:
        start: what the numbers begin behind; larger than any number of an earlier run, so that one that comes back
            with such a number hears all that was told since.
    """

    def __init__(self, start: int = 0) -> None:
        self._listeners: dict[str, set[Listener]] = {}
        self._start = start
        self._kept: defaultdict[str, deque[tuple[int, ToldOnce]]] = defaultdict(lambda: deque(maxlen=_KEPT))
        self._closed = False
        self.arrived = asyncio.Event()
        """Set when somebody begins to listen; whoever waits for it clears it."""

    def is_heard(self, owner: str) -> bool:
        """Whether somebody listens for this person."""
        return bool(self._listeners.get(owner))

    @property
    def owners(self) -> tuple[str, ...]:
        """For whom somebody listens, sorted."""
        return tuple(sorted(self._listeners))

    def publish(self, owner: str, event: PersonEvent) -> None:
        """Tell all who listen for this person. One who is too slow is let go, and reads everything again."""
        number = None
        if isinstance(event, ToldOnce):
            number = self._last(owner) + 1
            self._kept[owner].append((number, event))
        for listener in list(self._listeners.get(owner, ())):
            if not listener.put(event, number):
                self._leave(owner, listener)

    @contextmanager
    def listening(self, owner: str, after: int | None = None) -> Iterator[Listener]:
        """Hear what happens from now on, as long as the context is open.

        Args:
            after: the number that the listener had when it was cut off: what was told once behind it comes first. One
                that is larger than any was given by another run. None for one that comes anew.
        """
        last = self._last(owner)
        listener = Listener(last)
        if after is not None:
            self._tell_again(owner, listener, 0 if after > last else after)
        if self._closed:
            listener.end()
        else:
            self._listeners.setdefault(owner, set()).add(listener)
            self.arrived.set()
        try:
            yield listener
        finally:
            self._leave(owner, listener)

    def close(self) -> None:
        """Let everybody go, and whoever comes from now on as well."""
        self._closed = True
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.end()
        self._listeners.clear()

    def _last(self, owner: str) -> int:
        kept = self._kept.get(owner)
        return kept[-1][0] if kept else self._start

    def _tell_again(self, owner: str, listener: Listener, after: int) -> None:
        missed = [(event, number) for number, event in self._kept.get(owner, ()) if number > after]
        for event, number in missed:
            listener.put(event, number)
        if any(isinstance(event, Reminded) for event, _ in missed):
            # What was done about them meanwhile is read behind them.
            listener.put(Changed(Thing.REMINDERS))

    def _leave(self, owner: str, listener: Listener) -> None:
        left = self._listeners.get(owner)
        if left is not None:
            left.discard(listener)
            if not left:
                del self._listeners[owner]
