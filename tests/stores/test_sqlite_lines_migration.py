"""A database from before turns could be replaced: it keeps every row, and does all that a new one does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from frontmind.stores.sqlite import SqliteStore
from frontmind.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from frontmind.values.message import assistant, user
from frontmind.values.parts import Notice
from frontmind.values.records import Completion, SegmentSummary, Sent, Step, Turn, TurnState, WindowOpening
from frontmind.values.usage import Usage
from support import passages_with

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
LAST_WITHOUT: Final = 5
"""The version of the tables before."""

# As they were filled then: a table of conversations, and turns in every state, with steps, notices and imports.
FILLED: Final = (
    "INSERT INTO conversations (id, owner, name, window_start, opening) VALUES (7, '', 'main', 2, 'earlier')",
    "INSERT INTO conversations (id, owner, name) VALUES (8, 'anna', 'main')",
    """
    INSERT INTO turns (id, conversation, number, segment, state, asked_at, answered_at, request, model, usage_input,
        usage_cached, usage_written, usage_output, usage_estimated, interrupted, system_fingerprint, user_message,
        reply_message, sent, usage_written_by_ttl)
    VALUES (11, 7, 1, 1, 'done', '2026-11-30T09:00:00.000000+00:00', '2026-11-30T09:00:01.000000+00:00', 'ab12', 'echo',
        9, 1, 2, 3, 1, 1, '{"a":"1"}', '{"parts":[{"text":"Where do herons nest?","type":"text"}],"role":"user"}',
        '{"parts":[{"text":"In alders.","type":"text"}],"role":"assistant"}',
        '{"head":"h","notices":[{"lasting":false,"sections":[],"text":"n","type":"notice","voice":"user"}],
          "sections":{"a":"1"},"window_start":1}',
        '{"5m":2}')
    """,
    """
    INSERT INTO turns (id, conversation, number, segment, state, asked_at, user_message)
    VALUES (12, 7, 2, 1, 'refused', '2026-11-30T09:01:00.000000+00:00', '{"parts":[],"role":"user"}'),
           (14, 7, 3, 2, 'open', '2026-11-30T11:02:00.000000+00:00',
            CAST('{"parts":[{"text":"waits","type":"text"}],"role":"user"}' AS BLOB)),
           (13, 8, 1, 1, 'open', '2026-11-30T09:01:00.000000+00:00',
            '{"parts":[{"text":"hello","type":"text"}],"role":"user"}')
    """,
    """
    INSERT INTO steps VALUES (14, 1, 'cd34', 'echo',
        '{"cached":0,"estimated":false,"input":1,"output":1,"written":0,"written_by_ttl":{}}',
        '{"parts":[{"text":"I look.","type":"text"}],"role":"assistant"}', NULL)
    """,
    "INSERT INTO imported_turns VALUES ('', 'x', 'k', 11)",
    "INSERT INTO segment_summaries VALUES (7, 1, 'Herons', 'Of herons.', '', '2026-11-30T09:00:00.000000+00:00')",
)


def make_older(path: Path, *statements: str, version: int = LAST_WITHOUT) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL")
        for migration in MIGRATIONS[:version]:
            for statement in migration:
                connection.execute(statement)
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version}")


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


COLUMNS: Final = (
    "id, conversation, number, segment, state, asked_at, answered_at, request, model, usage_input, usage_cached, "
    "usage_written, usage_output, usage_estimated, usage_written_by_ttl, interrupted, system_fingerprint, sent, "
    "user_message, reply_message"
)


async def test_every_row_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    make_older(path, *FILLED)
    tables = [
        (f"SELECT {COLUMNS} FROM turns ORDER BY id"),
        *(
            f"SELECT * FROM {table} ORDER BY 1, 2"
            for table in ("conversations", "steps", "imported_turns", "segment_summaries")
        ),
    ]
    before = [rows(path, query) for query in tables]
    assert [len(found) for found in before] == [4, 2, 1, 1, 1]
    await SqliteStore.open(path).close()
    assert [rows(path, query) for query in tables] == before
    assert rows(path, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
    assert rows(path, "PRAGMA foreign_key_check") == []
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


async def test_a_turn_of_before_is_read_as_it_was_stored(tmp_path: Path) -> None:
    make_older(tmp_path / "store.db", *FILLED)
    store = SqliteStore.open(tmp_path / "store.db")
    done, refused, waiting = await store.turns("main")
    (segment, newer), (overview,) = await store.segments("main"), await store.conversations()
    opening = await store.window_opening("main")
    await store.close()
    assert done == Turn(
        id=11,
        conversation="main",
        number=1,
        segment=1,
        state=TurnState.DONE,
        user=user("Where do herons nest?"),
        asked_at=NINE,
        reply=assistant("In alders."),
        answered_at=NINE + timedelta(seconds=1),
        request="ab12",
        model="echo",
        usage=Usage(9, 1, 2, 3, estimated=True, written_by_ttl=(("5m", 2),)),
        interrupted=True,
        system_fingerprint={"a": "1"},
        sent=Sent((Notice("n"),), {"a": "1"}, head="h"),
    )
    assert (refused.state, waiting.state, waiting.user) == (TurnState.REFUSED, TurnState.OPEN, user("waits"))
    assert waiting.steps == (Step(assistant("I look."), "cd34", "echo", Usage(1, 0, 0, 1)),)
    assert segment.summary == SegmentSummary("Herons", "Of herons.", "", NINE)
    assert (newer.title, newer.first, newer.last) == ("waits", 3, 3)
    assert (overview.title, overview.turns, overview.last) == ("Herons", 2, 3)
    assert opening == WindowOpening(2, "earlier")


async def test_turns_of_before_are_replaced_and_come_back(tmp_path: Path) -> None:
    make_older(tmp_path / "store.db", *FILLED)
    store = SqliteStore.open(tmp_path / "store.db")
    before = await store.turns("main")
    await store.set_line("main", ())
    assert [turn.state.value for turn in await store.turns("main")] == ["replaced", "refused", "replaced"]
    await store.set_line("main", (1, 3))
    assert await store.turns("main") == before
    assert [passage.ref for passage in await passages_with(store, "herons")] == [11]
    (segment, _), (overview,) = await store.segments("main"), await store.conversations()
    assert segment.title == overview.title == "Where do herons nest?"
    begun = await store.begin_turn("main", user("on"), NINE + 3 * HOUR, segment_pause=HOUR)
    done = await store.complete_turn(
        begun.id, Completion(assistant("ok"), NINE + 3 * HOUR, "0" * 64, "m", Usage(1, 0, 0, 1), False, {})
    )
    await store.close()
    assert (done.id, done.number, done.segment) == (15, 4, 2)
    assert rows(tmp_path / "store.db", "PRAGMA foreign_key_check") == []


async def test_looking_at_one_of_before_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    make_older(path, *FILLED)
    before = path.read_bytes()
    looking = SqliteStore.open_existing_read_only(path)
    assert [each.title for each in await looking.conversations()] == ["Herons"]
    assert list(await looking.accounts_of_database().accounts()) == []
    await looking.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
async def test_from_every_version_the_tables_become_those_of_a_new_database(tmp_path: Path, version: int) -> None:
    make_older(tmp_path / "old.db", version=version)
    for name in ("old.db", "new.db"):
        await SqliteStore.open(tmp_path / name).close()
    described = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    assert rows(tmp_path / "old.db", described) == rows(tmp_path / "new.db", described)


@pytest.mark.parametrize(
    ("state", "reply", "answered_at", "allowed"),
    [
        ("done", "{}", "x", True),
        ("done", None, None, False),
        ("done", "{}", None, False),
        ("open", None, None, True),
        ("open", "{}", "x", False),
        ("refused", None, None, True),
        ("refused", "{}", "x", False),
        ("replaced", "{}", "x", True),
        ("replaced", None, None, True),
        ("replaced", "{}", None, False),
        ("gone", None, None, False),
    ],
)
async def test_the_table_takes_no_turn_that_cannot_be(
    tmp_path: Path, state: str, reply: str | None, answered_at: str | None, allowed: bool
) -> None:
    await SqliteStore.open(tmp_path / "store.db").close()
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO conversations (id, owner, name) VALUES (1, '', 'main')")
        insert = """
            INSERT INTO turns
                (conversation, number, segment, state, asked_at, user_message, reply_message, answered_at)
            VALUES (1, 1, 1, ?, 'x', '{}', ?, ?)
        """
        if allowed:
            connection.execute(insert, (state, reply, answered_at))
            return
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            connection.execute(insert, (state, reply, answered_at))
