"""Transactions that wait for the thread of a database, and running several of them in one. Knows no table."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

from frontmind.errors import FrontmindError
from frontmind.stores.sqlite.failures import translated

T = TypeVar("T")


class Run(Protocol):
    """Runs a piece of work as one transaction."""

    def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> T: ...


class _Undone(Exception):
    """The transaction that several jobs shared cannot go on."""


class Job(Generic[T]):
    """A piece of work that somebody waits for. Made on the event loop of the one who waits.

    Attributes:
        work: what is done in the transaction.
        future: what it came to.
        is_over: whether it was done or given up. It may be set on another thread.
    """

    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.is_over = False
        self._result: T | None = None
        self._failure: Exception | None = None

    def attempt(self, run: Callable[[], T], path: str) -> bool:
        """Do the work as ``run`` does it, and keep what it gives or raises; whether it gave something."""
        self._result, self._failure = None, None
        try:
            with translated(path):
                self._result = run()
        except Exception as error:  # noqa: BLE001 - isolation boundary: carried to the waiting task
            self._failure = error
        return self._failure is None

    def settle(self) -> None:
        """Tell whoever waits; on its loop."""
        if self.future.done():
            return
        if self._failure is not None:
            self.future.set_exception(self._failure)
        else:
            self.future.set_result(cast(T, self._result))


def run_together(jobs: Sequence[Job[Any]], run: Run, path: str, *, savepoints: bool) -> None:
    """Run the jobs in one transaction, and tell those who wait; each by itself where that is not possible.

    Args:
        run: runs a transaction.
        path: the database as its user named it.
        savepoints: whether one that fails has changed something.
    """
    # Who was cancelled before its turn has not begun.
    wanted = [job for job in jobs if not job.future.cancelled()]
    if len(wanted) < 2 or not _shared(wanted, run, path, savepoints=savepoints):
        for job in wanted:
            job.attempt(partial(run, job.work), path)
    for job in jobs:
        job.is_over = True
    for loop in {job.loop for job in wanted}:
        # Whoever asked may be gone with its loop.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, [job for job in wanted if job.loop is loop])


def _settle(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        job.settle()


def _shared(jobs: Sequence[Job[Any]], run: Run, path: str, *, savepoints: bool) -> bool:
    """Whether the jobs could be run in one transaction, and it was kept."""

    def work(connection: sqlite3.Connection) -> None:
        for job in jobs:
            if savepoints:
                connection.execute("SAVEPOINT job")
            is_done = job.attempt(partial(job.work, connection), path)
            if not connection.in_transaction or not (is_done or savepoints):
                raise _Undone
            if savepoints:
                if not is_done:
                    connection.execute("ROLLBACK TO job")
                connection.execute("RELEASE job")

    try:
        run(work)
    except (sqlite3.Error, OSError, FrontmindError, _Undone):
        # Each is told of its own failure, as if it had been alone.
        return False
    return True
