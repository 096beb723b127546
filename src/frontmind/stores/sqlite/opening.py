"""Opening a database for writing: is the file ours, and are its tables the newest.

A file that is not ours is told apart without changing a byte of it or beside it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Final, TypeVar

from frontmind.errors import StoreError
from frontmind.stores.sqlite.connection import Session, transaction
from frontmind.stores.sqlite.failures import is_busy, shown, unusable
from frontmind.stores.sqlite.passage_making import rebuild_passages
from frontmind.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, PASSAGES_VERSION, SCHEMA_VERSION

T = TypeVar("T")

_OLDEST_SQLITE: Final = (3, 37)  # STRICT tables
_RETRY_SECONDS: Final = 0.01


class Found(Enum):
    """What stands at a path: nothing yet (or an empty file), or a database of ours."""

    NOTHING = "nothing"
    DATABASE = "database"


def connect(target: str, busy_seconds: float) -> sqlite3.Connection:
    """A connection to a URI or to ":memory:" that begins no transaction by itself.

    Raises:
        StoreError: this Python's SQLite is too old.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(
            f"Frontmind needs SQLite {'.'.join(map(str, _OLDEST_SQLITE))} or newer, this Python has "
            f"{sqlite3.sqlite_version}; use a newer Python",
            path=target,
        )
    connection = sqlite3.connect(target, timeout=busy_seconds, isolation_level=None, uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def inspect(path: Path, name: str) -> Found:
    """Find out what is there, leaving no trace; ``name`` is the path as the caller wrote it.

    Raises:
        StoreError: it is there, and it is no database that this version can use.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return Found.NOTHING
    if stat.S_ISDIR(status.st_mode):
        raise unusable(name, "is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise unusable(name, "is not a regular file")
    if status.st_size == 0:
        return Found.NOTHING
    # Not with open(): closing a file drops all POSIX locks that this process holds on it, those of a connection
    # in use as well. An immutable connection reads only the file itself and makes nothing beside it.
    with closing(connect(f"{path.as_uri()}?mode=ro&immutable=1", busy_seconds=0)) as connection:
        # In the middle of a checkpoint the header announces pages that are still in the write-ahead log. That
        # counts as damage unless the schema is writable; nothing can be written here anyway.
        connection.execute("PRAGMA writable_schema = ON")
        application_id = _pragma(connection, "application_id")
        version = _pragma(connection, "user_version")
    if application_id != APPLICATION_ID:
        raise unusable(name, "is not a Frontmind database")
    check_version(version, name)
    return Found.DATABASE


def check_version(version: int, name: str) -> None:
    """Accept only tables that this Frontmind knows.

    Raises:
        StoreError: they are from a newer one.
    """
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{shown(name)} was written by a newer Frontmind (version {version} of its tables, this one knows "
            f"{SCHEMA_VERSION}); update Frontmind or pass another file with --db",
            path=name,
        )


@dataclass(frozen=True, slots=True)
class WritingSession:
    """A database that is open for reading and writing.

    Attributes:
        beside: opens another session that only reads; None for a database in memory.
    """

    connection: sqlite3.Connection
    beside: Callable[[], Session] | None = None

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return transaction(self.connection, "BEGIN", work)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return transaction(self.connection, "BEGIN IMMEDIATE", work)

    def close(self) -> None:
        self.connection.close()


def open_in_memory() -> WritingSession:
    """A new, empty database that is gone when it is closed."""
    return _prepared(connect(":memory:", busy_seconds=0), ":memory:", busy_seconds=0)


def open_for_writing(path: Path, name: str, busy_seconds: float) -> WritingSession:
    """Open the database, or make a new one together with its folder.

    Raises:
        StoreError: there is something else at the path.
    """
    if inspect(path, name) is Found.NOTHING:
        path.parent.mkdir(parents=True, exist_ok=True)
    elif not os.access(path, os.W_OK):
        # SQLite would open it for reading, and leave the files of its log behind.
        raise unusable(name, "may not be written to")
    session = _prepared(connect(f"{path.as_uri()}?mode=rwc", busy_seconds), name, busy_seconds)
    return replace(session, beside=lambda: WritingSession(connect(f"{path.as_uri()}?mode=rw", busy_seconds)))


def _prepared(connection: sqlite3.Connection, name: str, busy_seconds: float) -> WritingSession:
    usable = False
    try:
        connection.execute("PRAGMA synchronous = FULL")
        if _pragma(connection, "user_version") != SCHEMA_VERSION:
            transaction(connection, "BEGIN IMMEDIATE", lambda _: migrate(connection, name))
        connection.execute("PRAGMA foreign_keys = ON")
        _switch_to_wal(connection, busy_seconds)
        usable = True
    finally:
        if not usable:
            connection.close()
    return WritingSession(connection)


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Bring the tables up to date, inside a transaction of a connection that does not check foreign keys.

    Raises:
        StoreError: they are from a newer Frontmind, or none of ours.
    """
    # Read again: another process may have been faster until the lock was ours.
    version = _pragma(connection, "user_version")
    check_version(version, name)
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise unusable(name, "is not a Frontmind database")
    for migration in MIGRATIONS[version:]:
        for statement in migration:
            connection.execute(statement)
    if version < PASSAGES_VERSION:
        rebuild_passages(connection)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _switch_to_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    # After the tables: a file of ours carries its application_id from its first byte on, not only in a log.
    # SQLite does not wait by itself when two connections switch at once.
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_SECONDS)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
