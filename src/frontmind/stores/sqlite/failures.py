"""Turns what SQLite and the file system say into a `StoreError` of one line that says what to do.

The only place of this package where an error of another library is given a meaning. Knows no table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from frontmind.errors import StoreError, UsageError

_OTHER_FILE: Final = "pass another file with --db"

_ADVICE: Final = {
    sqlite3.SQLITE_BUSY: "{path} is in use by another process; wait until that is done, then try again",
    sqlite3.SQLITE_LOCKED: "{path} is in use by another process; wait until that is done, then try again",
    sqlite3.SQLITE_NOTADB: "{path} is not a Frontmind database; " + _OTHER_FILE,
    sqlite3.SQLITE_CORRUPT: "{path} is damaged; restore a copy of it or " + _OTHER_FILE,
    sqlite3.SQLITE_FULL: "there is no room to write to {path}; free some disk space, then try again",
    sqlite3.SQLITE_READONLY: "{path} may not be written to; change its permissions or " + _OTHER_FILE,
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened; check the permissions of it and its folder or " + _OTHER_FILE,
    sqlite3.SQLITE_IOERR: "{path} cannot be read or written; check its disk, then try again",
}


class Damaged(Exception):
    """What is stored cannot be what was written. The text says which thing it is."""


def shown(path: str) -> str:
    """The path as it can stand in a message of one line."""
    return path if path.isprintable() else repr(path)


def unusable(path: str, reason: str) -> StoreError:
    """The file cannot be our database, for a reason that continues the path's name."""
    return StoreError(f"{shown(path)} {reason}; {_OTHER_FILE}", path=path)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection held a lock for too long."""
    return _primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Let only Frontmind's own errors out.

    Raises:
        StoreError: SQLite or the file system failed, or something stored is damaged.
        UsageError: a number that was passed is larger than SQLite can hold.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _store_error(error, path) from error
    except UnicodeDecodeError as error:
        # SQLite quotes the damaged bytes in its message, and Python cannot read that message.
        raise StoreError(_ADVICE[sqlite3.SQLITE_CORRUPT].format(path=shown(path)), path=path) from error
    except OSError as error:
        raise unusable(path, f"cannot be used ({error.strerror or error})") from error
    except Damaged as error:
        raise StoreError(f"{error} in {shown(path)} is damaged; restore a copy of it", path=path) from error
    except OverflowError as error:
        raise UsageError("a number is too large for the database; pass a smaller one") from error


def _store_error(error: sqlite3.Error, path: str) -> StoreError:
    advice = _ADVICE.get(_primary_code(error))
    if advice is None:
        return unusable(path, f"cannot be used ({' '.join(str(error).split())})")
    return StoreError(advice.format(path=shown(path)), path=path)


def _primary_code(error: sqlite3.Error) -> int:
    # An operational error without a code is Python's own: a TEXT that is not UTF-8, which we never stored. Its
    # message quotes all of the text.
    codeless = sqlite3.SQLITE_CORRUPT if isinstance(error, sqlite3.OperationalError) else sqlite3.SQLITE_ERROR
    code: int = getattr(error, "sqlite_errorcode", codeless)
    # The upper bytes only refine the lowest one.
    return code & 0xFF
