"""Work that comes to its end although whoever waits for it is cancelled: what was begun must not be left half done."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What the work gives. A cancellation meanwhile is let out behind it; an error of the work goes before it."""
    task = asyncio.ensure_future(work)
    cancelled = await _wait(task)
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result


async def despite_cancelling(work: Coroutine[Any, Any, T]) -> T:
    """What the work gives, for who is being cancelled already: it must be short."""
    task = asyncio.ensure_future(work)
    await _wait(task)
    return task.result()


async def _wait(task: asyncio.Task[Any]) -> asyncio.CancelledError | None:
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled
