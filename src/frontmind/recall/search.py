"""Search over what was said and kept: memories, exchanges, documents.

Candidates come by words and by meaning, kind by kind, and are ranked together. Whose they are was decided before: the
store and its indexes hold one owner's passages only. Does not know windows; what is in one is passed as excluded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import exp, log
from typing import Final

from frontmind.recall.candidates import EVER, CandidateSearch, Found, Period
from frontmind.recall.finds import distinct, holding, with_linked
from frontmind.recall.importance import importances
from frontmind.recall.prompt_documents import PromptDocuments
from frontmind.recall.rank_evidence import Candidate
from frontmind.recall.rank_memories import rank_memories
from frontmind.recall.ranking import rank
from frontmind.recall.search_indexes import SearchIndexes
from frontmind.stores.protocols import Store
from frontmind.values.memories import Memory
from frontmind.values.passages import Hit, Passage, PassageKind, Recollection
from frontmind.values.records import Document

BEFORE_WEIGHT: Final = 0.6
"""What a find counts that only the query together with what was said before leads to: it stays below what the query
itself leads to, and needs to be that much more certain."""

_IMPORTANCE_WEIGHT: Final = 0.5
"""How much a memory's importance, from 0 to 1, moves the logarithm of its odds: even ones become 0.44 to 0.56. What was
used often goes in front of its like, and what is irrelevant stays so."""

_COUNTED: Final = 1000
"""Up to this many the ranking tells small stores from large ones."""


class Recall:
    """Searches the store.

    Args:
        indexes: what searches; by words only without.
    """

    def __init__(self, store: Store, indexes: SearchIndexes | None = None) -> None:
        self._store = store
        self._indexes = indexes or SearchIndexes(store)

    async def search(
        self,
        query: str,
        *,
        now: datetime,
        limit: int,
        kinds: Collection[PassageKind] = tuple(PassageKind),
        excluded: Collection[int] = (),
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Sequence[Recollection]:
        """What bears on the query, best first, ties by id: also memories that no longer hold, which say so.

        Documents that stand in the system prompt are left out.

        Args:
            now: the moment of asking, in the person's zone.
            kinds: what is searched.
            excluded: ids of exchanges that are left out.
            since: nothing that is older.
            until: nothing from this moment on.
        """

        in_prompt, counted = await self._counted(kinds, excluded)
        documents = PromptDocuments(in_prompt if PassageKind.DOCUMENT in kinds else ())

        def shows(passage: Passage) -> bool:
            return not documents.show(passage)

        hits, memories = await self._ranked((query,), now, counted, excluded, shows, Period(since, until))
        found: list[Recollection] = []
        for hit in hits:
            memory = memories.get(hit.passage.ref) if hit.passage.kind is PassageKind.MEMORY else None
            if memory is None and hit.passage.kind is PassageKind.MEMORY:
                continue
            found.append(Recollection(hit, memory))
        return distinct(found, limit=limit, across=False)

    async def surface(
        self,
        query: str,
        *,
        now: datetime,
        limit: int,
        least: float,
        before: str = "",
        excluded: Collection[int] = (),
    ) -> Sequence[Recollection]:
        """What bears on the query for certain enough, best first, ties by id: what holds, each thing once, with what
        its links lead to.

        Args:
            least: the score from which on a find counts.
            before: what was said right before the query; it helps to understand it, and counts less.
            excluded: ids of exchanges that are left out.
        """
        in_prompt, counted = await self._counted(tuple(PassageKind), excluded)
        documents = PromptDocuments(in_prompt)

        def shows(passage: Passage) -> bool:
            return not documents.show(passage) and not documents.hold_back(passage)

        wordings = (query, f"{before}\n{query}") if before else (query,)
        hits, memories = await self._ranked(wordings, now, counted, excluded, shows)
        certain = [hit for hit in hits if hit.score >= least][: 4 * limit]
        found = await holding(self._store, self._store, certain, memories, now)
        return await with_linked(self._store, distinct(found, limit=limit, across=True), now)

    async def _counted(
        self, kinds: Collection[PassageKind], excluded: Collection[int]
    ) -> tuple[Sequence[Document], Mapping[PassageKind, int]]:
        """The documents, and how many passages there are of each kind, all read at once."""
        most = _COUNTED + len(excluded)
        counting = asyncio.gather(*(self._store.count_passages(kind, most=most) for kind in kinds))
        documents, counts = await asyncio.gather(self._store.documents(), counting)
        return documents, dict(zip(kinds, counts, strict=True))

    async def _ranked(
        self,
        wordings: Sequence[str],
        now: datetime,
        counted: Mapping[PassageKind, int],
        excluded: Collection[int],
        shows: Callable[[Passage], bool],
        period: Period = EVER,
    ) -> tuple[list[Hit], Mapping[int, Memory]]:
        """Everything that was found, best first, and the memories among it by id.

        Args:
            counted: how many passages there are of each kind that is searched.
        """
        # Most searches of a young conversation end here: all that was said stands in its window.
        left = {PassageKind.EXCHANGE: len(excluded)}
        searched = [kind for kind in PassageKind if counted.get(kind, 0) > left.get(kind, 0)]
        if not searched:
            return [], {}
        search = CandidateSearch(
            self._store,
            self._indexes,
            wordings=wordings,
            asked=await self._indexes.ask(wordings, now),
            excluded=excluded,
            period=period,
            shows=shows,
        )
        found = await asyncio.gather(*(search.of(kind) for kind in searched))
        candidates = [candidate for of_kind in found for candidate in of_kind]
        hits = _hits(candidates, wordings, now, {kind: min(count, _COUNTED) for kind, count in counted.items()})
        refs = [hit.passage.ref for hit in hits if hit.passage.kind is PassageKind.MEMORY]
        memories = await self._store.memories(sorted(set(refs))) if refs else ()
        weights = await importances(self._store, memories, now) if memories else {}
        hits = [_weighted(hit, weights) for hit in hits]
        hits.sort(key=lambda hit: (-hit.score, hit.passage.id))
        return hits, {memory.id: memory for memory in memories}


def _hits(
    candidates: Sequence[Found], wordings: Sequence[str], now: datetime, counts: Mapping[PassageKind, int]
) -> list[Hit]:
    """The candidates with their scores: what the query itself leads to, and with less weight what the other wordings
    lead to.

    Args:
        counts: how many memories and how many exchanges there are in all.
    """
    memories, others = _split(candidates)
    best: dict[int, tuple[float, tuple[str, ...]]] = {}
    for place, wording in enumerate(wordings):
        weight = 1.0 if place == 0 else BEFORE_WEIGHT
        remembered = rank_memories(wording, _worded(memories, place), count=counts.get(PassageKind.MEMORY, 0))
        said = rank(wording, _worded(others, place), now=now, exchanges=counts.get(PassageKind.EXCHANGE))
        for found in (*remembered, *said):
            score = weight * found.score
            if found.id not in best or score > best[found.id][0]:
                best[found.id] = (score, found.reasons)
    passages = {candidate.passage.id: candidate.passage for candidate in candidates}
    return [Hit(passages[passage_id], score, why) for passage_id, (score, why) in best.items()]


def _split(candidates: Sequence[Found]) -> tuple[list[Found], list[Found]]:
    """The memories, and what else there is."""
    memories = [candidate for candidate in candidates if candidate.passage.kind is PassageKind.MEMORY]
    return memories, [candidate for candidate in candidates if candidate.passage.kind is not PassageKind.MEMORY]


def _worded(candidates: Sequence[Found], wording: int) -> list[Candidate]:
    return [
        Candidate(candidate.passage, candidate.bm25[wording], candidate.cosines[wording]) for candidate in candidates
    ]


def _weighted(hit: Hit, importance: Mapping[int, float]) -> Hit:
    """The hit with a memory's importance in its score."""
    weight = importance.get(hit.passage.ref) if hit.passage.kind is PassageKind.MEMORY else None
    if weight is None or not 0 < hit.score < 1:
        return hit
    odds = log(hit.score / (1 - hit.score)) + _IMPORTANCE_WEIGHT * (weight - 0.5)
    return replace(hit, score=1 / (1 + exp(-odds)))
