"""The threads on which a database is used, and what a transaction is.

A `Session` is a database that is open on a thread; `opening` and `looking` make them. Knows no table.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final, Literal, Protocol, TypeVar

from frontmind.errors import UsageError
from frontmind.stores.sqlite.failures import translated
from frontmind.stores.sqlite.jobs import Job, run_together

T = TypeVar("T")


class Session(Protocol):
    """An open database. Every call is one transaction on the thread that opened it."""

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T: ...

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T: ...

    def close(self) -> None: ...

    @property
    def beside(self) -> Callable[[], Session] | None:
        """Opens another session, on another thread, that reads what this one wrote; None where there can be none."""
        ...


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


class _Thread:
    """A thread with a session of its own, and the transactions that wait for it.

    Args:
        path: the database as its user named it.
        start: opens the session, on the new thread.

    Raises:
        StoreError: the database cannot be opened.
    """

    def __init__(self, path: str, start: Callable[[], Session]) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="frontmind-sqlite")
        self._lock = threading.Lock()
        self._writes: list[Job[Any]] = []
        self._reads: list[Job[Any]] = []
        self._runs = False
        with ExitStack() as undo:
            undo.callback(self._executor.shutdown)
            self.session = self._executor.submit(self._translated, start).result()
            undo.pop_all()

    def read(self, job: Job[Any]) -> None:
        """Let a transaction wait that only reads."""
        self._put(job, self._reads)

    def write(self, job: Job[Any]) -> None:
        """Let a transaction wait that writes."""
        self._put(job, self._writes)

    async def close(self) -> None:
        """Finish what was begun and close the session."""
        closing = self._executor.submit(self._translated, self.session.close)
        self._executor.shutdown(wait=False)
        await asyncio.wrap_future(closing)

    def _put(self, job: Job[Any], queue: list[Job[Any]]) -> None:
        with self._lock:
            queue.append(job)
            was_running, self._runs = self._runs, True
        if not was_running:
            self._executor.submit(self._run_waiting)

    def _run_waiting(self) -> None:
        while True:
            with self._lock:
                writes, reads = tuple(self._writes), tuple(self._reads)
                self._writes.clear()
                self._reads.clear()
                self._runs = bool(writes or reads)
            if not self._runs:
                return
            # The writes first: who was cancelled while it wrote may be reading already.
            run_together(writes, self.session.write, self._path, savepoints=True)
            run_together(reads, self.session.read, self._path, savepoints=False)

    def _translated(self, call: Callable[[], T]) -> T:
        with translated(self._path):
            return call()


class Database:
    """Runs transactions on threads of its own, so that the event loop never waits for a disk: one that writes, and
    where the session allows it one that reads, and does not wait for the disk either.

    Those that wait at the same time are run together: the writing ones in one transaction with a savepoint each, so
    that the disk is waited for once, and one that fails takes no other along. A caller that is cancelled while its
    transaction runs does not undo it; who reads after that finds it done.

    Attributes:
        path: the database as the caller named it.
    """

    def __init__(self, path: str, start: Callable[[], Session]) -> None:
        """Open the session with ``start``, which runs on the new thread; this call waits for it.

        Raises:
            StoreError: the database cannot be opened.
        """
        self.path: Final = path
        self._closed = False
        self._writing = _Thread(path, start)
        beside = self._writing.session.beside
        self._reading = self._writing if beside is None else _Thread(path, beside)
        # Writes whose callers do not wait any more.
        self._left: list[Job[Any]] = []

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on one snapshot of the database."""
        self._require_open()
        job = Job(work)
        self._left = [left for left in self._left if not left.is_over]
        thread = self._writing if self._left else self._reading
        thread.read(job)
        return await job.future

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` as the only writer; it is on disk when this returns.

        It is run again where the transaction that it shared was undone, and does nothing but write.
        """
        self._require_open()
        job = Job(work)
        self._writing.write(job)
        try:
            return await job.future
        finally:
            if not job.is_over:
                self._left.append(job)

    async def close(self) -> None:
        """Finish what was begun and let go of the file. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._reading is not self._writing:
            await self._reading.close()
        await self._writing.close()

    def _require_open(self) -> None:
        if self._closed:
            raise UsageError("the store is closed; open it again to use it")
