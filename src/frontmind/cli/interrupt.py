"""Ctrl-C while the assistant answers stops the answer, and not the program; the end of the terminal stops both."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

_ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


async def interruptible(work: Coroutine[Any, Any, T]) -> T | None:
    """The result of the work, or None when Ctrl-C cancelled it.

    Raises:
        SystemExit: the program was told to end, or its terminal was closed; the work was cancelled and has come to
            its end before.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    ended_by: list[int] = []

    def end(number: int) -> None:
        ended_by.append(number)
        task.cancel()

    try:
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        for number in _ENDING:
            loop.add_signal_handler(number, end, number)
    except (NotImplementedError, RuntimeError, ValueError):
        # No such handlers on this platform or thread: Ctrl-C then ends the program as it does elsewhere.
        return await task
    try:
        return await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
        return None
    finally:
        for number in (signal.SIGINT, *_ENDING):
            loop.remove_signal_handler(number)
        if ended_by:
            raise SystemExit(128 + ended_by[0])
