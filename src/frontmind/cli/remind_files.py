"""``frontmind remind list|import|export``: the reminders outside of a chat, and as calendar files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from frontmind.cli.options import (
    DbOption,
    JsonOption,
    NowOption,
    TimezoneOption,
    named_path,
    read_file,
    resolve_clock,
    resolve_db,
)
from frontmind.cli.remind_command import line_of
from frontmind.cli.settings import Settings, load_settings
from frontmind.cli.terminal import emit, json_text, note, on_one_line, say
from frontmind.errors import UsageError
from frontmind.reminders.book import Imported, ReminderBook
from frontmind.reminders.calendar_entries import LARGEST_FILE
from frontmind.reminders.calendar_file import CalendarContents, CalendarFile, export_calendar, read_calendar
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.clock import Clock
from frontmind.values.due import status_of
from frontmind.values.records import Reminder

T = TypeVar("T")

EXIT_SKIPPED = 1
_MEMORY = ":memory:"


def list_reminders(
    everything: Annotated[bool, typer.Option("--all", help="Those that are done as well.")] = False,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the reminders. Nothing is written to the database."""
    settings = load_settings()
    clock = resolve_clock(now, timezone, settings)

    async def run(book: ReminderBook) -> None:
        found = await book.list(include_done=everything)
        if as_json:
            emit(json_text([_as_json(reminder, clock.now()) for reminder in found]) + "\n")
            return
        for reminder in found:
            say(line_of(reminder, book))
        if not found:
            say("No reminders.")

    _with_book(db, settings, clock, run, writes=False)


def import_reminders(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A calendar file (.ics).")],
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the coming events and tasks of a calendar file as reminders.

    Importing a file again adds only what is new in it. Exits with 1 when something was left out, 2 when the file cannot
    be read.
    """
    settings = load_settings()
    clock = resolve_clock(now, timezone, settings)
    path = named_path(file)
    if path.exists() and not path.is_file():
        # A pipe or a device might never end.
        raise UsageError(f"{path} is not a regular file; pass a calendar file")
    contents = read_calendar(read_file(path, "the calendar file", limit=LARGEST_FILE), clock.now())

    async def run(book: ReminderBook) -> None:
        imported = await book.add_all(contents.reminders)
        if as_json:
            emit(json_text(_import_json(imported, contents, clock.now())) + "\n")
        else:
            _print_import(imported, contents, book)

    _with_book(db, settings, clock, run, writes=True)
    if contents.skipped:
        raise typer.Exit(EXIT_SKIPPED)


def export_reminders(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The calendar file to write; - for standard output.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file when it is there already.")] = False,
    db: DbOption = None,
) -> None:
    """Write what is not done as a calendar file, an alarm for each.

    Exits with 1 when something was left out, such as a reminder in a time zone that is not known here.
    """
    settings = load_settings()
    path = None if file == "-" else named_path(file)
    if path is not None and path.exists() and not (force and path.is_file()):
        raise UsageError(f"{path} is there already; name another file, or pass --force to replace it")
    clock = resolve_clock(None, "UTC", settings)

    async def run(book: ReminderBook) -> CalendarFile:
        return export_calendar(await book.list())

    written = _with_book(db, settings, clock, run, writes=False)
    if path is None:
        emit(written.data.decode())
    else:
        _write(path, written.data)
        count = f"{written.count} {'reminder' if written.count == 1 else 'reminders'}"
        note(f"{count} written to {on_one_line(str(path))}")
    for line in written.skipped:
        note(f"left out: {line}")
    if written.skipped:
        raise typer.Exit(EXIT_SKIPPED)


def _with_book(
    db: str | None, settings: Settings, clock: Clock, run: Callable[[ReminderBook], Awaitable[T]], *, writes: bool
) -> T:
    async def opened() -> T:
        store = _open(resolve_db(db, settings), writes=writes)
        try:
            return await run(ReminderBook(store, clock))
        finally:
            await store.close()

    return asyncio.run(opened())


def _open(db: str, *, writes: bool) -> SqliteStore:
    """The store; who only looks makes no database where there is none."""
    if writes or db == _MEMORY:
        return SqliteStore.open(db)
    return SqliteStore.open_existing_read_only(db) if named_path(db).exists() else SqliteStore.open(_MEMORY)


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}); pass another file") from error


def _print_import(imported: Imported, contents: CalendarContents, book: ReminderBook) -> None:
    for reminder in imported.added:
        say(line_of(reminder, book))
    counts = (
        (len(imported.added), "added"),
        (imported.known, "there already"),
        (contents.past, "over"),
        (contents.closed, "done or cancelled"),
        (len(contents.skipped), "left out"),
    )
    say(", ".join(f"{count:,} {what}" for count, what in counts if count) or "The file has no reminders.")
    for line in contents.skipped:
        note(f"left out: {line}")


def _import_json(imported: Imported, contents: CalendarContents, now: datetime) -> dict[str, object]:
    return {
        "added": [_as_json(reminder, now) for reminder in imported.added],
        "known": imported.known,
        "past": contents.past,
        "closed": contents.closed,
        "skipped": list(contents.skipped),
    }


def _as_json(reminder: Reminder, now: datetime) -> dict[str, object]:
    due = reminder.due
    return {
        "id": f"r{reminder.id}",
        "text": reminder.text,
        ("due" if isinstance(due, datetime) else "date"): _iso(due, now) if isinstance(due, datetime) else str(due),
        "zone": reminder.zone,
        "rrule": reminder.rrule or None,
        "snoozed_until": None if reminder.snoozed_until is None else _iso(reminder.snoozed_until, now),
        "status": status_of(reminder, now),
        "done_at": None if reminder.done_at is None else _iso(reminder.done_at, now),
        "uid": reminder.calendar_uid,
    }


def _iso(moment: datetime, now: datetime) -> str:
    return moment.astimezone(now.tzinfo or UTC).isoformat(timespec="seconds")
