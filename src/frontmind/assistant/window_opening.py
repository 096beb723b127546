"""Where the window of a conversation begins in a turn, and what stands for all that it does not hold any more.

The same stored turns, moment and model give the same answer, so a look ahead says what the turn will do. Nothing is
stored here: the opening holds once its turn is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from frontmind.assistant.steadiness import is_natural_break, last_sent
from frontmind.continuum.collapse import (
    CARRY_OVER,
    SUMMARY_BUDGET,
    Earlier,
    collapsed_start,
    earlier_segments,
)
from frontmind.continuum.extract import Extract, extract
from frontmind.continuum.history import settled
from frontmind.providers.profiles.profile import Profile
from frontmind.stores.protocols import ConversationStore
from frontmind.values.clock import Clock
from frontmind.values.records import Segment, Turn, WindowOpening
from frontmind.window.choice import FramingChoice

# As many summaries as could stand in the budget, each of a few words.
_MOST_SUMMARIES: Final = 24
_SHARE_OF_SUMMARIES: Final = 10
_SHARE_OF_CARRY_OVER: Final = 6


class Reader(Protocol):
    """What a window has to know of the model that will read it."""

    @property
    def name(self) -> str: ...

    @property
    def framing(self) -> FramingChoice: ...

    @property
    def profile(self) -> Profile: ...

    @property
    def context_limit(self) -> int | None: ...


class Opener(Protocol):
    """Decides where the window of a turn begins."""

    async def opening(
        self, turn: Turn, before: Sequence[Turn], stored: WindowOpening, *, reader: Reader | None
    ) -> WindowOpening:
        """Where the window begins, before anybody looks whether it fits.

        Args:
            turn: the turn that asks.
            before: those in front of it, by number, from one before the stored start on.
            stored: where it began in the turn before.
            reader: the model that is asked; None when none is known.
        """
        ...

    async def moved(
        self, turn: Turn, before: Sequence[Turn], start: int, *, reader: Reader | None, room: int | None = None
    ) -> WindowOpening:
        """The opening at this start, which was found because the window did not fit.

        Args:
            room: the most tokens that the window may have, where the provider told that.
        """
        ...


@dataclass(frozen=True, slots=True)
class SegmentOpener:
    """Lets closed segments leave where the history's cache is gone anyway, with summaries in their place.

    Args:
        store: the conversation's turns and summaries are read from here.
        clock: tells the person's zone; what time it is, the turn says.
        conversation: the conversation's name.
    """

    store: ConversationStore
    clock: Clock
    conversation: str

    async def opening(
        self, turn: Turn, before: Sequence[Turn], stored: WindowOpening, *, reader: Reader | None
    ) -> WindowOpening:
        last = last_sent(before)
        if last is None or not is_natural_break(
            last,
            now=turn.asked_at,
            between=asked_since(last, before),
            new_segment=last.segment != turn.segment,
            model=None if reader is None else reader.name,
            profile=None if reader is None else reader.profile,
            window_start=stored.start,
        ):
            return stored
        carry_over = _share(CARRY_OVER, context_limit(reader), _SHARE_OF_CARRY_OVER)
        start = collapsed_start(before, start=stored.start, segment=turn.segment, carry_over=carry_over)
        return stored if start is None else await self.moved(turn, before, start, reader=reader)

    async def moved(
        self, turn: Turn, before: Sequence[Turn], start: int, *, reader: Reader | None, room: int | None = None
    ) -> WindowOpening:
        segments = await self.store.segments(self.conversation, before=turn.number)
        gone = [segment for segment in segments if segment.first < start]
        extracts = await self._extracts(gone[-_MOST_SUMMARIES:], turn, before, start)
        earlier = [_earlier(segment, extracts.get(segment.number), turn, start) for segment in gone]
        budget = _share(SUMMARY_BUDGET, context_limit(reader) if room is None else room, _SHARE_OF_SUMMARIES)
        return WindowOpening(start, earlier_segments(earlier, self.clock.zone, budget=budget))

    async def _extracts(
        self, segments: Sequence[Segment], turn: Turn, before: Sequence[Turn], start: int
    ) -> Mapping[int, tuple[Extract, datetime] | None]:
        """Extracts of those of the segments that nobody has summarised, and of the part that left of the present one,
        each with the moment at which it ends.
        """
        bare = [segment for segment in segments if segment.summary is None or segment.number == turn.segment]
        if not bare:
            return {}
        since = min(segment.first for segment in bare)
        known = before
        if not before or before[0].number > since:
            known = await self.store.turns(self.conversation, since=since, until=turn.number - 1)
        found: dict[int, tuple[Extract, datetime] | None] = {}
        for segment in bare:
            end = start if segment.number == turn.segment else segment.last + 1
            said = [item for item in map(settled, known) if item.state.counts]
            own = [item for item in said if item.segment == segment.number and item.number < end]
            made = extract(own)
            found[segment.number] = None if made is None else (made, own[-1].answered_at or own[-1].asked_at)
        return found


def asked_since(last: Turn, turns: Sequence[Turn]) -> tuple[datetime, ...]:
    """When the messages behind the newest answered turn were sent, which got no answer."""
    return tuple(turn.asked_at for turn in turns if turn.number > last.number)


def _earlier(segment: Segment, made: tuple[Extract, datetime] | None, turn: Turn, start: int) -> Earlier:
    is_present = segment.number == turn.segment
    if segment.summary is not None and not is_present:
        title, text, is_extract = segment.summary.title, segment.summary.text, not segment.summary.author
    else:
        title, text, is_extract = segment.title, "", True
        if made is not None:
            title, text = made[0].title, made[0].text
    return Earlier(
        number=segment.number,
        since=segment.started_at,
        until=made[1] if is_present and made is not None else segment.ended_at,
        title=title,
        text=text,
        is_extract=is_extract,
        is_whole=segment.last < start,
    )


def context_limit(reader: Reader | None) -> int | None:
    """The most tokens that the model's context has; None where nobody knows it."""
    return None if reader is None else reader.context_limit


def _share(tokens: int, limit: int | None, share: int) -> int:
    """These tokens, or less for a model whose context is small."""
    return tokens if limit is None else min(tokens, limit // share)
