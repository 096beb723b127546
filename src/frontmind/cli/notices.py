"""Tells the person of reminders while the chat waits for input, and of what went on beside it. Decides nothing about
when reminders are due.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from frontmind.cli.session import Session
from frontmind.cli.terminal import note
from frontmind.cli.views import View
from frontmind.errors import StoreError

# A reminder may be added meanwhile, also by another process.
_LONGEST_WAIT: Final = 5.0
_SHORTEST_WAIT: Final = 0.05


async def tell_due(session: Session, view: View) -> None:
    """Tell what is due now and was not told yet. Each slot is claimed in the store before, so it is told once."""
    now = session.clock.now()
    await session.mind.reminders.deliver_due(lambda announcement: view.reminded(announcement.line(now)))


def tell_notices(session: Session) -> None:
    """Tell what went on beside the turns and was not told yet."""
    for line in session.mind.recalling.notices.take():
        note(f"frontmind: {line}")


@asynccontextmanager
async def watching(session: Session, view: View, idle: asyncio.Event) -> AsyncIterator[None]:
    """Tell of reminders on their minute as long as the context is open, whenever ``idle`` is set.

    Args:
        idle: set while nothing else is printed; a reply is not broken by a notice, which comes behind it.
    """
    task = asyncio.ensure_future(_watch(session, view, idle))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _watch(session: Session, view: View, idle: asyncio.Event) -> None:
    readable = True
    while True:
        await idle.wait()
        seconds = _LONGEST_WAIT
        try:
            await tell_due(session, view)
            seconds = _wait(await session.mind.reminders.next_at(), session.clock.now())
            readable = True
        except StoreError as error:
            if readable:
                note(f"frontmind: reminders cannot be read at present: {error}")
            readable = False
        await asyncio.sleep(seconds)


def _wait(following: datetime | None, now: datetime) -> float:
    if following is None:
        return _LONGEST_WAIT
    seconds = (following.astimezone(UTC) - now.astimezone(UTC)).total_seconds()
    return min(max(seconds, _SHORTEST_WAIT), _LONGEST_WAIT)
