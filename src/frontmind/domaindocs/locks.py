"""One writer of documents' files at a time, among the tasks and processes of a person.

One lock for all files, whichever database their documents are in: it is held for milliseconds, and leaves one small
file in a folder that the caller names, none beside the person's own. That folder must not be one that others may write
to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from frontmind.domaindocs.files import shown
from frontmind.errors import Conflict

_POLL_SECONDS: Final = 0.02
_POLLS: Final = 250


@asynccontextmanager
async def writing(folder: Path) -> AsyncIterator[None]:
    """Keep other Frontmind processes from writing files of documents; an editor is not kept from it.

    The operating system takes the lock back when its holder dies.

    Args:
        folder: where the lock is; made, for its owner alone, where it is missing.

    Raises:
        Conflict: another process has held it for five seconds, or there is no place for a lock.
    """
    lock = await asyncio.to_thread(_lock_in, folder)
    for _ in range(_POLLS):
        if _taken(lock):
            break
        await asyncio.sleep(_POLL_SECONDS)
    else:
        raise Conflict("another process is writing a document's file; try again later")
    try:
        yield
    finally:
        lock.release()


def _lock_in(folder: Path) -> FileLock:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _no_place(folder, error) from error
    # Not bound to a thread: a generator that is dropped may be finished on another one.
    return FileLock(folder / "documents.lock", thread_local=False)


def _taken(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    except OSError as error:
        raise _no_place(Path(lock.lock_file).parent, error) from error
    return True


def _no_place(folder: Path, error: OSError) -> Conflict:
    return Conflict(f"cannot lock the document's file ({error.strerror}); make the folder {shown(folder)} writable")
