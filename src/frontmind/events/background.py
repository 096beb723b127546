"""Work that goes on beside the turns: it has an owner who ends it, and what goes wrong in it is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from frontmind.errors import error_text
from frontmind.values.harmless import one_line

logger = logging.getLogger(__name__)


class Background:
    """Tasks that belong together and end together.

    Args:
        tell: told in one line when a task fails with an error that it did not handle.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        self._tell = tell
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        """How many tasks have not come to their end."""
        return len(self._tasks)

    def start(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        """Let it run until it is done or this is closed.

        Args:
            name: what it is, for whoever is told that it failed.
        """
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def wait(self) -> None:
        """Wait until all tasks that run now have come to their end by themselves."""
        if tasks := set(self._tasks):
            await asyncio.wait(tasks)

    def cancel(self) -> None:
        """Ask all tasks to end, without waiting for it."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """End all tasks and wait until they have."""
        while self._tasks:
            tasks = set(self._tasks)
            self.cancel()
            await asyncio.wait(tasks)
            self._tasks -= tasks

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            # The traceback is for whoever asks for it, and not for a terminal.
            logger.info("%s failed", task.get_name(), exc_info=error)
            self._tell(one_line(f"{task.get_name()} failed ({type(error).__name__}: {error_text(error)})", 300))
