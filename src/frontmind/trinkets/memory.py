"""What was kept earlier and bears on the current message."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.markup import Element
from frontmind.values.records import HitKind, SearchHit

_NOTES = 5
_MESSAGES = 3
_EXCERPT = 400


class MemorySource(Protocol):
    async def search_notes(self, query: str, *, limit: int) -> Sequence[SearchHit]: ...

    async def search_messages(
        self, query: str, *, limit: int, conversation: str | None = None, before: int | None = None
    ) -> Sequence[SearchHit]: ...


class ProactiveMemoryTrinket(EventAwareTrinket):
    """Notes, and messages that are no longer in the window, that share words with the current message."""

    section_name = "relevant_memories"

    def __init__(self, source: MemorySource) -> None:
        self._source = source

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        if not context.message:
            return []
        notes = await self._source.search_notes(context.message, limit=_NOTES)
        messages = await self._source.search_messages(
            context.message, limit=_MESSAGES, conversation=context.conversation, before=context.window_start
        )
        return [hit_element(hit, context.now) for hit in (*notes, *messages)]


def hit_element(hit: SearchHit, now: datetime) -> Element:
    """A find as an element: what it is, when it was stored (absolute, in the zone of ``now``), its text."""
    at = f"{hit.at.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
    if hit.kind is HitKind.NOTE:
        return Element("memory", excerpt(hit.text), {"id": f"n{hit.ref}", "noted": at})
    return Element("message", excerpt(hit.text), {"by": hit.speaker, "at": at})


def excerpt(text: str) -> str:
    """The text, or its first part with an ellipsis."""
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
