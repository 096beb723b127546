"""Memories: single facts that are kept for good, how they hang together, and when they were used. Frozen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class MemoryOrigin(StrEnum):
    """Who made a memory: the person asked for it, a model extracted it from a conversation, or it was imported."""

    PERSON = "person"
    EXTRACTED = "extracted"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory that is not stored yet; what its fields mean is said at `Memory`.

    Attributes:
        recorded_at: of one that comes from another store, when it was stored there; None for now.
    """

    text: str
    observed_at: datetime
    origin: MemoryOrigin = MemoryOrigin.PERSON
    conversation: str = ""
    turn: int | None = None
    confidence: float = 1.0
    happens_at: datetime | date | None = None
    valid_until: datetime | date | None = None
    recorded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory, worded to the person: "You prefer tea".

    Attributes:
        id: given by the store, never given again; people write it as ``m1``.
        observed_at: when the person said it, or asked to keep it.
        recorded_at: when it was stored.
        conversation: the name of the conversation that it comes from; empty where it comes from none.
        turn: the number of the turn in it that it comes from.
        confidence: how sure its maker was, from 0 to 1.
        happens_at: when what it tells of takes place; None where it has no such moment.
        valid_until: up to when it holds; None for no end that is known.
        superseded_by: the id of the newer memory that holds in its place, also when that one was deleted since; 0 of
            one that was deleted in another store; None while it holds.
        superseded_at: when the newer one was observed.
        version: counts its changes, from 1.
    """

    id: int
    text: str
    observed_at: datetime
    recorded_at: datetime
    origin: MemoryOrigin = MemoryOrigin.PERSON
    conversation: str = ""
    turn: int | None = None
    confidence: float = 1.0
    happens_at: datetime | date | None = None
    valid_until: datetime | date | None = None
    superseded_by: int | None = None
    superseded_at: datetime | None = None
    version: int = 1


class LinkKind(StrEnum):
    """How one memory bears on another: it supports it, conflicts with it, supersedes it, or is about the same."""

    SUPPORTS = "supports"
    CONFLICTS = "conflicts"
    SUPERSEDES = "supersedes"
    RELATED = "related"


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """A link from the memory ``source`` to the memory ``target``, both ids."""

    source: int
    target: int
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The model used a memory in a reply.

    Attributes:
        day: on which it was, on the person's calendar.
    """

    memory: int
    day: date


@dataclass(frozen=True, slots=True)
class MemoryChanges:
    """What becomes of memories all at once. Wherever an id is negative, it stands for one of ``added``: -1 for the
    first of them.

    Attributes:
        changed: existing memories as they are to be; each keeps the version that it was read with.
        superseded: of new memories that no longer hold: its id, the id of the one that holds in its place (0 for one
            that is not here), and since when.
        links: further links.
        uses: further uses, each an id and a day on the person's calendar.
        newest: the largest id that was there when the changes were made up; None where they hold whatever came since.
    """

    added: tuple[NewMemory, ...] = ()
    changed: tuple[Memory, ...] = ()
    superseded: tuple[tuple[int, int, datetime], ...] = ()
    links: tuple[MemoryLink, ...] = ()
    uses: tuple[tuple[int, date], ...] = ()
    newest: int | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """How far a model has come with the memories of a segment.

    Attributes:
        last: the number of the last turn that was read; 0 where it never succeeded.
        author: the full name of the model that was asked last.
        at: when it was asked last.
        failures: how often in a row it failed since.
        problem: why it failed the last time, on one line; empty where it did not.
        kept: how many memories came of the segment, those included that were known already.
        dropped: how many things that the model named were not kept because they were wrong.
    """

    conversation: str
    segment: int
    last: int
    author: str
    at: datetime
    failures: int = 0
    problem: str = ""
    kept: int = 0
    dropped: int = 0
