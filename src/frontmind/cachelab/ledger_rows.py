"""Rows of the ledger for programs: values for JSON, and the text of a CSV file for spreadsheets.

Pure. Amounts of money are texts, so that no reader makes floats of them; what is not known is null, or an empty cell.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from frontmind.cachelab.ledger import LABELS, Amount, Grouping, Row, Sums
from frontmind.values.calls import Call, Cause
from frontmind.values.harmless import one_line
from frontmind.values.usage import Usage
from frontmind.window.canonical import Json

_SHARE_DIGITS: Final = 6
_CELL_LENGTH: Final = 1_000
_LOST: Final = tuple(cause for cause in Cause if cause is not Cause.NOTHING)
# What a spreadsheet takes for the beginning of a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def row_json(grouping: Grouping, row: Row, total: Sums) -> dict[str, Json]:
    """The row with its labels, its sums and its share of all prompt tokens; a single call with all that is known."""
    labels: dict[str, Json] = dict(zip(LABELS[grouping], row.labels, strict=True))
    known = {} if row.call is None else {"details": _details(row.call)}
    return {**labels, **sums_json(row.sums), "share": _share(row.sums, total), **known}


def sums_json(sums: Sums) -> dict[str, Json]:
    """Calls together."""
    return {
        "calls": sums.calls,
        "broken_off": sums.broken_off,
        "input": sums.input,
        "read": sums.read,
        "written": sums.written,
        "fresh": sums.fresh,
        "output": sums.output,
        "estimated": sums.estimated,
        "hit_share": None if sums.hit_share is None else round(sums.hit_share, _SHARE_DIGITS),
        "expected_read": sums.expected_read,
        "expected_of_calls": sums.foretold,
        "behind": None if sums.expected_read is None else sums.behind,
        "dollars": _dollars(sums.cost),
        "dollars_unknown_for_calls": sums.cost.unknown,
        "dollars_without_cache": _dollars(sums.full_price),
        "saved": _dollars(sums.saved),
        "saved_unknown_for_calls": sums.saved.unknown,
        "lost": {cause.value: tokens for cause, tokens in sums.lost},
    }


def csv_text(grouping: Grouping, rows: Sequence[Row], total: Sums) -> str:
    """A CSV file with a header; lines end with a line feed. No cell of it is a formula."""
    sums = [key for key in sums_json(total) if key != "lost"]
    verdict = ("cause", "reason", "place", "diagnosis") if grouping is Grouping.CALL else ()
    text = _Text()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*LABELS[grouping], *sums, "share", *(f"lost_{cause.value}" for cause in _LOST), *verdict))
    for row in rows:
        figures = sums_json(row.sums)
        lost = dict(row.sums.lost)
        known = None if row.sums.input is None else 0
        writer.writerow(
            (
                *(_cell(label) for label in row.labels),
                *(figures[key] for key in sums),
                _share(row.sums, total),
                *(lost.get(cause, known) for cause in _LOST),
                *(_cell(text) for text in (_told(row.call) if verdict else ())),
            )
        )
    return "".join(text.pieces)


@dataclass(frozen=True, slots=True)
class _Text:
    """What `csv` writes to."""

    pieces: list[str] = field(default_factory=list)

    def write(self, piece: str, /) -> None:
        self.pieces.append(piece)


def _cell(label: str | int) -> str | int:
    if isinstance(label, int):
        return label
    shown = one_line(label, _CELL_LENGTH)
    return f"'{shown}" if label.startswith(_FORMULA) or shown.startswith(_FORMULA) else shown


def _told(call: Call | None) -> Sequence[str]:
    if call is None or call.end is None:
        return ("", "", "", "")
    verdict = call.end.verdict
    return (verdict.cause.value, verdict.reason, verdict.place, call.end.diagnosis)


def _share(sums: Sums, total: Sums) -> float | None:
    if not total.input or sums.input is None:
        return None
    return round(sums.input / total.input, _SHARE_DIGITS)


def _dollars(amount: Amount) -> str | None:
    return None if amount.dollars is None else format(amount.dollars, "f")


def _details(call: Call) -> dict[str, Json]:
    new, end = call.new, call.end
    return {
        "request": new.request or None,
        "ended_at": None if end is None else end.ended_at.isoformat(),
        "expected": None if new.expected is None else _usage(new.expected),
        "usage": None if end is None else _usage(end.usage),
        "verdict": None
        if end is None
        else {
            "cause": end.verdict.cause.value,
            "tokens": end.verdict.tokens,
            "reason": end.verdict.reason,
            "place": end.verdict.place,
            "before": end.verdict.before,
            "after": end.verdict.after,
        },
        "diagnosis": None if end is None else end.diagnosis or None,
        "parts": [] if end is None else [asdict(part) for part in end.parts],
    }


def _usage(usage: Usage) -> dict[str, Json]:
    return {**asdict(usage), "written_by_ttl": dict(usage.written_by_ttl)}
