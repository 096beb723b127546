"""The table of contents of a conversation that never ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.budget import OMITTED, shortened
from frontmind.trinkets.markup import Body, Element
from frontmind.values.records import Segment

_SHOWN: Final = 12
"""With twenty, a quarter of what a month of turns cost was this section."""


class SegmentSource(Protocol):
    async def segments(
        self, conversation: str, *, before: int | None = None, newest: int | None = None
    ) -> Sequence[Segment]: ...

    async def count_segments(self, conversation: str, *, before: int | None = None) -> int: ...

    async def title_of(self, segment: Segment) -> str:
        """The title of a closed segment, also of one that has no summary yet."""
        ...


class ManifestTrinket(EventAwareTrinket):
    """The conversation's segments in front of this turn, with absolute times and titles: the newest that are
    closed, and the present one. Those that the window holds say so.

    Of the present segment only what does not change with every turn is said.
    """

    section_name = "conversation_manifest"
    shows_last_good = True

    def __init__(self, source: SegmentSource) -> None:
        self._source = source

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        # Without the turn that asks: a preview, whose turn is not stored, then says the same.
        segments = await self._source.segments(context.conversation, before=context.turn, newest=_SHOWN + 1)
        closed = [segment for segment in segments if segment.number != context.segment][-_SHOWN:]
        present = [segment for segment in segments if segment.number == context.segment]
        every = await self._source.count_segments(context.conversation, before=context.turn)
        older = every - len(closed) - len(present)
        count = [Element(OMITTED, f"{older} earlier")] if older > 0 else []
        titled = [replace(segment, title=await self._source.title_of(segment)) for segment in closed]
        return [*count, *(_element(segment, context) for segment in (*titled, *present))]

    def shorten(self, body: Body, budget: int) -> Body:
        """The oldest segments are left out first."""
        if isinstance(body, str):
            return shortened(body, budget)
        kept = shortened(body[::-1], budget)
        return kept if isinstance(kept, str) else kept[::-1]


def _element(segment: Segment, context: TurnContext) -> Element:
    is_present = segment.number == context.segment
    attributes = {
        "number": str(segment.number),
        "from": _local(segment.started_at, context.now),
        "to": "now" if is_present else _end(segment, context.now),
    }
    if not is_present:
        attributes["turns"] = str(segment.turns)
    if segment.summary is None or not segment.summary.author:
        attributes["extract"] = "true"
    if segment.last >= context.window_start:
        attributes["in_window"] = "true" if segment.first >= context.window_start else "its end"
    return Element("segment", segment.title, attributes)


def _end(segment: Segment, now: datetime) -> str:
    """When it ended: on the day on which it began, the time alone."""
    same_day = segment.ended_at.astimezone(now.tzinfo).date() == segment.started_at.astimezone(now.tzinfo).date()
    return f"{segment.ended_at.astimezone(now.tzinfo):%H:%M}" if same_day else _local(segment.ended_at, now)


def _local(moment: datetime, now: datetime) -> str:
    return f"{moment.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
