"""`SqliteStore`: every Protocol of `frontmind.stores.protocols` on one SQLite file.

Only says which work runs in which kind of transaction; the work itself is in the modules it imports.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

from frontmind.stores.sqlite import conversations, documents, notes, requests, search
from frontmind.stores.sqlite import reminders as stored_reminders
from frontmind.stores.sqlite import texts as stored_texts
from frontmind.stores.sqlite.codec import to_text
from frontmind.stores.sqlite.connection import Database
from frontmind.stores.sqlite.failures import unusable
from frontmind.stores.sqlite.locks import TurnLocks
from frontmind.stores.sqlite.looking import open_for_looking
from frontmind.stores.sqlite.opening import open_for_writing, open_in_memory
from frontmind.values.message import Message
from frontmind.values.records import (
    Completion,
    Delivery,
    Document,
    DocumentVersion,
    NewReminder,
    Note,
    Reminder,
    SearchHit,
    Segment,
    Sent,
    Step,
    Turn,
)
from frontmind.window.canonical import Json

IN_MEMORY: Final = ":memory:"
"""The path of a store that lives as long as the object."""

_BUSY: Final = timedelta(seconds=10)


class SqliteStore:
    """A `Store` in one SQLite file, which several processes can use at once. Made by one of its class methods."""

    def __init__(self, database: Database, locks: TurnLocks, owner: str = "") -> None:
        self._database = database
        self._locks = locks
        self._owner = to_text(owner)
        self._lock_prefix = f"{owner}\0" if owner else ""

    @classmethod
    def open(cls, path: str | Path, *, owner: str = "", busy_timeout: timedelta = _BUSY) -> SqliteStore:
        """Open the database, or make a new one, with its folder, where nothing is yet.

        Args:
            path: a file, or ":memory:" for a store that lives as long as this object.
            owner: whose store it is; what another owner keeps in the same database is not there.
            busy_timeout: how long to wait while another process writes.

        Raises:
            StoreError: the file cannot be used; it is left as it was.
        """
        name = str(path)
        if name == IN_MEMORY:
            return cls(Database(name, open_in_memory), TurnLocks(None, name), owner)
        file = _resolved(name)
        database = Database(name, lambda: open_for_writing(file, name, busy_timeout.total_seconds()))
        return cls(database, TurnLocks(file.with_name(f"{file.name}.locks"), name), owner)

    @classmethod
    def open_existing_read_only(
        cls, path: str | Path, *, owner: str = "", busy_timeout: timedelta = _BUSY
    ) -> SqliteStore:
        """Open a database only to look at it: nothing is written into it or beside it.

        Another process may write to it meanwhile. Methods that write raise `StoreError`.

        Raises:
            StoreError: there is no database that can be read.
        """
        name = str(path)
        file = _resolved(name)
        database = Database(name, lambda: open_for_looking(file, name, busy_timeout.total_seconds()))
        return cls(database, TurnLocks(None, name), owner)

    def of(self, owner: str) -> SqliteStore:
        """The store of another owner in the same database. Closing either closes both."""
        return SqliteStore(self._database, self._locks, owner)

    async def close(self) -> None:
        """Finish what was accepted and let go of the database."""
        await self._database.close()

    # Conversations

    def turn_lock(self, conversation: str) -> AbstractAsyncContextManager[None]:
        """Held while a turn runs: one turn at a time per conversation, across tasks and processes."""
        return self._locks.hold(f"{self._lock_prefix}{conversation}")

    async def begin_turn(self, conversation: str, message: Message, at: datetime, *, segment_pause: timedelta) -> Turn:
        """Accept a user message: store it as a new OPEN turn and return that."""
        return await self._database.write(
            lambda db: conversations.begin_turn(db, self._owner, conversation, message, at, segment_pause)
        )

    async def begin_step(self, turn_id: int, step: Step, *, sent: Sent) -> Turn:
        """Store what the model said in an OPEN turn, before its tools run, and what was sent beside it."""
        return await self._database.write(lambda db: conversations.begin_step(db, turn_id, step, sent))

    async def finish_step(self, turn_id: int, results: Message, *, step: int | None = None) -> Turn:
        """Store the results of a step of an OPEN turn, of the last one unless a number is given."""
        return await self._database.write(lambda db: conversations.finish_step(db, turn_id, results, step))

    async def complete_turn(self, turn_id: int, completion: Completion) -> Turn:
        """Store the reply and all that becomes true with it; the turn is DONE and searchable."""
        return await self._database.write(lambda db: conversations.complete_turn(db, turn_id, completion))

    async def turns(self, conversation: str, *, since: int = 1) -> Sequence[Turn]:
        """The turns whose number is at least ``since``, by number, in every state."""
        return await self._database.read(lambda db: conversations.turns(db, self._owner, conversation, since))

    async def segments(self, conversation: str, *, before: int | None = None) -> Sequence[Segment]:
        """The segments that have at least one turn which is not REFUSED, by number; as if ``before`` were to come."""
        return await self._database.read(lambda db: conversations.segments(db, self._owner, conversation, before))

    async def window_start(self, conversation: str) -> int:
        """The number of the first turn that is still sent to the model."""
        return await self._database.read(lambda db: conversations.window_start(db, self._owner, conversation))

    # Reminders

    async def add_reminder(
        self,
        text: str,
        due: datetime | date,
        *,
        zone: str,
        at: datetime,
        rrule: str = "",
        exdates: tuple[datetime | date, ...] = (),
        start: datetime | date | None = None,
        uid: str = "",
    ) -> Reminder:
        """Store a new active reminder."""
        new = NewReminder(text, due, zone, rrule, exdates, start, uid)
        return await self._database.write(lambda db: stored_reminders.add_reminder(db, self._owner, new, at))

    async def add_reminders(self, reminders: Sequence[NewReminder], at: datetime) -> Sequence[Reminder]:
        """Store all of them but those whose uid another one has."""
        return await self._database.write(lambda db: stored_reminders.add_reminders(db, self._owner, reminders, at))

    async def reminder(self, reminder_id: int) -> Reminder:
        """The reminder, active or done."""
        return await self._database.read(lambda db: stored_reminders.reminder_of(db, self._owner, reminder_id))

    async def active_reminders(self) -> Sequence[Reminder]:
        """Those not done, by id."""
        return await self._database.read(lambda db: stored_reminders.active_reminders(db, self._owner))

    async def reminders(self) -> Sequence[Reminder]:
        """All of them, by id."""
        return await self._database.read(lambda db: stored_reminders.reminders(db, self._owner))

    async def save_reminder(self, reminder: Reminder, *, delivery: Delivery | None = None) -> Reminder:
        """Store the changed reminder, unless somebody was faster, and what was delivered with it."""
        return await self._database.write(
            lambda db: stored_reminders.save_reminder(db, self._owner, reminder, delivery)
        )

    async def remove_reminder(self, reminder_id: int) -> Reminder:
        """Delete it, with its deliveries."""
        return await self._database.write(lambda db: stored_reminders.remove_reminder(db, self._owner, reminder_id))

    async def deliveries(self) -> Sequence[Delivery]:
        """What was delivered, in the order in which it was."""
        return await self._database.read(lambda db: stored_reminders.deliveries(db, self._owner))

    # Notes

    async def add_note(self, text: str, at: datetime) -> Note:
        """Store a new note, searchable from now on."""
        return await self._database.write(lambda db: notes.add_note(db, self._owner, text, at))

    async def notes(self) -> Sequence[Note]:
        """All notes by id."""
        return await self._database.read(lambda db: notes.notes(db, self._owner))

    async def remove_note(self, note_id: int) -> Note:
        """Delete a note, also from the search."""
        return await self._database.write(lambda db: notes.remove_note(db, self._owner, note_id))

    # Documents

    async def put_document(
        self,
        name: str,
        text: str,
        at: datetime,
        *,
        by: str = "person",
        source: str | None = None,
        expected: int | None = None,
    ) -> Document:
        """Store a text under the name, as a new version unless it is the text that holds anyway."""
        return await self._database.write(
            lambda db: documents.put_document(db, self._owner, name, text, at, by=by, source=source, expected=expected)
        )

    async def documents(self) -> Sequence[Document]:
        """All documents by name."""
        return await self._database.read(lambda db: documents.documents(db, self._owner))

    async def enable_document(self, name: str, enabled: bool) -> Document:
        """Switch a document on or off."""
        return await self._database.write(lambda db: documents.enable_document(db, self._owner, name, enabled))

    async def collapse_document(self, name: str, collapsed: tuple[str, ...]) -> Document:
        """Set the sections of which only the title is shown."""
        return await self._database.write(lambda db: documents.collapse_document(db, self._owner, name, collapsed))

    async def document_versions(self, name: str) -> Sequence[DocumentVersion]:
        """Every text that it has or had, by number."""
        return await self._database.read(lambda db: documents.document_versions(db, self._owner, name))

    async def undo_document(self, name: str, *, expected: int | None = None) -> Document:
        """Let the version hold that the present one was made from, if the expected one holds."""
        return await self._database.write(lambda db: documents.undo_document(db, self._owner, name, expected))

    async def remove_document(self, name: str) -> Document:
        """Delete it with all its versions."""
        return await self._database.write(lambda db: documents.remove_document(db, self._owner, name))

    # Search

    async def search_notes(self, query: str, *, limit: int) -> Sequence[SearchHit]:
        """Notes that share a word stem with the query, best first, ties by id."""
        return await self._database.read(lambda db: search.search_notes(db, self._owner, query, limit))

    async def search_messages(
        self, query: str, *, limit: int, conversation: str | None = None, before: int | None = None
    ) -> Sequence[SearchHit]:
        """Messages of DONE turns that share a word stem with the query, best first, ties by id."""
        return await self._database.read(
            lambda db: search.search_messages(db, self._owner, query, limit, conversation, before)
        )

    # Requests

    async def save_request(self, request: Mapping[str, Json]) -> str:
        """Keep the request and return the SHA-256 of its canonical JSON."""
        return await self._database.write(lambda db: requests.save(db, request))

    async def load_request(self, request_hash: str) -> Mapping[str, Json]:
        """The request with exactly the bytes that were saved."""
        return await self._database.read(lambda db: requests.load(db, request_hash))

    # Texts

    async def save_texts(self, texts: Sequence[str]) -> Sequence[str]:
        """Keep the texts and return an id for each."""
        return await self._database.write(lambda db: stored_texts.save_texts(db, self._owner, texts))

    async def load_text(self, text_id: str) -> str:
        """The text of this id."""
        return await self._database.read(lambda db: stored_texts.load_text(db, self._owner, text_id))


def _resolved(name: str) -> Path:
    # One file, one name: the lock files must be the same ones by whatever path a process reaches the database.
    try:
        return Path(os.path.realpath(name))
    except ValueError as error:
        raise unusable(name, "is not the name of a file") from error
