"""The ledger as tables for a terminal. Prints nothing; names that others wrote are made printable here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.markup import escape
from rich.table import Table

from frontmind.cachelab.ledger import LABELS, Amount, Grouping, Row, Sums
from frontmind.cachelab.plot import Bar
from frontmind.cli.terminal import printable
from frontmind.values.calls import Cause, Purpose
from frontmind.values.harmless import one_line

UNKNOWN: Final = "?"
BROKEN_OFF: Final = "broken off"

_LONGEST_NAME: Final = 60
_MOMENT: Final = LABELS[Grouping.CALL].index("sent_at")
_MINUTES: Final = len("2026-11-30T09:15")
_WIDE_ENOUGH: Final = 112
_MILLION: Final = 1_000_000
_CAUSES: Final[Mapping[Cause, str]] = {cause: cause.value.replace("_", "-") for cause in Cause}


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of figures."""

    header: str
    cell: Callable[[Sums], str]


def ledger_tables(grouping: Grouping, rows: Sequence[Row], total: Sums, *, width: int) -> Sequence[Table]:
    """The rows with their sums and those of all calls; in two tables where the terminal is narrow."""
    share = _Column("of all", lambda sums: _percent(_ratio(sums.input, total.input)))
    tokens = (
        *(() if grouping is Grouping.CALL else (_Column("calls", lambda sums: f"{sums.calls:,}"),)),
        _Column("read", lambda sums: _count(sums.read, sums)),
        _Column("written", lambda sums: _count(sums.written, sums)),
        _Column("fresh", lambda sums: _count(sums.fresh, sums)),
        _Column("output", lambda sums: _count(sums.output, sums)),
        _Column("hit", lambda sums: _percent(sums.hit_share)),
        *(() if grouping in (Grouping.TURN, Grouping.CALL) else (share,)),
        *(() if grouping is Grouping.TRINKET else (_Column("expected", _expected),)),
    )
    rest = (
        _Column("dollars", lambda sums: _dollars(sums.cost)),
        _Column("saved", lambda sums: _dollars(sums.saved)),
        _Column("lost", _lost),
    )
    groups = ((*tokens, *rest),) if width >= _WIDE_ENOUGH else (tokens, rest)
    return [_table(grouping, rows, total, columns) for columns in groups]


def row_name(grouping: Grouping, row: Row, *, alone: bool) -> str:
    """What a row is called.

    Args:
        alone: all rows are of one conversation, which then goes without saying.
    """
    name = _name(grouping, row, alone=alone)
    if grouping is Grouping.CALL:
        name = f"{str(row.labels[_MOMENT])[:_MINUTES].replace('T', ' ')}  {name}"
    if row.sums.broken_off:
        name += f" · {BROKEN_OFF}" if row.sums.calls == 1 else f" · {row.sums.broken_off:,} {BROKEN_OFF}"
    return name


def of_one_conversation(grouping: Grouping, rows: Sequence[Row]) -> bool:
    """Whether all rows are of the same conversation."""
    place = {Grouping.TURN: 0, Grouping.CALL: 2}.get(grouping)
    return place is not None and len({row.labels[place] for row in rows}) == 1


def bars_of(grouping: Grouping, rows: Sequence[Row]) -> Sequence[Bar]:
    """The rows as bars; one of which nothing is known has no height."""
    alone = of_one_conversation(grouping, rows)
    return [
        Bar(
            _name(grouping, row, alone=alone),
            row.sums.read or 0,
            row.sums.written or 0,
            row.sums.fresh or 0,
            # A line for some of the calls would stand too low beside a bar of all.
            row.sums.expected_read if row.sums.foretold == row.sums.calls - row.sums.broken_off else None,
        )
        for row in rows
        if grouping is not Grouping.TRINKET or row.sums.input
    ]


def footnotes(total: Sums) -> Sequence[str]:
    """What the signs in the table mean, a line for each that is in it."""
    lines = []
    if total.cost.unknown:
        known = f"{total.calls - total.cost.unknown:,} of {total.calls:,}"
        lines.append(f"{UNKNOWN} not known; the price is known of {known} calls")
    if total.broken_off:
        lines.append(f"{total.broken_off:,} {BROKEN_OFF}, or still running: what the model took for it is not known")
    if total.foretold and total.foretold < total.calls - total.broken_off:
        lines.append(f"expected: of {total.foretold:,} calls, for the others no rule of the cache is known")
    if total.estimated:
        lines.append("~ estimated, where the provider counted nothing")
    return lines


def _table(grouping: Grouping, rows: Sequence[Row], total: Sums, columns: Sequence[_Column]) -> Table:
    alone = of_one_conversation(grouping, rows)
    table = Table(show_footer=True, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column(grouping.value, footer="all", overflow="fold")
    for column in columns:
        wraps = column.header == "lost"
        table.add_column(
            column.header, footer=escape(column.cell(total)), justify="left" if wraps else "right", no_wrap=not wraps
        )
    for row in rows:
        name = escape(row_name(grouping, row, alone=alone))
        table.add_row(name, *(escape(column.cell(row.sums)) for column in columns))
    return table


def _name(grouping: Grouping, row: Row, *, alone: bool) -> str:
    match grouping, row.labels:
        case Grouping.TURN, (conversation, turn, purpose):
            name = _place(conversation, turn, purpose, alone=alone)
        case Grouping.CALL, (_, _, conversation, turn, step, purpose, *_):
            name = _place(conversation, f"{turn}.{step}", purpose, alone=alone)
        case Grouping.TRINKET, (trinket, part):
            name = f"{trinket}" if trinket else f"({part})"
        case _:
            name = str(row.labels[0])
    return printable(one_line(name, _LONGEST_NAME)) or "(no name)"


def _place(conversation: str | int, turn: str | int, purpose: str | int, *, alone: bool) -> str:
    where = str(conversation) if turn in (0, "0.0") else f"turn {turn}" if alone else f"{conversation} {turn}"
    return where if purpose == Purpose.TURN.value else f"{where} ({str(purpose).replace('_', '-')})"


def _count(tokens: int | None, sums: Sums) -> str:
    if tokens is None:
        return UNKNOWN
    return f"{'~' if sums.estimated else ''}{_short(tokens)}"


def _short(tokens: int) -> str:
    return f"{tokens:,}" if tokens < _MILLION else f"{tokens / _MILLION:,.2f}M"


def _expected(sums: Sums) -> str:
    if sums.expected_read is None:
        return UNKNOWN
    return f"{_short(sums.expected_read)}\n{_short(sums.behind)} less" if sums.behind else _short(sums.expected_read)


def _percent(share: float | None) -> str:
    # 100 % is said only of all.
    return "" if share is None else f"{100 if share >= 1 else min(round(100 * share), 99)} %"


def _ratio(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def _dollars(amount: Amount) -> str:
    if amount.dollars is None:
        return UNKNOWN
    return f"{amount.dollars:,.4f}{f' + {UNKNOWN}' if amount.unknown else ''}"


def _lost(sums: Sums) -> str:
    return "\n".join(f"{_short(tokens)} {_CAUSES[cause]}" for cause, tokens in sums.lost)
