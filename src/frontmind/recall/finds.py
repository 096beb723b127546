"""From what was ranked to what is worth showing: what holds, once, with what its links lead to.

Pure but for `holding` and `with_linked`, which read memories and links. Knows nothing of how finds were ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from frontmind.recall.linking import Neighbour, neighbours
from frontmind.recall.similarity import may_be_the_same
from frontmind.recall.telling import Words, excerpt, says_the_same, telling_words
from frontmind.stores.recall_protocols import MemoryStore, PassageStore
from frontmind.values.memories import LinkKind, Memory
from frontmind.values.passages import Hit, Passage, PassageKind, Recollection

LINK_DEPTH: Final = 2
"""Over how many links a find brings others along."""

LINKED: Final = 4
"""How many memories all finds together bring along at most."""

_LONGEST_CHAIN: Final = 100


def has_ended(memory: Memory, now: datetime) -> bool:
    """Whether the memory no longer holds at this moment by its own words; on the last day it still does."""
    end = memory.valid_until
    if end is None:
        return False
    return end <= now if isinstance(end, datetime) else end < now.date()


async def holding(
    store: MemoryStore, passages: PassageStore, hits: Iterable[Hit], memories: Mapping[int, Memory], now: datetime
) -> list[Recollection]:
    """The finds that hold now. In the place of a superseded memory stands the one that holds, which brings the older
    one along; a memory is there once, whatever it was found by.

    Args:
        hits: best first.
        memories: those that were found, by id; one that is not there was removed meanwhile.
    """
    found: dict[tuple[PassageKind, int], Recollection] = {}
    for hit in hits:
        passage = hit.passage
        if passage.kind is not PassageKind.MEMORY:
            found[passage.kind, passage.id] = Recollection(hit)
            continue
        memory = memories.get(passage.ref)
        newest = None if memory is None else await _newest(store, memory)
        if memory is None or newest is None or has_ended(newest, now):
            continue
        key = (PassageKind.MEMORY, newest.id)
        if key not in found:
            own = passage if newest is memory else await _passage_of(passages, newest)
            if own is None:
                continue
            found[key] = Recollection(replace(hit, passage=own), newest)
        if newest is not memory:
            found[key] = _bringing(found[key], LinkKind.SUPERSEDES, memory)
    return list(found.values())


def distinct(found: Iterable[Recollection], *, limit: int, across: bool) -> list[Recollection]:
    """The best finds without those that say what a better one says.

    Args:
        limit: how many at most.
        across: whether a memory also stands for the exchanges that say the same, in the place of the best of them.
    """
    kept: list[tuple[Recollection, Words]] = []
    for find in found:
        if len(kept) == limit:
            break
        words = telling_words(find.hit.passage.text)
        same = [place for place, (other, has) in enumerate(kept) if _same(find, words, other, has, across)]
        if not same:
            kept.append((find, words))
        elif _kind(find) is PassageKind.MEMORY and all(_kind(kept[place][0]) is PassageKind.EXCHANGE for place in same):
            kept[same[0]] = (find, words)
            kept = [item for place, item in enumerate(kept) if place not in same[1:]]
    return [find for find, _ in kept]


async def with_linked(store: MemoryStore, found: Sequence[Recollection], now: datetime) -> list[Recollection]:
    """The finds, the memories among them with what their links lead to: what holds, and what they superseded."""
    shown = {find.memory.id for find in found if find.memory is not None}
    brought = {memory.id for find in found for _, memory in find.linked}
    linked = dict(enumerate(found))
    places = {find.memory.id: place for place, find in enumerate(found) if find.memory is not None}
    for neighbour in await neighbours(store, list(places), LINK_DEPTH, LINKED):
        memory = neighbour.memory
        kind = _link_kind(neighbour, shown | brought)
        if memory.id in shown or memory.id in brought or kind is None:
            continue
        if kind is not LinkKind.SUPERSEDES and has_ended(memory, now):
            continue
        brought.add(memory.id)
        place = places[neighbour.root]
        linked[place] = _bringing(linked[place], kind, memory)
    return list(linked.values())


def with_excerpt(find: Recollection, words: Words, length: int) -> Recollection:
    """The find with at most ``length`` characters of its text: the part that has most of these telling words. Of a
    memory the text is the memory's own, and not a passage of it, of which some characters are left out.
    """
    passage = find.hit.passage
    text = passage.text if find.memory is None else find.memory.text
    shown = replace(passage, text=excerpt(text, words, length))
    return replace(find, hit=replace(find.hit, passage=shown))


def _link_kind(neighbour: Neighbour, told: frozenset[int] | set[int]) -> LinkKind | None:
    """How the neighbour bears on the find from which it was reached; None for one that would mislead."""
    memory = neighbour.memory
    if memory.superseded_by is not None:
        follows = neighbour.kind is LinkKind.SUPERSEDES and neighbour.outgoing and memory.superseded_by in told
        return LinkKind.SUPERSEDES if follows else None
    if neighbour.kind is LinkKind.SUPERSEDES:
        return None
    # What a link of a link says is not about the find itself.
    return neighbour.kind if neighbour.distance == 1 else LinkKind.RELATED


def _bringing(find: Recollection, kind: LinkKind, memory: Memory) -> Recollection:
    return replace(find, linked=(*find.linked, (kind, memory)))


def _kind(find: Recollection) -> PassageKind:
    return find.hit.passage.kind


def _same(find: Recollection, words: Words, other: Recollection, has: Words, across: bool) -> bool:
    if not says_the_same(words, has):
        return False
    kinds = {_kind(find), _kind(other)}
    if kinds == {PassageKind.MEMORY}:
        return may_be_the_same(find.hit.passage.text, other.hit.passage.text)
    if len(kinds) == 1:
        return True
    if kinds != {PassageKind.MEMORY, PassageKind.EXCHANGE} or not across:
        return False
    # An exchange may say a little of what a memory says, and not the part that matters.
    memory, exchange = (words, has) if _kind(find) is PassageKind.MEMORY else (has, words)
    return len(memory) <= len(exchange)


async def _newest(store: MemoryStore, memory: Memory) -> Memory | None:
    """The memory that holds in the place of this one; None where that is gone, or the chain has no end."""
    for _ in range(_LONGEST_CHAIN):
        if memory.superseded_by is None:
            return memory
        following = await store.memories([memory.superseded_by])
        if not following:
            return None
        memory = following[0]
    return None


async def _passage_of(passages: PassageStore, memory: Memory) -> Passage | None:
    found = await passages.passages_of(PassageKind.MEMORY, [memory.id])
    return found[0] if found else None
