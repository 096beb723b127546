"""Who has claimed a reminder tells it, and a store that fails once does not end the telling."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta

import pytest

from frontmind.cli.notices import tell_due, watching
from frontmind.cli.session import Session, open_session
from frontmind.cli.views import TextView
from frontmind.errors import StoreError
from frontmind.providers.scripted import ScriptedModel
from frontmind.reminders.book import Announcement
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.records import Delivery, Reminder
from support import START, HandClock

NOTICE = "Reminder r1: stretch (due Mon 30 Nov 2026, 09:20)"


class Heard(TextView):
    """What was told, and that it was."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.told = asyncio.Event()

    def reminded(self, line: str) -> None:
        self.lines.append(line)
        self.told.set()


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """A chat with a reminder that fell due five minutes ago."""
    store, clock = SqliteStore.open(":memory:"), HandClock()
    async with open_session(store, ScriptedModel([]), clock, ()) as opened:
        await opened.mind.reminders.add("stretch", START + timedelta(minutes=5))
        clock.advance(minutes=10)
        yield opened
    await store.close()


async def test_a_claimed_reminder_is_told_also_when_the_chat_is_left_meanwhile(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed, goes_on = asyncio.Event(), asyncio.Event()
    save = session.store.save_reminder

    async def slowly(reminder: Reminder, *, delivery: Delivery | None = None) -> Reminder:
        stored = await save(reminder, delivery=delivery)
        claimed.set()
        await goes_on.wait()
        return stored

    monkeypatch.setattr(session.store, "save_reminder", slowly)
    view = Heard()
    telling = asyncio.ensure_future(tell_due(session, view))
    await claimed.wait()
    telling.cancel()
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await telling
    assert view.lines == [NOTICE]
    assert await session.mind.reminders.deliver_due() == []


async def test_a_store_that_fails_is_said_once_and_the_reminder_is_told_when_it_is_back(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deliver, failures = session.mind.reminders.deliver_due, iter(range(3))

    async def at_last(tell: Callable[[Announcement], None]) -> Sequence[Announcement]:
        if next(failures, None) is not None:
            raise StoreError("the disk is full; free some space", path=":memory:")
        return await deliver(tell)

    monkeypatch.setattr(session.mind.reminders, "deliver_due", at_last)
    monkeypatch.setattr("frontmind.cli.notices._LONGEST_WAIT", 0.01)
    view, idle = Heard(), asyncio.Event()
    idle.set()
    async with watching(session, view, idle), asyncio.timeout(30):
        await view.told.wait()
    assert view.lines == [NOTICE]
    assert capsys.readouterr().err == (
        "frontmind: reminders cannot be read at present: the disk is full; free some space\n"
    )
