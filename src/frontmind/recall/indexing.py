"""Embeds what has no vector yet, in the background, and moves from one embedding model to another.

A passage without a vector is found by its words meanwhile. How far a space has come is kept in the store batch by
batch, so a process that dies loses at most one batch of work. Knows nothing of searching.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NoReturn

from frontmind.errors import EmbedderUnavailable, FrontmindError, ModelError, RequestRefused
from frontmind.recall.embedder_source import EmbedderSource
from frontmind.recall.embedding import Embedder
from frontmind.recall.scope_index import IndexedStore
from frontmind.recall.search_indexes import SearchIndexes, Serving, Tell
from frontmind.recall.words import passage_for_model
from frontmind.values.passages import Passage, PassageKind, VectorSpace

if TYPE_CHECKING:
    from frontmind.recall.embedding import Vectors

BATCH: Final = 32
"""How many passages are embedded before their vectors are kept: a fifth of a second with the default model."""

_FORM: Final = " v2"
"""Stands behind the embedder's name in a space's, and changes with what is embedded of a passage."""

_BETWEEN_CATCHING_UP: Final = 32
"""After how many batches the indexes take what is new, while much is embedded."""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far the embedding has come.

    Attributes:
        model: the name of the embedder whose space is filled.
        done: how much was embedded since this began, in ids of passages; those of removed ones count.
        of: how much there is in all, ``done`` included.
    """

    model: str
    done: int
    of: int


class Indexer:
    """Keeps the vectors of a store up to date as long as `run` runs.

    Args:
        source: where the embedder comes from.
        indexes: told which space serves.
        tell: told in one line when passages cannot be embedded, and when a change of models is done.
        batch: how many passages are embedded at once.
    """

    def __init__(
        self,
        store: IndexedStore,
        indexes: SearchIndexes,
        source: EmbedderSource,
        *,
        tell: Tell = lambda _: None,
        batch: int = BATCH,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._source = source
        self._tell = tell
        self._batch = batch
        self._wake = asyncio.Event()
        self._wake_words = asyncio.Event()
        self._busy = asyncio.Lock()
        self._embedder: Embedder | None = None
        self._former: Embedder | None = None
        self._progress: IndexProgress | None = None
        self._told = ""
        self._has_looked_for_outdated = False

    @property
    def progress(self) -> IndexProgress | None:
        """How far the embedding has come; None while there is nothing to embed."""
        return self._progress

    def wake(self) -> None:
        """Something was stored."""
        self._wake.set()
        self._wake_words.set()

    async def run(self) -> None:
        """Open the embedder, embed what has no vector, and go on whenever something was stored, until cancelled."""
        self._indexes.expect()
        try:
            async with asyncio.TaskGroup() as group:
                # By themselves: an embedder may have to be fetched first, or not answer for minutes.
                group.create_task(_whenever(self._wake_words, self._indexes.catch_up_words))
                group.create_task(_whenever(self._wake, self.catch_up))
        finally:
            await self.close()

    async def close(self) -> None:
        """Close what was opened; searches go on by words."""
        await self._indexes.close()
        for embedder in (self._embedder, self._former):
            if embedder is not None:
                await embedder.close()
        self._embedder = self._former = None

    async def catch_up(self) -> None:
        """Embed everything that has no vector yet. What cannot be done now is told, and tried again the next time."""
        async with self._busy:
            await self._catch_up()

    async def _catch_up(self) -> None:
        try:
            await self.open()
            if self._embedder is not None:
                await self._fill_or_look(self._embedder)
            await self._indexes.catch_up()
            self._told = ""
        except EmbedderUnavailable as error:
            serving = self._indexes.serving
            how = "by words only" if serving is None else f"with {serving.embedder.name} as before"
            await self._go_on(f"searching {how}: {error}")
        except FrontmindError as error:
            await self._go_on(f"not everything can be searched by meaning at present: {error}")
        finally:
            self._progress = None

    async def open(self) -> None:
        """Let the embedder serve, or while its space is filled the one before it. Writes nothing.

        Raises:
            EmbedderUnavailable: there is none to be had.
            ModelError: it failed this time.
        """
        if self._embedder is not None:
            return
        try:
            embedder = await self._source.open()
        except ModelError:
            await self._serve_former(None)
            raise
        if embedder is None:
            self._indexes.serve(None)
            return
        self._embedder = embedder
        await self._serve_former(embedder)

    async def _serve_former(self, embedder: Embedder | None) -> None:
        """Serve the space that has come furthest and whose embedder can be had; the wanted one where two have come
        as far.
        """
        if self._former is not None and embedder is None:
            return
        wanted = None if embedder is None else space_name(embedder)
        spaces = {space.name: space for space in await self._store.vector_spaces()}
        ordered = sorted(spaces.values(), key=lambda space: (-space.embedded_to, space.name != wanted, space.name))
        for space in ordered:
            if embedder is not None and space.name == wanted:
                break
            if self._former is not None and space_name(self._former) == space.name:
                return
            former = await self._source.former(space.name.removesuffix(_FORM))
            if former is not None and former.dimensions == space.dimensions:
                self._indexes.serve(Serving(former, space))
                await self._leave_former(former)
                return
        if embedder is None or wanted not in spaces:
            self._indexes.serve(None)
        else:
            self._indexes.serve(Serving(embedder, spaces[wanted]))
        await self._leave_former(None)

    async def _leave_former(self, successor: Embedder | None) -> None:
        left, self._former = self._former, successor
        if left is not None:
            await left.close()

    async def _fill_or_look(self, embedder: Embedder) -> None:
        with self._store.filling() as alone:
            if alone:
                await self._fill(embedder)
            elif self._former is not None or self._indexes.serving is None:
                # Each would embed what the other does. It is looked at again when something is stored.
                await self._serve_former(embedder)

    async def _fill(self, embedder: Embedder) -> None:
        space = await self._store.begin_space(space_name(embedder), embedder.dimensions)
        outdated = await self._outdated(space)
        if self._former is None:
            self._indexes.serve(Serving(embedder, space))
        reached, batches = space.embedded_to, 0
        while passages := await self._store.passages_after(reached, limit=self._batch):
            newest = await self._store.newest_passage()
            self._progress = IndexProgress(embedder.name, reached - space.embedded_to, newest - space.embedded_to)
            rows = await _vectors(embedder, passages)
            reached, batches = passages[-1].id, batches + 1
            await self._store.save_vectors(space.name, rows, embedded_to=reached)
            if batches % _BETWEEN_CATCHING_UP == 0:
                await self._indexes.catch_up()
        self._indexes.serve(Serving(embedder, replace(space, embedded_to=reached)))
        if self._former is not None:
            self._tell(f"everything can be searched with {embedder.name} now")
            await self._leave_former(None)
        for name in outdated:
            await self._store.drop_space(name)
            self._indexes.remove_space(name)

    async def _outdated(self, space: VectorSpace) -> Sequence[str]:
        """The spaces that this one has taken the place of before this program started.

        One that has fallen behind only since then may be what another process searches in; were it dropped, that
        process would embed everything again, and drop this one.
        """
        if self._has_looked_for_outdated:
            return ()
        self._has_looked_for_outdated = True
        spaces = await self._store.vector_spaces()
        return [other.name for other in spaces if other.name != space.name and other.embedded_to <= space.embedded_to]

    async def _go_on(self, line: str) -> None:
        if line != self._told:
            self._tell(line)
        self._told = line
        await self._indexes.catch_up()


async def _whenever(wake: asyncio.Event, work: Callable[[], Awaitable[None]]) -> NoReturn:
    while True:
        wake.clear()
        await work()
        await wake.wait()


def space_name(embedder: Embedder) -> str:
    """The name of the space that holds the embedder's vectors."""
    return f"{embedder.name}{_FORM}"


def dense_text(passage: Passage) -> str:
    """What is embedded of a passage."""
    if passage.kind is PassageKind.MEMORY:
        # The day on which a fact was told says nothing of it, and is much beside one sentence.
        return passage.text
    return passage_for_model(passage.text, passage.context, passage.at)


async def _vectors(embedder: Embedder, passages: Sequence[Passage]) -> list[tuple[int, bytes]]:
    """A vector for each passage, but for those that the embedder refuses to take."""
    try:
        vectors = await embedder.embed([dense_text(passage) for passage in passages])
    except RequestRefused:
        if len(passages) == 1:
            return []
        # One of them is the cause; the others must not wait for it for ever.
        return [row for passage in passages for row in await _vectors(embedder, [passage])]
    return list(zip([passage.id for passage in passages], _float16(vectors), strict=True))


def _float16(vectors: Vectors) -> list[bytes]:
    return [row.astype("<f2").tobytes() for row in vectors]
