"""How important memories are: more with each use, and less with each day on which the person is there without one.

    strength = standing + sum over days of use of 0.5 ** (active days since then / HALF_LIFE_DAYS)
    standing = 1 for what the person asked to keep, otherwise
               confidence * 0.5 ** (active days since it was observed / HALF_LIFE_DAYS)
    importance = strength / (1 + strength)

Only active days count, days with a message: three months without one change nothing. A day of use counts once however
often a memory was used on it. What the person asked to keep never falls below one half. Pure but for `importances`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import Final, Protocol

from frontmind.values.memories import Memory, MemoryOrigin, MemoryUse

HALF_LIFE_DAYS: Final = 30.0
"""After so many active days a use counts half: for who is there every day about a month, the time after which what
was not needed again rarely is; a person who is there once a week keeps it for seven months."""


class UsedMemories(Protocol):
    """What `importances` reads of a store."""

    async def memory_uses(self, memory_ids: Sequence[int]) -> Sequence[MemoryUse]: ...

    async def active_days(self) -> Sequence[date]: ...


def importance(memory: Memory, used_on: Collection[date], active_days: Sequence[date], zone: tzinfo | None) -> float:
    """The importance of a memory, from 0 to 1.

    Args:
        used_on: the days on which it was used, up to now. One that is no active day counts as the one before it.
        active_days: the days on which the person was there, in order, up to now.
        zone: the person's, in which the day of the observation is told.
    """
    today = len(active_days)
    if memory.origin is MemoryOrigin.PERSON:
        standing = 1.0
    else:
        observed = bisect_right(active_days, memory.observed_at.astimezone(zone).date())
        standing = memory.confidence * _faded(today - observed)
    used = sorted({bisect_right(active_days, day) for day in used_on})
    strength = standing + sum(_faded(today - day) for day in used)
    return strength / (1.0 + strength)


async def importances(store: UsedMemories, memories: Sequence[Memory], now: datetime) -> Mapping[int, float]:
    """The importance of each of these memories, by its id.

    Args:
        now: in the person's zone. Days after it count for nothing: a clock was wrong, or a file names them.
    """
    today = now.date()
    days = [day for day in await store.active_days() if day <= today]
    used: dict[int, list[date]] = {memory.id: [] for memory in memories}
    for use in await store.memory_uses(list(used)):
        if use.day <= today:
            used[use.memory].append(use.day)
    return {memory.id: importance(memory, used[memory.id], days, now.tzinfo) for memory in memories}


def _faded(days: int) -> float:
    return float(0.5 ** (max(days, 0) / HALF_LIFE_DAYS))
