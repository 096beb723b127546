"""What the store keeps, as frozen values. An ``id`` is given by the store and means nothing outside it.

All moments are aware; the store keeps them in UTC and gives them back in UTC.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum

from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message
from frontmind.values.parts import Notice
from frontmind.values.usage import Usage


class TurnState(StrEnum):
    """How far a turn came.

    OPEN: accepted, no reply yet. A process that died leaves its turn in this state.
    DONE: answered; the turn is part of the history.
    REFUSED: the provider will never take this message; it is kept, and no longer sent.
    REPLACED: the person went on from an earlier place; it is kept with its reply, if it has one, and no longer sent,
    searched or counted.
    """

    OPEN = "open"
    DONE = "done"
    REFUSED = "refused"
    REPLACED = "replaced"

    @property
    def counts(self) -> bool:
        """Whether a turn in this state is part of what was said: one that is OPEN or DONE."""
        return self in (TurnState.OPEN, TurnState.DONE)


@dataclass(frozen=True, slots=True)
class SentSection:
    """A section of the system prompt as it was sent.

    Attributes:
        text: the id of its text (`TextStore`).
        cache_policy: whether it stood in front of the cache marker.
    """

    name: str
    text: str
    cache_policy: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """What the request of a turn held beside the conversation.

    Attributes:
        notices: what the framing keeps beside the user message; sent again, byte for byte, in later turns.
        sections: section name to digest, for the sections of the notification center.
        window_start: the number of the first turn that was sent.
        system: the sections of the system prompt in their order; empty where nobody noted them.
        head: stands for all that was in front of the conversation (`prefix_identity`); empty where nobody noted it.
        framing: the name of the framing that it was sent in; empty where nobody noted it.
        ttl: the lifetime that was asked for what is cached, as in `FramingChoice.ttl`.
        caller_tools: the names of the tools that the program that asked carries out itself, sorted. A step without
            results that calls one of them waits for that program, and nothing of it was run.
        framing_reason: why it was framed so, in one line; empty where that is what the model's profile says.
    """

    notices: tuple[Notice, ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    window_start: int = 1
    head: str = ""
    system: tuple[SentSection, ...] = ()
    framing: str = ""
    ttl: str = ""
    caller_tools: tuple[str, ...] = ()
    framing_reason: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A call of the model in the middle of a turn, and what its tools gave back.

    Attributes:
        said: the assistant's message with its tool calls.
        request: the hash of the request that it answers.
        model: the model's name as it was chosen.
        usage: as the provider counted.
        results: the user message of tool results, one for each call, with the notices that the framing keeps; None
            while the tools run, and where the process died meanwhile.
    """

    said: Message
    request: str
    model: str
    usage: Usage
    results: Message | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange.

    Attributes:
        number: counts from 1 within its conversation, without gaps.
        segment: the number of the segment it belongs to, counting from 1 within its conversation.
        user: the message as it was accepted.
        reply: the assistant's message; None unless ``state`` is DONE, or was before it was REPLACED.
        asked_at, answered_at: when each of the two was stored.
        request: the hash of the (last) request that was sent for it.
        model: the model's name as it was chosen.
        usage: as the provider counted.
        interrupted: whether the reply was cut off by the person or a failure after it had begun.
        system_fingerprint: section name to digest, for the system sections of its window.
        sent: what its request held beside the conversation; None where nobody noted it.
        steps: the calls of the model before the last one, each with the results of its tools.
    """

    id: int
    conversation: str
    number: int
    segment: int
    state: TurnState
    user: Message
    asked_at: datetime
    reply: Message | None = None
    answered_at: datetime | None = None
    request: str | None = None
    model: str | None = None
    usage: Usage | None = None
    interrupted: bool = False
    system_fingerprint: Mapping[str, str] = field(default_factory=dict)
    sent: Sent | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """What was said in front of a new turn.

    Attributes:
        numbers: those of the turns that the conversation has of it.
        imports: exchanges that were had elsewhere; they are stored behind those turns.
        source: who brings them along.
    """

    numbers: Collection[int]
    imports: tuple[ImportedTurn, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class WindowOpening:
    """Where the window of a conversation begins.

    Attributes:
        start: the number of the first turn that is still sent.
        summary: what stands in front of it, for all that is no longer sent; byte for byte the same until the start
            moves. Empty while everything is sent.
    """

    start: int = 1
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """What is known at the end of a turn and is stored with the reply in one transaction.

    Attributes:
        refuses: the ids of OPEN turns of the conversation that become REFUSED: the reply came only without them.
        opening: where the window begins from now on; one that begins no later than before changes nothing.
    """

    reply: Message
    answered_at: datetime
    request: str
    model: str
    usage: Usage
    interrupted: bool
    system_fingerprint: Mapping[str, str]
    sent: Sent | None = None
    refuses: tuple[int, ...] = ()
    opening: WindowOpening = WindowOpening()


@dataclass(frozen=True, slots=True)
class SegmentSummary:
    """What a closed segment was about.

    Attributes:
        text: a few sentences.
        author: the full name of the model that wrote title and text; empty where both are extracts of what was said.
        made_at: when they were written.
    """

    title: str
    text: str
    author: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a conversation without a long pause in it.

    Attributes:
        number: counts from 1 within its conversation.
        title: that of its summary; without one the beginning of its first user message, on one line.
        started_at: when its first message was accepted.
        ended_at: when its last message was stored so far.
        turns: how many turns it has.
        first, last: the numbers of its first and its last turn.
        summary: None until somebody has written one.
    """

    conversation: str
    number: int
    title: str
    started_at: datetime
    ended_at: datetime
    turns: int
    first: int = 0
    last: int = 0
    summary: SegmentSummary | None = None


@dataclass(frozen=True, slots=True)
class ConversationOverview:
    """A conversation in a list of them. Turns that are REFUSED or REPLACED count in none of its fields.

    Attributes:
        title: that of its first segment.
        started_at, last_at: when its first message was accepted, and its last message or reply stored.
        turns: how many turns it has.
        last: the number of its last turn.
    """

    name: str
    title: str
    started_at: datetime
    last_at: datetime
    turns: int
    last: int


@dataclass(frozen=True, slots=True)
class NewReminder:
    """A reminder that is not stored yet; what its fields mean is said at `Reminder`."""

    text: str
    due: datetime | date
    zone: str
    rrule: str = ""
    exdates: tuple[datetime | date, ...] = ()
    start: datetime | date | None = None
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Reminder:
    """Something to be reminded of, once or again and again.

    The moments of a recurring one are computed on the wall clock of ``zone`` (`frontmind.reminders.schedule`).

    Attributes:
        due: the slot that is open: a moment, or a date when no time of day was given (it stays a date). Of a
            recurring one the first that is not done.
        zone: the IANA zone in which it was meant.
        done_at: when it was completed for good; None while it is active.
        rrule: the value of an RFC 5545 RRULE, such as ``FREQ=DAILY``; empty for one that comes once.
        exdates: slots of the rule that are left out, each of the kind of ``due``.
        start: the first slot, from which the rule counts (DTSTART); None means ``due``.
        snoozed_until: when it is to be said again, in place of ``due``; None unless it was put off.
        delivered: the newest slot that was delivered; None before the first, and again after a change of its time.
        uid: what it is called in the calendar file that it came from; empty where it came from none.
        version: counts its changes, from 1.
    """

    id: int
    text: str
    due: datetime | date
    zone: str
    created_at: datetime
    done_at: datetime | None = None
    rrule: str = ""
    exdates: tuple[datetime | date, ...] = ()
    start: datetime | date | None = None
    snoozed_until: datetime | None = None
    delivered: datetime | date | None = None
    uid: str = ""
    version: int = 1

    @property
    def calendar_uid(self) -> str:
        """What it is called in calendar files: always the same, also when it came from none."""
        return self.uid or f"r{self.id}-{self.created_at.astimezone(UTC):%Y%m%dT%H%M%S%f}@frontmind"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A slot of a reminder that was said to the person. There is one for each slot at most, until the reminder is
    given that time again.

    Attributes:
        slot: the slot: a moment, or a date.
        at: when it was said.
        missed: how many earlier slots had passed unsaid, because nothing was running, and are said with this one.
    """

    reminder: int
    slot: datetime | date
    at: datetime
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A named document; while enabled it is part of the system prompt.

    Attributes:
        updated_at: when its text became what it is.
        version: the number of the version that holds, counting from 1 in the order in which texts were stored.
        collapsed: the sections of which only the title is shown, sorted; named as `frontmind.domaindocs` names them.
        source: the file that it follows; empty where it follows none.
    """

    name: str
    text: str
    enabled: bool
    updated_at: datetime
    version: int = 1
    collapsed: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A text that a document has or had.

    Attributes:
        version: its number.
        parent: the version that it was made from, and that undoing leads back to; None for the first.
        by: who wrote it: "person", "assistant" or "file".
    """

    name: str
    version: int
    parent: int | None
    text: str
    at: datetime
    by: str
