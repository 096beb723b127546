"""Kills a process while it stores passages and keeps the indexes beside the store, and looks at what is left.

    python -m soak.killed_ingest --runs 300

Each run is a process of its own that adds and removes memories, stores their vectors and lets the indexes catch up,
which are small enough to be built every few moments, until it is killed with SIGKILL. Then another process opens the
file and checks the promises: no accepted memory is lost, the file is whole, the indexes that stand there open as they
are, and once they have caught up every passage is found by its own word and its own vector, and once only. Every few
runs a new file is begun.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import select
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from frontmind.recall.index_files import IndexFiles
from frontmind.recall.scope_index import VectorIndex, vectors_files
from frontmind.recall.word_index import WordIndex, words_files
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.memories import NewMemory
from frontmind.values.passages import PassageKind
from soak.killed_turns import in_child, tell

Vectors: TypeAlias = npt.NDArray[np.float32]

NOW: Final = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
KIND: Final = PassageKind.MEMORY
SPACE: Final = "made-up"
DIMENSIONS: Final = 16
ROWS: Final = 150
"""Above how many passages an index is built, and how many may come before it is built anew."""

RUNS_ON_ONE_FILE: Final = 10
MOST_LOOKED_FOR: Final = 50
"""How many of the newest passages and how many of all are looked for, each by its word and by its vector."""


@dataclass
class Promises:
    """What the killed processes of one file have said that they did."""

    accepted: set[str] = field(default_factory=set)
    removing: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)

    def take(self, line: str) -> None:
        kind, _, word = line.partition(" ")
        {"accepted": self.accepted, "removing": self.removing, "removed": self.removed}[kind].add(word)


@dataclass(frozen=True)
class Seen:
    """What was found on a file, or on several together.

    Attributes:
        passages: passages in the store, counted after each run.
        behind: starts at which an index on disk was behind the store.
        built: starts at which an index on disk stood there.
        unfinished: starts at which one stood there that was begun and not finished.
    """

    passages: int = 0
    behind: int = 0
    built: int = 0
    unfinished: int = 0

    def __add__(self, other: Seen) -> Seen:
        return Seen(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


def vector_of(text: str) -> Vectors:
    """A direction that no other text has."""
    row: Vectors = np.random.default_rng(list(text.encode())).standard_normal(DIMENSIONS).astype(np.float32)
    return row


@dataclass(frozen=True)
class Opened:
    """A store and the indexes beside it."""

    store: SqliteStore
    words: WordIndex
    vectors: VectorIndex

    @classmethod
    async def at(cls, path: Path) -> Opened:
        store = SqliteStore.open(path)
        space = await store.begin_space(SPACE, DIMENSIONS)
        root = root_of(path)
        return cls(
            store,
            WordIndex(store, KIND, words_files(root, "", KIND), rows=ROWS),
            VectorIndex(store, KIND, space, vectors_files_of(path), rows=ROWS),
        )

    async def embed(self) -> None:
        """Store the vectors of all passages that have none."""
        spaces = {space.name: space for space in await self.store.vector_spaces()}
        while passages := await self.store.passages_after(spaces[SPACE].embedded_to, kind=KIND, limit=100):
            rows = [(passage.id, vector_of(passage.text).astype("<f2").tobytes()) for passage in passages]
            await self.store.save_vectors(SPACE, rows, embedded_to=passages[-1].id)
            spaces = {space.name: space for space in await self.store.vector_spaces()}

    async def catch_up(self) -> None:
        await self.words.catch_up()
        await self.vectors.catch_up()


def root_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.indexes")


def vectors_files_of(path: Path) -> IndexFiles:
    files = vectors_files(root_of(path), "", KIND, SPACE)
    assert files is not None
    return files


async def ingest(path: Path, pipe: int, seed: int) -> None:
    """Add and remove memories for ever."""
    source = random.Random(seed)
    opened = await Opened.at(path)
    number = 0
    while True:
        added = [f"w{seed}x{number + one}" for one in range(source.randint(1, 120))]
        number += len(added)
        memories = await opened.store.add_memories([NewMemory(word, NOW) for word in added], NOW)
        tell(pipe, "\n".join(f"accepted {word}" for word in added))
        await opened.embed()
        if source.random() < 0.5:
            gone = source.choice(memories)
            (passage,) = await opened.store.passages_of(KIND, [gone.id])
            tell(pipe, f"removing {gone.text}")
            await opened.store.remove_memory(gone.id)
            tell(pipe, f"removed {gone.text}")
            opened.words.forget([passage.id])
            opened.vectors.forget([passage.id])
        await opened.catch_up()


async def check(path: Path, promises: Promises) -> Seen:
    """What is on the file, when every promise holds.

    Raises:
        AssertionError: one does not.
    """
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the file is damaged"
    opened = await Opened.at(path)
    passages = await opened.store.passages_after(0, kind=KIND, limit=10**6)
    stored = Counter(passage.text for passage in passages)
    assert set(stored.values()) <= {1}, "a memory is there twice"
    lost = promises.accepted - promises.removing - set(stored)
    assert not lost, f"accepted and not there: {sorted(lost)[:5]}"
    assert not promises.removed & set(stored), "a removed memory is there"
    generation = vectors_files_of(path).newest()
    behind = generation is not None and generation.through < max((passage.id for passage in passages), default=0)
    standing = list(root_of(path).glob("*/generation-*"))
    whole = [folder for folder in standing if (folder / "manifest.json").exists()]
    await opened.words.open()
    await opened.vectors.open()
    assert (opened.words.engine == "tantivy") + (opened.vectors.engine == "faiss") == len(
        {folder.parent for folder in whole}
    ), "an index that stood there whole did not open"
    await opened.embed()
    await opened.catch_up()
    by_id = {passage.id: passage.text for passage in passages}
    older = random.Random(len(passages)).sample(passages, min(MOST_LOOKED_FOR, len(passages)))
    for passage in (*older, *passages[-MOST_LOOKED_FOR:]):
        by_words = [one for one, _ in await opened.words.search([passage.text], 10)]
        assert by_words == [passage.id], f"{passage.text} is found as {[by_id.get(one) for one in by_words]}"
        ((one, cosine),) = await opened.vectors.search(vector_of(passage.text), 1)
        assert (one, cosine > 0.97) == (passage.id, True), f"{passage.text} is found as {by_id.get(one)}"
    await opened.store.close()
    return Seen(len(passages), int(behind), int(bool(whole)), int(len(standing) > len(whole)))


def killed(path: Path, promises: Promises, seed: int, most_seconds: float) -> None:
    """Let a process ingest and kill it at a random moment after its first promise."""
    reading, writing = os.pipe()
    child = in_child(lambda: asyncio.run(ingest(path, writing, seed)))
    os.close(writing)
    until = random.Random(seed).random() * most_seconds
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        said = pipe.read(65536) or b""
        # Not to wait for something, but to choose the moment; the pipe must not fill meanwhile.
        while until > 0 and select.select([pipe], [], [], until)[0]:
            more = pipe.read(65536)
            assert more, f"run {seed}: the process ended by itself"
            said += more
            until -= most_seconds / 50
        os.kill(child, signal.SIGKILL)
        while more := pipe.read(65536):
            said += more
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"run {seed}: the process ended by itself"
    for line in said.decode().split("\n")[:-1]:
        promises.take(line)


def run(runs: int, folder: Path, *, first_seed: int = 0, most_seconds: float = 0.6) -> Seen:
    """Kill that many processes; what was found after each of them, added up.

    Raises:
        AssertionError: a promise does not hold.
    """
    promises, path, seen = Promises(), folder / "unused.db", Seen()
    for number in range(runs):
        seed = first_seed + number
        if number % RUNS_ON_ONE_FILE == 0:
            promises, path = Promises(), folder / f"{seed}.db"
        killed(path, promises, seed, most_seconds)
        seen += _looked_at(path, promises, seed)
    return seen


def _looked_at(path: Path, promises: Promises, seed: int) -> Seen:
    reading, writing = os.pipe()

    def report() -> None:
        tell(writing, json.dumps(astuple(asyncio.run(check(path, promises)))))

    child = in_child(report)
    os.close(writing)
    with os.fdopen(reading, "r") as pipe:
        found = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"run {seed}: a promise was broken; the file is {path}"
    return Seen(*json.loads(found))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=int(datetime.now(UTC).timestamp()) % 1_000_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(f"seed {options.seed}\n")
        seen = run(options.runs, Path(folder), first_seed=options.seed)
    sys.stdout.write(
        f"{options.runs:,} processes killed while they stored and indexed; {seen.passages:,} passages stored; "
        f"{seen.built:,} times an index stood there, {seen.behind:,} times it was behind the store, "
        f"{seen.unfinished:,} times a new one was half built: no accepted memory lost, every file whole, every passage "
        "that was looked for found once by its word and by its vector\n"
    )
    # A kill falls into the moment between two files only now and then.
    tested = (seen.built, seen.behind, *([seen.unfinished] if options.runs >= 100 else []))
    assert min(tested) > 0, "a part of it was never put to the test"


if __name__ == "__main__":
    main()
