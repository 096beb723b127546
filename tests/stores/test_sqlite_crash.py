"""A process that is killed at any moment leaves a file that opens, with all that it had promised."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from frontmind.stores.sqlite import SqliteStore
from frontmind.values.records import Turn, TurnState

CHILD = Path(__file__).with_name("store_child.py")


def killed_after(database: Path, lines: int, spin: int) -> list[str]:
    """What a child said that was killed a little after it had said so many lines."""
    command = [sys.executable, str(CHILD), "turns", str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        for _ in range(spin):
            pass
        process.kill()
        # A line without its end was cut off by the kill: not promised.
        return [line.rstrip("\n") for line in [*said, *process.stdout] if line.endswith("\n")]


def killed_at(database: Path, file_size: int) -> list[str]:
    """What a child said that was killed when a file grew beyond that size."""
    # -B: the limit holds for every file, compiled modules as well.
    command = [sys.executable, "-B", str(CHILD), "turns", str(database), str(file_size)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == -signal.SIGXFSZ
    return ended.stdout.splitlines()


def check_promises(turns: list[Turn], promises: list[str]) -> None:
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    for turn in turns:
        assert (turn.state is TurnState.DONE) == (turn.reply is not None)
        assert turn.user.text.startswith("question")
    for promise in promises:
        match promise.split(" ", 2):
            case ["accepted", number, text]:
                assert turns[int(number) - 1].user.text == text
            case ["done", number]:
                assert turns[int(number) - 1].state is TurnState.DONE
            case ["refused", number]:
                assert turns[int(number) - 1].state is TurnState.REFUSED


def check_file(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        # Of an index that reads another table, 1 means: compare it with the table as well.
        connection.execute("INSERT INTO passage_index (passage_index, rank) VALUES ('integrity-check', 1)")
        done = connection.execute("SELECT id FROM turns WHERE state = 'done' ORDER BY 1").fetchall()
        assert refs(connection, "1%") == done
        assert refs(connection, "2%") == connection.execute("SELECT id FROM memories ORDER BY 1").fetchall()


def refs(connection: sqlite3.Connection, scope: str) -> list[tuple[int]]:
    """What passages were made of."""
    return connection.execute("SELECT DISTINCT ref FROM passages WHERE scope LIKE ? ORDER BY 1", (scope,)).fetchall()


async def check(database: Path, promises: list[str]) -> None:
    if promises[1:]:
        looking = SqliteStore.open_existing_read_only(database)
        check_promises(list(await looking.turns("main")), promises)
        await looking.close()
    store = SqliteStore.open(database)
    turns = list(await store.turns("main"))
    check_promises(turns, promises)
    for request in {turn.request for turn in turns if turn.request is not None}:
        await store.load_request(request)
    await store.close()
    check_file(database)


async def test_killed_process_loses_nothing_that_it_accepted(tmp_path: Path) -> None:
    rng = random.Random(20261130)
    promises: list[str] = []
    for _ in range(25):
        promises += killed_after(tmp_path / "store.db", rng.randrange(1, 60), rng.randrange(100_000))
        await check(tmp_path / "store.db", promises)
    assert any(promise.startswith("done") for promise in promises)


@pytest.mark.parametrize("seed", range(12))
async def test_process_killed_while_it_makes_the_database_leaves_one_that_opens(tmp_path: Path, seed: int) -> None:
    # From the first line on the child makes the file: some 10 ms, or half a million rounds of the spin.
    promises = killed_after(tmp_path / "store.db", 1, random.Random(seed).randrange(500_000))
    await check(tmp_path / "store.db", promises)


@pytest.mark.parametrize("file_size", [512, 1024, 4096, 6000, 8192, 40_960, 65_536, 100_000, 131_072, 140_000])
async def test_process_killed_in_the_middle_of_a_write_leaves_a_database_that_opens(
    tmp_path: Path, file_size: int
) -> None:
    await check(tmp_path / "store.db", killed_at(tmp_path / "store.db", file_size))
    await check(tmp_path / "store.db", killed_at(tmp_path / "store.db", file_size))
