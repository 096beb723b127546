"""The one thread on which a database is used, and what a transaction is.

A `Session` is a database that is open on that thread; `opening` and `looking` make them. Knows no table.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final, Literal, Protocol, TypeVar

from frontmind.errors import UsageError
from frontmind.stores.sqlite.failures import translated

T = TypeVar("T")


class Session(Protocol):
    """An open database. Every call is one transaction on the thread of `Database`."""

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T: ...

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T: ...

    def close(self) -> None: ...


def transaction(
    connection: sqlite3.Connection,
    begin: Literal["BEGIN", "BEGIN IMMEDIATE"],
    work: Callable[[sqlite3.Connection], T],
) -> T:
    """All of ``work`` or nothing of it."""
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
        return result
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


class Database:
    """Runs transactions one after the other on a thread of its own, so that the event loop never waits for a disk.

    A caller that is cancelled while its transaction runs does not undo it.

    Attributes:
        path: the database as the caller named it.
    """

    def __init__(self, path: str, start: Callable[[], Session]) -> None:
        """Open the session with ``start``, which runs on the new thread; this call waits for it.

        Raises:
            StoreError: the database cannot be opened.
        """
        self.path: Final = path
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="frontmind-sqlite")
        self._closed = False
        with ExitStack() as undo:
            undo.callback(self._executor.shutdown)
            self._session = self._executor.submit(self._translated, start).result()
            undo.pop_all()

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on one snapshot of the database."""
        return await self._run(lambda: self._session.read(work))

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` as the only writer; it is on disk when this returns."""
        return await self._run(lambda: self._session.write(work))

    async def close(self) -> None:
        """Finish what was begun and let go of the file. A second call does nothing."""
        if self._closed:
            return
        closing = self._executor.submit(self._translated, self._session.close)
        self._closed = True
        self._executor.shutdown(wait=False)
        await asyncio.wrap_future(closing)

    async def _run(self, job: Callable[[], T]) -> T:
        if self._closed:
            raise UsageError("the store is closed; open it again to use it")
        return await asyncio.wrap_future(self._executor.submit(self._translated, job))

    def _translated(self, job: Callable[[], T]) -> T:
        with translated(self.path):
            return job()
