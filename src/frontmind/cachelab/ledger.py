"""The ledger in figures: calls summed by turn, conversation, day, model, trinket, or one by one.

Pure. Knows no store, no price list and no terminal; `ledger_rows` spells the rows for programs and spreadsheets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeAlias

from frontmind.values.calls import Call, CallEnd, CallPart, Cause

_MONEY_STEP: Final = Decimal("1e-12")
"""What a cost is divided down to: far below any price of a token, and short enough to read."""

REPLY: Final = "reply"
NOT_ATTRIBUTED: Final = "not attributed"


class Grouping(StrEnum):
    """What makes a row of the ledger."""

    TURN = "turn"
    CONVERSATION = "conversation"
    DAY = "day"
    TRINKET = "trinket"
    MODEL = "model"
    CALL = "call"


LABELS: Final[Mapping[Grouping, tuple[str, ...]]] = {
    Grouping.TURN: ("conversation", "turn", "purpose"),
    Grouping.CONVERSATION: ("conversation",),
    Grouping.DAY: ("day",),
    Grouping.TRINKET: ("trinket", "part"),
    Grouping.MODEL: ("model",),
    Grouping.CALL: ("call", "sent_at", "conversation", "turn", "step", "purpose", "model", "layout"),
}
"""What the labels of a row are, in their order."""

_IN_TIME: Final = frozenset((Grouping.TURN, Grouping.DAY, Grouping.CALL))


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """What a token of each kind costs, in any unit: a call's cost is divided by how these stand to each other."""

    read: Decimal
    written: Decimal
    fresh: Decimal
    output: Decimal


PricesOf: TypeAlias = Callable[[str], TokenPrices | None]
"""From a model's full name to what its tokens cost; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Amount:
    """US dollars of several calls.

    Attributes:
        dollars: the sum of those that are known; None where none is.
        unknown: how many calls there are whose amount is not known.
    """

    dollars: Decimal | None
    unknown: int


@dataclass(frozen=True, slots=True)
class Sums:
    """Calls together. Tokens are those of calls that have ended; what a call without an end took is not known.

    Attributes:
        calls: how many, those without an end included.
        broken_off: how many have no end: they broke off, or still run.
        input, read, written, fresh, output: tokens; None where no call has ended.
        estimated: whether one of the figures is an estimate.
        expected_read: what the rules said would be read; None where they said nothing of any call.
        foretold: of how many ended calls they said something.
        behind: by how many tokens less was read than expected, in the calls where it was less.
        cost: what was paid.
        full_price: what the same tokens would have cost without a cache.
        saved: the second less the first, of the calls of which both are known; negative where the cache cost more.
        lost: tokens that were processed again, by cause, the most first.
    """

    calls: int
    broken_off: int
    input: int | None
    read: int | None
    written: int | None
    fresh: int | None
    output: int | None
    estimated: bool
    expected_read: int | None
    foretold: int
    behind: int
    cost: Amount
    full_price: Amount
    saved: Amount
    lost: tuple[tuple[Cause, int], ...]

    @property
    def hit_share(self) -> float | None:
        """The share of the prompt that was read from the cache, from 0 to 1; None where there was no prompt."""
        return self.read / self.input if self.input and self.read is not None else None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the ledger.

    Attributes:
        labels: what it is of, in the order of `LABELS`; others wrote some of it.
        sums: its calls together.
        last: the id of the newest of its calls.
        call: the call itself, where each is a row.
    """

    labels: tuple[str | int, ...]
    sums: Sums
    last: int
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    """A call, or what one of its parts has of it."""

    call: Call
    input: int = 0
    read: int = 0
    written: int = 0
    fresh: int = 0
    output: int = 0
    expected: int | None = None
    cost: Decimal | None = None
    full_price: Decimal | None = None
    lost: int = 0


def sum_calls(calls: Sequence[Call]) -> Sums:
    """All of the calls together."""
    return _sums([_whole(call) for call in calls])


def rows_by(
    grouping: Grouping, calls: Sequence[Call], zone: tzinfo, prices_of: PricesOf = lambda model: None
) -> Sequence[Row]:
    """The rows: turns, days and calls in the order of their first call, others by the tokens of their prompts.

    Args:
        calls: in the order in which they were sent.
        zone: where the days begin and end.
        prices_of: divides the cost of a call among the trinkets; nothing else asks it.
    """
    found: dict[tuple[str | int, ...], list[_Entry]] = {}
    for call in calls:
        for labels, entry in _labelled(grouping, call, zone, prices_of):
            found.setdefault(labels, []).append(entry)
    rows = [
        Row(
            labels,
            _sums(entries),
            max(entry.call.id for entry in entries),
            entries[0].call if grouping is Grouping.CALL else None,
        )
        for labels, entries in found.items()
    ]
    if grouping in _IN_TIME:
        return rows
    return sorted(rows, key=lambda row: (-(row.sums.input or 0), [str(label) for label in row.labels]))


def newest_rows(rows: Sequence[Row], count: int) -> Sequence[Row]:
    """So many rows, those with the newest calls, in the order in which they were."""
    kept = sorted(range(len(rows)), key=lambda index: (rows[index].last, index))[max(len(rows) - count, 0) :]
    return [rows[index] for index in sorted(kept)]


def _labelled(
    grouping: Grouping, call: Call, zone: tzinfo, prices_of: PricesOf
) -> Iterator[tuple[tuple[str | int, ...], _Entry]]:
    new = call.new
    sent_at = new.sent_at.astimezone(zone)
    match grouping:
        case Grouping.TURN:
            yield (new.conversation, new.turn, new.purpose.value), _whole(call)
        case Grouping.CONVERSATION:
            yield (new.conversation,), _whole(call)
        case Grouping.DAY:
            yield (sent_at.date().isoformat(),), _whole(call)
        case Grouping.MODEL:
            yield (new.model,), _whole(call)
        case Grouping.CALL:
            moment = sent_at.isoformat(timespec="seconds")
            where = (new.conversation, new.turn, new.step, new.purpose.value, new.model, new.layout)
            yield (call.id, moment, *where), _whole(call)
        case Grouping.TRINKET:
            yield from _divided(call, prices_of)


def _whole(call: Call) -> _Entry:
    end = call.end
    if end is None:
        return _Entry(call)
    return _Entry(
        call,
        input=end.usage.input,
        read=end.usage.cached,
        written=end.usage.written,
        fresh=end.usage.fresh,
        output=end.usage.output,
        expected=None if call.new.expected is None else call.new.expected.cached,
        cost=end.cost,
        full_price=end.full_price,
        lost=0 if end.verdict.cause is Cause.NOTHING else end.verdict.tokens,
    )


def _divided(call: Call, prices_of: PricesOf) -> Iterator[tuple[tuple[str, str], _Entry]]:
    """The parts of a call with what each has of its tokens and its cost, the reply, and what no part names."""
    end = call.end
    if end is None:
        yield ("", NOT_ATTRIBUTED), _Entry(call)
        return
    parts = [*end.parts, *_rest(end)]
    outputs = [0] * len(parts)
    if end.usage.output:
        parts.append(CallPart(REPLY, "", 0, 0, 0))
        outputs.append(end.usage.output)
    prices = prices_of(call.new.model)
    costs = _shares_of(end.cost, _weights(parts, outputs, prices), len(parts))
    full_prices = _shares_of(end.full_price, _weights(parts, outputs, prices, cached=False), len(parts))
    moved = _moved(end)
    # Where a provider counts tokens as read and written both, the two lie over each other in each part.
    apart = end.usage.cached + end.usage.written <= end.usage.input
    for number, (part, output) in enumerate(zip(parts, outputs, strict=True)):
        yield (
            (part.trinket, "" if part.trinket else part.name),
            _Entry(
                call,
                input=part.fresh + (part.read + part.written if apart else max(part.read, part.written)),
                read=part.read,
                written=part.written,
                fresh=part.fresh,
                output=output,
                cost=costs[number],
                full_price=full_prices[number],
                lost=end.verdict.tokens if number == moved else 0,
            ),
        )


def _rest(end: CallEnd) -> list[CallPart]:
    """What the parts leave of the call's tokens; usually nothing."""
    rest = CallPart(
        NOT_ATTRIBUTED,
        "",
        max(end.usage.cached - sum(part.read for part in end.parts), 0),
        max(end.usage.written - sum(part.written for part in end.parts), 0),
        max(end.usage.fresh - sum(part.fresh for part in end.parts), 0),
    )
    return [rest] if rest.read or rest.written or rest.fresh else []


def _moved(end: CallEnd) -> int | None:
    """The index of the part at which the verdict places the first difference."""
    if end.verdict.cause is Cause.NOTHING or not end.verdict.place:
        return None
    named = [index for index, part in enumerate(end.parts) if end.verdict.place.endswith(f"({part.name})")]
    return named[0] if named else None


def _weights(
    parts: Sequence[CallPart], outputs: Sequence[int], prices: TokenPrices | None, *, cached: bool = True
) -> list[Decimal] | None:
    if prices is None:
        return None
    read, written = (prices.read, prices.written) if cached else (prices.fresh, prices.fresh)
    return [
        part.read * read + part.written * written + part.fresh * prices.fresh + output * prices.output
        for part, output in zip(parts, outputs, strict=True)
    ]


def _shares_of(amount: Decimal | None, weights: list[Decimal] | None, count: int) -> Sequence[Decimal | None]:
    """The amount divided by weight, so that the sum stays the amount; unknown where it cannot be divided."""
    total = sum(weights or (), Decimal(0))
    if weights is None or amount is None or not total:
        return [None] * count
    shares = [(amount * weight / total).quantize(_MONEY_STEP) for weight in weights]
    shares[weights.index(max(weights))] += amount - sum(shares)
    return shares


def _sums(entries: Sequence[_Entry]) -> Sums:
    calls = {entry.call.id: entry.call for entry in entries}
    ended = [entry for entry in entries if entry.call.end is not None]
    foretold = [(entry, entry.expected) for entry in ended if entry.expected is not None]
    lost: dict[Cause, int] = {}
    for entry in ended:
        if entry.lost and entry.call.end is not None:
            cause = entry.call.end.verdict.cause
            lost[cause] = lost.get(cause, 0) + entry.lost
    return Sums(
        calls=len(calls),
        broken_off=sum(call.end is None for call in calls.values()),
        input=sum(entry.input for entry in ended) if ended else None,
        read=sum(entry.read for entry in ended) if ended else None,
        written=sum(entry.written for entry in ended) if ended else None,
        fresh=sum(entry.fresh for entry in ended) if ended else None,
        output=sum(entry.output for entry in ended) if ended else None,
        estimated=any(call.end is not None and call.end.usage.estimated for call in calls.values()),
        expected_read=sum(expected for _, expected in foretold) if foretold else None,
        foretold=len(foretold),
        behind=sum(max(expected - entry.read, 0) for entry, expected in foretold),
        cost=_amount(entries, lambda entry: entry.cost),
        full_price=_amount(entries, lambda entry: entry.full_price),
        saved=_amount(entries, _saved),
        lost=tuple(sorted(lost.items(), key=lambda item: (-item[1], item[0].value))),
    )


def _saved(entry: _Entry) -> Decimal | None:
    return None if entry.cost is None or entry.full_price is None else entry.full_price - entry.cost


def _amount(entries: Sequence[_Entry], amount_of: Callable[[_Entry], Decimal | None]) -> Amount:
    found = [amount_of(entry) for entry in entries]
    known = [amount for amount in found if amount is not None]
    unknown = {entry.call.id for entry, amount in zip(entries, found, strict=True) if amount is None}
    return Amount(sum(known, Decimal(0)) if known else None, len(unknown))
