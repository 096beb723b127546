"""Indexes that are missing, damaged, of another database, or cannot be written: the search goes on."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from frontmind.errors import RunError
from frontmind.recall import dense_faiss, lexical_tantivy
from frontmind.recall.index_files import IndexFiles
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.memories import NewMemory
from frontmind.values.passages import VectorSpace
from recall.scopes import (
    DIMENSIONS,
    FEW,
    NOW,
    ScopeIndexes,
    damage,
    fill,
    ids_by_words,
    nearest,
    vector_of,
    vectors_of,
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore.open(tmp_path / "store.db")
    yield opened
    await opened.close()


@pytest.fixture
async def space(store: Store) -> VectorSpace:
    return await store.begin_space("test", DIMENSIONS)


async def test_indexes_that_were_thrown_away_are_built_again(store: Store, space: VectorSpace, tmp_path: Path) -> None:
    await fill(store, FEW + 50)
    await ScopeIndexes(store, space, tmp_path / "i").catch_up()
    shutil.rmtree(tmp_path / "i")
    again = ScopeIndexes(store, space, tmp_path / "i")
    await again.catch_up()
    assert (again.words.engine, again.vectors.engine) == ("tantivy", "faiss")
    assert len(await ids_by_words(again.words, "1904")) == 1


@pytest.mark.parametrize("name", ["meta.json", "vectors.faiss", "ids.npy", "manifest.json"])
async def test_a_damaged_index_is_built_again(store: Store, space: VectorSpace, tmp_path: Path, name: str) -> None:
    await fill(store, FEW + 50)
    await ScopeIndexes(store, space, tmp_path / "i").catch_up()
    damage(tmp_path / "i", name)
    again = ScopeIndexes(store, space, tmp_path / "i")
    await again.catch_up()
    assert (again.words.engine, again.vectors.engine) == ("tantivy", "faiss")
    assert len(await ids_by_words(again.words, "1904")) == 1
    assert await nearest(again.vectors, 3) == 3


async def test_a_damaged_index_that_cannot_be_removed_does_not_serve_and_holds_nothing_up(
    store: Store, space: VectorSpace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store, FEW + 50)
    await ScopeIndexes(store, space, tmp_path / "i").catch_up()
    damage(tmp_path / "i", "meta.json")
    damage(tmp_path / "i", "vectors.faiss", same_size=True)
    monkeypatch.setattr(IndexFiles, "discard", lambda *_: None)
    again = ScopeIndexes(store, space, tmp_path / "i")
    await asyncio.wait_for(again.open(), 10)
    assert (again.words.engine, again.vectors.engine) == ("store", "exact")
    assert await nearest(again.vectors, 3) == 3


async def test_an_index_of_a_database_that_stood_there_before_does_not_serve(tmp_path: Path) -> None:
    for word in ("old", "new"):
        store = SqliteStore.open(tmp_path / f"{word}.db")
        space = await store.begin_space("test", DIMENSIONS)
        await store.add_memories([NewMemory(f"{word} {one}", NOW) for one in range(FEW + 50)], NOW)
        rows = [(one, vector_of(one).astype("<f2").tobytes()) for one in range(1, FEW + 51)]
        await store.save_vectors("test", rows, embedded_to=FEW + 50)
        indexes = ScopeIndexes(store, space, tmp_path / "i")
        await indexes.open()
        assert (indexes.words.engine, indexes.vectors.engine) == ("store", "exact")
        await indexes.catch_up()
        assert (indexes.words.engine, indexes.vectors.engine) == ("tantivy", "faiss")
        assert len(await ids_by_words(indexes.words, word)) == FEW + 50
        await store.close()


async def test_a_space_that_is_filled_anew_is_not_searched_in_its_old_index(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, FEW + 50)
    await vectors_of(store, space, tmp_path / "i").catch_up()
    await store.drop_space("test")
    again = await store.begin_space("test", DIMENSIONS)
    rows = [(one, vector_of(one + 1000).astype("<f2").tobytes()) for one in range(1, 11)]
    await store.save_vectors("test", rows, embedded_to=10)
    vectors = vectors_of(store, again, tmp_path / "i")
    await vectors.open()
    assert (vectors.engine, vectors.size) == ("exact", 10)
    assert (await vectors.search(vector_of(1005), 1))[0][0] == 5


async def test_a_folder_that_cannot_be_written_is_said_on_one_line_and_the_search_goes_on(
    store: Store, space: VectorSpace, tmp_path: Path
) -> None:
    await fill(store, FEW + 50)
    (tmp_path / "i").write_text("a file stands where the folder should be")
    indexes = ScopeIndexes(store, space, tmp_path / "i")
    for index in (indexes.words, indexes.vectors):
        with pytest.raises(RunError, match="made anew") as failure:
            await index.catch_up()
        assert "\n" not in str(failure.value)
    assert len(await ids_by_words(indexes.words, "1904")) == 1
    assert await nearest(indexes.vectors, 3) == 3


async def test_without_the_packages_the_store_and_the_scan_serve_at_any_size(
    store: Store, space: VectorSpace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for engine in (dense_faiss, lexical_tantivy):
        monkeypatch.setattr(engine, "available", lambda: False)
    await fill(store, 3 * FEW)
    indexes = ScopeIndexes(store, space, tmp_path / "i")
    await indexes.catch_up()
    assert (indexes.words.engine, indexes.vectors.engine, indexes.vectors.size) == ("store", "exact", 3 * FEW)
    assert await nearest(indexes.vectors, 3 * FEW) == 3 * FEW
