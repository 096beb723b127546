"""How much one person, and all of them together, may ask for. Knows no requests."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from frontmind.server.errors import Problem

IDLE_SECONDS: Final = 75
"""How long a connection stays open without a call. Longer than what clients keep in their pools (5 seconds with httpx):
who closes first at the same moment as the other sends, cuts off a call."""

_MOST_BUCKETS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes.

    Attributes:
        body_bytes: the longest body of a request that brings texts and files along.
        small_body_bytes: that of any other.
        large_bodies_of_one: how many bodies of one person that are not small are read at the same time.
        json_depth: how deep the values of a body may be nested.
        json_values: how many values a body may have.
        burst: how many requests of one person are taken at once.
        per_second: how many in a second in the long run.
        turns_of_one: how many turns of one person run or wait at the same time.
        turns: how many of all.
        waiting: how many messages wait for their turn in one conversation.
        streams_of_one: how many event streams of one person are open at the same time.
        failures: how many wrong keys from one address are answered as such at once.
        failures_per_second: how many in a second in the long run.
    """

    body_bytes: int = 20_000_000
    small_body_bytes: int = 256_000
    large_bodies_of_one: int = 8
    json_depth: int = 64
    json_values: int = 500_000
    burst: int = 600
    per_second: float = 100.0
    turns_of_one: int = 32
    turns: int = 256
    waiting: int = 8
    streams_of_one: int = 64
    failures: int = 10
    failures_per_second: float = 0.2


ONE_PERSON: Final = Limits(burst=4000, per_second=2000.0, turns_of_one=256, streams_of_one=512, large_bodies_of_one=32)
"""Where there are no accounts, all calls are those of the person at the machine."""


class Places:
    """How many of something each person may have at the same time.

    Args:
        most: so many.
        what: what they are called, for whoever has too many.
    """

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, name: str) -> Iterator[None]:
        """Have one more, as long as the context is open.

        Raises:
            Problem: these are too many.
        """
        if self._taken[name] >= self._most:
            raise Problem(
                429,
                "too_many_requests_at_once",
                f"you have {self._most} {self._what} already; end one, or wait for it",
                headers={"Retry-After": "2"},
            )
        self._taken[name] += 1
        try:
            yield
        finally:
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]


class Buckets:
    """Token buckets: each name may take so many at once, and so many in a second in the long run.

    Args:
        timer: seconds from an arbitrary start.
    """

    def __init__(self, size: float, per_second: float, *, timer: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._per_second = per_second
        self._timer = timer
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take one; 0 where it was there, else after how many seconds it will be, and nothing is taken."""
        now = self._timer()
        left = self._left(name, now)
        if left < 1:
            return (1 - left) / self._per_second
        self._buckets[name] = (left - 1, now)
        self._buckets.move_to_end(name)
        # Those that were used longest ago are full again, or nearly.
        while len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0

    def _left(self, name: str, now: float) -> float:
        left, at = self._buckets.get(name, (self._size, now))
        return min(self._size, left + (now - at) * self._per_second)
