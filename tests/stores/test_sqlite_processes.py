"""Several processes on one database: their turns, their locks, and a writer that makes others wait."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from frontmind.errors import StoreError
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.message import user
from frontmind.values.passages import PassageKind
from frontmind.values.records import TurnState
from support import passages_with, remember

CHILD = Path(__file__).with_name("store_child.py")
NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


@contextmanager
def child(action: str, database: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(CHILD), action, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def contents(folder: Path) -> dict[str, bytes]:
    # The index of the log is memory that all processes share, readers too; it is rebuilt at will.
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".db-shm"}


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def run_at_once(action: str, database: Path, count: int) -> list[int]:
    command = [sys.executable, str(CHILD), action, str(database)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    for process in processes:
        process.communicate()
    return [process.returncode for process in processes]


async def test_processes_that_begin_at_once_share_one_new_database(tmp_path: Path) -> None:
    assert run_at_once("ten-turns", tmp_path / "new" / "store.db", 6) == [0] * 6
    store = SqliteStore.open(tmp_path / "new" / "store.db")
    turns = await store.turns("main")
    await store.close()
    assert [turn.number for turn in turns] == list(range(1, 61))
    assert TurnState.OPEN not in {turn.state for turn in turns}


async def test_opening_waits_for_a_writer_of_a_database_that_has_no_log_yet(tmp_path: Path) -> None:
    await SqliteStore.open(tmp_path / "store.db").close()
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN IMMEDIATE")
        opening = asyncio.create_task(asyncio.to_thread(SqliteStore.open, tmp_path / "store.db"))
        done, _ = await asyncio.wait({opening}, timeout=0.05)
        assert not done
        other.execute("ROLLBACK")
        store = await opening
    await store.close()
    assert contents(tmp_path)["store.db"][18:20] == b"\x02\x02", "write-ahead log"


async def test_writers_that_read_first_do_not_get_into_each_others_way(tmp_path: Path) -> None:
    stores = [SqliteStore.open(tmp_path / "store.db") for _ in range(3)]
    saving = [store.save_request({"n": i, "messages": [i]}) for i in range(60) for store in stores]
    assert len(set(await asyncio.gather(*saving))) == 60
    for store in stores:
        await store.close()


@pytest.mark.parametrize("ending", ["released", "killed"])
async def test_turn_waits_for_the_turn_of_another_process(tmp_path: Path, ending: str) -> None:
    store = SqliteStore.open(tmp_path / "store.db")
    events: list[str] = []

    async def take_turn() -> None:
        async with store.turn_lock("main"):
            events.append("turn")

    with child("hold", tmp_path / "store.db") as process:
        assert [heard(process), heard(process)] == ["opening", "held"]
        waiting = asyncio.create_task(take_turn())
        async with store.turn_lock("another conversation"):
            await store.memories()
        events.append("other work")
        if ending == "killed":
            process.kill()
        else:
            tell(process, "let go")
        await waiting
    await store.close()
    assert events == ["other work", "turn"]


async def test_waiting_for_another_process_can_be_cancelled(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.db")

    async def take_turn() -> None:
        async with store.turn_lock("main"):
            raise AssertionError("got a lock that another process holds")

    with child("hold", tmp_path / "store.db") as process:
        assert [heard(process), heard(process)] == ["opening", "held"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(take_turn(), timeout=0.05)
        tell(process, "let go")
        assert heard(process) == "closed"
    async with store.turn_lock("main"):
        pass
    await store.close()


async def test_two_stores_of_one_process_exclude_each_other_by_any_path(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    one, two = SqliteStore.open(tmp_path / "store.db"), SqliteStore.open(tmp_path / "link.db")

    async def take_turn() -> None:
        async with two.turn_lock("main"):
            pass

    async with one.turn_lock("main"):
        waiting = asyncio.create_task(take_turn())
        await two.memories()
        assert not waiting.done()
    await waiting
    await one.close()
    await two.close()
    assert names(tmp_path) == {"store.db", "link.db", "store.db.locks"}


async def test_lock_files_appear_when_they_are_needed(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.db")
    await store.begin_turn("main", user("hello"), NINE, segment_pause=timedelta(hours=1))
    assert not (tmp_path / "store.db.locks").exists()
    for conversation in ("main", "main", "../..", "\ud800"):
        async with store.turn_lock(conversation):
            pass
    assert len(list((tmp_path / "store.db.locks").iterdir())) == 3
    await store.close()


async def test_lock_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.db")
    (tmp_path / "store.db.locks").write_text("in the way")
    with pytest.raises(StoreError):
        async with store.turn_lock("main"):
            raise AssertionError("there is no lock")
    await store.close()


async def test_busy_database_is_a_store_error_after_the_timeout(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.db", busy_timeout=timedelta(milliseconds=20))
    note = await remember(store, "a", NINE)
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="in use by another process"):
            await remember(store, "b", NINE)
        assert list(await store.memories()) == [note]
    await remember(store, "c", NINE)
    assert [note.text for note in await store.memories()] == ["a", "c"]
    await store.close()


async def test_event_loop_runs_while_a_write_waits(tmp_path: Path) -> None:
    store, elsewhere = SqliteStore.open(tmp_path / "store.db"), SqliteStore.open(":memory:")
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(remember(store, "a", NINE))
        await remember(elsewhere, "b", NINE)
        assert not waiting.done()
        other.execute("ROLLBACK")
        assert (await waiting).text == "a"
    await store.close()
    await elsewhere.close()


async def test_reader_sees_what_another_process_writes_and_leaves_no_trace(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    with child("obey", database) as process:
        assert [heard(process), heard(process)] == ["opening", "open"]
        tell(process, "first")
        assert heard(process) == "added"
        looking = SqliteStore.open_existing_read_only(database)
        assert [note.text for note in await looking.memories()] == ["first"]
        tell(process, "second")
        assert heard(process) == "added"
        before = contents(tmp_path)
        assert [hit.text for hit in await passages_with(looking, "second", PassageKind.MEMORY)] == ["second"]
        assert contents(tmp_path) == before
        assert process.stdin is not None
        process.stdin.close()
        assert heard(process) == "closed"
    # The reader did not keep the writer from clearing up after itself.
    assert names(tmp_path) == {"store.db"}
    assert [note.text for note in await looking.memories()] == ["first", "second"]
    assert names(tmp_path) == {"store.db"}
    await looking.close()


async def test_reader_is_right_while_writers_come_and_go(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    await SqliteStore.open(database).close()
    looking = SqliteStore.open_existing_read_only(database)
    written, seen = 0, []

    async def write() -> None:
        nonlocal written
        for i in range(40):
            store = SqliteStore.open(database)
            await remember(store, f"{i} " + "x" * 5000, NINE)
            await store.close()
            written = i + 1

    writing = asyncio.create_task(write())
    while not writing.done():
        at_least = written
        notes = await looking.memories()
        assert [note.text.split()[0] for note in notes] == [str(i) for i in range(len(notes))]
        assert len(notes) >= at_least
        seen.append(len(notes))
    await writing
    assert seen == sorted(seen)
    await looking.close()
