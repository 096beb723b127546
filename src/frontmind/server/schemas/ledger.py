"""The ledger as the API gives it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo
from enum import StrEnum

from pydantic import BaseModel

from frontmind.assistant.cache_watch import is_large
from frontmind.cachelab.ledger import Amount, Grouping, Row, Sums, rows_by, sum_calls
from frontmind.cachelab.token_prices import token_prices
from frontmind.server.schemas.texts import Shown
from frontmind.server.schemas.usage import dollars
from frontmind.values.calls import Call


class LedgerBy(StrEnum):
    """What makes a row of the ledger."""

    MODEL = "model"
    DAY = "day"
    CONVERSATION = "conversation"
    TRINKET = "trinket"
    LAYOUT = "layout"


class LedgerRow(BaseModel):
    """Calls together.

    Attributes:
        key: what they have in common; of a trinket also the part of the prompt that no trinket wrote. Empty for all.
        input, cached, written, fresh, output: tokens of the calls that have ended.
        cost: in US dollars; null where no price is known.
        full_price: what the same would have cost without a cache.
        saved: the second less the first; negative where the cache cost more.
        misses: in how many calls so much less was read from the cache than could have been that one should know; of a
            trinket or part, in how many because of it.
    """

    key: Shown
    calls: int
    input: int
    cached: int
    written: int
    fresh: int
    output: int
    cost: str | None
    full_price: str | None
    saved: str | None
    misses: int


class Ledger(BaseModel):
    """The rows, and all of them together."""

    rows: list[LedgerRow]
    total: LedgerRow


def ledger_reply(by: LedgerBy, calls: Sequence[Call], zone: tzinfo) -> Ledger:
    """The rows of these calls: days in their order, others by the tokens of their prompts.

    Args:
        calls: in the order in which they were sent.
        zone: where the days begin and end.
    """
    rows = _trinket_rows(calls, zone) if by is LedgerBy.TRINKET else _rows(by, calls, zone)
    return Ledger(rows=rows, total=_row("", sum_calls(calls), _misses(calls)))


def _rows(by: LedgerBy, calls: Sequence[Call], zone: tzinfo) -> list[LedgerRow]:
    grouped: dict[str, list[Call]] = {}
    for call in calls:
        grouped.setdefault(_key(by, call, zone), []).append(call)
    rows = [_row(key, sum_calls(own), _misses(own)) for key, own in grouped.items()]
    return rows if by is LedgerBy.DAY else sorted(rows, key=lambda row: (-row.input, row.key))


def _key(by: LedgerBy, call: Call, zone: tzinfo) -> str:
    match by:
        case LedgerBy.MODEL:
            return call.new.model
        case LedgerBy.DAY:
            return call.new.sent_at.astimezone(zone).date().isoformat()
        case LedgerBy.CONVERSATION:
            return call.new.conversation
        case _:
            return call.new.layout


def _trinket_rows(calls: Sequence[Call], zone: tzinfo) -> list[LedgerRow]:
    misses = Counter(
        _trinket_key(row)
        for call in calls
        if _misses([call])
        for row in rows_by(Grouping.TRINKET, [call], zone)
        if row.sums.lost
    )
    rows = rows_by(Grouping.TRINKET, calls, zone, token_prices)
    return [_row(_trinket_key(row), row.sums, misses[_trinket_key(row)]) for row in rows]


def _trinket_key(row: Row) -> str:
    """The trinket, or the part of the prompt that none wrote."""
    return next((str(label) for label in row.labels if label), "")


def _misses(calls: Sequence[Call]) -> int:
    return sum(call.end is not None and is_large(call.end.verdict, call.end.usage.input) for call in calls)


def _row(key: str, sums: Sums, misses: int) -> LedgerRow:
    return LedgerRow(
        key=key,
        calls=sums.calls,
        input=sums.input or 0,
        cached=sums.read or 0,
        written=sums.written or 0,
        fresh=sums.fresh or 0,
        output=sums.output or 0,
        cost=_money(sums.cost),
        full_price=_money(sums.full_price),
        saved=_money(sums.saved),
        misses=misses,
    )


def _money(amount: Amount) -> str | None:
    return dollars(amount.dollars)
