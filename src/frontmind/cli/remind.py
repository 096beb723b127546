"""``frontmind remind``: reminders outside of a chat. ``parse`` shows what is understood of a phrase."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated

import typer

from frontmind.cli.options import JsonOption, NowOption, TimezoneOption, resolve_clock
from frontmind.cli.remind_files import export_reminders, import_reminders, list_reminders
from frontmind.cli.settings import load_settings
from frontmind.cli.terminal import emit, json_text, on_one_line, say
from frontmind.reminders.phrases import Understood, parse_reminder

remind_app = typer.Typer(help="Reminders, outside of a chat.", no_args_is_help=True)
remind_app.command("list")(list_reminders)
remind_app.command("import")(import_reminders)
remind_app.command("export")(export_reminders)


@remind_app.command("parse")
def parse(
    phrase: Annotated[str, typer.Argument(metavar="PHRASE", help="What to remember, and when.")],
    as_json: JsonOption = False,
    now: NowOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Show what is understood of a phrase, without keeping it.

    Exits with 2 when no time is understood, it has passed, or it may be one of two.
    """
    clock = resolve_clock(now, timezone, load_settings())
    understood = parse_reminder(phrase, clock.now())
    if as_json:
        emit(json_text(_as_json(understood, str(clock.zone))) + "\n")
        return
    say(on_one_line(understood.text))
    say(f"  {_when(understood.due)} ({clock.zone})")
    if understood.rrule:
        say(f"  again: {understood.rrule}")
    if understood.exdates:
        say(f"  not on: {', '.join(_when(each) for each in understood.exdates)}")


def _as_json(understood: Understood, zone: str) -> dict[str, object]:
    due = understood.due
    value: dict[str, object] = {"text": understood.text}
    value["due" if isinstance(due, datetime) else "date"] = due.isoformat()
    if understood.rrule:
        value["rrule"] = understood.rrule
    if understood.exdates:
        value["exdates"] = [each.isoformat() for each in understood.exdates]
    return value | {"zone": zone}


def _when(due: datetime | date) -> str:
    return f"{due:%A, %Y-%m-%d %H:%M}" if isinstance(due, datetime) else f"{due:%A, %Y-%m-%d}"
