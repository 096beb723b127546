"""A recorded conversation as it is replayed: the calls as they were made, and what was said as sessions.

Values only. Knows no file and no format; whoever reads one makes these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from frontmind.cachelab.session import Session
from frontmind.values.message import Message
from frontmind.values.section import PLACEMENT_NOTIFICATION
from frontmind.values.usage import Usage
from frontmind.window.layout import Layout

UNTIMED: Final = timedelta(minutes=1)
"""How long after the call before it a call is taken to be that has no moment of its own."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call of a model as somebody recorded it.

    Attributes:
        place: where it stands in the recording, such as ``line 12``.
        provider: whom it went to, as in the name of a model.
        model: the provider's name of the model.
        usage: what the provider counted; None where the recording does not say it, or not usably.
        layout: the request as it was sent; None where the recording has none.
        is_sum: whether the figures are those of several calls that the provider made by itself for this one.
    """

    place: str
    provider: str
    model: str
    at: datetime
    usage: Usage | None
    layout: Layout | None = None
    is_sum: bool = False

    @property
    def counted(self) -> Usage | None:
        """What the provider counted of this one prompt; None where nobody knows."""
        return None if self.is_sum else self.usage


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a conversation in which nothing that had been said was rewritten.

    Attributes:
        given: the messages that stood in front when the recording began; whole exchanges.
        counted: the turn and the step of each call that the recording has; others of the session are played and not
            counted.
    """

    session: Session
    given: tuple[Message, ...] = ()
    counted: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that was taken to be so, because the recording does not tell.

    Attributes:
        text: one line, without the number.
        count: of how many calls or turns; 0 where it is of all.
    """

    text: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded conversation.

    Attributes:
        name: what the recording calls it, or its number.
        calls: in the order in which they were made.
        stretches: what was said, for replaying it in other layouts.
        factor: what estimated sizes are multiplied with to be those that the provider counted.
        assumptions: what was taken to be so, because the recording does not tell.
    """

    name: str
    calls: tuple[RecordedCall, ...]
    stretches: tuple[Stretch, ...]
    factor: float = 1.0
    assumptions: tuple[Assumption, ...] = ()


@dataclass(slots=True)
class Moments:
    """The moments of the calls of one conversation, each no earlier than the one before it.

    Attributes:
        last: that of the newest call; None before the first.
        missing: how many calls had none.
    """

    begin: datetime
    last: datetime | None = None
    missing: int = 0

    def next(self, at: datetime | None) -> tuple[datetime, bool]:
        """The moment of the next call, and whether the one that the recording gives lies before the call in front."""
        goes_back = at is not None and self.last is not None and at < self.last
        if at is None:
            self.missing += 1
            at = self.begin if self.last is None else self.last + UNTIMED
        elif goes_back and self.last is not None:
            at = self.last
        self.last = at
        return at, goes_back

    def assumptions(self) -> list[Assumption]:
        """What was taken to be so of the moments."""
        return (
            [Assumption("no time: taken to come a minute after the call before", self.missing)] if self.missing else []
        )


def section_names(recording: Recording) -> list[str]:
    """The names of the sections that change, in the order in which they come first."""
    turns = [turn for stretch in recording.stretches for turn in stretch.session.turns]
    listed = [section for turn in turns for section in turn.sections]
    listed += [section for turn in turns for step in turn.steps for section in step.changed]
    return list(dict.fromkeys(item.name for item in listed if item.placement == PLACEMENT_NOTIFICATION))


def models_of(recordings: Sequence[Recording]) -> list[tuple[str, str]]:
    """Provider and model of the calls, each once, in the order in which they come first."""
    return list(dict.fromkeys((call.provider, call.model) for recording in recordings for call in recording.calls))
