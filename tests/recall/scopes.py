"""A store with memories and vectors that tell them apart, and indexes small enough to be built in a test."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from frontmind.recall.scope_index import VectorIndex, vectors_files
from frontmind.recall.word_index import WordIndex, words_files
from frontmind.stores.protocols import Store
from frontmind.values.memories import Memory, NewMemory
from frontmind.values.passages import PassageKind, VectorSpace

NOW = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
KIND = PassageKind.MEMORY
DIMENSIONS = 16
FEW = 300
"""Above how many passages the tests' indexes are built."""

Vectors: TypeAlias = npt.NDArray[np.float32]
SUBJECTS = ("tea", "marathons", "Lisbon", "chess", "violins", "bread", "kayaks", "owls", "ceramics", "trains")


def text_of(number: int) -> str:
    return f"You like {SUBJECTS[number % 10]}, and {SUBJECTS[number // 10 % 10]} since {1900 + number}"


def vector_of(passage_id: int) -> Vectors:
    row = np.random.default_rng(passage_id).standard_normal(DIMENSIONS).astype(np.float32)
    unit: Vectors = row / np.linalg.norm(row)
    return unit


async def fill(store: Store, count: int, *, first: int = 0) -> Sequence[Memory]:
    """Memories with vectors; in a new store their passages have the same ids."""
    before = await store.newest_passage()
    memories = await store.add_memories([NewMemory(text_of(first + one), NOW) for one in range(count)], NOW)
    added = await store.passages_after(before, kind=KIND, limit=count + 1)
    rows = [(passage.id, vector_of(passage.id).astype("<f2").tobytes()) for passage in added]
    await store.save_vectors("test", rows, embedded_to=added[-1].id)
    return memories


def words_of(store: Store, root: Path | None) -> WordIndex:
    return WordIndex(store, KIND, words_files(root, store.owner, KIND), rows=FEW)


def vectors_of(store: Store, space: VectorSpace, root: Path | None) -> VectorIndex:
    return VectorIndex(store, KIND, space, vectors_files(root, store.owner, KIND, space.name), rows=FEW)


def generations(root: Path) -> list[Path]:
    return sorted(root.glob("*/generation-*"))


def damage(root: Path, name: str, *, same_size: bool = False) -> None:
    damaged = list(root.glob(f"*/*/{name}"))
    assert damaged
    for path in damaged:
        path.write_bytes(bytes(path.stat().st_size) if same_size else path.read_bytes()[:10])


async def nearest(index: VectorIndex, passage_id: int) -> int:
    """The passage with the vector of this one; it is this one, when it is found."""
    ((found, cosine),) = await index.search(vector_of(passage_id), 1)
    assert found != passage_id or cosine == pytest.approx(1, abs=0.02)
    return found


async def ids_by_words(index: WordIndex, *words: str, limit: int = 2000) -> set[int]:
    return {one for one, _ in await index.search(words, limit)}


class ScopeIndexes:
    """Both indexes of the scope, small enough to be built in a test."""

    def __init__(self, store: Store, space: VectorSpace, root: Path) -> None:
        self.words = words_of(store, root)
        self.vectors = vectors_of(store, space, root)

    async def open(self) -> None:
        await self.words.open()
        await self.vectors.open()

    async def catch_up(self) -> None:
        await self.words.catch_up()
        await self.vectors.catch_up()
