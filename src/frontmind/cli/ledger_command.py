"""``frontmind ledger``: what the calls of models took, what the cache gave of it, and what it cost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from frontmind.cachelab.ledger import Grouping, Row, Sums, newest_rows, rows_by, sum_calls
from frontmind.cachelab.ledger_period import period_begin, period_end
from frontmind.cachelab.ledger_rows import csv_text, row_json, sums_json
from frontmind.cachelab.plot import SVG_OPENING, svg_plot, terminal_plot
from frontmind.cachelab.token_prices import token_prices
from frontmind.cli.ledger_table import bars_of, footnotes, ledger_tables
from frontmind.cli.memory_command import write_new
from frontmind.cli.options import (
    DbOption,
    JsonOption,
    NowOption,
    TimezoneOption,
    named_path,
    resolve_clock,
    resolve_db,
    spare_database,
)
from frontmind.cli.settings import load_settings
from frontmind.cli.terminal import emit, json_text, note, on_one_line, printable, say, show_table
from frontmind.errors import UsageError
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.calls import Call

_ROWS_SHOWN: Final = 40
_BARS_SHOWN: Final = 20
_PLAIN_WIDTH: Final = 100


def ledger(
    by: Annotated[Grouping, typer.Option("--by", help="What a row is.")] = Grouping.TURN,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", metavar="NAME", help="Only the calls of this one.", show_default=False),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE", help="From this day or moment on (ISO 8601).", show_default=False),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="DATE", help="Up to this day, which is included, or this moment.", show_default=False
        ),
    ] = None,
    newest: Annotated[
        int | None,
        typer.Option("--newest", metavar="N", min=1, help="Only the N rows with the newest calls.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, for a spreadsheet.")] = False,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="Draw the rows into an SVG file.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the picture when it is there already.")] = False,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Show what every call of a turn took and cost, and what the cache gave of it. Nothing is written to the database.

    The line "all" sums every call that --conversation, --since and --until leave, also where --newest shows fewer rows.
    """
    if as_json and as_csv:
        raise UsageError("--json and --csv are two forms of the same; pass one of them")
    settings = load_settings()
    zone = resolve_clock(now, timezone, settings).zone
    file = resolve_db(db, settings)
    path = None if svg is None else _target(svg, file, force=force)
    begin, end = period_begin(since, zone), period_end(until, zone)
    calls = asyncio.run(_read(file, conversation, begin, end))
    rows, total = rows_by(by, calls, zone, token_prices), sum_calls(calls)
    chosen = rows if newest is None else newest_rows(rows, newest)
    if path is not None:
        write_new(path, _svg(by, chosen, conversation), force=force)
        note(f"{len(chosen):,} {'bar' if len(chosen) == 1 else 'bars'} drawn in {on_one_line(str(path))}")
    if as_json:
        emit(json_text(_as_json(by, chosen, total, len(rows), str(zone))) + "\n")
    elif as_csv:
        emit(printable(csv_text(by, chosen, total)))
    elif calls:
        _print(by, newest_rows(rows, newest or _ROWS_SHOWN), len(rows), total)
    else:
        _print_nothing(file, conversation, begin, end)


def _target(svg: str, db: str, *, force: bool) -> Path:
    """Where the picture goes: a new file, or one of our own pictures. A slip must not cost anything else.

    Raises:
        UsageError: something else is there, or ``force`` is not given.
    """
    path = named_path(svg)
    spare_database(path, db)
    if not path.exists():
        return path
    if not path.is_file():
        raise UsageError(f"{path} is there already, and no regular file; name another file")
    if not force:
        raise UsageError(f"{path} is there already; name another file, or pass --force to replace it")
    try:
        with path.open("rb") as there:
            begins = there.read(len(SVG_OPENING))
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}); name another file") from error
    if begins and begins != SVG_OPENING.encode():
        raise UsageError(f"{path} is no picture of this command, so it stays as it is; name another file")
    return path


async def _read(file: str, conversation: str | None, since: datetime | None, until: datetime | None) -> Sequence[Call]:
    """The calls; where there is no database none, and none is made."""
    if not _is_there(file):
        return ()
    store = SqliteStore.open_existing_read_only(file)
    try:
        return await store.calls(conversation=conversation, since=since, until=until)
    finally:
        await store.close()


def _is_there(file: str) -> bool:
    return file != IN_MEMORY and named_path(file).exists()


def _print(by: Grouping, shown: Sequence[Row], of: int, total: Sums) -> None:
    width = Console(file=sys.stdout).width if sys.stdout.isatty() else _PLAIN_WIDTH
    for table in ledger_tables(by, shown, total, width=width):
        show_table(table)
    if len(shown) < of:
        say(f"{of - len(shown):,} more, with older calls; --newest {of} shows all")
    for line in footnotes(total):
        say(line)
    plot = terminal_plot(bars_of(by, newest_rows(shown, _BARS_SHOWN)), width=min(width, _PLAIN_WIDTH))
    if plot:
        say(f"\n{plot}")


def _print_nothing(file: str, conversation: str | None, since: datetime | None, until: datetime | None) -> None:
    if not _is_there(file):
        say(f"No calls: there is no database at {on_one_line(file)}.")
    elif conversation is None and since is None and until is None:
        say("No calls. Each is noted here as it is sent.")
    else:
        say("No calls of this conversation and time.")


def _as_json(by: Grouping, rows: Sequence[Row], total: Sums, of: int, zone: str) -> dict[str, object]:
    return {
        "by": by.value,
        "timezone": zone,
        "rows": [row_json(by, row, total) for row in rows],
        "older_rows": of - len(rows),
        "total": sums_json(total),
    }


def _svg(by: Grouping, rows: Sequence[Row], conversation: str | None) -> str:
    of = "" if conversation is None else f" of {conversation}"
    return svg_plot(bars_of(by, rows), title=f"Prompt tokens{of} by {by.value}, and what the cache gave", unit=by.value)
