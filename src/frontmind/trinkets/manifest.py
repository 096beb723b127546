"""The table of contents of a conversation that never ends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.markup import Element
from frontmind.values.records import Segment

_SHOWN = 20


class SegmentSource(Protocol):
    async def segments(self, conversation: str, *, before: int | None = None) -> Sequence[Segment]: ...


class ManifestTrinket(EventAwareTrinket):
    """The conversation's segments in front of this turn, with absolute times and titles, the newest twenty."""

    section_name = "conversation_manifest"
    shows_last_good = True

    def __init__(self, source: SegmentSource) -> None:
        self._source = source

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        # Without the turn that asks: a preview, whose turn is not stored, then says the same.
        segments = await self._source.segments(context.conversation, before=context.turn)
        return [
            Element(
                "segment",
                segment.title,
                {
                    "number": str(segment.number),
                    "from": _local(segment.started_at, context.now),
                    "to": _local(segment.ended_at, context.now),
                },
            )
            for segment in segments[-_SHOWN:]
        ]


def _local(moment: datetime, now: datetime) -> str:
    return f"{moment.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
