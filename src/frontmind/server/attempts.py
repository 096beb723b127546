"""The same thing asked again, by a client that does not know whether it was heard: it is done once. And what a client
no longer waits for. Knows nothing of what is asked.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from fastapi import Request

from frontmind.server.errors import Problem
from frontmind.server.streams import gone_away

MOST_OF_ONE: Final = 64
"""How many answers that nobody waits for any more are kept of one owner."""

_SWEEP_SECONDS: Final = 30.0

T = TypeVar("T")


class Answer(Protocol):
    """What somebody is given who asks, and again when he asks again."""

    @property
    def ended_at(self) -> float | None:
        """When nothing came to it any more, in the event loop's time; None while something may."""
        ...

    @property
    def has_failed(self) -> bool:
        """Whether it says that nothing came of it: then the same is begun anew."""
        ...


A = TypeVar("A", bound=Answer)


@dataclass(eq=False, slots=True)
class _Attempt(Generic[A]):
    """One beginning.

    Attributes:
        waiting: how many wait for it.
        given_up: whether nobody did any more, before it had come to anything.
    """

    task: asyncio.Task[A]
    waiting: int = 0
    given_up: bool = False

    def is_running(self) -> bool:
        return not self.task.done() or (not self.is_void() and self.task.result().ended_at is None)

    def is_void(self) -> bool:
        return self.task.done() and (
            self.task.cancelled() or self.task.exception() is not None or self.task.result().has_failed
        )


class Attempts(Generic[A]):
    """What was asked lately, by whom, and what came of it.

    Args:
        kept_seconds: how long an answer is given again behind its end.
        most_of_one: how many of one owner are kept that have ended.
    """

    def __init__(self, kept_seconds: float, *, most_of_one: int = MOST_OF_ONE) -> None:
        self._kept_seconds = kept_seconds
        self._most_of_one = most_of_one
        self._of: dict[str, OrderedDict[str, _Attempt[A]]] = {}
        self._sweep_at = 0.0

    @property
    def kept(self) -> int:
        """Of how many the answer is kept, or still to come."""
        return sum(map(len, self._of.values()))

    async def join(
        self, owner: str, mark: str, begin: Callable[[], Coroutine[Any, Any, A]], *, again: bool = True
    ) -> A:
        """What the owner's earlier attempt of this mark came to, or comes to; without one, begin.

        Who is cancelled here waits no longer; when nobody does, the beginning is cancelled.

        Args:
            mark: stands for what is asked.
            begin: does it, and raises where nothing comes of it.
            again: whether it may have been asked before; otherwise it is asked anew.
        """
        self._sweep()
        while True:
            attempt = self._find(owner, mark) if again else None
            if attempt is None or attempt.is_void():
                attempt = self._begin(owner, mark, begin)
            attempt.waiting += 1
            try:
                await asyncio.wait({attempt.task})
            finally:
                attempt.waiting -= 1
                if not attempt.waiting and not attempt.task.done():
                    attempt.given_up = True
                    attempt.task.cancel()
            # Whoever comes after the last one has left, but before that took effect, has not given up.
            if not (attempt.given_up and attempt.task.cancelled()):
                return attempt.task.result()

    def forget(self, owner: str, mark: str, answer: A) -> None:
        """Let the next one of this mark be asked anew, where this is still the answer to it."""
        attempt = self._find(owner, mark)
        if attempt is not None and attempt.task.done() and not attempt.is_void() and attempt.task.result() is answer:
            self._drop(owner, mark)

    def _find(self, owner: str, mark: str) -> _Attempt[A] | None:
        mine = self._of.get(owner)
        return None if mine is None else mine.get(mark)

    def _begin(self, owner: str, mark: str, begin: Callable[[], Coroutine[Any, Any, A]]) -> _Attempt[A]:
        attempt = _Attempt(asyncio.get_running_loop().create_task(begin()))
        mine = self._of.setdefault(owner, OrderedDict())
        mine[mark] = attempt
        mine.move_to_end(mark)
        attempt.task.add_done_callback(lambda _: self._begun(owner, mark, attempt))
        return attempt

    def _begun(self, owner: str, mark: str, attempt: _Attempt[A]) -> None:
        mine = self._of.get(owner, OrderedDict())
        # Asked for its exception as well, which nobody may wait for any more.
        if attempt.is_void() and mine.get(mark) is attempt:
            self._drop(owner, mark)
        ended = [each for each, other in mine.items() if not other.is_running()]
        for each in ended[: max(0, len(ended) - self._most_of_one)]:
            self._drop(owner, each)

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._sweep_at:
            return
        self._sweep_at = now + min(_SWEEP_SECONDS, self._kept_seconds)
        for owner, mine in list(self._of.items()):
            for mark, attempt in list(mine.items()):
                if not attempt.is_running() and (attempt.is_void() or self._is_old(attempt.task.result(), now)):
                    self._drop(owner, mark)

    def _is_old(self, answer: A, now: float) -> bool:
        return answer.ended_at is not None and now - answer.ended_at >= self._kept_seconds

    def _drop(self, owner: str, mark: str) -> None:
        del self._of[owner][mark]
        if not self._of[owner]:
            del self._of[owner]


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What the work gives; it is cancelled when the client goes away meanwhile.

    Raises:
        Problem: the client went away; nobody reads it.
    """
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(gone_away(request.receive))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Problem(409, "conversation_busy", "the client went away before its message was accepted")
        return working.result()
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.wait({working, gone})
