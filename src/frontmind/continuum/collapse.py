"""When older segments leave the window, how many do, and what stands for them then. Pure.

Leaving rewrites the start of the history and so costs all of it that is cached. Therefore closed segments leave
together and only where nothing is cached any more; whether that is so, the caller knows. What stands for them is one
text that does not change until segments leave again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Final

from frontmind.continuum.history import settled
from frontmind.trinkets.budget import OMITTED
from frontmind.trinkets.markup import Element, render
from frontmind.values.records import Turn, TurnState
from frontmind.values.tokens import estimate_tokens
from frontmind.window.blocks import message_text

EARLIER_SEGMENTS: Final = "earlier_segments"
"""The name of the element that stands for what is no longer sent."""

CARRY_OVER: Final = 2000
"""The most tokens of closed segments that stay: whoever comes back from lunch goes on with the morning's end."""

LEAST_LEAVING: Final = 1000
"""With fewer tokens than this nothing leaves: a summary would be hardly shorter."""

SUMMARY_BUDGET: Final = 1500
"""The most tokens of the text that stands for what is no longer sent."""

_NOTE: Final = (
    "What was said before this point is not sent word for word any more; conversation_manifest lists it, and search "
    "finds it. extract: sentences of it as they were said."
)


@dataclass(frozen=True, slots=True)
class Earlier:
    """A stretch of the conversation that is not sent any more, and what is said of it.

    Attributes:
        number: of its segment.
        since, until: when its first and its last message were stored.
        is_extract: whether title and text are what was said, and not what a model wrote of it.
        is_whole: whether all of the segment has left.
    """

    number: int
    since: datetime
    until: datetime
    title: str
    text: str
    is_extract: bool
    is_whole: bool


def collapsed_start(
    turns: Sequence[Turn], *, start: int, segment: int, carry_over: int = CARRY_OVER, least: int = LEAST_LEAVING
) -> int | None:
    """The number of the first turn that stays when the closed segments leave.

    The newest closed segments stay as far as they fit into the carry-over, whole; of a newest one that does not fit,
    its end does.

    Args:
        turns: those in front of the turn that asks, by number.
        start: the number of the first turn that is sent now.
        segment: the number of the segment of the turn that asks.
        carry_over: in tokens.
        least: how many tokens have to leave, at least.

    Returns:
        A number larger than ``start``, right behind an answered turn; None when nothing leaves.
    """
    answered = [turn for turn in map(settled, turns) if turn.number >= start and turn.state is TurnState.DONE]
    closed = [turn for turn in answered if turn.segment < segment]
    sizes = [turn_tokens(turn) for turn in closed]
    leaving = len(closed)
    room = carry_over
    for index in range(len(closed) - 1, -1, -1):
        room -= sizes[index]
        if room < 0:
            break
        begins = index == 0 or closed[index - 1].segment < closed[index].segment
        # The end of the newest one stays also where its beginning does not.
        if begins or closed[index].segment == closed[-1].segment:
            leaving = index
    if sum(sizes[:leaving]) <= least:
        return None
    return closed[leaving - 1].number + 1


def left_segments(turns: Sequence[Turn], first: int, start: int) -> tuple[int, ...]:
    """The numbers of the segments whose last answered turn leaves when the window no longer begins at ``first``."""
    answered = [turn for turn in map(settled, turns) if turn.state is TurnState.DONE]
    last = {turn.segment: turn.number for turn in answered}
    return tuple(segment for segment, number in last.items() if first <= number < start)


def turn_tokens(turn: Turn) -> int:
    """About how many tokens the messages of an answered turn have."""
    steps = [message for step in turn.steps for message in (step.said, step.results)]
    messages = (turn.user, *steps, turn.reply)
    return sum(estimate_tokens(message_text(message)) for message in messages if message is not None)


def earlier_segments(earlier: Sequence[Earlier], zone: tzinfo, *, budget: int = SUMMARY_BUDGET) -> str:
    """What stands for these stretches (by number): the newest with their summaries, as many as the budget holds, and
    how many there were before them. Empty where there are none.

    Args:
        zone: the person's, for the times.
        budget: in tokens.
    """
    if not earlier:
        return ""
    shown: list[Element] = []
    for item in reversed(earlier):
        element = _element(item, zone)
        if _tokens([*shown, element], len(earlier) - len(shown) - 1) > budget:
            break
        shown.append(element)
    if not shown:
        # Of a newest one that is too long its title is better than nothing.
        bare = _element(replace(earlier[-1], text=""), zone)
        shown = [bare] if _tokens([bare], len(earlier) - 1) <= budget else []
    return _rendered(shown[::-1], len(earlier) - len(shown))


def _tokens(shown: Sequence[Element], older: int) -> int:
    return estimate_tokens(_rendered(shown, older))


def _rendered(shown: Sequence[Element], older: int) -> str:
    count = [Element(OMITTED, f"{older} earlier")] if older else []
    return render(Element(EARLIER_SEGMENTS, (*count, *shown), {"note": _NOTE}))


def _element(item: Earlier, zone: tzinfo) -> Element:
    attributes = {
        "number": str(item.number),
        "from": f"{item.since.astimezone(zone):%Y-%m-%d %H:%M}",
        "to": f"{item.until.astimezone(zone):%Y-%m-%d %H:%M}",
        "title": item.title,
    }
    attributes |= {"extract": "true"} if item.is_extract else {}
    attributes |= {} if item.is_whole else {"still_sent": "its end"}
    return Element("segment", item.text, attributes)
