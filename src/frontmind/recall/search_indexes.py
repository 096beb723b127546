"""The indexes of one owner's passages, by words and by meaning, and the embedder that serves.

By words is always searched; by meaning as long as an embedder serves and answers in time. Where it does not, a search
goes on without: it is worse then, but it does not fail. Knows nothing of ranking, and does not fill spaces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from frontmind.errors import ModelError, RunError
from frontmind.recall.dense import from_float16
from frontmind.recall.embedding import Embedder
from frontmind.recall.scope_index import IndexedStore, ScopeIndex, vectors_files
from frontmind.values.passages import PassageKind, VectorSpace

if TYPE_CHECKING:
    from frontmind.recall.embedding import Vectors

Tell: TypeAlias = Callable[[str], None]
"""Is told in one line what a person should know."""

PATIENCE: Final = 1.0
"""How long a search waits for the vectors of its query, in seconds: a trinket has two for all that it does."""

_REST: Final = timedelta(minutes=1)
"""How long an embedder that has failed is not asked again: each turn would wait for it."""

_RESTING_SEARCHES: Final = 20
"""After how many searches it is asked again all the same: a clock that stands still does not say how long it was."""

_REMEMBERED_QUERIES: Final = 16


@dataclass(frozen=True, slots=True)
class Serving:
    """What searches by meaning."""

    embedder: Embedder
    space: VectorSpace


@dataclass(frozen=True, slots=True)
class Asked:
    """What one search asks by meaning. It goes on with what served when it began, whatever serves meanwhile.

    Attributes:
        vectors: a row a wording.
        space: the space that they are in.
        scopes: the indexes of that space.
    """

    vectors: Vectors
    space: VectorSpace
    scopes: Mapping[PassageKind, ScopeIndex]

    def only(self, row: int) -> Asked:
        """One wording of it."""
        return replace(self, vectors=self.vectors[row : row + 1])


class SearchIndexes:
    """Searches the passages of one owner, kind by kind.

    Args:
        root: a folder for indexes of this database; None where nothing may be written.
        patience: how long a search waits for the vectors of its query, in seconds.
        tell: told once when the embedder fails, until it answers again.
    """

    def __init__(
        self,
        store: IndexedStore,
        *,
        root: Path | None = None,
        patience: float = PATIENCE,
        tell: Tell = lambda _: None,
    ) -> None:
        self._store = store
        self._root = root
        self._patience = patience
        self._tell = tell
        self._serving: Serving | None = None
        self._scopes: Mapping[PassageKind, ScopeIndex] = {
            kind: ScopeIndex(store, kind=kind, root=root) for kind in PassageKind
        }
        self._opening: asyncio.Task[None] | None = None
        self._slow_opening: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._opened = asyncio.Event()
        self._opened.set()
        self._resting_until: datetime | None = None
        self._searches_to_rest = 0
        self._failing = False
        self._queries: dict[str, Vectors] = {}

    @property
    def serving(self) -> Serving | None:
        """What searches by meaning at present."""
        return self._serving

    def expect(self) -> None:
        """An embedder is being opened: the next search waits for it a little, once."""
        self._opened.clear()

    def serve(self, serving: Serving | None) -> None:
        """Search by meaning with this from now on; None for by words only."""
        if _is_another(serving, self._serving):
            self._end_opening()
            self._scopes = self._scopes_of(None if serving is None else serving.space)
            self._queries.clear()
        self._serving = serving
        self._resting_until = None
        self._opened.set()

    async def ask(self, texts: Sequence[str], now: datetime) -> Asked | None:
        """What is searched for by meaning; None where the vectors of these texts cannot be had now."""
        await self._wait_for_opening()
        serving, scopes = self._serving, self._scopes
        if serving is None or self._rests(now):
            return None
        # Behind what has no embedder, and may have no numpy either.
        import numpy as np  # noqa: PLC0415 - optional dependency

        known = {text: self._queries[text] for text in texts if text in self._queries}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            try:
                async with asyncio.timeout(self._patience):
                    rows = await serving.embedder.embed(missing, query=True)
            except (ModelError, TimeoutError) as error:
                if self._serving is serving:
                    self._rest(serving, error, now)
                return None
            found = dict(zip(missing, rows, strict=True))
            known |= found
            if self._scopes is scopes:
                self._remember(found)
        self._failing = False
        return Asked(np.stack([known[text] for text in texts]), serving.space, scopes)

    def ask_with(self, vectors: Vectors) -> Asked | None:
        """As `ask`, with vectors that the embedder which serves has made, one for each text."""
        return None if self._serving is None else Asked(vectors, self._serving.space, self._scopes)

    async def by_words(
        self, words: Sequence[str], kind: PassageKind, limit: int, excluded: Collection[int]
    ) -> Sequence[tuple[int, float]]:
        """The ids of passages that have any of the words, and their BM25 scores, best first, ties by id."""
        await self._wait_for_indexes()
        return await self._scopes[kind].words.search(words, limit, excluded)

    async def by_meaning(
        self, asked: Asked, row: int, kind: PassageKind, limit: int, excluded: Collection[int]
    ) -> Sequence[tuple[int, float]]:
        """The ids of passages whose vectors are near this row, and their cosines, best first, ties by id."""
        if asked.scopes is self._scopes:
            await self._wait_for_indexes()
        vectors = asked.scopes[kind].vectors
        return [] if vectors is None else await vectors.search(asked.vectors[row], limit, excluded)

    async def cosines(self, asked: Asked, ids: Sequence[int]) -> Sequence[Mapping[int, float]]:
        """For each row of what is asked, the cosines of those of these passages that have a vector."""
        rows = await self._store.vectors(asked.space.name, ids) if ids else ()
        if not rows:
            return [{} for _ in asked.vectors]
        found = from_float16([blob for _, blob in rows], asked.space.dimensions)
        return [
            dict(zip([passage_id for passage_id, _ in rows], (found @ vector).tolist(), strict=True))
            for vector in asked.vectors
        ]

    async def catch_up(self) -> None:
        """Take what the store has and the indexes have not, and build what has become large, which may take minutes.
        What cannot be written is told, and goes on as it was.
        """
        # What a search waits for, too: otherwise the first one would go over indexes that are not there yet.
        await asyncio.wait({self._open_once()})
        for scope in self._scopes.values():
            await self._told(scope.catch_up())

    async def catch_up_words(self) -> None:
        """As `catch_up`, with the words alone, and building nothing: it takes little."""
        for scope in self._scopes.values():
            await self._told(scope.words.open())

    async def forget(self, ids: Mapping[PassageKind, Collection[int]]) -> None:
        """No longer find these, which the store no longer has."""
        for kind, gone in ids.items():
            await self._told(self._scopes[kind].forget(gone))

    async def close(self) -> None:
        """Search by words only from now on, and end what is still being read."""
        self.serve(None)
        self._end_opening()
        if self._ending:
            await asyncio.wait(self._ending)

    def remove_space(self, name: str) -> None:
        """Delete the files of the indexes of a space that the store has dropped."""
        for kind in PassageKind:
            if (files := vectors_files(self._root, self._store.owner, kind, name)) is not None:
                files.remove()

    def _scopes_of(self, space: VectorSpace | None) -> Mapping[PassageKind, ScopeIndex]:
        return {
            kind: ScopeIndex(self._store, kind=kind, root=self._root, space=space, words=scope.words)
            for kind, scope in self._scopes.items()
        }

    async def _wait_for_opening(self) -> None:
        if self._opened.is_set():
            return
        try:
            async with asyncio.timeout(self._patience):
                await self._opened.wait()
        except TimeoutError:
            # It may have to be fetched first; no further search waits for that.
            self._opened.set()
            self._tell("searching by words only until the embedder is there")

    async def _wait_for_indexes(self) -> None:
        """Have the indexes that stand on disk opened, once."""
        opening = self._open_once()
        if not opening.done() and opening is not self._slow_opening:
            # Much may have come since, and whoever searches may be cancelled meanwhile: it goes on then.
            await asyncio.wait({opening}, timeout=self._patience)
            if not opening.done():
                # A search asks several times, and waits once.
                self._slow_opening = opening
        if opening.done() and not opening.cancelled() and (error := opening.exception()) is not None:
            if self._opening is opening:
                self._opening = None
            raise error

    def _open_once(self) -> asyncio.Task[None]:
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(self._scopes))
        return self._opening

    async def _open(self, scopes: Mapping[PassageKind, ScopeIndex]) -> None:
        for scope in scopes.values():
            await self._told(scope.open())

    def _end_opening(self) -> None:
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            self._ending.add(self._opening)
            self._opening.add_done_callback(self._ending.discard)
        self._opening = None

    async def _told(self, work: Awaitable[None]) -> None:
        try:
            await work
        except RunError as error:
            self._tell(str(error))

    def _remember(self, found: Mapping[str, Vectors]) -> None:
        while len(self._queries) > _REMEMBERED_QUERIES:
            del self._queries[next(iter(self._queries))]
        self._queries.update(found)

    def _rests(self, now: datetime) -> bool:
        if self._resting_until is None or now >= self._resting_until or self._searches_to_rest < 1:
            return False
        self._searches_to_rest -= 1
        return True

    def _rest(self, serving: Serving, error: Exception, now: datetime) -> None:
        self._resting_until, self._searches_to_rest = now + _REST, _RESTING_SEARCHES
        if not self._failing:
            reason = str(error) or f"it took longer than {self._patience:g} s"
            self._tell(f"searching by words only for now, since {serving.embedder.name} does not answer: {reason}")
        self._failing = True


def _is_another(serving: Serving | None, before: Serving | None) -> bool:
    """Whether the indexes of what served before are of no use to this one."""
    if serving is None or before is None:
        return serving is not before
    # One that has less than before was dropped, and was begun anew.
    return serving.space.name != before.space.name or serving.space.embedded_to < before.space.embedded_to
