"""Titles of segments that nobody has summed up yet: the same that the keeper of segments will store for them, so that
a window does not depend on whether it was faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frontmind.continuum.extract import extract
from frontmind.continuum.history import settled
from frontmind.stores.protocols import ConversationStore
from frontmind.values.records import Segment, Turn


@dataclass(frozen=True, slots=True)
class TitledSegments:
    """The segments of a store, and their titles."""

    store: ConversationStore

    async def segments(
        self, conversation: str, *, before: int | None = None, newest: int | None = None
    ) -> Sequence[Segment]:
        """The newest segments, or all, by number; turns from the number ``before`` on do not count."""
        return await self.store.segments(conversation, before=before, newest=newest)

    async def count_segments(self, conversation: str, *, before: int | None = None) -> int:
        """How many there are; turns from the number ``before`` on do not count."""
        return await self.store.count_segments(conversation, before=before)

    async def title_of(self, segment: Segment) -> str:
        """The title of a closed segment."""
        if segment.summary is not None:
            return segment.title
        made = extract(await segment_turns(self.store, segment))
        return segment.title if made is None else made.title


async def segment_turns(store: ConversationStore, segment: Segment) -> list[Turn]:
    """The turns of a segment as they stand in the history, by number."""
    turns = await store.turns(segment.conversation, since=segment.first, until=segment.last)
    return [settled(turn) for turn in turns if turn.segment == segment.number]
