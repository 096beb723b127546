"""Transactions that wait together: on disk when they are told of, each by itself where one of them fails."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from frontmind.errors import StoreError, UsageError
from frontmind.stores.sqlite.connection import Database
from frontmind.stores.sqlite.opening import open_for_writing


class Bench:
    """A database whose thread is held back until the test lets it go on: what comes meanwhile waits together."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = Database(str(path), lambda: open_for_writing(path, str(path), busy_seconds=0.05))
        self.commits: list[str] = []

    async def prepare(self) -> None:
        def make(connection: sqlite3.Connection) -> None:
            connection.execute("CREATE TABLE said (text TEXT UNIQUE NOT NULL) STRICT")
            connection.set_trace_callback(self.commits.append)

        await self.database.write(make)
        self.commits.clear()

    async def together(self, *calls: Callable[[], Awaitable[object]], reads: bool = False) -> list[object]:
        """What the calls come to that wait at the same time."""
        began, held = threading.Event(), threading.Event()
        thread = self.database.read if reads else self.database.write

        def hold(_: sqlite3.Connection) -> None:
            began.set()
            held.wait(10)

        holding = asyncio.ensure_future(thread(hold))
        assert await asyncio.to_thread(began.wait, 10)
        waiting = asyncio.gather(*(call() for call in calls), return_exceptions=True)
        # Each puts itself into the queue in its first step.
        await asyncio.wait({waiting}, timeout=0.01)
        held.set()
        await holding
        return list(await waiting)

    async def written(self, *works: Callable[[sqlite3.Connection], object]) -> list[object]:
        """What the writes come to that wait at the same time."""
        return await self.together(*(partial(self.database.write, work) for work in works))

    def kept(self) -> list[str]:
        """What another process finds."""
        with closing(sqlite3.connect(self.path)) as connection:
            return [text for (text,) in connection.execute("SELECT text FROM said ORDER BY rowid")]


def saying(text: str | None) -> Callable[[sqlite3.Connection], str | None]:
    def work(connection: sqlite3.Connection) -> str | None:
        connection.execute("INSERT INTO said VALUES (?)", (f"{text} begins",))
        connection.execute("INSERT INTO said VALUES (?)", (text,))
        return text

    return work


def refusing(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO said VALUES ('refused')")
    raise UsageError("no")


@pytest.fixture
async def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path / "a.db")
    await made.prepare()
    return made


async def test_writes_that_wait_together_are_committed_once_and_are_on_disk(bench: Bench) -> None:
    assert await bench.written(saying("a"), saying("b"), saying("c")) == ["a", "b", "c"]
    assert bench.kept() == ["a begins", "a", "b begins", "b", "c begins", "c"]
    # One is that of the write which held the thread.
    assert bench.commits.count("COMMIT") == 2
    await bench.database.close()


async def test_a_write_that_fails_takes_no_other_along_and_leaves_nothing(bench: Bench) -> None:
    first, taken, refused, last = await bench.written(saying("a"), saying("a"), refusing, saying("b"))
    assert (first, last) == ("a", "b")
    assert isinstance(taken, StoreError) and isinstance(refused, UsageError)
    assert bench.kept() == ["a begins", "a", "b begins", "b"]
    await bench.database.close()


async def test_writes_are_told_of_their_own_failure_where_the_whole_cannot_be_kept(bench: Bench) -> None:
    with closing(sqlite3.connect(bench.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        # While the first waits for the other process, the others wait for their turn, together.
        writes = (bench.database.write(saying(text)) for text in "abc")
        results = await asyncio.gather(*writes, return_exceptions=True)
        other.execute("ROLLBACK")
    assert all(isinstance(result, StoreError) for result in results) and results[1] is not results[2]
    assert bench.kept() == []
    await bench.database.close()


async def test_a_transaction_that_sqlite_undid_is_run_again_without_the_one_that_broke_it(bench: Bench) -> None:
    def breaking(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT OR ROLLBACK INTO said VALUES (NULL)")

    first, broken, last = await bench.written(saying("a"), breaking, saying("b"))
    assert (first, last) == ("a", "b") and isinstance(broken, StoreError)
    assert bench.kept() == ["a begins", "a", "b begins", "b"]
    await bench.database.close()


async def test_what_a_cancelled_caller_wrote_is_seen_by_the_next_read(bench: Bench) -> None:
    began, held = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        began.set()
        held.wait(10)
        saying("a")(connection)

    writing = asyncio.ensure_future(bench.database.write(slow))
    await asyncio.to_thread(began.wait, 10)
    writing.cancel()
    reading = asyncio.ensure_future(
        bench.database.read(lambda connection: connection.execute("SELECT count(*) FROM said").fetchone()[0])
    )
    await asyncio.wait({reading}, timeout=0.01)
    held.set()
    assert await reading == 2
    await bench.database.close()


async def test_reads_that_wait_together_fail_each_by_itself(bench: Bench) -> None:
    def asking(query: str) -> Callable[[], Awaitable[object]]:
        return lambda: bench.database.read(lambda connection: connection.execute(query).fetchone()[0])

    one, failed, two = await bench.together(
        asking("SELECT 1"), asking("SELECT * FROM nothing"), asking("SELECT 2"), reads=True
    )
    assert (one, two) == (1, 2) and isinstance(failed, StoreError)
    await bench.database.close()


async def test_a_read_does_not_wait_for_a_write(bench: Bench) -> None:
    began, held = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        began.set()
        held.wait(10)
        saying("a")(connection)

    def count(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM said").fetchone()[0])

    writing = asyncio.ensure_future(bench.database.write(slow))
    assert await asyncio.to_thread(began.wait, 10)
    assert await bench.database.read(count) == 0 and not writing.done()
    held.set()
    await writing
    assert await bench.database.read(count) == 2
    await bench.database.close()
