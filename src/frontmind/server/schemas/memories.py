"""Memories as the API takes and gives them."""

from __future__ import annotations

from datetime import tzinfo
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from frontmind.server.schemas.sent import Sent
from frontmind.server.schemas.texts import Shown
from frontmind.server.schemas.times import Version, slot_text
from frontmind.values import memories

LONGEST_TEXT = 10_000
_Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
_When = Annotated[str, Field(max_length=1_000)]


class Memory(BaseModel):
    """A memory.

    Attributes:
        created_at: when it was stored.
        observed_at: when the person said it.
        happens_at: when what it tells of takes place: a moment, or a day.
        valid_until: up to when it holds.
        superseded_by: the id of the memory that holds in its place; 0 where that was in another store.
        importance: from 0 to 1; rises with use.
        source: who made it: person, extracted or imported; with the turn that it comes from.
        version: counts its changes, from 1.
    """

    id: int
    text: Shown
    created_at: str
    observed_at: str | None
    happens_at: str | None
    valid_until: str | None
    superseded_by: int | None
    importance: float
    source: Shown
    version: int


class MemoryList(BaseModel):
    """The newest of the memories that were asked for, and how many there are in all."""

    memories: list[Memory]
    total: int


class NewMemory(Sent):
    """A memory that the person asks to keep, said to them: "You prefer tea"."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "You prefer tea to coffee"}]})

    text: _Text


class MemoryChange(Sent):
    """What becomes of a memory; what is not given stays.

    Attributes:
        valid_until: ISO 8601 or a phrase such as "next friday"; null for no end.
        happens_at: the same; null for no such moment.
        version: the version that must hold.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "You prefer coffee", "version": 1}]})

    text: _Text | None = None
    valid_until: _When | None = None
    happens_at: _When | None = None
    version: Version


def memory_view(memory: memories.Memory, importance: float, zone: tzinfo) -> Memory:
    """The memory with its moments in the zone."""
    turn = "" if memory.turn is None else f", turn {memory.turn} of {memory.conversation}"
    return Memory(
        id=memory.id,
        text=memory.text,
        created_at=slot_text(memory.recorded_at, zone),
        observed_at=slot_text(memory.observed_at, zone),
        happens_at=slot_text(memory.happens_at, zone),
        valid_until=slot_text(memory.valid_until, zone),
        superseded_by=memory.superseded_by,
        importance=round(importance, 4),
        source=f"{memory.origin.value}{turn}",
        version=memory.version,
    )
