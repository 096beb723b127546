"""Which files are opened, and that a file which is not is left as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmind.errors import FrontmindError, StoreError
from frontmind.stores.sqlite import SqliteStore
from frontmind.stores.sqlite.connection import Database
from frontmind.stores.sqlite.locks import TurnLocks
from frontmind.stores.sqlite.looking import LookingSession
from frontmind.stores.sqlite.opening import open_for_writing
from frontmind.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from frontmind.values.message import assistant, user
from frontmind.values.passages import PassageKind
from frontmind.values.usage import Usage
from support import passages_with, remember

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
OPENERS: Final = {"write": SqliteStore.open, "look": SqliteStore.open_existing_read_only}

in_one_folder = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
each_way = pytest.mark.parametrize("opener", OPENERS.values(), ids=OPENERS.keys())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def assert_refused(opener: Callable[[Path], SqliteStore], path: Path, reason: str) -> None:
    before = contents(path.parent)
    with pytest.raises(StoreError, match=reason) as caught:
        opener(path)
    assert len(str(caught.value).splitlines()) == 1
    assert str(path) in str(caught.value)
    assert caught.value.path == str(path)
    assert contents(path.parent) == before


async def make(path: Path) -> None:
    store = SqliteStore.open(path)
    await remember(store, "kept", NINE)
    await store.begin_turn("main", user("hello"), NINE, segment_pause=timedelta(hours=1))
    await store.close()


class TestRefused:
    @each_way
    @pytest.mark.parametrize("content", [b"x", b"some text\n" * 1000, b"\0" * 8192, b"SQLite format 3\0"])
    def test_a_file_that_is_no_database(
        self, tmp_path: Path, opener: Callable[[Path], SqliteStore], content: bytes
    ) -> None:
        (tmp_path / "file").write_bytes(content)
        assert_refused(opener, tmp_path / "file", "not a Frontmind database")

    @each_way
    def test_a_folder(self, tmp_path: Path, opener: Callable[[Path], SqliteStore]) -> None:
        (tmp_path / "folder").mkdir()
        assert_refused(opener, tmp_path / "folder", "is a folder")

    @each_way
    def test_a_pipe(self, tmp_path: Path, opener: Callable[[Path], SqliteStore]) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert_refused(opener, tmp_path / "pipe", "not a regular file")

    @each_way
    def test_a_path_through_a_file(self, tmp_path: Path, opener: Callable[[Path], SqliteStore]) -> None:
        (tmp_path / "file").write_text("text")
        with pytest.raises(StoreError, match="--db"):
            opener(tmp_path / "file" / "store.db")

    @each_way
    @pytest.mark.parametrize("name", ["nul\0", "\ud800"])
    def test_a_name_that_no_file_can_have(self, opener: Callable[[str], SqliteStore], name: str) -> None:
        with pytest.raises(StoreError, match="not the name of a file"):
            opener(name)

    @each_way
    @pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
    def test_an_unreadable_file(self, tmp_path: Path, opener: Callable[[Path], SqliteStore]) -> None:
        run(tmp_path / "file.db", "CREATE TABLE t (x)")
        (tmp_path / "file.db").chmod(0)
        with pytest.raises(StoreError, match="permissions"):
            opener(tmp_path / "file.db")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write to everything")
    async def test_a_file_that_may_not_be_written_to(self, tmp_path: Path) -> None:
        await make(tmp_path / "store.db")
        (tmp_path / "store.db").chmod(0o444)
        assert_refused(SqliteStore.open, tmp_path / "store.db", "may not be written to")

    @each_way
    @pytest.mark.parametrize(
        "statements",
        [
            ["CREATE TABLE t (x)"],
            ["CREATE TABLE t (x)", "PRAGMA application_id = 7"],
            ["CREATE TABLE turns (x)", f"PRAGMA user_version = {SCHEMA_VERSION}"],
            ["PRAGMA journal_mode = WAL", "CREATE TABLE t (x)"],
        ],
    )
    def test_a_database_of_another_program(
        self, tmp_path: Path, opener: Callable[[Path], SqliteStore], statements: list[str]
    ) -> None:
        run(tmp_path / "other.db", *statements)
        assert_refused(opener, tmp_path / "other.db", "not a Frontmind database")

    @each_way
    def test_a_database_that_another_program_has_open(
        self, tmp_path: Path, opener: Callable[[Path], SqliteStore]
    ) -> None:
        (tmp_path / "copy").mkdir()
        with closing(sqlite3.connect(tmp_path / "other.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE t (x)")
            for name in names(tmp_path) - {"copy"}:
                shutil.copy(tmp_path / name, tmp_path / "copy" / name)
        assert names(tmp_path / "copy") == {"other.db", "other.db-wal", "other.db-shm"}
        assert_refused(opener, tmp_path / "copy" / "other.db", "not a Frontmind database")

    @each_way
    async def test_a_database_of_a_newer_version(self, tmp_path: Path, opener: Callable[[Path], SqliteStore]) -> None:
        await make(tmp_path / "store.db")
        run(tmp_path / "store.db", f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        assert_refused(opener, tmp_path / "store.db", "newer Frontmind.*update Frontmind")

    @each_way
    @in_one_folder
    @given(content=st.binary(min_size=1, max_size=600), head=st.sampled_from([b"", b"SQLite format 3\0"]))
    def test_any_other_content(
        self, tmp_path: Path, opener: Callable[[Path], SqliteStore], content: bytes, head: bytes
    ) -> None:
        (tmp_path / "file").write_bytes(head + content)
        assert_refused(opener, tmp_path / "file", "--db")

    def test_a_message_stays_on_one_line_whatever_the_path(self, tmp_path: Path) -> None:
        (tmp_path / "two\nlines").write_text("text")
        with pytest.raises(StoreError) as caught:
            SqliteStore.open(tmp_path / "two\nlines")
        assert len(str(caught.value).splitlines()) == 1

    def test_an_sqlite_that_is_too_old(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
        with pytest.raises(StoreError, match="use a newer Python"):
            SqliteStore.open(tmp_path / "store.db")


async def make_older(path: Path) -> None:
    """A database as the first version left it, with one answered turn."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in MIGRATIONS[0]:
            connection.execute(statement)
        connection.execute("INSERT INTO conversations (name) VALUES ('main')")
        message = '{"parts":[{"text":"TEXT","type":"text"}],"role":"ROLE"}'
        connection.execute(
            """
            INSERT INTO turns (conversation, number, segment, state, asked_at, answered_at, user_message, reply_message,
                usage_input, usage_cached, usage_written, usage_output, usage_estimated)
            VALUES (1, 1, 1, 'done', ?, ?, ?, ?, 9, 1, 2, 3, 0)
            """,
            (
                "2026-11-30T09:00:00.000000+00:00",
                "2026-11-30T09:00:01.000000+00:00",
                message.replace("TEXT", "hello").replace("ROLE", "user"),
                message.replace("TEXT", "hi").replace("ROLE", "assistant"),
            ),
        )
        connection.execute(
            "INSERT INTO reminders (text, due, zone, created_at) VALUES ('call', '2026-12-01', 'UTC', ?)",
            ("2026-11-30T09:00:00.000000+00:00",),
        )
        connection.execute("INSERT INTO domaindocs VALUES ('work', 0, '2026-11-30T09:00:00.000000+00:00', 'Tea')")
        moment = "2026-11-30T09:00:00.000000+00:00"
        for note in (2, 5):
            connection.execute("INSERT INTO notes VALUES (?, 'You like tea', ?)", (note, moment))
            connection.execute("INSERT INTO note_index (rowid, text) VALUES (?, 'You like tea')", (note,))
        connection.execute("DELETE FROM notes WHERE id = 5")
        connection.execute("PRAGMA user_version = 1")


class TestOlder:
    async def test_a_database_of_the_first_version_is_brought_up_to_date_and_nothing_is_lost(
        self, tmp_path: Path
    ) -> None:
        await make_older(tmp_path / "store.db")
        store = SqliteStore.open(tmp_path / "store.db")
        (turn,) = await store.turns("main")
        (reminder,) = await store.active_reminders()
        (document,) = await store.documents()
        (version,) = await store.document_versions("work")
        (memory,) = await store.memories()
        found = [
            await passages_with(store, word, kind)
            for word, kind in zip(("hi", "tea", "Tea"), PassageKind, strict=False)
        ]
        later = await remember(store, "later", NINE)
        await store.close()
        assert (memory.id, memory.text, memory.observed_at, memory.origin) == (2, "You like tea", NINE, "person")
        assert [[passage.ref for passage in passages] for passages in found] == [[turn.id], [2], [1]]
        assert later.id == 6, "the id of a removed note is not given again"
        assert (reminder.text, reminder.due, reminder.rrule, reminder.version) == ("call", date(2026, 12, 1), "", 1)
        assert (document.text, document.enabled, document.version, version.text) == ("Tea", False, 1, "Tea")
        assert (turn.user, turn.reply, turn.sent) == (user("hello"), assistant("hi"), None)
        assert turn.usage == Usage(9, 1, 2, 3)
        looking = SqliteStore.open_existing_read_only(tmp_path / "store.db")
        assert list(await looking.turns("main")) == [turn]
        await looking.close()

    async def test_an_older_database_can_be_looked_at_and_stays_as_it_was(self, tmp_path: Path) -> None:
        await make_older(tmp_path / "store.db")
        before = (tmp_path / "store.db").read_bytes()
        looking = SqliteStore.open_existing_read_only(tmp_path / "store.db")
        (turn,) = await looking.turns("main")
        await looking.close()
        assert (turn.reply, turn.sent, turn.usage) == (assistant("hi"), None, Usage(9, 1, 2, 3))
        assert (tmp_path / "store.db").read_bytes() == before


class TestNew:
    async def test_missing_folders_are_made(self, tmp_path: Path) -> None:
        await make(tmp_path / "a" / "b" / "store.db")
        assert names(tmp_path / "a" / "b") == {"store.db"}

    async def test_an_empty_file_becomes_a_database(self, tmp_path: Path) -> None:
        (tmp_path / "store.db").touch()
        await make(tmp_path / "store.db")
        store = SqliteStore.open(str(tmp_path / "store.db"))
        assert [note.text for note in await store.memories()] == ["kept"]
        await store.close()

    async def test_awkward_file_names_are_file_names(self, tmp_path: Path) -> None:
        odd = ["with space.db", "a%20b?mode=ro#x.db", "file:x.db", "ü\n.db"]
        for name in odd:
            await make(tmp_path / name)
            looking = SqliteStore.open_existing_read_only(tmp_path / name)
            assert len(await looking.memories()) == 1
            await looking.close()
        assert names(tmp_path) == set(odd)

    async def test_the_file_says_whose_it_is(self, tmp_path: Path) -> None:
        await make(tmp_path / "store.db")
        header = contents(tmp_path)["store.db"][:100]
        assert int.from_bytes(header[68:72]) == APPLICATION_ID
        assert int.from_bytes(header[60:64]) == SCHEMA_VERSION
        assert header[18:20] == b"\x02\x02", "write-ahead log"

    async def test_every_commit_waits_for_the_disk(self, tmp_path: Path) -> None:
        session = open_for_writing(tmp_path / "store.db", "store.db", busy_seconds=1)
        with closing(session.connection) as connection:
            assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
            assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1

    async def test_memory_stores_are_apart_and_leave_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        one, two = SqliteStore.open(":memory:"), SqliteStore.open(":memory:")
        await remember(one, "a", NINE)
        async with one.turn_lock("main"):
            assert list(await two.memories()) == []
        await one.close()
        await two.close()
        assert names(tmp_path) == set()


class TestLooking:
    def test_nothing_is_made_where_nothing_is(self, tmp_path: Path) -> None:
        for path in (tmp_path / "store.db", tmp_path / "folder" / "store.db"):
            with pytest.raises(StoreError, match="there is no database"):
                SqliteStore.open_existing_read_only(path)
        (tmp_path / "empty.db").touch()
        assert_refused(SqliteStore.open_existing_read_only, tmp_path / "empty.db", "there is no database")
        assert names(tmp_path) == {"empty.db"}

    async def test_looking_changes_nothing(self, tmp_path: Path) -> None:
        await make(tmp_path / "store.db")
        before = contents(tmp_path)
        looking = SqliteStore.open_existing_read_only(tmp_path / "store.db")
        assert [note.text for note in await looking.memories()] == ["kept"]
        assert [turn.user.text for turn in await looking.turns("main")] == ["hello"]
        assert [hit.text for hit in await passages_with(looking, "kept", PassageKind.MEMORY)] == ["kept"]
        assert contents(tmp_path) == before
        await looking.close()
        assert contents(tmp_path) == before

    async def test_writing_is_refused(self, tmp_path: Path) -> None:
        await make(tmp_path / "store.db")
        before = contents(tmp_path)
        looking = SqliteStore.open_existing_read_only(tmp_path / "store.db")
        with pytest.raises(StoreError, match="open for reading only"):
            await remember(looking, "more", NINE)
        with pytest.raises(StoreError, match="open for reading only"):
            async with looking.turn_lock("main"):
                await looking.begin_turn("main", user("x"), NINE, segment_pause=timedelta(0))
        await looking.close()
        assert contents(tmp_path) == before

    async def test_a_read_starts_over_when_the_file_was_changed_under_it(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        await make(path)
        seen: list[int] = []

        def disturbed(connection: sqlite3.Connection) -> int:
            if not seen:
                run(
                    path,
                    "INSERT INTO active_days VALUES ('', '2026-12-24')",
                )
            seen.append(connection.execute("SELECT count(*) FROM active_days").fetchone()[0])
            return seen[-1]

        assert LookingSession(path, str(path), busy_seconds=1).read(disturbed) == 2
        assert len(seen) == 2

    async def test_a_log_without_its_index_is_named_as_such(self, tmp_path: Path) -> None:
        store = SqliteStore.open(tmp_path / "store.db")
        await remember(store, "in the log", NINE)
        (tmp_path / "copy").mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"store.db{suffix}", tmp_path / "copy" / f"store.db{suffix}")
        await store.close()
        assert_refused(SqliteStore.open_existing_read_only, tmp_path / "copy" / "store.db", "crash")
        recovered = SqliteStore.open(tmp_path / "copy" / "store.db")
        assert [note.text for note in await recovered.memories()] == ["in the log"]
        await recovered.close()


class TestDamage:
    async def test_a_file_cut_in_the_middle_of_a_checkpoint_opens(self, tmp_path: Path) -> None:
        store = SqliteStore.open(tmp_path / "store.db")
        await remember(store, "x" * 100_000, NINE)
        (tmp_path / "cut").mkdir()
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(tmp_path / f"store.db{suffix}", tmp_path / "cut" / f"store.db{suffix}")
        await store.close()
        # The first page is written first, and announces more pages than there are yet.
        with (tmp_path / "store.db").open("rb") as whole, (tmp_path / "cut" / "store.db").open("r+b") as cut:
            cut.write(whole.read(4096))
        for opener in (SqliteStore.open_existing_read_only, SqliteStore.open):
            opened = opener(tmp_path / "cut" / "store.db")
            assert [len(note.text) for note in await opened.memories()] == [100_000]
            await opened.close()

    async def test_a_torn_file_is_a_store_error(self, tmp_path: Path) -> None:
        await make(tmp_path / "store.db")
        with (tmp_path / "store.db").open("r+b") as file:
            file.truncate(8192)
        with pytest.raises(StoreError, match="is damaged"):
            await make(tmp_path / "store.db")

    async def test_damage_that_sqlite_cannot_even_name_is_a_store_error(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        await make(path)
        path.write_bytes(path.read_bytes().replace(b"tablememoriesmemories", b"tablem\xffmori\xffsm\xffmori\xffs"))
        with pytest.raises(StoreError, match="is damaged"):
            await make(path)

    @in_one_folder
    @given(data=st.data())
    async def test_no_damage_gets_out_as_another_error(self, tmp_path: Path, data: st.DataObject) -> None:
        path = tmp_path / "store.db"
        path.unlink(missing_ok=True)
        await make(path)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 40))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        try:
            store = SqliteStore.open(path)
        except StoreError:
            return
        uses: list[Awaitable[object]] = [
            store.memories(),
            store.active_reminders(),
            store.documents(),
            store.turns("main"),
            store.segments("main"),
            passages_with(store, "kept", PassageKind.MEMORY),
            passages_with(store, "hello"),
            store.load_request("00"),
            remember(store, "more", NINE),
        ]
        for use in uses:
            try:
                await use
            except FrontmindError as error:
                assert len(str(error).splitlines()) == 1
        await store.close()

    async def test_a_full_disk_is_a_store_error_and_loses_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        await make(path)
        database = Database(str(path), lambda: open_for_writing(path, str(path), busy_seconds=1))
        store = SqliteStore(database, TurnLocks(None, str(path)))
        await database.write(lambda connection: connection.execute("PRAGMA max_page_count = 60").fetchone())
        with pytest.raises(StoreError, match="free some disk space"):
            await remember(store, "x" * 1_000_000, NINE)
        await remember(store, "small", NINE)
        assert [note.text for note in await store.memories()] == ["kept", "small"]
        await store.close()
