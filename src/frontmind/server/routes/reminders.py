"""The reminders of a person: what is kept, said in words, put off and done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import APIRouter, Query, Response

from frontmind.errors import UsageError
from frontmind.reminders.book import ReminderBook
from frontmind.reminders.in_words import add_in_words, change_in_words, snooze_in_words
from frontmind.server.dependencies import Asking, TheHub
from frontmind.server.errors import existing, problems
from frontmind.server.hub import Hub
from frontmind.server.identity import Person
from frontmind.server.person_events import Changed, Thing
from frontmind.server.routes.numbers import Number
from frontmind.server.schemas.reminders import (
    Completed,
    NewReminder,
    Reminder,
    ReminderChange,
    ReminderList,
    Snooze,
    reminder_view,
)
from frontmind.values import records

router = APIRouter(prefix="/api/reminders", tags=["reminders"])


@router.get("", response_model=ReminderList, summary="The reminders", responses=problems())
async def list_reminders(
    hub: TheHub,
    person: Asking,
    everything: Annotated[bool, Query(alias="all", description="Those that are done as well.")] = False,
) -> ReminderList:
    """Those that are not done, by id."""
    book = await _book(hub, person)
    now = book.clock.now()
    return ReminderList(reminders=[reminder_view(each, now) for each in await book.list(include_done=everything)])


@router.post("", status_code=201, response_model=Reminder, summary="Keep a reminder", responses=problems(409))
async def add_reminder(hub: TheHub, person: Asking, asked: NewReminder) -> Reminder:
    """What and when, in one phrase."""
    book = await _book(hub, person)
    return _changed(hub, person, book, await add_in_words(book, asked.phrase))


@router.patch("/{reminder}", response_model=Reminder, summary="Change a reminder", responses=problems(404, 409))
async def change_reminder(hub: TheHub, person: Asking, reminder: Number, change: ReminderChange) -> Reminder:
    """Its text, its time, or both."""
    async with _book_with(hub, person, reminder) as book:
        changed = await change_in_words(book, reminder, text=change.text, when=change.when, version=change.version)
        return _changed(hub, person, book, changed)


@router.post("/{reminder}/done", response_model=Reminder, summary="Complete a reminder", responses=problems(404, 409))
async def complete_reminder(
    hub: TheHub, person: Asking, reminder: Number, completed: Completed | None = None
) -> Reminder:
    """The slot that is open; one that comes again moves on to the next."""
    async with _book_with(hub, person, reminder) as book:
        version = None if completed is None else completed.version
        return _changed(hub, person, book, await book.complete(reminder, version=version))


@router.post("/{reminder}/snooze", response_model=Reminder, summary="Put a reminder off", responses=problems(404, 409))
async def snooze_reminder(hub: TheHub, person: Asking, reminder: Number, asked: Snooze) -> Reminder:
    """To a later time, as a phrase."""
    async with _book_with(hub, person, reminder) as book:
        return _changed(hub, person, book, await snooze_in_words(book, reminder, asked.until, version=asked.version))


@router.delete("/{reminder}", status_code=204, summary="Delete a reminder", responses=problems(404, 409))
async def delete_reminder(hub: TheHub, person: Asking, reminder: Number) -> Response:
    """For good."""
    async with _book_with(hub, person, reminder) as book:
        await book.delete(reminder)
        hub.events.publish(person.owner, Changed(Thing.REMINDERS))
    return Response(status_code=204)


async def _book(hub: Hub, person: Person) -> ReminderBook:
    return ReminderBook(hub.store_of(person), await hub.clock_of(person))


@asynccontextmanager
async def _book_with(hub: Hub, person: Person, reminder: int) -> AsyncIterator[ReminderBook]:
    """The book, in which this reminder is.

    Raises:
        Problem: it is not.
    """

    async def exists() -> bool:
        try:
            await hub.store_of(person).reminder(reminder)
        except UsageError:
            return False
        return True

    async with existing(exists, "such reminder"):
        yield await _book(hub, person)


def _changed(hub: Hub, person: Person, book: ReminderBook, reminder: records.Reminder) -> Reminder:
    hub.events.publish(person.owner, Changed(Thing.REMINDERS))
    return reminder_view(reminder, book.clock.now())
