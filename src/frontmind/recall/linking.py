"""How memories bear on each other: which one holds in the place of which, and what a memory's links lead to.

`FactPlan` is pure: it takes memories as they are and gives what is to be changed. Time decides, not the order in which
memories come in: an older observation that arrives later never supersedes a newer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final, Protocol

from frontmind.recall.similarity import normalised
from frontmind.values.memories import LinkKind, Memory, MemoryChanges, MemoryLink, MemoryOrigin, NewMemory

_KIND_ORDER: Final = (LinkKind.SUPERSEDES, LinkKind.CONFLICTS, LinkKind.SUPPORTS, LinkKind.RELATED)


class FactPlan:
    """Changes of memories that are put together before any of them is stored. New ones have negative ids.

    Args:
        memories: all that are stored.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._stored = {memory.id: memory for memory in memories}
        self._memories = dict(self._stored)
        self._links: dict[MemoryLink, None] = {}
        self._uses: dict[tuple[int, date], None] = {}
        self._new: list[NewMemory] = []
        self._saying: dict[str, list[int]] = {}
        # What nothing leads to is in no chain, and need not be looked for in one: a chain may be as long as a file.
        self._led_to = {memory.superseded_by for memory in memories}
        for memory in memories:
            self._saying.setdefault(normalised(memory.text), []).append(memory.id)

    def __getitem__(self, memory_id: int) -> Memory:
        """The memory as it will be; KeyError where there is none."""
        return self._memories[memory_id]

    def holding(self) -> Sequence[Memory]:
        """Those that will hold, the new ones behind the stored ones."""
        return [memory for memory in self._memories.values() if memory.superseded_by is None]

    def all(self) -> Sequence[Memory]:
        """All, the new ones behind the stored ones."""
        return list(self._memories.values())

    def add(self, new: NewMemory) -> int:
        """Add a memory; gives its id."""
        self._new.append(new)
        memory_id = -len(self._new)
        self._saying.setdefault(normalised(new.text), []).append(memory_id)
        self._memories[memory_id] = Memory(
            id=memory_id,
            text=new.text,
            observed_at=new.observed_at,
            recorded_at=new.recorded_at or new.observed_at,
            origin=new.origin,
            conversation=new.conversation,
            turn=new.turn,
            confidence=new.confidence,
            happens_at=new.happens_at,
            valid_until=new.valid_until,
        )
        return memory_id

    def saying(self, text: str) -> Sequence[Memory]:
        """Those of the same words, also when they do not hold, in the order in which they came."""
        return [self._memories[memory_id] for memory_id in self._saying.get(normalised(text), ())]

    def mergeable(self, new: NewMemory) -> Sequence[Memory]:
        """Those that hold and do not take place at another time than the new one."""
        return [
            memory
            for memory in self.holding()
            if None in (memory.happens_at, new.happens_at) or memory.happens_at == new.happens_at
        ]

    def merge(self, memory_id: int, again: NewMemory) -> None:
        """Note that the memory was observed again: it holds since the later of the two observations, which also tells
        where it comes from and up to when it holds. Its words stay.
        """
        memory = self._memories[memory_id]
        later = again.observed_at > memory.observed_at
        happens_at, valid_until = memory.happens_at, memory.valid_until
        if again.happens_at is not None and (later or happens_at is None):
            happens_at = again.happens_at
        if again.valid_until is not None and (later or valid_until is None):
            valid_until = again.valid_until
        source = again if later else memory
        self._memories[memory_id] = replace(
            memory,
            origin=MemoryOrigin.PERSON if again.origin is MemoryOrigin.PERSON else memory.origin,
            observed_at=source.observed_at,
            conversation=source.conversation,
            turn=source.turn,
            confidence=max(memory.confidence, again.confidence),
            happens_at=happens_at,
            valid_until=valid_until,
        )

    def supersede(self, new: int, other: int) -> None:
        """Note that these two cannot both hold: the one that was observed later holds. Where the other is superseded
        already, the new one takes its place among those that followed it, by time.
        """
        if new == other:
            return
        if self._memories[other].observed_at > self._memories[new].observed_at:
            self._let_follow(new, other)
            return
        last = self._memories[other]
        for following in self._chain(other):
            if following.id == new or following.observed_at > self._memories[new].observed_at:
                break
            last = following
        following_id = last.superseded_by
        self._let_follow(last.id, new, replacing=True)
        if following_id is not None and following_id in self._memories:
            self._let_follow(new, following_id)

    def end(self, memory_id: int, newer: int, at: datetime) -> None:
        """Note, as it was noted elsewhere, that the newer one holds in its place since then; 0 for one that is not
        here. One that is superseded already stays as it is.
        """
        memory = self._memories[memory_id]
        if memory.superseded_by is None and newer != memory_id:
            if newer in self._memories and self._leads(newer, memory_id):
                return
            self._led_to.add(newer)
            self._memories[memory_id] = replace(memory, superseded_by=newer, superseded_at=at)

    def link(self, source: int, target: int, kind: LinkKind) -> None:
        """Link two memories; one with itself says nothing."""
        if source != target:
            self._links[MemoryLink(source, target, kind)] = None

    def use(self, memory_id: int, day: date) -> None:
        """Note that the memory was used on this day."""
        self._uses[memory_id, day] = None

    def changes(self) -> MemoryChanges:
        """What is to be stored."""
        new = [self._memories[-number] for number in range(1, len(self._new) + 1)]
        return MemoryChanges(
            added=tuple(_as_new(memory, given.recorded_at) for memory, given in zip(new, self._new, strict=True)),
            changed=tuple(
                memory for memory in self._memories.values() if memory.id > 0 and memory != self._stored[memory.id]
            ),
            superseded=tuple(
                (memory.id, memory.superseded_by, memory.superseded_at)
                for memory in new
                if memory.superseded_by is not None and memory.superseded_at is not None
            ),
            links=tuple(self._links),
            uses=tuple(self._uses),
            # What another program adds meanwhile may say the same.
            newest=max(self._stored, default=0) if new else None,
        )

    def _chain(self, memory_id: int) -> Iterator[Memory]:
        """Those that superseded it, one after the other; ends where one is gone, or comes again."""
        seen = {memory_id}
        following = self._memories[memory_id].superseded_by
        while following is not None and following in self._memories and following not in seen:
            seen.add(following)
            yield self._memories[following]
            following = self._memories[following].superseded_by

    def _leads(self, start: int, end: int) -> bool:
        return end in self._led_to and any(member.id == end for member in self._chain(start))

    def _let_follow(self, older: int, newer: int, *, replacing: bool = False) -> None:
        memory, following = self._memories[older], self._memories[newer]
        if memory.superseded_by in self._memories and not replacing:
            return
        if older == newer or (memory.superseded_by != newer and self._leads(newer, older)):
            return
        self._led_to.add(newer)
        self._memories[older] = replace(memory, superseded_by=newer, superseded_at=following.observed_at)
        self.link(newer, older, LinkKind.SUPERSEDES)


def _as_new(memory: Memory, recorded_at: datetime | None) -> NewMemory:
    return NewMemory(
        text=memory.text,
        observed_at=memory.observed_at,
        origin=memory.origin,
        conversation=memory.conversation,
        turn=memory.turn,
        confidence=memory.confidence,
        happens_at=memory.happens_at,
        valid_until=memory.valid_until,
        recorded_at=recorded_at,
    )


class LinkedMemories(Protocol):
    """What `neighbours` reads of a store."""

    async def memories(self, ids: Sequence[int] | None = None) -> Sequence[Memory]: ...

    async def memory_links(self, memory_ids: Sequence[int]) -> Sequence[MemoryLink]: ...


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory that links lead to.

    Attributes:
        root: the id from which it was reached.
        kind: the kind of the last link to it.
        outgoing: whether that link leads to it; otherwise it comes from it: a memory that ``SUPERSEDES`` another and is
            reached from there is the newer one.
        distance: over how many links it was reached, from 1.
    """

    root: int
    kind: LinkKind
    outgoing: bool
    memory: Memory
    distance: int


async def neighbours(store: LinkedMemories, ids: Sequence[int], depth: int, limit: int) -> Sequence[Neighbour]:
    """The memories that the links of these lead to, in either direction, nearest first; none of these themselves.

    Ordered by distance, then by the order of ``ids``, the kind (what supersedes before what conflicts, supports and is
    related), the direction (outgoing first) and the id; so the same store gives the same neighbours. Cycles are walked
    once.

    Args:
        depth: over how many links at most.
        limit: how many at most. No more are followed from one distance to the next.
    """
    ids = list(dict.fromkeys(ids))
    place = {memory_id: index for index, memory_id in enumerate(ids)}
    seen, frontier = set(ids), set(ids)
    found: list[Neighbour] = []
    for distance in range(1, depth + 1):
        if not frontier or len(found) >= limit:
            break
        ways: dict[int, tuple[int, int, bool]] = {}
        for link in await store.memory_links(sorted(frontier)):
            for near, far, incoming in ((link.source, link.target, False), (link.target, link.source, True)):
                if near in frontier and far not in seen:
                    way = (place[near], _KIND_ORDER.index(link.kind), incoming)
                    ways[far] = min(ways.get(far, way), way)
        memories = await store.memories(sorted(ways))
        level = sorted(memories, key=lambda memory: (ways[memory.id], memory.id))[: limit - len(found)]
        for memory in level:
            root, kind, incoming = ways[memory.id]
            place[memory.id] = root
            found.append(Neighbour(ids[root], _KIND_ORDER[kind], not incoming, memory, distance))
        seen |= ways.keys()
        frontier = {memory.id for memory in level}
    return found
