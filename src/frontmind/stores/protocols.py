"""The seams of persistence. All methods are asynchronous, so that a database across a network fits as well.

An implementation keeps three promises beside the signatures:

- what a method accepted is on disk when it returns, and survives the death of the process;
- each method is one transaction: it happens entirely or not at all;
- all reads come in a fixed order (stated per method), so that the same state gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime, timedelta
from typing import Protocol

from frontmind.values.message import Message
from frontmind.values.records import Completion, Document, Note, Reminder, SearchHit, Segment, Turn
from frontmind.window.canonical import Json


class ConversationStore(Protocol):
    """Conversations, their turns and segments. A conversation exists as soon as it is named."""

    def turn_lock(self, conversation: str) -> AbstractAsyncContextManager[None]:
        """Held while a turn runs: one turn at a time per conversation, across tasks and processes.

        The death of the holding process releases it.
        """
        ...

    async def begin_turn(self, conversation: str, message: Message, at: datetime, *, segment_pause: timedelta) -> Turn:
        """Accept a user message: store it as a new OPEN turn and return that.

        The turn opens a new segment when the conversation has none, or when its newest stored message is at
        least ``segment_pause`` older than ``at``; otherwise it joins the newest segment.
        """
        ...

    async def complete_turn(self, turn_id: int, completion: Completion) -> Turn:
        """Store the reply and all that belongs to it; the turn is DONE. Its texts are searchable from now on.

        Raises:
            UsageError: there is no such OPEN turn.
        """
        ...

    async def refuse_turn(self, turn_id: int) -> None:
        """Mark an OPEN turn as REFUSED.

        Raises:
            UsageError: there is no such OPEN turn.
        """
        ...

    async def turns(self, conversation: str, *, since: int = 1) -> Sequence[Turn]:
        """The turns whose number is at least ``since``, by number, in every state."""
        ...

    async def segments(self, conversation: str, *, before: int | None = None) -> Sequence[Segment]:
        """The segments that have at least one turn which is not REFUSED, by number.

        Turns from the number ``before`` on do not count; None counts all.

        A REFUSED turn counts in none of their fields: its message must not come back to the model as a title.
        """
        ...

    async def window_start(self, conversation: str) -> int:
        """The number of the first turn that is still sent to the model; 1 until it is moved."""
        ...

    async def move_window_start(self, conversation: str, number: int) -> None:
        """Leave out the turns before ``number``. It only ever grows; a smaller number changes nothing."""
        ...


class ReminderStore(Protocol):
    async def add_reminder(self, text: str, due: datetime | date, *, zone: str, at: datetime) -> Reminder: ...

    async def active_reminders(self) -> Sequence[Reminder]:
        """Those not done, by id."""
        ...

    async def complete_reminder(self, reminder_id: int, at: datetime) -> Reminder:
        """Mark it done.

        Raises:
            UsageError: there is no active reminder with this id.
        """
        ...


class NoteStore(Protocol):
    async def add_note(self, text: str, at: datetime) -> Note: ...

    async def notes(self) -> Sequence[Note]:
        """All notes by id."""
        ...

    async def remove_note(self, note_id: int) -> Note:
        """Delete it, also from the search.

        Raises:
            UsageError: there is no note with this id.
        """
        ...


class DocumentStore(Protocol):
    async def put_document(self, name: str, text: str, at: datetime) -> Document:
        """Store it under its name, enabled; an existing text is replaced."""
        ...

    async def documents(self) -> Sequence[Document]:
        """All documents by name."""
        ...

    async def enable_document(self, name: str, enabled: bool) -> Document:
        """Switch it on or off.

        Raises:
            UsageError: there is no document of this name.
        """
        ...


class SearchIndex(Protocol):
    async def search_notes(self, query: str, *, limit: int) -> Sequence[SearchHit]:
        """Notes that share a word stem with the query, best first, ties by id."""
        ...

    async def search_messages(
        self, query: str, *, limit: int, conversation: str | None = None, before: int | None = None
    ) -> Sequence[SearchHit]:
        """Messages of DONE turns that share a word stem with the query, best first, ties by id.

        Of ``conversation`` only the turns with a number smaller than ``before`` are searched (the others are
        in the window anyway); other conversations are searched whole.
        """
        ...


class RequestStore(Protocol):
    async def save_request(self, request: Mapping[str, Json]) -> str:
        """Keep the request and return its hash: SHA-256 over `canonical_json(request)`.

        Saving one more turn of a conversation adds only what is new in it: the messages that an earlier
        request already had in the same places are shared with it.
        """
        ...

    async def load_request(self, request_hash: str) -> Mapping[str, Json]:
        """The request with exactly the bytes that were saved.

        Raises:
            UsageError: no request has this hash.
        """
        ...


class Store(ConversationStore, ReminderStore, NoteStore, DocumentStore, SearchIndex, RequestStore, Protocol):
    """Everything that the assistant keeps."""

    async def close(self) -> None:
        """Finish what was accepted and let go of the database."""
        ...
