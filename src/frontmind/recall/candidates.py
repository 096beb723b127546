"""The candidates of a search: what is near the query by its words or by its meaning, of one kind of passage.

Does not rank, and does not decide what may be shown; whoever searches says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from frontmind.recall.search_indexes import Asked, SearchIndexes
from frontmind.recall.words import index_words
from frontmind.stores.recall_protocols import PassageStore
from frontmind.values.passages import Passage, PassageKind

DEPTH: Final = 50
"""How many candidates by words, and how many by meaning, are ranked. With 100 of each, recall at 10 was half a point
better on four conversations of LoCoMo, any@5 was the same, and a search took 3 ms longer."""

_DEEPEST: Final = 3200
"""How many are looked through at most where most of them may not be shown."""

MOST_WITHIN: Final = 5_000
"""Up to this many passages of the time that is asked for are compared with the query themselves, whatever an index
holds best; their vectors, which are read for it, are 4 MB then."""


@dataclass(frozen=True, slots=True)
class Period:
    """A time whose passages are searched.

    Attributes:
        since: nothing that is older; None for no limit.
        until: nothing from this moment on; None for no limit.
    """

    since: datetime | None = None
    until: datetime | None = None

    def has(self, moment: datetime) -> bool:
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)

    @property
    def is_limited(self) -> bool:
        return self.since is not None or self.until is not None


EVER: Final = Period()


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that may bear on the query.

    Attributes:
        bm25: for each wording of the query, the passage's score by words; None where it is not among the best.
        cosines: for each wording, how near it is in meaning; None where it has no vector.
    """

    passage: Passage
    bm25: tuple[float | None, ...]
    cosines: tuple[float | None, ...]


class CandidateSearch:
    """Gathers candidates for a query in one or several wordings.

    Args:
        wordings: the query first.
        asked: the wordings as they are searched by meaning; None to search by words only.
        excluded: ids of passages that are left out.
        period: when what is searched was said.
        shows: whether a passage of this period may be shown.
    """

    def __init__(
        self,
        store: PassageStore,
        indexes: SearchIndexes,
        *,
        wordings: Sequence[str],
        asked: Asked | None,
        excluded: Collection[int],
        period: Period,
        shows: Callable[[Passage], bool],
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._words = [index_words(wording) for wording in wordings]
        self._asked = asked
        self._excluded = frozenset(excluded)
        self._period = period
        self._shows = shows

    async def of(self, kind: PassageKind) -> list[Found]:
        """The candidates of this kind, by id."""
        if not self._period.is_limited:
            return await self._near(kind, None)
        since, until = self._period.since, self._period.until
        ids = await self._store.passages_between(kind, since=since, until=until, limit=MOST_WITHIN + 1)
        found: list[Found] = []
        if len(ids) > MOST_WITHIN:
            found = await self._near(kind, None)
            if len(found) >= DEPTH:
                return found
        # What an index holds best may all be of another time, and then the newest of this one are looked at.
        within = {*ids[:MOST_WITHIN], *(one.passage.id for one in found)}
        return await self._near(kind, sorted(within - self._excluded))

    async def _near(self, kind: PassageKind, within: Sequence[int] | None) -> list[Found]:
        """What is near the query.

        Args:
            within: the passages that are searched; None for all of this kind.
        """
        depth = DEPTH
        rows = range(len(self._words))
        while True:
            by_words = await asyncio.gather(*(self._by_words(words, kind, depth, within) for words in self._words))
            by_meaning = await asyncio.gather(*(self._by_meaning(row, kind, depth, within) for row in rows))
            ids = sorted({passage_id for found in (*by_words, *by_meaning) for passage_id in found})
            passages = await self._store.passages(ids)
            await self._forget(kind, ids, passages)
            shown = [passage for passage in passages if self._period.has(passage.at) and self._shows(passage)]
            exhausted = all(len(found) < depth for found in (*by_words, *by_meaning))
            if exhausted or len(shown) >= DEPTH or depth >= _DEEPEST:
                return await self._candidates(shown, by_words, by_meaning)
            depth *= 4

    async def _by_words(
        self, words: Sequence[str], kind: PassageKind, depth: int, within: Sequence[int] | None
    ) -> Mapping[int, float]:
        if within is None:
            return dict(await self._indexes.by_words(words, kind, depth, self._excluded))
        return dict(await self._store.search_words(words, kind=kind, limit=depth, within=within))

    async def _by_meaning(
        self, row: int, kind: PassageKind, depth: int, within: Sequence[int] | None
    ) -> Mapping[int, float]:
        if self._asked is None:
            return {}
        if within is None:
            return dict(await self._indexes.by_meaning(self._asked, row, kind, depth, self._excluded))
        (cosines,) = await self._indexes.cosines(self._asked.only(row), within)
        return dict(sorted(cosines.items(), key=lambda one: (-one[1], one[0]))[:depth])

    async def _forget(self, kind: PassageKind, ids: Sequence[int], passages: Sequence[Passage]) -> None:
        gone = set(ids) - {passage.id for passage in passages}
        if gone:
            await self._indexes.forget({kind: gone})

    async def _candidates(
        self,
        passages: Sequence[Passage],
        by_words: Sequence[Mapping[int, float]],
        by_meaning: Sequence[Mapping[int, float]],
    ) -> list[Found]:
        # What was found by its words may be near in meaning, too, without being among the nearest.
        ids = [passage.id for passage in passages if any(passage.id not in found for found in by_meaning)]
        known: Sequence[Mapping[int, float]] = [{} for _ in by_meaning]
        if self._asked is not None:
            known = await self._indexes.cosines(self._asked, ids)
        cosines = [{**more, **found} for more, found in zip(known, by_meaning, strict=True)]
        return [
            Found(
                passage,
                tuple(found.get(passage.id) for found in by_words),
                tuple(found.get(passage.id) for found in cosines),
            )
            for passage in passages
        ]
