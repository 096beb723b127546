"""What keeping and searching costs as the store grows: at 10,000, 100,000 and 1,000,000 passages, on one core.

    python -m benchmarks.recall_scale [--sizes 10000,100000] [--json FILE]

The texts are words of a made-up language with the frequencies of a real one (Zipf), about 40 in a passage and 20 in
its context. The vectors are made up too, since embedding a million texts takes two hours: unit vectors with 384
dimensions about subjects of unequal size, whose spread falls off over the directions as that of MiniLM's vectors of
real conversations does. The rows are written to the tables as the store does, in transactions of 1,000; what one more
batch takes through the store itself is given beside it. Searches run in a fresh process, after the files were dropped
from the system's cache, first with the engines that the product chooses and then with the others. Embedding a real
question with the embedded model is part of the last figure, where the model can be had.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import platformdirs

from benchmarks.recall_corpus import DIMENSIONS, QUESTIONS, Corpus, Vectors
from frontmind.errors import FrontmindError
from frontmind.recall.dense import best, from_float16
from frontmind.recall.minilm import MiniLM
from frontmind.recall.scope_index import ScopeIndex, VectorIndex
from frontmind.recall.search import Recall
from frontmind.recall.search_indexes import SearchIndexes, Serving
from frontmind.recall.word_index import WordIndex
from frontmind.stores.sqlite import SqliteStore
from frontmind.stores.sqlite.scopes import scope
from frontmind.values.passages import NewPassage, PassageKind, VectorSpace

SIZES: Final = (10_000, 100_000, 1_000_000)
QUERIES: Final = 200
LIMIT: Final = 50
"""How many candidates a search asks each engine for."""

CONVERSATION: Final = "bench"
SPACE: Final = VectorSpace("made-up", DIMENSIONS)
KIND: Final = PassageKind.EXCHANGE
NOW: Final = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
MOST_EXACT: Final = 100_000
"""Up to this size the exact scan is timed too: it needs 1.5 GB for a million."""
_BLOCK: Final = 1_000


Times: TypeAlias = tuple[float, float, float]
"""Milliseconds: the median and the 95th percentile as a clock shows them, and the median of the processor's time, which
is the same on a machine that does nothing else.
"""


@dataclass(frozen=True)
class Filled:
    """What writing took: passages with their full-text index, and vectors, a second; one more batch through the store;
    and the size of the file in MB.
    """

    rows_per_second: float
    vectors_per_second: float
    through_store_per_second: float
    store_mb: float


@dataclass(frozen=True)
class Built:
    """What building the indexes took in seconds of the processor, their size in MB, and the most memory meanwhile."""

    words_seconds: float
    vectors_seconds: float
    index_mb: float
    peak_mb: float


@dataclass
class Searched:
    """What a fresh process measured: milliseconds as median and 95th percentile, memory in MB.

    Attributes:
        first_ms: from opening the store to the first result, with the files read from the disk.
        resident_mb, own_mb: what the process had after its searches in all, and without the pages of mapped files.
        before_mb: what it had before the store was opened.
        recall: the share of the ten nearest of an exact search that were found.
        times: by what was searched.
    """

    engines: str = ""
    first_ms: float = 0
    before_mb: float = 0
    resident_mb: float = 0
    own_mb: float = 0
    recall: float = 0
    times: dict[str, Times] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """All figures of one size."""

    size: int
    filled: Filled
    built: Built
    searched: Searched


def fill(path: Path, size: int, corpus: Corpus) -> Filled:
    """Write that many passages with vectors."""

    async def begin() -> None:
        store = SqliteStore.open(path)
        await store.begin_space(SPACE.name, DIMENSIONS)
        # The conversation gets the id 1.
        await store.add_passages(CONVERSATION, [])
        await store.close()

    asyncio.run(begin())
    name, rows, vectors = scope("", KIND), 0.0, 0.0
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        for first in range(0, size, _BLOCK):
            made = corpus.texts(first, min(_BLOCK, size - first))
            packed = corpus.vectors(first, len(made)).astype("<f2")
            ids = range(first + 1, first + len(made) + 1)
            began = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO passages (id, scope, ref, part, conversation, number, at, text, context) "
                "VALUES (?, ?, ?, 0, 1, ?, ?, ?, ?)",
                [(one, name, -one, one, _said_at(one, size), *texts) for one, texts in zip(ids, made, strict=True)],
            )
            connection.execute("COMMIT")
            between = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO vectors (passage, space, vector) VALUES (?, 1, ?)",
                [(one, row.tobytes()) for one, row in zip(ids, packed, strict=True)],
            )
            connection.execute("COMMIT")
            rows, vectors = rows + between - began, vectors + time.perf_counter() - between
        connection.execute("UPDATE vector_spaces SET embedded_to = ?", (size,))
    through = asyncio.run(_through_store(path, corpus))
    mb = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*") if file.is_file()) / 1e6
    return Filled(size / rows, size / vectors, _BLOCK / through, mb)


def _said_at(number: int, size: int) -> str:
    """Ten passages an hour, up to now."""
    return (NOW - timedelta(minutes=6 * (size - number))).isoformat()


async def _through_store(path: Path, corpus: Corpus) -> float:
    store = SqliteStore.open(path)
    passages = [(NOW, NewPassage(text, context)) for text, context in corpus.texts(10**8, _BLOCK)]
    began = time.perf_counter()
    await store.add_passages(CONVERSATION, passages)
    taken = time.perf_counter() - began
    await store.close()
    return taken


def build(path: Path) -> Built:
    """Build what the product builds at this size."""

    async def run() -> tuple[float, float]:
        store = SqliteStore.open(path)
        index = _scope_index(store, path)
        assert index.vectors is not None
        times = [time.process_time()]
        for one in (index.words, index.vectors):
            await one.catch_up()
            times.append(time.process_time())
        await store.close()
        return times[1] - times[0], times[2] - times[1]

    words, vectors = asyncio.run(run())
    mb = sum(file.stat().st_size for file in _root(path).rglob("*") if file.is_file()) / 1e6
    return Built(words, vectors, mb, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _root(path: Path) -> Path:
    return path.with_name(f"{path.name}.indexes")


def _scope_index(store: SqliteStore, path: Path) -> ScopeIndex:
    return ScopeIndex(store, kind=KIND, root=_root(path), space=SPACE)


def nearest(path: Path, queries: Vectors) -> list[set[int]]:
    """The ten nearest of each query among all stored vectors, by comparing with each of them."""
    ids, scores = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
    with closing(sqlite3.connect(path)) as connection:
        cursor = connection.execute("SELECT passage, vector FROM vectors ORDER BY passage")
        while rows := cursor.fetchmany(20_000):
            block = queries @ from_float16([vector for _, vector in rows], DIMENSIONS).T
            taken = np.argpartition(-block, min(10, len(rows) - 1), axis=1)[:, :10]
            ids = np.concatenate([ids, np.array([one for one, _ in rows])[taken]], axis=1)
            scores = np.concatenate([scores, np.take_along_axis(block, taken, axis=1)], axis=1)
    return [{one for one, _ in best(*pair, 10)} for pair in zip(ids, scores, strict=True)]


def drop_from_cache(folder: Path) -> None:
    """Let the system forget what it has read of these files, so that a start reads them from the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def resident() -> tuple[float, float]:
    """The memory of this process in MB: all of it, and without the pages of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kib = {line.split()[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "RssAnon"))}
    return kib["VmRSS:"] / 1024, kib["RssAnon:"] / 1024


async def search(path: Path, size: int) -> Searched:
    """Time the searches; for a process of its own."""
    words, vectors = Corpus().queries(QUERIES)
    seen = Searched(before_mb=resident()[0])
    began = time.perf_counter()
    store = SqliteStore.open(path)
    index = _scope_index(store, path)
    assert index.vectors is not None
    await index.open()
    await _both(index.words, index.vectors, words[0], vectors[0])
    seen.first_ms = (time.perf_counter() - began) * 1000
    seen.engines = f"{index.words.engine}, {index.vectors.engine}"
    for name, one in _searches(index.words, index.vectors, words, vectors).items():
        seen.times[name] = await _timed(one, len(words))
    seen.resident_mb, seen.own_mb = resident()
    found = [{one for one, _ in await index.vectors.search(vector, 10)} for vector in vectors]
    truth = nearest(path, vectors)
    seen.recall = sum(len(one & other) for one, other in zip(found, truth, strict=True)) / (10 * len(found))
    await _with_embedding(seen, store, path, index, words)
    plain_words, plain_vectors = WordIndex(store, KIND, None), VectorIndex(store, KIND, SPACE, None)
    others = _searches(plain_words, plain_vectors, words, vectors)
    seen.times["words, by the store"] = await _timed(others["words"], 50)
    if size <= MOST_EXACT:
        await plain_vectors.open()
        seen.times["vectors, all compared"] = await _timed(others["vectors"], 50)
    await store.close()
    return seen


Search: TypeAlias = Callable[[int], Awaitable[object]]


def _searches(
    words: WordIndex, vectors: VectorIndex, asked: Sequence[Sequence[str]], nearest_to: Vectors
) -> dict[str, Search]:
    return {
        "words": lambda number: words.search(asked[number], LIMIT),
        "vectors": lambda number: vectors.search(nearest_to[number], LIMIT),
        "both": lambda number: _both(words, vectors, asked[number], nearest_to[number]),
    }


async def _both(words: WordIndex, vectors: VectorIndex, asked: Sequence[str], vector: Vectors) -> None:
    await asyncio.gather(words.search(asked, LIMIT), vectors.search(vector, LIMIT))


async def _timed(one: Search, count: int) -> Times:
    clocks = (time.perf_counter, time.process_time)
    spent: list[list[float]] = [[], []]
    for number in range(count):
        began = [clock() for clock in clocks]
        await one(number)
        for times, clock, start in zip(spent, clocks, began, strict=True):
            times.append((clock() - start) * 1000)
    return statistics.median(spent[0]), statistics.quantiles(spent[0], n=20)[-1], statistics.median(spent[1])


class _RealQuestions:
    """Embeds a real question in the place of each: made-up words fall into many pieces, which takes twice as long."""

    def __init__(self, model: MiniLM) -> None:
        self.name, self.dimensions, self._model, self._asked = model.name, model.dimensions, model, 0

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        self._asked += 1
        return await self._model.embed([_question(self._asked) for _ in texts], query=query)

    async def close(self) -> None:
        await self._model.close()


def _question(number: int) -> str:
    return f"{QUESTIONS[number % len(QUESTIONS)]} {number}"


async def _with_embedding(
    seen: Searched, store: SqliteStore, path: Path, index: ScopeIndex, asked: Sequence[Sequence[str]]
) -> None:
    try:
        model = await MiniLM.open(platformdirs.user_cache_path("frontmind"))
    except FrontmindError as error:
        sys.stderr.write(f"without embedding: {error}\n")
        return

    async def embedded(number: int) -> Vectors:
        return await model.embed([_question(number)], query=True)

    async def whole(number: int) -> None:
        (vector,) = await embedded(number)
        assert index.vectors is not None
        await _both(index.words, index.vectors, asked[number], vector)

    indexes = SearchIndexes(store, root=_root(path), patience=60)
    indexes.serve(Serving(_RealQuestions(model), SPACE))
    recall = Recall(store, indexes)

    async def product(number: int) -> None:
        await recall.search(f"{' '.join(asked[number])} {number}?", now=NOW, limit=5, kinds=[KIND])

    seen.times["embedding alone"] = await _timed(embedded, len(asked))
    seen.times["embedding and both"] = await _timed(whole, len(asked))
    seen.times["whole search, ranked"] = await _timed(product, len(asked))
    await indexes.close()
    await model.close()


def in_fresh_process(step: str, path: Path, size: int) -> dict[str, Any]:
    """The figures of one step, which another process of this program measures on the same core."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.recall_scale",
        "--step",
        step,
        "--store",
        str(path),
        "--sizes",
        str(size),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def measure(size: int, folder: Path) -> Row:
    """All figures of one size."""
    path = folder / f"{size}.db"
    filled = Filled(**in_fresh_process("fill", path, size))
    built = Built(**in_fresh_process("build", path, size))
    drop_from_cache(folder)
    searched = Searched(**in_fresh_process("search", path, size))
    path.unlink()
    return Row(size, filled, built, searched)


def tables(rows: Sequence[Row]) -> str:
    """The figures for people, as Markdown."""
    head = "| passages | " + " | ".join(f"{row.size:,}" for row in rows) + " |\n|---|" + "---:|" * len(rows)

    def line(name: str, pick: Callable[[Row], str]) -> str:
        return f"| {name} | " + " | ".join(pick(row) for row in rows) + " |"

    def milliseconds(name: str) -> Callable[[Row], str]:
        def pick(row: Row) -> str:
            pair = row.searched.times.get(name)
            return "–" if pair is None else f"{pair[0]:.1f} / {pair[1]:.1f} / {pair[2]:.1f}"

        return pick

    lines = [
        head,
        line("engines", lambda row: row.searched.engines),
        line("passages written, a second", lambda row: f"{row.filled.rows_per_second:,.0f}"),
        line("vectors written, a second", lambda row: f"{row.filled.vectors_per_second:,.0f}"),
        line("1,000 memories through the store, a second", lambda row: f"{row.filled.through_store_per_second:,.0f}"),
        line("words index built, s of processor time", lambda row: f"{row.built.words_seconds:.1f}"),
        line("vectors index built, s of processor time", lambda row: f"{row.built.vectors_seconds:.1f}"),
        line("store / indexes on disk, MB", lambda row: f"{row.filled.store_mb:,.0f} / {row.built.index_mb:,.0f}"),
        line("most memory while building, MB", lambda row: f"{row.built.peak_mb:,.0f}"),
        line("start to first result, files not cached, ms", lambda row: f"{row.searched.first_ms:.0f}"),
        line(
            "memory before / after the searches / without mapped files, MB",
            lambda row: f"{row.searched.before_mb:,.0f} / {row.searched.resident_mb:,.0f} / {row.searched.own_mb:,.0f}",
        ),
        line("recall at 10 against an exact search", lambda row: f"{row.searched.recall:.3f}"),
    ]
    names = dict.fromkeys(name for row in rows for name in row.searched.times)
    lines += [
        line(f"search by {name}, ms, median / p95 / median of processor time", milliseconds(name)) for name in names
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write the figures where ``--json`` says."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recall_scale", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--sizes", type=lambda text: [int(one) for one in text.split(",")], default=list(SIZES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument("--folder", type=Path, help="where the stores are made; a million needs 3 GB")
    parser.add_argument("--step", choices=["fill", "build", "search"], help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.step:
        print(json.dumps(asdict(_step(options.step, options.store, options.sizes[0]))))
        return
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = [measure(size, Path(folder)) for size in options.sizes]
    print(tables(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")


def _step(step: str, path: Path, size: int) -> Filled | Built | Searched:
    if step == "fill":
        return fill(path, size, Corpus())
    if step == "build":
        return build(path)
    return asyncio.run(search(path, size))


if __name__ == "__main__":
    main()
