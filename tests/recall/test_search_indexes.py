"""What searches while indexes are opened and models change: a search ends with what it began with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import pytest_asyncio

from frontmind.errors import ConnectionLost
from frontmind.recall.embedding import Embedder
from frontmind.recall.indexing import Indexer, space_name
from frontmind.recall.scope_index import vectors_files
from frontmind.recall.search import Recall
from frontmind.recall.search_indexes import SearchIndexes, Serving
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.passages import PassageKind
from recall.concepts import ConceptEmbedder
from recall.test_indexing import Source, filled, indexer_of, texts
from support import START, remember

if TYPE_CHECKING:
    from frontmind.recall.embedding import Vectors


class Held(SqliteStore):
    """A store whose vectors are not read while the gate is not set, as if there were very many.

    Attributes:
        held: set once somebody waits at the gate.
        waiting: how many wait there.
    """

    gate: asyncio.Event
    held: asyncio.Event
    waiting = 0

    async def vectors_after(
        self, space: str, passage_id: int, *, kind: PassageKind, limit: int
    ) -> Sequence[tuple[int, bytes]]:
        self.waiting += 1
        self.held.set()
        try:
            await self.gate.wait()
        finally:
            self.waiting -= 1
        return await super().vectors_after(space, passage_id, kind=kind, limit=limit)


class Wider(ConceptEmbedder):
    """Its vectors have one more dimension."""

    dimensions = ConceptEmbedder.dimensions + 1

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        narrow = await super().embed(texts, query=query)
        wide: Vectors = np.pad(narrow, ((0, 0), (0, 1)))
        return wide


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[Held]:
    """Six memories, whose vectors are not read before the gate is set."""
    opened = Held.open(tmp_path / "mind.db")
    assert isinstance(opened, Held)
    opened.gate, opened.held = asyncio.Event(), asyncio.Event()
    opened.gate.set()
    await filled(opened, 6)
    yield opened
    await opened.close()


async def embedded(store: SqliteStore, embedder: Embedder) -> Serving:
    indexer, _ = indexer_of(store, Source(embedder))
    await indexer.catch_up()
    spaces = {space.name: space for space in await store.vector_spaces()}
    return Serving(embedder, spaces[space_name(embedder)])


async def test_the_first_search_of_a_process_is_over_everything(store: Held) -> None:
    embedder = ConceptEmbedder()
    await embedded(store, embedder)
    store.gate.clear()
    store.held.clear()
    indexes = SearchIndexes(store, patience=60)
    running = asyncio.create_task(Indexer(store, indexes, Source(embedder)).run())
    await store.held.wait()
    searching = asyncio.create_task(texts(Recall(store, indexes), "dog", limit=1))
    await asyncio.wait({searching}, timeout=0.2)
    store.gate.set()
    assert await searching == ["You have a puppy, number 0"]
    running.cancel()
    await asyncio.wait({running})


async def test_a_search_waits_once_for_indexes_that_take_long_to_open(store: Held) -> None:
    embedder = ConceptEmbedder()
    serving = await embedded(store, embedder)
    store.gate.clear()
    indexes = SearchIndexes(store, patience=0.5)
    indexes.serve(serving)
    recall = Recall(store, indexes)
    assert await texts(recall, "puppy", limit=1) == ["You have a puppy, number 0"]
    started = asyncio.get_running_loop().time()
    for _ in range(8):
        assert await texts(recall, "puppy", limit=1) == ["You have a puppy, number 0"]
    # Each search asks for words and for vectors, so eight that wait would take eight seconds.
    assert asyncio.get_running_loop().time() - started < 3
    store.gate.set()
    await indexes.catch_up()
    assert await texts(recall, "dog", limit=1) == ["You have a puppy, number 0"]
    await indexes.close()


@pytest.mark.parametrize("kind", [ConceptEmbedder, Wider])
async def test_a_search_ends_in_the_space_in_which_it_began(store: Held, kind: type[ConceptEmbedder]) -> None:
    old, new = ConceptEmbedder("old@1"), kind("new@1")
    before, after = await embedded(store, old), await embedded(store, new)
    indexes = SearchIndexes(store, patience=60)
    recall = Recall(store, indexes)
    indexes.serve(before)
    assert len(await texts(recall, "vehicle", limit=1)) == 1
    old.gate.clear()
    old.held.clear()
    searching = asyncio.create_task(texts(recall, "dog", limit=1))
    await old.held.wait()
    indexes.serve(after)
    old.gate.set()
    assert await searching == ["You have a puppy, number 0"]
    assert (old.queries, new.queries) == (["vehicle", "dog"], [])
    # And what the old model made of the query is not compared with the vectors of the new one.
    assert await texts(recall, "dog", limit=1) == ["You have a puppy, number 0"]
    assert new.queries == ["dog"]


async def test_a_model_that_no_longer_serves_does_not_silence_the_one_that_does(store: Held) -> None:
    old, new = ConceptEmbedder("old@1"), ConceptEmbedder("new@1")
    before, after = await embedded(store, old), await embedded(store, new)
    told = list[str]()
    indexes = SearchIndexes(store, patience=60, tell=told.append)
    recall = Recall(store, indexes)
    indexes.serve(before)
    old.gate.clear()
    old.held.clear()
    searching = asyncio.create_task(texts(recall, "dog", limit=1))
    await old.held.wait()
    indexes.serve(after)
    old.failure = ConnectionLost("it was closed", model="old@1")
    old.gate.set()
    assert await searching == []
    assert await texts(recall, "dog", limit=1) == ["You have a puppy, number 0"]
    assert told == []


async def test_a_change_of_models_ends_what_was_being_read_for_the_one_before(store: Held) -> None:
    old, new = ConceptEmbedder("old@1"), ConceptEmbedder("new@1")
    before, after = await embedded(store, old), await embedded(store, new)
    store.gate.clear()
    store.held.clear()
    indexes = SearchIndexes(store, patience=60)
    recall = Recall(store, indexes)
    indexes.serve(before)
    searching = asyncio.create_task(texts(recall, "puppy", limit=1))
    await store.held.wait()
    store.held.clear()
    indexes.serve(after)
    assert await searching == ["You have a puppy, number 0"]
    searching = asyncio.create_task(texts(recall, "puppy", limit=1))
    await store.held.wait()
    assert store.waiting == 1
    await indexes.close()
    assert store.waiting == 0
    assert await searching == ["You have a puppy, number 0"]


async def test_an_embedder_that_failed_is_asked_again_although_the_clock_stands_still(store: Held) -> None:
    embedder = ConceptEmbedder()
    indexes = SearchIndexes(store)
    recall = Recall(store, indexes)
    indexes.serve(await embedded(store, embedder))
    embedder.failure = ConnectionLost("gone", model="concepts")
    assert await texts(recall, "dog", limit=1) == []
    embedder.failure = None
    found = [await texts(recall, "dog", limit=1) for _ in range(30)]
    assert found[0] == []
    assert found[-1] == ["You have a puppy, number 0"]


async def test_words_are_brought_up_to_date_while_the_embedder_does_not_answer(store: Held) -> None:
    class Noted(SearchIndexes):
        def __init__(self) -> None:
            super().__init__(store)
            self.times = 0
            self.again = asyncio.Event()

        async def catch_up_words(self) -> None:
            await super().catch_up_words()
            self.times += 1
            if self.times > 1:
                self.again.set()

    embedder = ConceptEmbedder()
    embedder.gate.clear()
    indexes = Noted()
    indexer = Indexer(store, indexes, Source(embedder))
    running = asyncio.create_task(indexer.run())
    await embedder.held.wait()
    await remember(store, "You prefer chamomile", START)
    indexer.wake()
    await asyncio.wait_for(indexes.again.wait(), 10)
    assert embedder.embedded == []
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()


async def test_a_dropped_space_takes_only_its_owner_s_files_along(store: Held, tmp_path: Path) -> None:
    folders = {}
    for owner in ("", "anna"):
        files = vectors_files(tmp_path, owner, PassageKind.MEMORY, "space")
        assert files is not None
        files.folder.mkdir()
        folders[owner] = files.folder
    SearchIndexes(store.of("anna"), root=tmp_path).remove_space("space")
    assert (folders[""].exists(), folders["anna"].exists()) == (True, False)


async def test_a_search_that_went_by_words_because_nothing_has_opened_yet_is_told_once(store: Held) -> None:
    told: list[str] = []
    indexes = SearchIndexes(store, patience=0.05, tell=told.append)
    indexes.expect()
    for _ in range(3):
        await texts(Recall(store, indexes), "puppy", limit=1)
    assert told == ["searching by words only until the embedder is there"]
    await indexes.close()
