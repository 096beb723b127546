"""Embedding in the background: everything gets its vector, batch by batch, whatever dies, fails or is exchanged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from frontmind.errors import ConnectionLost, EmbedderUnavailable, ModelError, RequestRefused
from frontmind.recall.embedding import Embedder
from frontmind.recall.indexing import Indexer, IndexProgress, space_name
from frontmind.recall.search import Recall
from frontmind.recall.search_indexes import SearchIndexes
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.passages import PassageKind
from recall.concepts import ConceptEmbedder
from support import START, remember

if TYPE_CHECKING:
    from frontmind.recall.embedding import Vectors

TOPICS = ("a puppy", "an automobile", "a physician", "a flat", "green tea", "a salary")


class Source:
    """Gives one embedder, and those of former names that it was told of."""

    def __init__(self, embedder: Embedder | None, *former: Embedder) -> None:
        self.embedder = embedder
        self.failure: Exception | None = None
        self._former = {embedder.name: embedder for embedder in former}

    async def open(self) -> Embedder | None:
        if self.failure is not None:
            raise self.failure
        return self.embedder

    async def former(self, name: str) -> Embedder | None:
        return self._former.get(name)


class Counting(ConceptEmbedder):
    """Notes how far the indexer says that it is while it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.indexer: Indexer | None = None
        self.seen: list[IndexProgress | None] = []

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        if not query and self.indexer is not None:
            self.seen.append(self.indexer.progress)
        return await super().embed(texts, query=query)


@pytest_asyncio.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(":memory:")
    yield opened
    await opened.close()


async def filled(store: SqliteStore, count: int = 20, at: datetime = START) -> None:
    for number in range(count):
        await remember(store, f"You have {TOPICS[number % len(TOPICS)]}, number {number}", at)


def indexer_of(
    store: SqliteStore, source: Source, told: list[str] | None = None, *, batch: int = 4
) -> tuple[Indexer, Recall]:
    lines = told if told is not None else []
    indexes = SearchIndexes(store, tell=lines.append)
    return Indexer(store, indexes, source, tell=lines.append, batch=batch), Recall(store, indexes)


async def texts(recall: Recall, query: str, *, limit: int = 3) -> list[str]:
    found = await recall.search(query, now=START, limit=limit, kinds=(PassageKind.MEMORY,))
    return [find.hit.passage.text for find in found]


async def reached(store: SqliteStore) -> dict[str, int]:
    return {space.name: space.embedded_to for space in await store.vector_spaces()}


async def test_what_has_no_word_in_common_with_the_query_is_found_once_it_is_embedded(store: SqliteStore) -> None:
    await filled(store, 6)
    indexer, recall = indexer_of(store, Source(ConceptEmbedder()))
    assert await texts(recall, "dog") == []
    await indexer.catch_up()
    assert (await texts(recall, "dog"))[0] == "You have a puppy, number 0"


async def test_the_progress_is_told_batch_by_batch_and_ends_with_everything(store: SqliteStore) -> None:
    await filled(store, 10)
    embedder = Counting()
    indexer, _ = indexer_of(store, Source(embedder))
    embedder.indexer = indexer
    await indexer.catch_up()
    assert [(progress.done, progress.of) for progress in embedder.seen if progress] == [(0, 10), (4, 10), (8, 10)]
    assert indexer.progress is None
    assert await reached(store) == {space_name(embedder): 10}


async def test_each_passage_is_embedded_once_with_its_day_and_new_ones_later(store: SqliteStore) -> None:
    embedder = ConceptEmbedder()
    indexer, _ = indexer_of(store, Source(embedder))
    await filled(store, 5)
    await indexer.catch_up()
    await indexer.catch_up()
    assert len(embedder.embedded) == 5
    assert embedder.embedded[0] == "You have a puppy, number 0"
    await remember(store, "You drive an automobile", START)
    await indexer.catch_up()
    assert len(embedder.embedded) == 6


async def test_a_run_that_is_cancelled_goes_on_where_it_was(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "mind.db")
    await filled(store, 12)
    embedder = ConceptEmbedder()
    indexer, _ = indexer_of(store, Source(embedder))
    embedder.hold_after = 8
    running = asyncio.ensure_future(indexer.run())
    await embedder.held.wait()
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()
    await store.close()

    store = SqliteStore.open(tmp_path / "mind.db")
    kept = (await reached(store))[space_name(embedder)]
    assert kept == 8
    again = ConceptEmbedder()
    indexer, recall = indexer_of(store, Source(again))
    await indexer.catch_up()
    assert len(again.embedded) == 12 - kept
    assert (await texts(recall, "vehicle"))[0].startswith("You have an automobile")
    await store.close()


async def test_an_embedder_that_fails_is_told_once_and_tried_again_when_something_is_stored(store: SqliteStore) -> None:
    await filled(store, 6)
    embedder, told = ConceptEmbedder(), list[str]()
    embedder.failure = ConnectionLost("the server is gone; start it", model="concepts")
    indexer, recall = indexer_of(store, Source(embedder), told)
    await indexer.catch_up()
    await indexer.catch_up()
    assert told == ["not everything can be searched by meaning at present: the server is gone; start it"]
    # By words everything is found meanwhile.
    assert await texts(recall, "green tea") == ["You have green tea, number 4"]
    embedder.failure = None
    await indexer.catch_up()
    assert (await texts(recall, "beverage"))[0] == "You have green tea, number 4"


@pytest.mark.requirement("RECALL-2")
async def test_without_an_embedder_all_is_found_by_words_and_one_line_says_so(store: SqliteStore) -> None:
    await filled(store, 6)
    source, told = Source(None), list[str]()
    source.failure = EmbedderUnavailable("numpy is missing; run: pip install 'frontmind[recall]'", model="minilm")
    indexer, recall = indexer_of(store, source, told)
    await indexer.catch_up()
    await indexer.catch_up()
    assert told == ["searching by words only: numpy is missing; run: pip install 'frontmind[recall]'"]
    assert await texts(recall, "puppy") == ["You have a puppy, number 0"]
    assert await store.vector_spaces() == []


async def test_where_none_is_wanted_nothing_is_said_and_nothing_dropped(store: SqliteStore) -> None:
    await filled(store, 6)
    embedder, told = ConceptEmbedder(), list[str]()
    await indexer_of(store, Source(embedder))[0].catch_up()
    indexer, recall = indexer_of(store, Source(None), told)
    await indexer.catch_up()
    assert told == []
    assert list(await reached(store)) == [space_name(embedder)]
    assert await texts(recall, "dog") == []


async def test_a_text_that_the_embedder_refuses_does_not_hold_up_the_others(store: SqliteStore) -> None:
    await filled(store, 8)
    embedder, told = ConceptEmbedder(), list[str]()
    embedder.refuses, embedder.refusal = "number 2", RequestRefused("no", model="concepts", status=400)
    indexer, recall = indexer_of(store, Source(embedder), told)
    await indexer.catch_up()
    assert told == []
    assert await reached(store) == {space_name(embedder): 8}
    assert len(await store.vectors(space_name(embedder), list(range(1, 9)))) == 7
    assert (await texts(recall, "number physician"))[0] == "You have a physician, number 2"


@pytest.mark.requirement("RECALL-4")
async def test_the_old_model_serves_until_the_new_one_has_everything(store: SqliteStore) -> None:
    await filled(store, 12)
    old, new, told = ConceptEmbedder("old@1"), ConceptEmbedder("new@1"), list[str]()
    await indexer_of(store, Source(old))[0].catch_up()
    old.queries.clear()
    indexer, recall = indexer_of(store, Source(new, old), told)
    new.gate.clear()
    running = asyncio.ensure_future(indexer.catch_up())
    await new.held.wait()
    assert (await texts(recall, "dog"))[0].startswith("You have a puppy")
    assert (old.queries, new.queries) == (["dog"], [])
    new.gate.set()
    await running
    assert (await texts(recall, "vehicle"))[0].startswith("You have an automobile")
    assert (old.queries, new.queries) == (["dog"], ["vehicle"])
    assert old.closed and not new.closed
    assert told == ["everything can be searched with new@1 now"]
    # Another process may still search by the old one; the next start drops it.
    assert await reached(store) == {space_name(new): 12, space_name(old): 12}
    indexer, recall = indexer_of(store, Source(new, old), told)
    await indexer.catch_up()
    assert await reached(store) == {space_name(new): 12}
    assert (await texts(recall, "vehicle"))[0].startswith("You have an automobile")
    assert told == ["everything can be searched with new@1 now"]


async def test_a_change_of_models_that_was_cut_short_is_brought_to_its_end(store: SqliteStore) -> None:
    await filled(store, 12)
    old, new = ConceptEmbedder("old@1"), ConceptEmbedder("new@1")
    await indexer_of(store, Source(old))[0].catch_up()
    new.refuses, new.refusal = "number 9", ConnectionLost("gone", model="new")
    indexer, recall = indexer_of(store, Source(new, old))
    await indexer.catch_up()
    assert await reached(store) == {space_name(new): 8, space_name(old): 12}
    # Eight of twelve: what serves is still the old one.
    assert (await texts(recall, "dog"))[0].startswith("You have a puppy")
    assert old.queries and not new.queries
    new.refusal = None
    await indexer.catch_up()
    assert await reached(store) == {space_name(new): 12, space_name(old): 12}
    assert (await texts(recall, "dog"))[0].startswith("You have a puppy")
    assert new.queries == ["dog"]


async def test_where_the_old_model_cannot_be_had_the_new_one_serves_what_it_has(store: SqliteStore) -> None:
    await filled(store, 12)
    old, new = ConceptEmbedder("old@1"), ConceptEmbedder("new@1")
    await indexer_of(store, Source(old))[0].catch_up()
    new.refuses, new.refusal = "number 9", ConnectionLost("gone", model="new")
    indexer, recall = indexer_of(store, Source(new))
    await indexer.catch_up()
    assert (await texts(recall, "dog"))[0].startswith("You have a puppy")
    assert new.queries == ["dog"]


async def test_where_the_new_model_cannot_be_had_the_old_one_goes_on(store: SqliteStore) -> None:
    await filled(store, 6)
    old, told = ConceptEmbedder("old@1"), list[str]()
    await indexer_of(store, Source(old))[0].catch_up()
    source = Source(None, old)
    source.failure = EmbedderUnavailable("no key; set it", model="new")
    indexer, recall = indexer_of(store, source, told)
    await indexer.catch_up()
    await indexer.catch_up()
    assert (await texts(recall, "dog"))[0].startswith("You have a puppy")
    assert told == ["searching with old@1 as before: no key; set it"]


async def test_looking_writes_nothing_and_searches_by_the_vectors_that_are_there(store: SqliteStore) -> None:
    await filled(store, 6)
    embedder = ConceptEmbedder()
    indexer, recall = indexer_of(store, Source(embedder))
    await indexer.open()
    assert await texts(recall, "dog") == []
    assert await store.vector_spaces() == []
    await indexer_of(store, Source(embedder))[0].catch_up()
    indexer, recall = indexer_of(store, Source(embedder))
    await indexer.open()
    assert (await texts(recall, "dog"))[0].startswith("You have a puppy")


async def test_a_search_does_not_wait_long_for_an_embedder_and_then_not_again_for_a_while(store: SqliteStore) -> None:
    await filled(store, 6)
    embedder, told = ConceptEmbedder(), list[str]()
    indexes = SearchIndexes(store, patience=0.01, tell=told.append)
    indexer, recall = Indexer(store, indexes, Source(embedder)), Recall(store, indexes)
    await indexer.catch_up()
    embedder.gate.clear()
    assert await texts(recall, "green tea") == ["You have green tea, number 4"]
    assert await texts(recall, "puppy") == ["You have a puppy, number 0"]
    assert told == [
        "searching by words only for now, since concepts@1 does not answer: it took longer than 0.01 s",
    ]
    embedder.gate.set()
    later = START.replace(hour=START.hour + 1)
    found = await recall.search("dog", now=later, limit=1, kinds=(PassageKind.MEMORY,))
    assert [find.hit.passage.text for find in found] == ["You have a puppy, number 0"]


@pytest.mark.parametrize("error", [ConnectionLost("gone", model="m"), EmbedderUnavailable("closed", model="m")])
@pytest.mark.requirement("RECALL-2")
async def test_a_search_goes_by_words_when_the_embedder_fails(store: SqliteStore, error: ModelError) -> None:
    await filled(store, 6)
    embedder = ConceptEmbedder()
    indexer, recall = indexer_of(store, Source(embedder))
    await indexer.catch_up()
    embedder.failure = error
    assert await texts(recall, "puppy") == ["You have a puppy, number 0"]
