"""The ledger: every call of a model, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple
from datetime import datetime
from decimal import Decimal, DecimalException
from typing import Final

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import (
    StoredText,
    decoding,
    from_json,
    from_moment,
    from_text,
    from_usage,
    to_json,
    to_moment,
    to_text,
    to_usage,
)
from frontmind.values.calls import CacheVerdict, Call, CallEnd, CallPart, Cause, NewCall, Purpose
from frontmind.values.usage import Usage

_ALL: Final = -1
_MOST_MONEY: Final = Decimal(10) ** 12
_PLACES: Final = 40


def begin_call(connection: sqlite3.Connection, owner: StoredText, call: NewCall) -> int:
    """Note a call that is about to be sent; its id."""
    inserted = connection.execute(
        """
        INSERT INTO calls (owner, conversation, turn, step, purpose, model, layout, request, sent_at, expected)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            owner,
            to_text(call.conversation),
            call.turn,
            call.step,
            call.purpose.value,
            to_text(call.model),
            to_text(call.layout),
            to_text(call.request),
            to_moment(call.sent_at),
            None if call.expected is None else to_usage(call.expected),
        ),
    )
    return int(inserted.lastrowid or 0)


def finish_call(connection: sqlite3.Connection, owner: StoredText, call_id: int, end: CallEnd) -> None:
    """Note how a call ended, unless that is noted already.

    Raises:
        UsageError: there is no such call, or an amount of money is no finite number.
    """
    verdict = end.verdict
    changed = connection.execute(
        """
        UPDATE calls SET ended_at = ?, usage = ?, cost = ?, full_price = ?, cause = ?, lost_tokens = ?, reason = ?,
            place = ?, text_before = ?, text_after = ?, diagnosis = ?, parts = ?
        WHERE id = ? AND owner = ? AND ended_at IS NULL
        """,
        (
            to_moment(end.ended_at),
            to_usage(end.usage),
            _to_money(end.cost),
            _to_money(end.full_price),
            verdict.cause.value,
            verdict.tokens,
            *(to_text(text) for text in (verdict.reason, verdict.place, verdict.before, verdict.after, end.diagnosis)),
            to_json([list(astuple(part)) for part in end.parts]),
            call_id,
            owner,
        ),
    )
    if changed.rowcount:
        return
    if connection.execute("SELECT 1 FROM calls WHERE id = ? AND owner = ?", (call_id, owner)).fetchone() is None:
        raise UsageError(f"the ledger has no call {call_id}; pass the id that begin_call gave")


def calls(
    connection: sqlite3.Connection,
    owner: StoredText,
    conversation: str | None,
    since: datetime | None,
    until: datetime | None,
    newest: int | None,
) -> Sequence[Call]:
    """The calls in the order in which they were begun, which no clock that is set back changes."""
    # Only what is asked for is a condition: the newest calls of a conversation are then read from the end of its index,
    # however long it is.
    chosen: list[tuple[str, StoredText]] = [("owner = ?", owner)]
    if conversation is not None:
        chosen.append(("conversation = ?", to_text(conversation)))
    if since is not None:
        chosen.append(("sent_at >= ?", to_moment(since)))
    if until is not None:
        chosen.append(("sent_at < ?", to_moment(until)))
    conditions = " AND ".join(condition for condition, _ in chosen)
    rows = connection.execute(
        f"SELECT * FROM calls WHERE {conditions} ORDER BY id DESC LIMIT ?",
        (*(value for _, value in chosen), _ALL if newest is None else max(newest, 0)),
    ).fetchall()
    return [_call(row) for row in reversed(rows)]


@decoding("a call of the ledger")
def _call(row: sqlite3.Row) -> Call:
    new = NewCall(
        conversation=from_text(row["conversation"]),
        turn=row["turn"],
        step=row["step"],
        purpose=Purpose(row["purpose"]),
        model=from_text(row["model"]),
        layout=from_text(row["layout"]),
        request=from_text(row["request"]),
        sent_at=from_moment(row["sent_at"]),
        expected=None if row["expected"] is None else _usage(row["expected"]),
    )
    return Call(row["id"], new, None if row["ended_at"] is None else _end(row))


def _end(row: sqlite3.Row) -> CallEnd:
    return CallEnd(
        ended_at=from_moment(row["ended_at"]),
        usage=_usage(row["usage"]),
        cost=_from_money(row["cost"]),
        full_price=_from_money(row["full_price"]),
        verdict=CacheVerdict(
            cause=Cause(row["cause"]),
            tokens=int(row["lost_tokens"]),
            reason=from_text(row["reason"]),
            place=from_text(row["place"]),
            before=from_text(row["text_before"]),
            after=from_text(row["text_after"]),
        ),
        diagnosis=from_text(row["diagnosis"]),
        parts=tuple(_part(fields) for fields in from_json(row["parts"])),
    )


def _part(fields: object) -> CallPart:
    match fields:
        case [str(name), str(trinket), int(read), int(written), int(fresh)]:
            return CallPart(name, trinket, read, written, fresh)
    raise ValueError("this JSON is no part of a call")


def _usage(stored: StoredText) -> Usage:
    usage = from_usage(stored)
    if not all(isinstance(count, int) for count in (usage.input, usage.cached, usage.written, usage.output)):
        raise ValueError("a token count is no whole number")
    return usage


def _to_money(amount: Decimal | None) -> str | None:
    if amount is None:
        return None
    if not amount.is_finite():
        raise UsageError(f"the amount {amount} is no finite number; pass None where a price is not known")
    if not _is_money(amount):
        raise UsageError("an amount of money is negative or out of all bounds; pass None where a price is not known")
    return str(amount)


def _from_money(stored: str | None) -> Decimal | None:
    if stored is None:
        return None
    try:
        amount = Decimal(stored)
    except DecimalException as error:
        raise ValueError("this text is no amount of money") from error
    if not _is_money(amount):
        raise ValueError("this is no amount of money that a call can cost")
    return amount


def _is_money(amount: Decimal) -> bool:
    # Nobody charges more than this, nor in smaller pieces; the sum of amounts without bounds overflows.
    return amount.is_finite() and 0 <= amount < _MOST_MONEY and abs(int(amount.as_tuple().exponent)) <= _PLACES
