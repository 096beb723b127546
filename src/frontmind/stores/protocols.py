"""The seams of persistence. All methods are asynchronous, so that a database across a network fits as well.

An implementation keeps three promises beside the signatures:

- what a method accepted is on disk when it returns, and survives the death of the process;
- each method is one transaction: it happens entirely or not at all;
- all reads come in a fixed order (stated per method), so that the same state gives the same bytes.

A store belongs to one owner and finds nothing of another's: whose a row is decides before anything is ranked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime, timedelta
from typing import Protocol

from frontmind.stores.ledger_protocol import LedgerStore
from frontmind.stores.people_protocol import SettingsStore
from frontmind.stores.recall_protocols import MemoryStore, PassageStore, VectorStore
from frontmind.stores.thread_protocol import ThreadStore
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message
from frontmind.values.records import (
    Completion,
    ConversationOverview,
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
    TurnState,
    WindowOpening,
)
from frontmind.window.canonical import Json


class ConversationStore(Protocol):
    """Conversations, their turns and segments. A conversation exists as soon as it is named."""

    async def conversations(
        self, *, newest: int | None = None, before: tuple[datetime, str] | None = None
    ) -> Sequence[ConversationOverview]:
        """The conversations that have a turn which counts, the one with the newest message first, ties by name.

        Args:
            newest: at most so many.
            before: ``last_at`` and name of one in this order: only those behind it.
        """
        ...

    async def set_line(self, conversation: str, numbers: Collection[int]) -> None:
        """Let the turns with these numbers be what was said: of the others, those that are OPEN or DONE become
        REPLACED; those of these that were REPLACED become what they were. To be called under the turn's lock.

        A window that began behind a turn that changes begins at the first turn again, and the summary of a segment
        with such a turn is forgotten: both tell of what was said before. Memories that were extracted from a turn stay
        as they are: the person told them.

        Raises:
            UsageError: the conversation has no turn of one of the numbers, or it is REFUSED. Nothing is changed.
        """
        ...

    async def line(self, conversation: str) -> Mapping[int, TurnState]:
        """The state of each turn of the conversation, by number, in order. Far less than `turns` reads."""
        ...

    def turn_lock(self, conversation: str) -> AbstractAsyncContextManager[None]:
        """Held while a turn runs: one turn at a time per conversation, across tasks and processes.

        The death of the holding process releases it.
        """
        ...

    async def begin_turn(
        self,
        conversation: str,
        message: Message,
        at: datetime,
        *,
        segment_pause: timedelta,
        line: Line | None = None,
    ) -> Turn:
        """Accept a user message: store it as a new OPEN turn and return that.

        The turn opens a new segment when the conversation has none, or when the newest message that was not stored
        after ``at`` is at least ``segment_pause`` older; otherwise it joins the newest segment. What is REPLACED does
        not count.

        Args:
            line: what was said in front of it, as `set_line` and `import_turns` make it so; None for what it is.

        Raises:
            UsageError: as in `set_line`. Nothing is changed.
        """
        ...

    async def begin_step(self, turn_id: int, step: Step, *, sent: Sent) -> Turn:
        """Store what the model said in an OPEN turn, before its tools run, and what the turn's requests hold beside
        the conversation. ``step.results`` must be None.

        Raises:
            UsageError: there is no such OPEN turn, or its last step has no results yet.
        """
        ...

    async def finish_step(self, turn_id: int, results: Message, *, step: int | None = None) -> Turn:
        """Store the results of a step of an OPEN turn, in the place of those that it has.

        Args:
            step: the number of the step, counting from 1; None for the last.

        Raises:
            UsageError: there is no such OPEN turn, or it has no such step.
        """
        ...

    async def complete_turn(self, turn_id: int, completion: Completion) -> Turn:
        """Store the reply and all that becomes true with it; the turn is DONE. Its texts are searchable from now on.

        Raises:
            UsageError: there is no such OPEN turn, a step of it has no results, or one that is to be refused is no
                other OPEN turn of the conversation. Nothing is changed.
        """
        ...

    async def turns(self, conversation: str, *, since: int = 1, until: int | None = None) -> Sequence[Turn]:
        """The turns from the number ``since`` to the number ``until``, both included, by number, in every state; None
        for all from there on.
        """
        ...

    async def segments(
        self, conversation: str, *, before: int | None = None, newest: int | None = None
    ) -> Sequence[Segment]:
        """The segments that have at least one turn which is OPEN or DONE, by number.

        Another turn counts in none of their fields: its message must not come back to the model as a title.

        Args:
            before: turns from this number on do not count; None counts all.
            newest: only so many, those with the largest numbers. What this costs does not grow with the conversation.
        """
        ...

    async def count_segments(self, conversation: str, *, before: int | None = None) -> int:
        """How many there are of them; turns from the number ``before`` on do not count."""
        ...

    async def segments_without_summary(self, conversation: str) -> Sequence[Segment]:
        """Those of the segments of which nobody has stored what they were about, by number."""
        ...

    async def window_opening(self, conversation: str) -> WindowOpening:
        """Where the window begins; at the first turn until a completed turn has moved it."""
        ...

    async def save_summary(self, conversation: str, segment: int, summary: SegmentSummary) -> None:
        """Store what a segment was about, in the place of what was there.

        Raises:
            UsageError: there is no such segment.
        """
        ...

    async def import_turns(self, conversation: str, turns: Sequence[ImportedTurn], *, source: str) -> int:
        """Store the exchanges of another program as DONE turns behind those that the conversation has, in their order,
        searchable at once; those whose key is known of this source are passed over.

        Returns:
            How many are new.
        """
        ...


class ReminderStore(Protocol):
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
    ) -> Reminder: ...

    async def add_reminders(self, reminders: Sequence[NewReminder], at: datetime) -> Sequence[Reminder]:
        """Store all of them but those whose uid another one has, stored or earlier in the sequence, done or not.

        Returns:
            Those that were stored, in the order in which they were given.
        """
        ...

    async def reminder(self, reminder_id: int) -> Reminder:
        """The reminder, active or done.

        Raises:
            UsageError: there is none with this id.
        """
        ...

    async def active_reminders(self) -> Sequence[Reminder]:
        """Those not done, by id."""
        ...

    async def reminders(self) -> Sequence[Reminder]:
        """All of them, by id."""
        ...

    async def save_reminder(self, reminder: Reminder, *, delivery: Delivery | None = None) -> Reminder:
        """Store the changed reminder under its id, and what was delivered with it; its version grows by one.

        One that is stored with nothing ``delivered`` may have its ``due`` slot delivered again, also when that slot
        was before it was changed: that delivery is forgotten.

        Raises:
            Conflict: the stored reminder has another version than this one, or the slot was delivered already:
                somebody else was faster. Nothing is changed.
            UsageError: there is none with this id.
        """
        ...

    async def remove_reminder(self, reminder_id: int) -> Reminder:
        """Delete it, with its deliveries. Its id is not given again.

        Raises:
            UsageError: there is none with this id.
        """
        ...

    async def deliveries(self) -> Sequence[Delivery]:
        """What was delivered, in the order in which it was."""
        ...


class DocumentStore(Protocol):
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
        """Store a text under the name, as a new version unless it is the text that holds anyway.

        Args:
            by: who wrote it: "person", "assistant" or "file".
            enable: whether it is enabled from now on; None leaves that as it is, and a new document enabled.
            source: the file that it follows; None leaves that as it is.
            expected: the version that must hold; 0 for none, None for any.

        Raises:
            Conflict: another version holds.
        """
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

    async def collapse_document(self, name: str, collapsed: tuple[str, ...]) -> Document:
        """Set the sections of which only the title is shown.

        Raises:
            UsageError: there is no document of this name.
        """
        ...

    async def document_versions(self, name: str) -> Sequence[DocumentVersion]:
        """Every text that it has or had, by number; empty where there is no such document."""
        ...

    async def undo_document(self, name: str, *, expected: int | None = None) -> Document:
        """Let the version hold that the present one was made from. No version is lost.

        Args:
            expected: the version that must hold; None for any.

        Raises:
            Conflict: another version holds.
            UsageError: there is no document of this name, or its first version holds.
        """
        ...

    async def remove_document(self, name: str) -> Document:
        """Delete it with all its versions.

        Raises:
            UsageError: there is no document of this name.
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


class TextStore(Protocol):
    """Texts by what they say: the system prompt's sections as they were sent, and tool results too long to send."""

    async def save_texts(self, texts: Sequence[str]) -> Sequence[str]:
        """Keep the texts and return an id for each: the first 16 hex digits of the SHA-256 of its UTF-8."""
        ...

    async def load_text(self, text_id: str) -> str:
        """The text of this id.

        Raises:
            UsageError: there is none.
        """
        ...


class Store(
    ConversationStore,
    ReminderStore,
    MemoryStore,
    DocumentStore,
    PassageStore,
    VectorStore,
    RequestStore,
    TextStore,
    LedgerStore,
    ThreadStore,
    SettingsStore,
    Protocol,
):
    """Everything that the assistant keeps for one owner."""

    def of(self, owner: str) -> Store:
        """The store of another owner in the same database. Closing either closes both."""
        ...

    async def close(self) -> None:
        """Finish what was accepted and let go of the database."""
        ...
