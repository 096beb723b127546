"""A request log read row by row: which rows are of one conversation, and what was said in it.

Pure; takes values, not files. Of a conversation it holds what was said once, however often it was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from frontmind.cachelab.trace_rows import BrokenRow, LeftOut, Row, read_row, used_provider_tools
from frontmind.cachelab.trace_sections import split_requests
from frontmind.cachelab.trace_turns import TurnsOfRequests
from frontmind.cachelab.traces import Assumption, Moments, RecordedCall, Recording, Stretch
from frontmind.continuum.exports.value import Problem
from frontmind.providers.decoding.reply import DecodedRequest
from frontmind.providers.estimate import calibrate
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text
from frontmind.values.tool import AnyTool
from frontmind.window.layout import Block, take_apart

# A conversation that is looked for further back than this is none that anybody still holds.
_LOOK_BACK: Final = 50


@dataclass(slots=True)
class _Held:
    """A conversation while its rows are read."""

    key: str
    name: str
    rows: list[tuple[str, Row]] = field(default_factory=list)
    moments: list[datetime] = field(default_factory=list)
    clock: Moments | None = None

    @property
    def last(self) -> Row:
        return self.rows[-1][1]


class RequestLog:
    """Takes value after value of a request log.

    Args:
        problems: takes in what cannot be, with the line that says it and what to do.
        begin: the moment of a first row that has none; aware.

    Attributes:
        left_out: for each reason how many rows are no calls of a model that can be replayed.
    """

    def __init__(self, problems: list[Problem], *, begin: datetime) -> None:
        self._begin = begin
        self._held: list[_Held] = []
        self._messages: dict[Message, Message] = {}
        self._blocks: dict[Block, Block] = {}
        self._words = _Words()
        self._named: dict[str, int] = {}
        self.problems = problems
        self.left_out: dict[str, int] = {}

    def read(self, place: str, value: Any) -> None:
        """Read one row.

        Args:
            place: where it stands, such as ``line 12``.
        """
        try:
            row = read_row(value)
        except BrokenRow as error:
            self.problems.append(Problem(place, str(error)))
            return
        except LeftOut as error:
            self.left_out[str(error)] = self.left_out.get(str(error), 0) + 1
            return
        self.problems += (Problem(place, fault) for fault in row.faults)
        row = self._shared(row)
        held = self._find(row)
        clock = held.clock or Moments(self._begin)
        held.clock = clock
        at, goes_back = clock.next(row.at)
        if goes_back:
            why = "its time lies before that of the request in front of it; bring the rows into the order of their time"
            self.problems.append(Problem(place, why))
        held.moments.append(at)
        held.rows.append((place, row))

    def recordings(self) -> Iterator[Recording]:
        """The conversations, in the order in which they begin. Each is let go of once it was given."""
        while self._held:
            yield _recording(self._held.pop(0))

    def _shared(self, row: Row) -> Row:
        """The row, what it has in common with others kept once."""
        messages = tuple(self._messages.setdefault(message, message) for message in row.decoded.messages)
        blocks = tuple(self._blocks.setdefault(block, block) for block in row.layout.blocks)
        return replace(row, decoded=replace(row.decoded, messages=messages), layout=replace(row.layout, blocks=blocks))

    def _find(self, row: Row) -> _Held:
        """The conversation that the row goes on from, or a new one."""
        there = set(self._words.said(row))
        for held in reversed(self._held[-_LOOK_BACK:]):
            is_alike = held.key == row.conversation and held.last.layout.wire == row.layout.wire
            if is_alike and self._words.goes_on(held.last, there):
                return held
        same = self._named[row.conversation] = self._named.get(row.conversation, 0) + 1
        name = row.conversation or f"conversation {len(self._held) + 1}"
        held = _Held(row.conversation, f"{name} ({same})" if row.conversation and same > 1 else name)
        self._held.append(held)
        return held


class _Words:
    """What requests say outside of notification centers, piece by piece; worked out once for each text."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def goes_on(self, earlier: Row, there: set[str]) -> bool:
        """Whether a request that says this has most of what the earlier one says, or asks its question."""
        said = self.said(earlier)
        kept = sum(words in there for words in said)
        # What passes with the turn stands at the end, and may be all that is gone.
        return bool(said) and (2 * kept >= len(said) or said[-1] in there)

    def said(self, row: Row) -> list[str]:
        """The pieces in their order."""
        parts = (part for message in row.decoded.messages for part in message.parts)
        return [words for part in parts if isinstance(part, Text) for words in self._pieces(part.text)]

    def _pieces(self, text: str) -> tuple[str, ...]:
        if text not in self._known:
            pieces = (piece for piece in take_apart(text, elements=False) if not piece.in_center)
            self._known[text] = tuple(words for piece in pieces if (words := piece.text.strip()))
        return self._known[text]


def _recording(held: _Held) -> Recording:
    rows = [row for _, row in held.rows]
    told = split_requests([row.decoded for row in rows], rows[0].layout.wire)
    turns = TurnsOfRequests(held.name)
    tools: tuple[AnyTool, ...] = ()
    calls: list[RecordedCall] = []
    for (place, row), one, at, is_sum in zip(held.rows, told, held.moments, _are_sums(rows), strict=True):
        tools = _distinct(row.decoded, tools)
        if turns.add(one, tools, at):
            layout = row.layout
            calls.append(RecordedCall(place, layout.provider, layout.model, at, row.usage, layout, is_sum))
    if rows[-1].reply is not None:
        turns.answered(rows[-1].reply)
    counted = [
        (sum(block.tokens for block in call.layout.blocks), call.counted.input)
        for call in calls
        if call.layout is not None and call.counted is not None
    ]
    stretches = turns.stretches()
    return Recording(
        held.name,
        tuple(calls),
        stretches,
        calibrate(counted).factor,
        tuple(_assumptions(held, turns, stretches, calls)),
    )


def _are_sums(rows: Sequence[Row]) -> list[bool]:
    """For each row, whether its figures are those of several calls inside of the provider."""
    sums = [row.is_sum for row in rows]
    for index, later in enumerate(rows[1:]):
        # The reply stands in the next request, as its newest message of the assistant.
        newest = next((said for said in reversed(later.decoded.messages) if said.role is Role.ASSISTANT), None)
        sums[index] = sums[index] or (newest is not None and used_provider_tools(newest))
    return sums


def _distinct(request: DecodedRequest, before: tuple[AnyTool, ...]) -> tuple[AnyTool, ...]:
    """The tools, each name once; those of the request before where they are the same."""
    tools = tuple({tool.name: tool for tool in request.tools}.values())
    return before if tools == before else tools


def _assumptions(
    held: _Held, turns: TurnsOfRequests, stretches: Sequence[Stretch], calls: Sequence[RecordedCall]
) -> Iterator[Assumption]:
    if held.clock is not None:
        yield from held.clock.assumptions()
    missing = sum(call.usage is None for call in calls)
    if missing:
        yield Assumption("no figures of the provider: sized as the others are, or by estimate", missing)
    sums = sum(call.is_sum for call in calls)
    if sums:
        yield Assumption("figures that sum several calls inside of the provider: sized as the others are", sums)
    if turns.repeated:
        yield Assumption("sent again inside of a turn: counted once", turns.repeated)
    if turns.rewritten:
        yield Assumption("says earlier messages in other words: taken as they were said first", turns.rewritten)
    begun = sum(1 for stretch in stretches if stretch.given)
    if begun:
        yield Assumption("begins with what was said before, which stands in front as it is", begun)
