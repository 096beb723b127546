"""What was said or kept earlier and bears on the current message. Does not know how it is found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Final, Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.markup import Element
from frontmind.values.memories import LinkKind, Memory, MemoryOrigin
from frontmind.values.passages import PassageKind, Recollection

_FIRST_PERSON: Final = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine)\b")


class RecallSource(Protocol):
    async def surface(self, context: TurnContext) -> Sequence[Recollection]:
        """What bears on the turn's message, best first, within its own budget; nothing where nothing does."""
        ...


class ProactiveMemoryTrinket(EventAwareTrinket):
    """Memories, and exchanges that are no longer in the window, that bear on the current message."""

    section_name = "relevant_memories"

    def __init__(self, source: RecallSource) -> None:
        self._source = source

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        if not context.message.strip():
            return []
        found = await self._source.surface(context)
        return [element for recollection in found for element in recollection_elements(recollection, context.now)]


def recollection_elements(found: Recollection, now: datetime) -> list[Element]:
    """A find as an element, and one for each memory that its links bring along.

    Moments are absolute and in the zone of ``now``; the text is as long as it was given.
    """
    passage = found.hit.passage
    at = local_moment(passage.at, now)
    why = {"why": "; ".join(found.hit.why)} if found.hit.why else {}
    match passage.kind:
        case PassageKind.MEMORY:
            known = {"observed": at} if found.memory is None else _known(found.memory, now)
            first = Element("memory", passage.text, {"id": f"m{passage.ref}", **known, **why})
        case PassageKind.DOCUMENT:
            first = Element("document", passage.text, {"name": passage.conversation, "at": at, **why})
        case PassageKind.EXCHANGE:
            first = Element("exchange", passage.text, {"id": f"t{passage.ref}", "at": at, **why})
    return [first, *(_linked(kind, memory, passage.ref, now) for kind, memory in found.linked)]


def _linked(kind: LinkKind, memory: Memory, of: int, now: datetime) -> Element:
    name = {"id": f"m{memory.id}"}
    # What no longer holds must not look like what does.
    if kind is LinkKind.SUPERSEDES or memory.superseded_by is not None:
        return Element("before", memory.text, {**name, "of": f"m{of}", **_known(memory, now)})
    return Element("memory", memory.text, {**name, kind.value: f"m{of}", **_known(memory, now)})


def _known(memory: Memory, now: datetime) -> dict[str, str]:
    """Its dates; and of one that the person wrote about themselves, that "I" in it is not who reads it."""
    own = memory.origin is MemoryOrigin.PERSON and _FIRST_PERSON.search(memory.text) is not None
    return {**_dates(memory, now), **({"words": "yours"} if own else {})}


def _dates(memory: Memory, now: datetime) -> dict[str, str]:
    dates = {
        "observed": memory.observed_at,
        "happens": memory.happens_at,
        "until": memory.valid_until,
        "superseded": memory.superseded_at,
    }
    return {name: local_moment(moment, now) for name, moment in dates.items() if moment is not None}


def local_moment(moment: datetime | date, now: datetime) -> str:
    """A moment in the zone of ``now``, such as ``2026-11-30 09:15``; a date as it is."""
    if not isinstance(moment, datetime):
        return moment.isoformat()
    return f"{moment.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
