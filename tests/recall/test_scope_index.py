"""Which engine serves a scope, and that no search notices the change from one to the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from frontmind.recall.scope_index import ScopeIndex, vectors_files
from frontmind.recall.word_index import words_files
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.memories import NewMemory
from frontmind.values.passages import PassageKind, VectorSpace
from recall.scopes import (
    DIMENSIONS,
    FEW,
    KIND,
    NOW,
    ScopeIndexes,
    fill,
    generations,
    ids_by_words,
    nearest,
    text_of,
    vector_of,
    vectors_of,
    words_of,
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore.open(tmp_path / "store.db")
    yield opened
    await opened.close()


@pytest.fixture
async def space(store: Store) -> VectorSpace:
    return await store.begin_space("test", DIMENSIONS)


async def test_a_small_scope_is_served_by_the_store_and_nothing_is_written(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, FEW)
    words, vectors = words_of(store, tmp_path / "i"), vectors_of(store, space, tmp_path / "i")
    await words.catch_up()
    await vectors.catch_up()
    assert (words.engine, vectors.engine, vectors.size) == ("store", "exact", FEW)
    assert len(await ids_by_words(words, "1904")) == 1
    assert await nearest(vectors, 7) == 7
    assert not generations(tmp_path / "i")


async def test_a_scope_that_outgrows_it_is_served_by_indexes_that_find_the_same(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, FEW + 1)
    words, vectors = words_of(store, tmp_path / "i"), vectors_of(store, space, tmp_path / "i")
    in_store = await ids_by_words(words, "tea", "marathon", "1904")
    await words.catch_up()
    await vectors.catch_up()
    assert (words.engine, vectors.engine, vectors.size) == ("tantivy", "faiss", FEW + 1)
    assert await ids_by_words(words, "tea", "marathon", "1904") == in_store
    assert len(in_store) > 50
    for one in (1, 150, FEW + 1):
        assert await nearest(vectors, one) == one


async def test_what_is_stored_later_is_found_after_catching_up(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, FEW + 50)
    words, vectors = words_of(store, tmp_path / "i"), vectors_of(store, space, tmp_path / "i")
    for index in (words, vectors):
        await index.catch_up()
    await fill(store, 20, first=2000)
    for index in (words, vectors):
        await index.catch_up()
    newest = await store.newest_passage()
    assert await ids_by_words(words, "3919") == {newest}
    assert await nearest(vectors, newest) == newest


async def test_the_next_process_opens_what_stands_there_and_reads_only_what_came_since(
    store: Store, space: VectorSpace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store, 3 * FEW)
    first = ScopeIndexes(store, space, tmp_path / "i")
    await first.catch_up()
    await fill(store, 5, first=2000)
    asked: list[int] = []
    plain = store.vectors_after

    async def noting(name: str, passage_id: int, *, kind: PassageKind, limit: int) -> Sequence[tuple[int, bytes]]:
        asked.append(passage_id)
        return await plain(name, passage_id, kind=kind, limit=limit)

    monkeypatch.setattr(store, "vectors_after", noting)
    again = ScopeIndexes(store, space, tmp_path / "i")
    await again.open()
    assert (again.words.engine, again.vectors.engine, again.vectors.size) == ("tantivy", "faiss", 3 * FEW + 5)
    assert min(asked) == 3 * FEW
    assert await ids_by_words(again.words, "3904") == {3 * FEW + 5}
    assert await nearest(again.vectors, 3 * FEW + 5) == 3 * FEW + 5


async def test_opening_builds_nothing(store: Store, space: VectorSpace, tmp_path: Path) -> None:
    await fill(store, FEW + 50)
    indexes = ScopeIndexes(store, space, tmp_path / "i")
    await indexes.open()
    assert (indexes.words.engine, indexes.vectors.engine) == ("store", "exact")
    assert await nearest(indexes.vectors, 3) == 3


async def test_a_file_is_built_anew_when_much_was_added(store: Store, space: VectorSpace, tmp_path: Path) -> None:
    await fill(store, FEW + 1)
    vectors = vectors_of(store, space, tmp_path / "i")
    await vectors.catch_up()
    (first,) = generations(tmp_path / "i")
    await fill(store, FEW + 1)
    await vectors.catch_up()
    (second,) = generations(tmp_path / "i")
    assert first != second
    assert vectors.size == 2 * FEW + 2
    assert await nearest(vectors, FEW + 5) == FEW + 5


async def test_a_large_scope_without_an_index_is_not_read_into_memory_first(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, 30 * FEW)
    vectors = vectors_of(store, space, tmp_path / "i")
    await vectors.open()
    assert 0 < vectors.size < 30 * FEW
    await vectors.catch_up()
    assert (vectors.engine, vectors.size) == ("faiss", 30 * FEW)


async def test_removed_memories_are_not_found_once_they_are_forgotten(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    memories = await fill(store, FEW + 50)
    indexes = ScopeIndexes(store, space, tmp_path / "i")
    await indexes.catch_up()
    await store.remove_memory(memories[4].id)
    indexes.words.forget([5])
    indexes.vectors.forget([5])
    assert await ids_by_words(indexes.words, "1904") == set()
    assert await nearest(indexes.vectors, 5) != 5
    for seen in (indexes, ScopeIndexes(store, space, tmp_path / "i")):
        await seen.open()
        assert await ids_by_words(seen.words, "1904") == set()
        assert await nearest(seen.vectors, 5) != 5


async def test_cosines_are_the_same_whichever_engine_serves(store: Store, space: VectorSpace, tmp_path: Path) -> None:
    await fill(store, FEW + 50)
    vectors = vectors_of(store, space, tmp_path / "i")
    await vectors.open()
    query = vector_of(12345)
    before = await vectors.search(query, 20)
    await vectors.catch_up()
    assert vectors.engine == "faiss"
    assert await vectors.search(query, 20) == before


async def test_what_the_store_no_longer_has_is_not_found_although_nobody_said_so(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    memories = await fill(store, FEW + 50)
    vectors = vectors_of(store, space, tmp_path / "i")
    await vectors.catch_up()
    await store.remove_memory(memories[4].id)
    assert len(await vectors.search(vector_of(5), 10)) == 10
    assert await nearest(vectors, 5) != 5
    await vectors.open()
    assert vectors.size == FEW + 49


async def test_excluded_passages_are_left_out_by_every_engine(store: Store, space: VectorSpace, tmp_path: Path) -> None:
    await fill(store, FEW + 50)
    indexes = ScopeIndexes(store, space, tmp_path / "i")
    for _ in range(2):
        tea = await ids_by_words(indexes.words, "tea")
        left_out = frozenset(sorted(tea)[:20])
        assert {one for one, _ in await indexes.words.search(["tea"], 2000, left_out)} == tea - left_out
        await indexes.catch_up()
        found = [one for one, _ in await indexes.vectors.search(vector_of(5), 10, left_out | {5})]
        assert len(found) == 10
        assert not set(found) & (left_out | {5})
    assert indexes.words.engine == "tantivy"


async def test_while_another_process_builds_the_store_serves_and_nothing_waits(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, FEW + 50)
    indexes = ScopeIndexes(store, space, tmp_path / "i")
    other_words, other_vectors = words_files(tmp_path / "i", "", KIND), vectors_files(tmp_path / "i", "", KIND, "test")
    assert other_words is not None
    assert other_vectors is not None
    with other_words.building(), other_vectors.building():
        await asyncio.wait_for(indexes.catch_up(), 10)
        assert (indexes.words.engine, indexes.vectors.engine) == ("store", "exact")
        assert len(await ids_by_words(indexes.words, "1904")) == 1
    await indexes.catch_up()
    assert (indexes.words.engine, indexes.vectors.engine) == ("tantivy", "faiss")


async def test_two_processes_that_catch_up_in_turn_hold_every_passage_once(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, FEW + 50)
    one, other = ScopeIndexes(store, space, tmp_path / "i"), ScopeIndexes(store, space, tmp_path / "i")
    await one.catch_up()
    await other.catch_up()
    for first in (2000, 3000):
        await fill(store, 5, first=first)
        await one.catch_up()
        await other.catch_up()
    for indexes in (one, other):
        hits = [hit for hit, _ in await indexes.words.search(["like"], 2000)]
        assert sorted(hits) == list(range(1, FEW + 61))
        assert indexes.vectors.size == FEW + 60


async def test_another_owner_has_another_index(store: Store, tmp_path: Path) -> None:
    await fill_for(store, "anna", FEW + 1)
    await fill_for(store, "bert", FEW + 1)
    words = words_of(store.of("anna"), tmp_path / "i")
    await words.catch_up()
    others = words_of(store.of("bert"), tmp_path / "i")
    await others.catch_up()
    annas = await ids_by_words(words, "tea")
    assert words.engine == others.engine == "tantivy"
    assert annas
    assert not annas & await ids_by_words(others, "tea")


async def fill_for(store: Store, owner: str, count: int) -> None:
    await store.of(owner).add_memories([NewMemory(text_of(one), NOW) for one in range(count)], NOW)


async def test_a_store_in_memory_is_searched_at_any_size_without_a_folder(store: Store, space: VectorSpace) -> None:
    await fill(store, 3 * FEW)
    index = ScopeIndex(store, kind=KIND, root=None, space=space)
    await index.catch_up()
    assert index.vectors is not None
    assert (index.words.engine, index.vectors.engine, index.vectors.size) == ("store", "exact", 3 * FEW)
    assert await nearest(index.vectors, 800) == 800
    await index.forget([800])
    assert await nearest(index.vectors, 800) != 800


async def test_what_tantivy_has_not_taken_yet_is_found_by_its_words(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, FEW + 50)
    words = words_of(store, tmp_path / "i")
    await words.catch_up()
    assert words.engine == "tantivy"
    assert len(await ids_by_words(words, "1904")) == 1
    before = await words.search(["tea"], 3)
    await store.add_memories([NewMemory("You prefer chamomile", NOW), NewMemory("Tea is served at 1904", NOW)], NOW)
    newest = await store.newest_passage()
    assert await ids_by_words(words, "chamomile") == {newest - 1}
    assert await ids_by_words(words, "chamomile", "1904") > {newest - 1, newest}
    assert [one for one, _ in await words.search(["chamomile"], 5, {newest - 1})] == []
    # Neither the limit nor the order is lost where two engines answer.
    found = await words.search(["tea"], 3)
    assert len(found) == len(before) == 3
    assert list(found) == sorted(found, key=lambda hit: (-hit[1], hit[0]))
    found_before = await ids_by_words(words, "tea", "chamomile", "1904")
    await words.open()
    assert await ids_by_words(words, "tea", "chamomile", "1904") == found_before
    assert len(await words.search(["chamomile"], 5)) == 1
    assert words.engine == "tantivy"
