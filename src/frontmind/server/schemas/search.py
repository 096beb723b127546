"""Finds as the API gives them."""

from __future__ import annotations

from datetime import tzinfo

from pydantic import BaseModel

from frontmind.server.schemas.texts import Shown
from frontmind.server.schemas.times import slot_text
from frontmind.values.passages import PassageKind, Recollection


class Find(BaseModel):
    """Something that bears on a search.

    Attributes:
        text: of a long one the part that has most of the words.
        at: when it was said, observed or written.
        conversation: of a document its name; empty for a memory.
        turn: 0 for what is no turn.
        memory: the id of the memory that it is.
        superseded: whether it is a memory that holds no longer.
    """

    kind: PassageKind
    text: Shown
    at: str
    conversation: Shown
    turn: int
    memory: int | None
    superseded: bool


class Finds(BaseModel):
    """What was found, best first."""

    finds: list[Find]


def find_view(found: Recollection, zone: tzinfo) -> Find:
    """The find with its moment in the zone."""
    passage, memory = found.hit.passage, found.memory
    return Find(
        kind=passage.kind,
        text=passage.text,
        at=slot_text(passage.at, zone),
        conversation=passage.conversation,
        turn=passage.number,
        memory=None if memory is None else memory.id,
        superseded=memory is not None and memory.superseded_at is not None,
    )
