"""`SqliteStore`: every Protocol of `frontmind.stores.protocols` on one SQLite file.

Only says which work runs in which kind of transaction; the work itself is in the modules it imports.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

from frontmind.stores.sqlite import conversations, documents, passages, requests, segments, vectors
from frontmind.stores.sqlite import reminders as stored_reminders
from frontmind.stores.sqlite import texts as stored_texts
from frontmind.stores.sqlite.account_store import SqliteAccounts
from frontmind.stores.sqlite.codec import from_text, to_text
from frontmind.stores.sqlite.connection import Database
from frontmind.stores.sqlite.failures import unusable
from frontmind.stores.sqlite.ledger_store import SqliteLedger
from frontmind.stores.sqlite.line_store import SqliteLines
from frontmind.stores.sqlite.locks import TurnLocks
from frontmind.stores.sqlite.looking import open_for_looking
from frontmind.stores.sqlite.memory_store import SqliteMemories
from frontmind.stores.sqlite.opening import open_for_writing, open_in_memory
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message
from frontmind.values.passages import NewPassage, Passage, PassageKind, VectorSpace
from frontmind.values.records import (
    Completion,
    Delivery,
    Document,
    DocumentVersion,
    Line,
    NewReminder,
    Reminder,
    Segment,
    SegmentSummary,
    Sent,
    Step,
    Turn,
    WindowOpening,
)
from frontmind.window.canonical import Json

IN_MEMORY: Final = ":memory:"
"""The path of a store that lives as long as the object."""

_BUSY: Final = timedelta(seconds=10)


class SqliteStore(SqliteMemories, SqliteLedger, SqliteLines):
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

    def accounts_of_database(self) -> SqliteAccounts:
        """The accounts of the same database, whosever store this is. Closing the store closes them."""
        return SqliteAccounts(self._database)

    async def close(self) -> None:
        """Finish what was accepted and let go of the database."""
        await self._database.close()

    @property
    def owner(self) -> str:
        """Whose store it is."""
        return from_text(self._owner)

    # Conversations

    def turn_lock(self, conversation: str) -> AbstractAsyncContextManager[None]:
        """Held while a turn runs: one turn at a time per conversation, across tasks and processes."""
        return self._locks.hold(f"{self._lock_prefix}{conversation}")

    async def begin_turn(
        self, conversation: str, message: Message, at: datetime, *, segment_pause: timedelta, line: Line | None = None
    ) -> Turn:
        """Accept a user message: store it as a new OPEN turn behind this line and return that."""
        return await self._database.write(
            lambda db: conversations.begin_turn(db, self._owner, conversation, message, at, segment_pause, line)
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

    async def turns(self, conversation: str, *, since: int = 1, until: int | None = None) -> Sequence[Turn]:
        """The turns from the number ``since`` to the number ``until``, by number, in every state."""
        return await self._database.read(lambda db: conversations.turns(db, self._owner, conversation, since, until))

    async def segments(
        self, conversation: str, *, before: int | None = None, newest: int | None = None
    ) -> Sequence[Segment]:
        """The segments that have at least one turn which is OPEN or DONE, by number; as if ``before`` were to come."""
        return await self._database.read(lambda db: segments.segments(db, self._owner, conversation, before, newest))

    async def count_segments(self, conversation: str, *, before: int | None = None) -> int:
        """How many segments there are; as if ``before`` were to come."""
        return await self._database.read(lambda db: segments.count_segments(db, self._owner, conversation, before))

    async def segments_without_summary(self, conversation: str) -> Sequence[Segment]:
        """The segments of which nobody has stored what they were about, by number."""
        return await self._database.read(lambda db: segments.without_summary(db, self._owner, conversation))

    async def save_summary(self, conversation: str, segment: int, summary: SegmentSummary) -> None:
        """Store what a segment was about."""
        await self._database.write(lambda db: segments.save_summary(db, self._owner, conversation, segment, summary))

    async def window_opening(self, conversation: str) -> WindowOpening:
        """Where the window begins."""
        return await self._database.read(lambda db: conversations.window_opening(db, self._owner, conversation))

    async def import_turns(self, conversation: str, turns: Sequence[ImportedTurn], *, source: str) -> int:
        """Store the exchanges of another program that are not known yet; gives back how many."""
        return await self._database.write(
            lambda db: conversations.import_turns(db, self._owner, conversation, turns, source)
        )

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

    # Documents

    async def put_document(
        self,
        name: str,
        text: str,
        at: datetime,
        *,
        by: str = "person",
        enable: bool | None = None,
        source: str | None = None,
        expected: int | None = None,
    ) -> Document:
        """Store a text under the name, as a new version unless it is the text that holds anyway."""
        return await self._database.write(
            lambda db: documents.put_document(
                db, self._owner, name, text, at, by=by, enable=enable, source=source, expected=expected
            )
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

    # Passages

    async def search_words(
        self,
        words: Sequence[str],
        *,
        kind: PassageKind,
        limit: int,
        excluded: Collection[int] = (),
        context_weight: float = 0.5,
        within: Collection[int] | None = None,
        after: int = 0,
    ) -> Sequence[tuple[int, float]]:
        """The ids and BM25 scores of passages that have any of the words, best first, ties by id."""
        return await self._database.read(
            lambda db: passages.search_words(
                db,
                self._owner,
                words,
                kind=kind,
                limit=limit,
                excluded=excluded,
                context_weight=context_weight,
                within=within,
                after=after,
            )
        )

    async def add_passages(self, conversation: str, passages: Sequence[tuple[datetime, NewPassage]]) -> Sequence[int]:
        """Store exchanges of a conversation that was held elsewhere; gives back their ids."""
        return await self._database.write(
            lambda db: conversations.add_passages(db, self._owner, conversation, passages)
        )

    async def passages(self, ids: Sequence[int]) -> Sequence[Passage]:
        """The passages of these ids that are there, in this order."""
        return await self._database.read(lambda db: passages.passages(db, self._owner, ids))

    async def passages_after(
        self, passage_id: int, *, kind: PassageKind | None = None, limit: int
    ) -> Sequence[Passage]:
        """The passages of this kind, or of all, with a larger id, by id."""
        return await self._database.read(lambda db: passages.passages_after(db, self._owner, passage_id, kind, limit))

    async def newest_passage(self) -> int:
        """The largest id of a passage; 0 when there is none."""
        return await self._database.read(lambda db: passages.newest_passage(db, self._owner))

    async def passages_between(
        self, kind: PassageKind, *, since: datetime | None, until: datetime | None, limit: int
    ) -> Sequence[int]:
        """The ids of the newest passages of this kind that were said in this time, the newest first."""
        return await self._database.read(
            lambda db: passages.passages_between(db, self._owner, kind, since, until, limit)
        )

    async def passages_since(self, conversation: str, number: int) -> frozenset[int]:
        """The ids of the passages of the conversation's turns from this number on."""
        return await self._database.read(lambda db: passages.passages_since(db, self._owner, conversation, number))

    async def passages_of(self, kind: PassageKind, refs: Sequence[int]) -> Sequence[Passage]:
        """The passages that were made of these, by id."""
        return await self._database.read(lambda db: passages.passages_of(db, self._owner, kind, refs))

    async def count_passages(self, kind: PassageKind, *, most: int | None = None) -> int:
        """How many there are, counted up to ``most``."""
        return await self._database.read(lambda db: passages.count_passages(db, self._owner, kind, most))

    # Vectors

    async def vector_spaces(self) -> Sequence[VectorSpace]:
        """The spaces by name."""
        return await self._database.read(lambda db: vectors.vector_spaces(db, self._owner))

    async def begin_space(self, name: str, dimensions: int) -> VectorSpace:
        """The space of this name, made when it is not there."""
        return await self._database.write(lambda db: vectors.begin_space(db, self._owner, name, dimensions))

    async def drop_space(self, name: str) -> None:
        """Delete the space with its vectors."""
        await self._database.write(lambda db: vectors.drop_space(db, self._owner, name))

    def filling(self) -> AbstractContextManager[bool]:
        """Be the only one that embeds this owner's passages: True, or False at once where another process does."""
        return self._locks.try_filling(self.owner)

    async def save_vectors(self, space: str, rows: Sequence[tuple[int, bytes]], *, embedded_to: int) -> None:
        """Keep vectors of passages, and how far the space has come."""
        await self._database.write(lambda db: vectors.save_vectors(db, self._owner, space, rows, embedded_to))

    async def vectors_after(
        self, space: str, passage_id: int, *, kind: PassageKind, limit: int
    ) -> Sequence[tuple[int, bytes]]:
        """The vectors of the passages of this kind with a larger id, by id."""
        return await self._database.read(
            lambda db: vectors.vectors_after(db, self._owner, space, passage_id, kind, limit)
        )

    async def vectors(self, space: str, ids: Sequence[int]) -> Sequence[tuple[int, bytes]]:
        """The vectors of these passages that are there, in this order."""
        return await self._database.read(lambda db: vectors.vectors(db, self._owner, space, ids))

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
