"""The indexes of one scope, an owner's passages of one kind: which engine serves, and how it keeps up with the store.

A small scope is served by the store's full-text index and an exact scan of vectors. Above a measured size, tantivy
(`word_index`) and faiss (here) take over with indexes on disk that are built from the store in the background; until
one is whole, what served before goes on. A search never waits for that. Does not know what a query means or how finds
are ranked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from frontmind.recall import dense_faiss
from frontmind.recall.dense import EXACT_ROWS, ExactIndex, Scored, from_float16
from frontmind.recall.dense_faiss import FaissBuilder, FaissIndex, sample_size
from frontmind.recall.index_files import Generation, IndexDamaged, IndexFiles, unwritable, writing
from frontmind.recall.index_marks import made_of, marks_of
from frontmind.recall.word_index import WordIndex, words_files
from frontmind.stores.recall_protocols import PassageStore, VectorStore
from frontmind.values.passages import PassageKind, VectorSpace

if TYPE_CHECKING:
    from frontmind.recall.dense import Ids
    from frontmind.recall.embedding import Vectors

_BLOCK: Final = 4096
"""Passages that are read from the store at once: another reader waits for no more than these."""

_MARKED_EACH: Final = 256
_SAMPLE_BLOCK: Final = 32
_LEAST_SPARE: Final = 16
"""How many more than asked for are compared by their stored vectors: those of faiss are rounded to eight bits."""

_FORGOTTEN_ROWS: Final = 5_000
"""Rows of the file that are no longer found and yet cost each search; with more of them it is built anew."""


class IndexedStore(PassageStore, VectorStore, Protocol):
    """Where passages and their vectors are: the truth."""


class VectorIndex:
    """Finds the passages of one kind by their vectors of one space.

    The store must get the vectors of a space by growing ids: one that comes for an earlier passage is not seen before
    the index is built anew.
    """

    def __init__(
        self,
        store: IndexedStore,
        kind: PassageKind,
        space: VectorSpace,
        files: IndexFiles | None,
        *,
        rows: int = EXACT_ROWS,
    ) -> None:
        """
        Args:
            files: where an index may stand; without, all vectors are compared at every size.
            rows: how many are compared one by one before an index is built of them.
        """
        self._store = store
        self._kind = kind
        self._space = space
        self._files = files if dense_faiss.available() else None
        self._rows = rows
        self._index: ExactIndex | FaissIndex = ExactIndex(space.dimensions)
        self._generation: Generation | None = None
        self._through = 0
        self._gone: frozenset[int] = frozenset()
        self._busy = asyncio.Lock()

    @property
    def engine(self) -> str:
        """What serves: "exact" or "faiss"."""
        return "exact" if isinstance(self._index, ExactIndex) else "faiss"

    @property
    def size(self) -> int:
        """How many passages can be found; none before the first `open` or `catch_up`."""
        return self._index.size

    async def search(self, vector: Vectors, limit: int, excluded: Collection[int] = frozenset()) -> Scored:
        """As `DenseIndex.search`, over what the last `open` or `catch_up` saw. The cosines are those of the stored
        vectors, whichever engine serves.
        """
        index, hidden = self._index, self._gone.union(excluded)
        if isinstance(index, ExactIndex):
            return await asyncio.to_thread(index.search, vector, limit, hidden)
        near = await asyncio.to_thread(index.search, vector, limit + max(limit // 4, _LEAST_SPARE), hidden)
        rows = await self._store.vectors(self._space.name, [one for one, _ in near])
        if not rows or limit < 1:
            return []
        self.forget({one for one, _ in near} - {one for one, _ in rows})
        stored = ExactIndex(self._space.dimensions)
        stored.add(*self._arrays(rows))
        return stored.search(vector, limit)

    async def open(self) -> None:
        """Let the index serve that stands on disk, if there is one, with what came since. Builds nothing.

        Raises:
            RunError: what was forgotten cannot be written.
        """
        async with self._busy:
            await self._open_newest()

    async def catch_up(self) -> None:
        """As `open`, and build a file of all vectors when many are compared one by one.

        Raises:
            RunError: it cannot be written. What served before goes on.
        """
        async with self._busy:
            await self._open_newest()
            if self._files is not None and self._outgrown():
                with writing(self._files) as alone:
                    if alone:
                        await self._build(self._files)

    def forget(self, ids: Collection[int]) -> None:
        """No longer find these, which the store no longer has. Noted on disk when it next catches up."""
        self._gone = self._gone.union(ids)

    def _scanned(self, index: ExactIndex | FaissIndex) -> int:
        return index.size if isinstance(index, ExactIndex) else index.tail.size

    def _outgrown(self) -> bool:
        index = self._index
        return self._scanned(index) > self._rows or (
            isinstance(index, FaissIndex) and index.forgotten > _FORGOTTEN_ROWS
        )

    async def _open_newest(self) -> None:
        files, refused = self._files, None
        # Where nothing can be removed, the same one comes again.
        while files is not None and (generation := files.newest()):
            if generation in (self._generation, refused):
                break
            try:
                index = await asyncio.to_thread(FaissIndex, generation.folder)
                if not await self._is_ours(index, generation):
                    raise IndexDamaged("it was made of other vectors")
            except IndexDamaged:
                files.discard(generation)
                refused = generation
            else:
                await self._serve(index, generation)
        self._through = await self._take_missing(self._index, self._through)
        if gone := self._gone:
            try:
                await asyncio.to_thread(self._index.forget, gone)
            except OSError as error:
                raise unwritable("memory" if files is None else files.folder, error) from error
            self._gone -= gone

    async def _is_ours(self, index: FaissIndex, generation: Generation) -> bool:
        # A space that was dropped and begun again is behind the index that was made of it before.
        come = [space.embedded_to for space in await self._store.vector_spaces() if space.name == self._space.name]
        fits = index.tail.dimensions == self._space.dimensions and come and come[0] >= generation.through
        return bool(fits) and await made_of(self._store, generation.marks)

    async def _serve(self, index: FaissIndex, generation: Generation) -> None:
        through = await self._take_missing(index, generation.through)
        self._index, self._generation, self._through = index, generation, through

    async def _take_missing(self, index: ExactIndex | FaissIndex, through: int) -> int:
        # What a file is about to be built of is not read into memory first.
        most = None if self._files is None else 2 * self._rows
        while most is None or self._scanned(index) <= most:
            ids, vectors = await self._after(through, _BLOCK)
            if not len(ids):
                break
            await asyncio.to_thread(index.add, ids, vectors)
            through = int(ids[-1])
        return through

    async def _build(self, files: IndexFiles) -> None:
        count = await self._store.count_passages(self._kind)
        sample = await self._sample(sample_size(count))
        if not len(sample):
            return
        builder = await asyncio.to_thread(FaissBuilder, count, sample)
        taken = [0]
        while True:
            ids, vectors = await self._after(taken[-1], _BLOCK)
            if not len(ids):
                break
            await asyncio.to_thread(builder.add, ids, vectors)
            taken += ids[::-_MARKED_EACH][::-1].tolist()
        folder = await asyncio.to_thread(files.begin)
        await asyncio.to_thread(builder.write, folder)
        marks = await marks_of(self._store, taken)
        unchanging = (dense_faiss.VECTORS_FILE, dense_faiss.IDS_FILE)
        generation = await asyncio.to_thread(
            files.publish, folder, through=taken[-1], marks=marks, unchanging=unchanging
        )
        await self._serve(await asyncio.to_thread(FaissIndex, folder), generation)

    async def _sample(self, size: int) -> Vectors:
        """About so many vectors, in short runs that stand evenly over all ids."""
        import numpy as np  # noqa: PLC0415 - optional dependency

        newest = await self._store.newest_passage()
        runs = -(-size // _SAMPLE_BLOCK)
        taken: dict[int, Vectors] = {}
        for run in range(runs):
            ids, vectors = await self._after(newest * run // runs, _SAMPLE_BLOCK)
            taken.update(zip(ids.tolist(), vectors, strict=True))
        return np.array(list(taken.values()), np.float32).reshape(-1, self._space.dimensions)

    async def _after(self, passage_id: int, limit: int) -> tuple[Ids, Vectors]:
        return self._arrays(await self._store.vectors_after(self._space.name, passage_id, kind=self._kind, limit=limit))

    def _arrays(self, rows: Sequence[tuple[int, bytes]]) -> tuple[Ids, Vectors]:
        import numpy as np  # noqa: PLC0415 - optional dependency

        vectors = from_float16([vector for _, vector in rows], self._space.dimensions)
        return np.array([one for one, _ in rows], np.int64), vectors


class ScopeIndex:
    """Both indexes of one scope: ``words``, and ``vectors`` where there is a space."""

    def __init__(
        self,
        store: IndexedStore,
        *,
        kind: PassageKind,
        root: Path | None,
        space: VectorSpace | None = None,
        words: WordIndex | None = None,
    ) -> None:
        """
        Args:
            root: the folder for indexes of this database; None where nothing may be written.
            space: the space that vectors are searched in.
            words: the index of words of this scope, where there is one already: it knows no spaces.
        """
        self.words: Final = words or WordIndex(store, kind, words_files(root, store.owner, kind))
        self.vectors: Final = (
            None
            if space is None
            else VectorIndex(store, kind, space, vectors_files(root, store.owner, kind, space.name))
        )

    async def open(self) -> None:
        """Let the indexes serve that stand on disk, with what came since. Builds nothing: for the start.

        Raises:
            RunError: what came since cannot be written.
        """
        await self.words.open()
        if self.vectors is not None:
            await self.vectors.open()

    async def catch_up(self) -> None:
        """As `open`, and build what has become large enough for it: in the background, after something was stored.

        Raises:
            RunError: one cannot be written. What served before goes on.
        """
        await self.words.catch_up()
        if self.vectors is not None:
            await self.vectors.catch_up()

    async def forget(self, ids: Collection[int]) -> None:
        """No longer find these, which the store no longer has. Waits for nothing: it is written at the next `open`."""
        self.words.forget(ids)
        if self.vectors is not None:
            self.vectors.forget(ids)


def vectors_files(root: Path | None, owner: str, kind: PassageKind, space: str) -> IndexFiles | None:
    """Where the index of vectors of this scope and space stands; to be removed with the space."""
    return None if root is None else IndexFiles(root, (owner, kind.value, space), dense_faiss.FORMAT)
