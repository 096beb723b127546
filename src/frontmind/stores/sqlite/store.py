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

from frontmind.stores.sqlite import conversations, records, requests, search
from frontmind.stores.sqlite.connection import Database
from frontmind.stores.sqlite.failures import unusable
from frontmind.stores.sqlite.locks import TurnLocks
from frontmind.stores.sqlite.looking import open_for_looking
from frontmind.stores.sqlite.opening import open_for_writing, open_in_memory
from frontmind.values.message import Message
from frontmind.values.records import Completion, Document, Note, Reminder, SearchHit, Segment, Turn
from frontmind.window.canonical import Json

IN_MEMORY: Final = ":memory:"
"""The path of a store that lives as long as the object."""

_BUSY: Final = timedelta(seconds=10)


class SqliteStore:
    """A `Store` in one SQLite file, which several processes can use at once. Made by one of its class methods."""

    def __init__(self, database: Database, locks: TurnLocks) -> None:
        self._database = database
        self._locks = locks

    @classmethod
    def open(cls, path: str | Path, *, busy_timeout: timedelta = _BUSY) -> SqliteStore:
        """Open the database, or make a new one, with its folder, where nothing is yet.

        Args:
            path: a file, or ":memory:" for a store that lives as long as this object.
            busy_timeout: how long to wait while another process writes.

        Raises:
            StoreError: the file cannot be used; it is left as it was.
        """
        name = str(path)
        if name == IN_MEMORY:
            return cls(Database(name, open_in_memory), TurnLocks(None, name))
        file = _resolved(name)
        database = Database(name, lambda: open_for_writing(file, name, busy_timeout.total_seconds()))
        return cls(database, TurnLocks(file.with_name(f"{file.name}.locks"), name))

    @classmethod
    def open_existing_read_only(cls, path: str | Path, *, busy_timeout: timedelta = _BUSY) -> SqliteStore:
        """Open a database only to look at it: nothing is written into it or beside it.

        Another process may write to it meanwhile. Methods that write raise `StoreError`.

        Raises:
            StoreError: there is no database that can be read.
        """
        name = str(path)
        file = _resolved(name)
        database = Database(name, lambda: open_for_looking(file, name, busy_timeout.total_seconds()))
        return cls(database, TurnLocks(None, name))

    async def close(self) -> None:
        """Finish what was accepted and let go of the database."""
        await self._database.close()

    # Conversations

    def turn_lock(self, conversation: str) -> AbstractAsyncContextManager[None]:
        """Held while a turn runs: one turn at a time per conversation, across tasks and processes."""
        return self._locks.hold(conversation)

    async def begin_turn(self, conversation: str, message: Message, at: datetime, *, segment_pause: timedelta) -> Turn:
        """Accept a user message: store it as a new OPEN turn and return that."""
        return await self._database.write(
            lambda db: conversations.begin_turn(db, conversation, message, at, segment_pause)
        )

    async def complete_turn(self, turn_id: int, completion: Completion) -> Turn:
        """Store the reply and all that belongs to it; the turn is DONE and searchable."""
        return await self._database.write(lambda db: conversations.complete_turn(db, turn_id, completion))

    async def refuse_turn(self, turn_id: int) -> None:
        """Mark an OPEN turn as REFUSED."""
        await self._database.write(lambda db: conversations.refuse_turn(db, turn_id))

    async def turns(self, conversation: str, *, since: int = 1) -> Sequence[Turn]:
        """The turns whose number is at least ``since``, by number, in every state."""
        return await self._database.read(lambda db: conversations.turns(db, conversation, since))

    async def segments(self, conversation: str, *, before: int | None = None) -> Sequence[Segment]:
        """The segments that have at least one turn which is not REFUSED, by number; as if ``before`` were to come."""
        return await self._database.read(lambda db: conversations.segments(db, conversation, before))

    async def window_start(self, conversation: str) -> int:
        """The number of the first turn that is still sent to the model."""
        return await self._database.read(lambda db: conversations.window_start(db, conversation))

    async def move_window_start(self, conversation: str, number: int) -> None:
        """Leave out the turns before ``number``; it only ever grows."""
        await self._database.write(lambda db: conversations.move_window_start(db, conversation, number))

    # Reminders, notes, documents

    async def add_reminder(self, text: str, due: datetime | date, *, zone: str, at: datetime) -> Reminder:
        """Store a new active reminder."""
        return await self._database.write(lambda db: records.add_reminder(db, text, due, zone, at))

    async def active_reminders(self) -> Sequence[Reminder]:
        """Those not done, by id."""
        return await self._database.read(records.active_reminders)

    async def complete_reminder(self, reminder_id: int, at: datetime) -> Reminder:
        """Mark an active reminder as done."""
        return await self._database.write(lambda db: records.complete_reminder(db, reminder_id, at))

    async def add_note(self, text: str, at: datetime) -> Note:
        """Store a new note, searchable from now on."""
        return await self._database.write(lambda db: records.add_note(db, text, at))

    async def notes(self) -> Sequence[Note]:
        """All notes by id."""
        return await self._database.read(records.notes)

    async def remove_note(self, note_id: int) -> Note:
        """Delete a note, also from the search."""
        return await self._database.write(lambda db: records.remove_note(db, note_id))

    async def put_document(self, name: str, text: str, at: datetime) -> Document:
        """Store a document under its name, enabled; an existing text is replaced."""
        return await self._database.write(lambda db: records.put_document(db, name, text, at))

    async def documents(self) -> Sequence[Document]:
        """All documents by name."""
        return await self._database.read(records.documents)

    async def enable_document(self, name: str, enabled: bool) -> Document:
        """Switch a document on or off."""
        return await self._database.write(lambda db: records.enable_document(db, name, enabled))

    # Search

    async def search_notes(self, query: str, *, limit: int) -> Sequence[SearchHit]:
        """Notes that share a word stem with the query, best first, ties by id."""
        return await self._database.read(lambda db: search.search_notes(db, query, limit))

    async def search_messages(
        self, query: str, *, limit: int, conversation: str | None = None, before: int | None = None
    ) -> Sequence[SearchHit]:
        """Messages of DONE turns that share a word stem with the query, best first, ties by id."""
        return await self._database.read(lambda db: search.search_messages(db, query, limit, conversation, before))

    # Requests

    async def save_request(self, request: Mapping[str, Json]) -> str:
        """Keep the request and return the SHA-256 of its canonical JSON."""
        return await self._database.write(lambda db: requests.save(db, request))

    async def load_request(self, request_hash: str) -> Mapping[str, Json]:
        """The request with exactly the bytes that were saved."""
        return await self._database.read(lambda db: requests.load(db, request_hash))


def _resolved(name: str) -> Path:
    # One file, one name: the lock files must be the same ones by whatever path a process reaches the database.
    try:
        return Path(os.path.realpath(name))
    except ValueError as error:
        raise unusable(name, "is not the name of a file") from error
