"""Reading a database without writing a byte into it or beside it, whether or not another process writes to it.

SQLite's own read-only mode is not enough: on a database with a write-ahead log it makes the log's files when
they are missing, and leaves them behind. They are missing exactly when nobody has the database open. Then the
file itself holds everything, and it is read as immutable; if it was changed meanwhile, the read starts over. The
tables of an older version are brought up to date in a copy in memory.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final, TypeVar

from frontmind.errors import StoreError
from frontmind.stores.sqlite.connection import transaction
from frontmind.stores.sqlite.failures import shown
from frontmind.stores.sqlite.opening import Found, check_version, connect, inspect, migrate
from frontmind.stores.sqlite.schema import SCHEMA_VERSION

T = TypeVar("T")

# A writer that opens, stores one thing and closes takes some milliseconds; this outlasts a row of them.
_ATTEMPTS: Final = 50
_PAUSE_SECONDS: Final = 0.01


class _Activity(Enum):
    """What the files beside the database tell about writers."""

    NONE = auto()
    LOG = auto()
    TRANSITION = auto()


@dataclass(frozen=True, slots=True)
class _Trace:
    """All that shows from outside whether a database was written to between two looks."""

    activity: _Activity
    file: int
    size: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class LookingSession:
    """Opens the database anew for every read, so that between two reads no lock is held and no file is kept."""

    path: Path
    name: str
    busy_seconds: float

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        for _ in range(_ATTEMPTS):
            before = self._trace()
            if before.activity is not _Activity.TRANSITION:
                try:
                    result = self._read_once(work, before.activity)
                except sqlite3.Error:
                    if self._trace() == before:
                        raise
                else:
                    if before.activity is _Activity.LOG or self._trace() == before:
                        return result
            time.sleep(_PAUSE_SECONDS)
        raise StoreError(
            f"{shown(self.name)} could not be read: it changes all the time, or a crash left it half written; "
            "try again, or open it once with a command that writes, such as frontmind chat",
            path=self.name,
        )

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        raise StoreError(
            f"{shown(self.name)} is open for reading only; open it for writing to change it", path=self.name
        )

    def close(self) -> None:
        """Nothing is held between two reads."""

    @property
    def beside(self) -> None:
        """None: nobody writes, so nobody waits."""
        return None

    def _read_once(self, work: Callable[[sqlite3.Connection], T], activity: _Activity) -> T:
        mode = "mode=ro&immutable=1" if activity is _Activity.NONE else "mode=ro"
        with closing(connect(f"{self.path.as_uri()}?{mode}", self.busy_seconds)) as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            check_version(version, self.name)
            if version == SCHEMA_VERSION:
                return transaction(connection, "BEGIN", work)
            with closing(connect(":memory:", busy_seconds=0)) as copy:
                connection.backup(copy)
                transaction(copy, "BEGIN IMMEDIATE", lambda _: migrate(copy, self.name))
                return transaction(copy, "BEGIN", work)

    def _trace(self) -> _Trace:
        status = self.path.stat()
        log = _size(self.path, "-wal")
        if _size(self.path, "-journal") or (log and _size(self.path, "-shm") is None):
            # Passes soon while a writer makes the database or closes it. It stays when a crash cut the making
            # short, or when the files were copied without the log's index; then only a writer can mend it.
            activity = _Activity.TRANSITION
        else:
            activity = _Activity.LOG if log else _Activity.NONE
        return _Trace(activity, status.st_ino, status.st_size, status.st_mtime_ns)


def open_for_looking(path: Path, name: str, busy_seconds: float) -> LookingSession:
    """A session that can only read.

    Raises:
        StoreError: there is no database at the path that this version can read.
    """
    if inspect(path, name) is Found.NOTHING:
        raise StoreError(
            f"there is no database at {shown(name)}; begin one with a command that writes, or pass another "
            "file with --db",
            path=name,
        )
    session = LookingSession(path, name, busy_seconds)
    session.read(lambda connection: connection.execute("SELECT count(*) FROM sqlite_schema").fetchone())
    return session


def _size(path: Path, suffix: str) -> int | None:
    try:
        return path.with_name(path.name + suffix).stat().st_size
    except FileNotFoundError:
        return None
