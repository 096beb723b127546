"""Two processes on one database: each passage is embedded once for each model, and neither takes away what the other
searches in.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from frontmind.recall.indexing import space_name
from frontmind.stores.sqlite import SqliteStore
from recall.concepts import ConceptEmbedder
from recall.test_indexing import Source, filled, indexer_of, reached, texts
from support import START, remember


@pytest_asyncio.fixture
async def stores(tmp_path: Path) -> AsyncIterator[tuple[SqliteStore, SqliteStore]]:
    """The same database, as two processes have it open."""
    one, other = SqliteStore.open(tmp_path / "mind.db"), SqliteStore.open(tmp_path / "mind.db")
    yield one, other
    await one.close()
    await other.close()


async def test_what_another_process_embeds_is_not_embedded_again(stores: tuple[SqliteStore, SqliteStore]) -> None:
    await filled(stores[0], 12)
    one, other = ConceptEmbedder(), ConceptEmbedder()
    indexer, _ = indexer_of(stores[0], Source(one))
    waiting, recall = indexer_of(stores[1], Source(other))
    one.hold_after = 8
    running = asyncio.ensure_future(indexer.catch_up())
    await one.held.wait()
    await waiting.catch_up()
    assert other.embedded == []
    # What is there already is searched in.
    assert (await texts(recall, "dog"))[0].startswith("You have a puppy")
    one.gate.set()
    await running
    await waiting.catch_up()
    assert (len(one.embedded), other.embedded) == (12, [])
    vehicles = await texts(recall, "vehicle", limit=2)
    assert vehicles == ["You have an automobile, number 1", "You have an automobile, number 7"]


async def test_what_another_process_left_is_embedded_when_something_is_stored(
    stores: tuple[SqliteStore, SqliteStore],
) -> None:
    await filled(stores[0], 12)
    one, other = ConceptEmbedder(), ConceptEmbedder()
    indexer, _ = indexer_of(stores[0], Source(one))
    one.hold_after = 8
    running = asyncio.ensure_future(indexer.catch_up())
    await one.held.wait()
    running.cancel()
    await asyncio.wait({running})
    await indexer_of(stores[1], Source(other))[0].catch_up()
    assert (len(one.embedded), len(other.embedded)) == (8, 4)


async def test_two_models_embed_each_passage_once_and_both_keep_serving(
    stores: tuple[SqliteStore, SqliteStore],
) -> None:
    await filled(stores[0], 6)
    embedders = (ConceptEmbedder("one@1"), ConceptEmbedder("other@1"))
    both = [indexer_of(store, Source(embedder, *embedders)) for store, embedder in zip(stores, embedders, strict=True)]
    for turn in range(4):
        await remember(stores[0], f"You walk the hound in street {turn}", START)
        for indexer, _ in both:
            await indexer.catch_up()
    assert [len(embedder.embedded) for embedder in embedders] == [10, 10]
    assert await reached(stores[0]) == {space_name(embedder): 10 for embedder in embedders}
    for _, recall in both:
        assert len(await texts(recall, "dog", limit=5)) == 5
    # The one that starts next and has everything drops the other.
    await indexer_of(stores[1], Source(embedders[1]))[0].catch_up()
    assert await reached(stores[0]) == {space_name(embedders[1]): 10}


async def test_a_space_that_another_process_dropped_is_made_anew(stores: tuple[SqliteStore, SqliteStore]) -> None:
    await filled(stores[0], 6)
    embedder = ConceptEmbedder()
    indexer, recall = indexer_of(stores[0], Source(embedder))
    await indexer.catch_up()
    await stores[1].drop_space(space_name(embedder))
    await remember(stores[0], "You walk the hound", START)
    await indexer.catch_up()
    assert len(await stores[0].vectors(space_name(embedder), range(1, 8))) == 7
    assert set(await texts(recall, "dog", limit=2)) == {"You have a puppy, number 0", "You walk the hound"}


async def test_one_owner_s_passages_are_embedded_while_another_s_are(stores: tuple[SqliteStore, SqliteStore]) -> None:
    with stores[0].filling() as alone, stores[1].filling() as second, stores[1].of("anna").filling() as annas:
        assert (alone, second, annas) == (True, False, True)
    with stores[1].filling() as alone:
        assert alone
