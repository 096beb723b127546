"""What the store keeps, as frozen values. An ``id`` is given by the store and means nothing outside it.

All moments are aware; the store keeps them in UTC and gives them back in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from frontmind.values.message import Message
from frontmind.values.parts import Notice
from frontmind.values.usage import Usage


class TurnState(StrEnum):
    """How far a turn came.

    OPEN: accepted, no reply yet. A process that died leaves its turn in this state.
    DONE: answered; the turn is part of the history.
    REFUSED: the provider will never take this message; it is kept, and no longer sent.
    """

    OPEN = "open"
    DONE = "done"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Sent:
    """What the request of a turn held beside the conversation.

    Attributes:
        notices: what the framing keeps beside the user message; sent again, byte for byte, in later turns.
        sections: section name to digest, for the sections of the notification center.
        window_start: the number of the first turn that was sent.
        head: stands for all that was in front of the conversation (`prefix_identity`); empty where nobody noted it.
    """

    notices: tuple[Notice, ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    window_start: int = 1
    head: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange.

    Attributes:
        number: counts from 1 within its conversation, without gaps.
        segment: the number of the segment it belongs to, counting from 1 within its conversation.
        user: the message as it was accepted.
        reply: the assistant's message; None unless ``state`` is DONE.
        asked_at, answered_at: when each of the two was stored.
        request: the hash of the (last) request that was sent for it.
        model: the model's name as it was chosen.
        usage: as the provider counted.
        interrupted: whether the reply was cut off by the person or a failure after it had begun.
        system_fingerprint: section name to digest, for the system sections of its window.
        sent: what its request held beside the conversation; None where nobody noted it.
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


@dataclass(frozen=True, slots=True)
class Completion:
    """What is known at the end of a turn and is stored with the reply in one transaction."""

    reply: Message
    answered_at: datetime
    request: str
    model: str
    usage: Usage
    interrupted: bool
    system_fingerprint: Mapping[str, str]
    sent: Sent | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a conversation without a long pause in it.

    Attributes:
        number: counts from 1 within its conversation.
        title: the beginning of its first user message, on one line.
        started_at: when its first message was accepted.
        ended_at: when its last message was stored so far.
        turns: how many turns it has.
    """

    conversation: str
    number: int
    title: str
    started_at: datetime
    ended_at: datetime
    turns: int


@dataclass(frozen=True, slots=True)
class Reminder:
    """Something to be reminded of.

    Attributes:
        due: a moment, or a date when no time of day was given (it stays a date).
        zone: the IANA zone in which it was meant.
        done_at: when it was completed; None while it is active.
    """

    id: int
    text: str
    due: datetime | date
    zone: str
    created_at: datetime
    done_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A memory that the person asked to keep."""

    id: int
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Document:
    """A named document; while enabled it is part of the system prompt."""

    name: str
    text: str
    enabled: bool
    updated_at: datetime


class HitKind(StrEnum):
    NOTE = "note"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One find.

    Attributes:
        kind: what was found.
        ref: the id of the note, or of the turn that the message belongs to.
        speaker: "user" or "assistant" for a message, empty for a note.
        at: when it was stored.
        score: larger is better; comparable only within one search.
    """

    kind: HitKind
    ref: int
    speaker: str
    text: str
    at: datetime
    score: float
