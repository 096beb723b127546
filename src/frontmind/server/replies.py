"""Replies while they come: a turn runs whether or not somebody listens, and whoever listens can come back.

Each event of a reply has a number, from 1; a listener that was cut off goes on behind the last that it has. Listeners
read at their own pace and hold nothing up. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from frontmind.assistant.report import ToolEnded, ToolStarted, TurnAccepted, TurnEvent, TurnReport
from frontmind.server.errors import Problem
from frontmind.server.identity import Person

_MOST_KEPT: Final = 128


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the text of one call of the model.

    Attributes:
        offset: how many characters of that call's text came before.
    """

    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class ReplyDone:
    """The turn is answered, or waits for its caller; nothing comes behind it."""

    report: TurnReport


@dataclass(frozen=True, slots=True)
class ReplyFailed:
    """The turn failed, or was stopped; nothing comes behind it."""

    problem: Problem


ReplyEvent: TypeAlias = TextPiece | TurnEvent | ReplyDone | ReplyFailed


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that is on disk.

    Attributes:
        ended_at: when it was, in the event loop's time.
    """

    turn: int
    ended_at: float
    has_failed: bool = False


class Reply:
    """A turn that runs, or has run.

    Args:
        on_accepted: called once, as soon as the message is on disk.

    Attributes:
        person: whose it is.
        conversation: the conversation's name.
    """

    def __init__(
        self, person: Person, conversation: str, *, on_accepted: Callable[[Reply], None] = lambda _: None
    ) -> None:
        self.person = person
        self.conversation = conversation
        self._on_accepted = on_accepted
        self._events: list[ReplyEvent] = []
        self._offset = 0
        self._turn: int | None = None
        self._is_accepting = False
        self._ended_at: float | None = None
        self._more = asyncio.Event()
        self._newest_but_text = 0
        self._waiters: set[asyncio.Future[None]] = set()
        self._waiters_but_text: set[asyncio.Future[None]] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def turn(self) -> int | None:
        """The number of the turn; None until its message is on disk."""
        return self._turn

    @property
    def ended(self) -> bool:
        """Whether nothing comes any more."""
        return bool(self._events) and isinstance(self._events[-1], ReplyDone | ReplyFailed)

    @property
    def ended_at(self) -> float | None:
        """When nothing came any more, in the event loop's time; None while something may."""
        return self._ended_at

    @property
    def last(self) -> int:
        """The number of the newest event; 0 before the first."""
        return len(self._events)

    def add_text(self, piece: str) -> None:
        """Take a piece of the reply."""
        self._add(TextPiece(self._offset, piece))
        self._offset += len(piece)

    def add(self, event: TurnEvent) -> None:
        """Take what happened beside the text."""
        if isinstance(event, ToolStarted | ToolEnded):
            # The call that asked for tools has said all that it says; the text of the next one begins behind them.
            self._offset = 0
        self._add(event)
        if isinstance(event, TurnAccepted):
            self._accept(event.turn.number)

    def end(self, last: ReplyDone | ReplyFailed) -> None:
        """Take the last event. Once it is there, another changes nothing."""
        if self.ended:
            return
        if isinstance(last, ReplyDone):
            self._accept(last.report.turn)
        self._ended_at = asyncio.get_running_loop().time()
        self._add(last)

    def run(self, task: asyncio.Task[None]) -> None:
        """Let ``task`` be what brings the events."""
        self._task = task

    def stop(self) -> None:
        """Stop the turn; what was said is kept. It ends a little later."""
        if self._task is not None:
            self._task.cancel()

    def accepting(self) -> None:
        """Take note that the message is being stored now."""
        self._is_accepting = True

    def withdraw(self) -> None:
        """Stop the turn, unless its message is on disk, or on the way there."""
        if not self._is_accepting:
            self.stop()

    def behind(self, number: int) -> Sequence[ReplyEvent]:
        """The events behind this number that have come."""
        return self._events[number:]

    async def beyond(self, number: int) -> None:
        """Wait until an event with a larger number has come."""
        while len(self._events) <= number:
            await self._more.wait()

    def is_beyond_text(self, number: int) -> bool:
        """Whether something but text has come behind this number."""
        return self._newest_but_text > number

    async def more(self, number: int, *, until: float, but_text: bool = False) -> None:
        """Wait until an event with a larger number has come, or the moment in the time of the loop.

        Args:
            but_text: whether text wakes nobody.
        """
        if (self._newest_but_text if but_text else self.last) > number:
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        waiters = self._waiters_but_text if but_text else self._waiters
        waiters.add(waiter)
        # Many readers wait many times a second: a timer by itself costs a fraction of what `asyncio.timeout` does.
        timer = loop.call_at(until, _wake, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            waiters.discard(waiter)

    async def events(self, *, after: int = 0) -> AsyncIterator[tuple[int, ReplyEvent]]:
        """The numbered events behind the number ``after``, as they come, up to the last."""
        number = max(after, 0)
        while True:
            more = self._more
            while number < len(self._events):
                number += 1
                yield number, self._events[number - 1]
            if self.ended:
                return
            await more.wait()

    async def accepted_or_ended(self) -> None:
        """Wait until the message is on disk, or the turn failed before."""
        while self._turn is None and not self.ended:
            await self._more.wait()

    async def accepted(self) -> int:
        """The number of the turn, as soon as its message is on disk.

        Raises:
            Problem: the turn failed before that.
        """
        await self.accepted_or_ended()
        if self._turn is not None:
            return self._turn
        return (await self.report()).turn

    async def finished(self) -> ReplyDone | ReplyFailed:
        """The last event, when it has come."""
        while not self.ended:
            await self._more.wait()
        last = self._events[-1]
        assert isinstance(last, ReplyDone | ReplyFailed)
        return last

    async def report(self) -> TurnReport:
        """What the turn came to, when it has ended.

        Raises:
            Problem: it failed, or was stopped.
        """
        last = await self.finished()
        if isinstance(last, ReplyFailed):
            raise last.problem
        return last.report

    def _accept(self, number: int) -> None:
        if self._turn is None:
            self._turn = number
            self._on_accepted(self)

    def _add(self, event: ReplyEvent) -> None:
        self._events.append(event)
        more, self._more = self._more, asyncio.Event()
        more.set()
        for waiter in self._waiters:
            _wake(waiter)
        if not isinstance(event, TextPiece):
            self._newest_but_text = len(self._events)
            for waiter in self._waiters_but_text:
                _wake(waiter)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class KeptReplies:
    """The replies whose events can be read: those that run, and for a while those that have ended.

    Args:
        kept_seconds: how long they are kept behind their end.
        most: how many that have ended are kept.
    """

    def __init__(self, kept_seconds: float, *, most: int = _MOST_KEPT) -> None:
        self._kept_seconds = kept_seconds
        self._most = most
        self._replies: dict[tuple[str, str, int | None], Reply] = {}
        self._ended: OrderedDict[tuple[str, str, int | None], float] = OrderedDict()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._replies)

    def find(self, person: Person, conversation: str, turn: int) -> Reply | None:
        """The newest reply of this turn."""
        return self._replies.get((person.owner, conversation, turn))

    def add(self, reply: Reply) -> None:
        """Keep the events of a turn that was accepted, in the place of those that it had before it waited."""
        place = _place(reply)
        self._replies[place] = reply
        self._ended.pop(place, None)

    def note_end(self, reply: Reply) -> None:
        """Keep the events for a while from now on."""
        self._ended[_place(reply)] = asyncio.get_running_loop().time()
        self.forget()

    def forget(self, kept_seconds: float | None = None) -> None:
        """Drop those that ended long ago.

        Args:
            kept_seconds: what that means; None for the time that they are kept otherwise.
        """
        seconds = self._kept_seconds if kept_seconds is None else kept_seconds
        before = asyncio.get_running_loop().time() - seconds
        while self._ended:
            place, at = next(iter(self._ended.items()))
            if at > before and len(self._ended) <= self._most:
                return
            del self._ended[place]
            del self._replies[place]


def _place(reply: Reply) -> tuple[str, str, int | None]:
    return reply.person.owner, reply.conversation, reply.turn
