"""Passages of one kind by their words: the store's own index while they are few, tantivy beside it above that.

Until tantivy's index is whole, and whenever it turns out to be damaged, the store serves; and always for what tantivy
has not taken yet, so that what was stored is found at once. Does not know what a query means or how finds are ranked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from frontmind.recall import lexical_tantivy
from frontmind.recall.dense import Scored
from frontmind.recall.index_files import Generation, IndexDamaged, IndexFiles, writing
from frontmind.recall.index_marks import made_of, marks_of
from frontmind.recall.lexical_tantivy import FTS5_ROWS, TantivyIndex
from frontmind.stores.recall_protocols import PassageStore
from frontmind.values.passages import PassageKind

_BLOCK: Final = 4096
"""Passages that are read from the store at once: another reader waits for no more than these."""

_MARKED_EACH: Final = 256


class WordIndex:
    """Finds the passages of one kind by their words."""

    def __init__(
        self, store: PassageStore, kind: PassageKind, files: IndexFiles | None, *, rows: int = FTS5_ROWS
    ) -> None:
        """
        Args:
            files: where an index may stand; without, the store's own serves at every size.
            rows: above how many passages one is built.
        """
        self._store = store
        self._kind = kind
        self._files = files if lexical_tantivy.available() else None
        self._rows = rows
        self._index: TantivyIndex | None = None
        self._generation: Generation | None = None
        self._newest = 0
        self._gone: frozenset[int] = frozenset()
        self._busy = asyncio.Lock()

    @property
    def engine(self) -> str:
        """What serves: "tantivy" or "store"."""
        return "store" if self._index is None else "tantivy"

    async def search(
        self, words: Sequence[str], limit: int, excluded: Collection[int] = frozenset(), *, context_weight: float = 0.5
    ) -> Sequence[tuple[int, float]]:
        """The ids of passages that have any of the words, and their scores, best first, ties by id.

        Scores compare only within one search: the engines do not count in quite the same way.
        """
        index = self._index
        newest = 0 if index is None else self._newest
        found: Scored = []
        if index is not None:
            try:
                hidden = self._gone.union(excluded)
                found = await asyncio.to_thread(index.search, words, limit, hidden, context_weight=context_weight)
            except IndexDamaged:
                self._drop(index)
                newest = 0
        # Asked first, since it takes a tenth of what looking for the words does.
        if newest and not await self._store.passages_after(newest, kind=self._kind, limit=1):
            return found
        missing = await self._store.search_words(
            words, kind=self._kind, limit=limit, excluded=excluded, context_weight=context_weight, after=newest
        )
        # The index may have taken some of them while it was searched.
        known = {one for one, _ in found}
        both = [*found, *(hit for hit in missing if hit[0] not in known)]
        return sorted(both, key=lambda hit: (-hit[1], hit[0]))[:limit]

    async def open(self) -> None:
        """Let the index serve that stands on disk, if there is one, with what came since. Builds nothing.

        Raises:
            RunError: what came since cannot be written.
        """
        async with self._busy:
            await self._open_newest()

    async def catch_up(self) -> None:
        """As `open`, and build the index when it is time for one.

        Raises:
            RunError: it cannot be written. What served before goes on.
        """
        async with self._busy:
            await self._open_newest()
            if self._files is None or self._index is not None:
                return
            if await self._store.count_passages(self._kind, most=self._rows + 1) > self._rows:
                with writing(self._files) as alone:
                    if alone:
                        await self._build(self._files)

    def forget(self, ids: Collection[int]) -> None:
        """No longer find these, which the store no longer has. Written when it next catches up."""
        if self._index is not None:
            self._gone = self._gone.union(ids)

    def _drop(self, index: TantivyIndex) -> None:
        if self._index is index:
            if self._files is not None and self._generation is not None:
                self._files.discard(self._generation)
            self._index = self._generation = None
            self._newest = 0

    async def _open_newest(self) -> None:
        files = self._files
        if files is None:
            return
        refused = None
        # Where nothing can be removed, the same one comes again.
        while generation := files.newest():
            if generation in (self._generation, refused):
                break
            try:
                index = await asyncio.to_thread(TantivyIndex, generation.folder)
                if not await made_of(self._store, generation.marks):
                    raise IndexDamaged("it was made of another store")
                newest = await asyncio.to_thread(_newest_of, index)
            except IndexDamaged:
                files.discard(generation)
                refused = generation
            else:
                self._index, self._generation, self._newest = index, generation, newest
        if self._index is not None:
            with writing(files) as alone:
                await self._take_missing(self._index, alone)

    async def _take_missing(self, index: TantivyIndex, alone: bool) -> None:
        try:
            await asyncio.to_thread(index.refresh)
            self._newest = await asyncio.to_thread(_newest_of, index)
            while alone and (rows := await self._rows_after(self._newest)):
                await asyncio.to_thread(index.add, rows)
                self._newest = rows[-1][0]
            if alone and (gone := self._gone):
                await asyncio.to_thread(index.forget, gone)
                self._gone -= gone
        except IndexDamaged:
            self._drop(index)

    async def _build(self, files: IndexFiles) -> None:
        folder = await asyncio.to_thread(files.begin)
        index = await asyncio.to_thread(TantivyIndex, folder)
        writer = await asyncio.to_thread(index.writer)
        ids = [0]
        while rows := await self._rows_after(ids[-1]):
            await asyncio.to_thread(writer.add, rows)
            ids += [one for one, *_ in rows[::-_MARKED_EACH]][::-1]
        await asyncio.to_thread(writer.commit)
        marks = await marks_of(self._store, ids)
        self._generation = await asyncio.to_thread(files.publish, folder, through=ids[-1], marks=marks)
        await asyncio.to_thread(index.refresh)
        self._index, self._newest = index, ids[-1]

    async def _rows_after(self, passage_id: int) -> list[tuple[int, str, str]]:
        found = await self._store.passages_after(passage_id, kind=self._kind, limit=_BLOCK)
        return [(passage.id, passage.text, passage.context) for passage in found]


def _newest_of(index: TantivyIndex) -> int:
    return index.newest


def words_files(root: Path | None, owner: str, kind: PassageKind) -> IndexFiles | None:
    """Where the index of words of this scope stands."""
    return None if root is None else IndexFiles(root, (owner, kind.value), lexical_tantivy.FORMAT)
