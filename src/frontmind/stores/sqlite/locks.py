"""One turn at a time per conversation, among the tasks of this process and among processes; and one that embeds.

The lock among processes is one that the operating system takes back when its holder dies.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from filelock import FileLock, Timeout

from frontmind.stores.sqlite.failures import translated
from frontmind.window.canonical import digest

_POLL_SECONDS: Final = 0.02


class TurnLocks:
    """The locks of all conversations of one database, and those of embedding."""

    def __init__(self, folder: Path | None, path: str) -> None:
        """
        Args:
            folder: where the lock files are put; without it only the tasks of this process are kept apart.
            path: the database as the caller named it, for errors.
        """
        self._folder = folder
        self._path = path
        self._tasks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, conversation: str) -> AsyncIterator[None]:
        """Wait for the conversation's lock and keep it."""
        async with self._tasks.setdefault(conversation, asyncio.Lock()):
            if self._folder is None:
                yield
                return
            lock = await self._acquire(self._folder, conversation)
            try:
                yield
            finally:
                lock.release()

    @contextmanager
    def try_filling(self, owner: str) -> Iterator[bool]:
        """Keep the lock of embedding the owner's passages: True, or False at once where another process has it."""
        if self._folder is None:
            yield True
            return
        with translated(self._path):
            lock = _lock_in(self._folder, owner, "embedding-")
            alone = _taken(lock)
        try:
            yield alone
        finally:
            lock.release()

    async def _acquire(self, folder: Path, conversation: str) -> FileLock:
        with translated(self._path):
            lock = _lock_in(folder, conversation)
            while True:
                if _taken(lock):
                    return lock
                await asyncio.sleep(_POLL_SECONDS)


def _lock_in(folder: Path, locked: str, kind: str = "") -> FileLock:
    folder.mkdir(exist_ok=True)
    name = kind + digest(locked.encode("utf-8", errors="surrogatepass"))[:16]
    # Not bound to a thread: a generator that is dropped may be finished on another one.
    return FileLock(folder / f"{name}.lock", thread_local=False)


def _taken(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True
