"""The date libraries that Frontmind's own reading was chosen against, on the same cases.

    python -m benchmarks.date_candidates

Each is measured where it is installed: dateparser, parsedatetime, recurrent, ctparse, timefhuman and
recognizers-text-date-time. They are no dependency; docs/dates.md has the figures. A library is called as its own
documentation says, asked for dates in the future where it can be asked, and given the whole sentence as Frontmind is.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from importlib.metadata import version
from typing import Any

from benchmarks.dates import NEEDED, Answer, Parser, all_cases, frontmind, rule_of, score


def _dateparser() -> Parser:
    search = importlib.import_module("dateparser.search").search_dates

    def parse(phrase: str, now: datetime) -> Answer | None:
        settings = {"RELATIVE_BASE": now, "PREFER_DATES_FROM": "future", "RETURN_TIME_AS_PERIOD": True}
        found = search(phrase, languages=["en"], settings=settings)
        # It always gives a moment, with the time of now or midnight when none was said.
        return _timeless(found[0][1], now) if found else None

    return parse


def _parsedatetime() -> Parser:
    module = importlib.import_module("parsedatetime")
    calendar = module.Calendar(version=module.VERSION_CONTEXT_STYLE)

    def parse(phrase: str, now: datetime) -> Answer | None:
        found = calendar.nlp(phrase, sourceTime=now)
        if not found:
            return None
        moment, context = found[0][0], found[0][1]
        return Answer(moment if context.hasTime else moment.date())

    return parse


def _recurrent() -> Parser:
    module = importlib.import_module("recurrent")

    def parse(phrase: str, now: datetime) -> Answer | None:
        event = module.RecurringEvent(now_date=now)
        found = event.parse(phrase)
        if found is None:
            return None
        if isinstance(found, datetime):
            # Where no time was said it takes nine o'clock.
            nine = found.time() == time(9) and "9" not in phrase and "nine" not in phrase.lower()
            return Answer(found.date()) if nine else _timeless(found, now)
        parts = event.get_params()
        names = ("freq", "interval", "byday", "bymonthday", "byyearday", "byweekno", "bymonth", "bysetpos", "count")
        rule = ";".join(f"{name.upper()}={str(parts[name]).upper()}" for name in names if name in parts)
        if "until" in parts:
            rule += f";UNTIL={parts['until']}"
        return _first_of(rule, parts, now)

    return parse


def _first_of(rule: str, parts: dict[str, Any], now: datetime) -> Answer | None:
    rrulestr = importlib.import_module("dateutil.rrule").rrulestr
    start = datetime.fromisoformat(parts["dtstart"][:8]) if "dtstart" in parts else now
    timed = "byhour" in parts or parts.get("freq") in ("hourly", "minutely", "secondly")
    at = time(int(parts.get("byhour", 0)), int(parts.get("byminute", 0)))
    first = rrulestr(rule, dtstart=datetime.combine(start.date(), at)).after(now, inc="dtstart" in parts)
    return None if first is None else Answer(first if timed else first.date(), rule)


def _ctparse() -> Parser:
    ctparse = importlib.import_module("ctparse").ctparse

    def parse(phrase: str, now: datetime) -> Answer | None:
        found = ctparse(phrase, ts=now, timeout=2)
        resolution = getattr(found, "resolution", None)
        if resolution is None or not getattr(resolution, "isDate", False):
            moment = getattr(resolution, "dt", None) if getattr(resolution, "isDateTime", False) else None
            return None if moment is None else Answer(moment)
        day = date(resolution.year, resolution.month, resolution.day)
        return Answer(day)

    return parse


def _timefhuman() -> Parser:
    module = importlib.import_module("timefhuman")

    def parse(phrase: str, now: datetime) -> Answer | None:
        config = module.tfhConfig(now=now, infer_datetimes=False)
        found = module.timefhuman(phrase, config=config)
        first = found[0] if isinstance(found, list) and found else found
        if isinstance(first, timedelta):
            later = now + first
            return Answer(later.date() if first % timedelta(days=1) == timedelta() else later)
        if isinstance(first, datetime | date):
            return Answer(first)
        return Answer(datetime.combine(now, first)) if isinstance(first, time) else None

    return parse


def _recognizers() -> Parser:
    module = importlib.import_module("recognizers_date_time")

    def parse(phrase: str, now: datetime) -> Answer | None:
        found = module.recognize_datetime(phrase, "en-us", reference=now)
        if not found or found[0].resolution is None or found[0].type_name == "datetimeV2.duration":
            return None
        values = [value.get("value", "") for value in found[0].resolution["values"]]
        text = values[-1]
        if found[0].type_name == "datetimeV2.set":
            return _set(found[0].resolution["values"][0]["timex"], now)
        if text == "not resolved" or not text:
            return None
        if ":" in text[:3]:
            return Answer(datetime.combine(now, time.fromisoformat(text)))
        moment = datetime.fromisoformat(text)
        return Answer(moment if ":" in text else moment.date())

    return parse


def _set(timex: str, now: datetime) -> Answer | None:
    """A set, which it gives no first time of: it is granted the right one."""
    rule, at, part = rule_of(timex)
    if not rule:
        return None
    at = time(part[0]) if part else at
    first = importlib.import_module("dateutil.rrule").rrulestr(rule, dtstart=datetime.combine(now.date(), at or time()))
    moment = first.after(now)
    return Answer(moment if at else moment.date(), rule)


def _timeless(moment: datetime, now: datetime) -> Answer:
    moment = moment.replace(tzinfo=None)
    unsaid = moment.time().replace(microsecond=0) in (time(), now.time().replace(microsecond=0))
    return Answer(moment.date() if unsaid else moment.replace(microsecond=0))


CANDIDATES: dict[str, Callable[[], Parser]] = {
    "dateparser": _dateparser,
    "parsedatetime": _parsedatetime,
    "recurrent": _recurrent,
    "ctparse": _ctparse,
    "timefhuman": _timefhuman,
    "recognizers-text-date-time": _recognizers,
}


class Tolerated:
    """A parser of which a crash is no answer; it is counted."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self.crashes = 0

    def __call__(self, phrase: str, now: datetime) -> Answer | None:
        try:
            return self._parser(phrase, now)
        except Exception:  # noqa: BLE001
            # Any library's any error is what is measured here.
            self.crashes += 1
            return None


def main() -> None:
    """Print one row a candidate."""
    logging.disable(logging.WARNING)
    cases = all_cases()
    print(f"| candidate | {' | '.join(NEEDED)} | crashes |")
    print("|---|" + "--:|" * (len(NEEDED) + 1))
    for name, load in {"Frontmind": lambda: frontmind, **CANDIDATES}.items():
        try:
            parser = Tolerated(load())
        except ImportError:
            print(f"| {name} | not installed |")
            continue
        shares = {each.kind: f"{100 * each.share:.1f} %" for each in score(parser, cases)}
        label = name if name == "Frontmind" else f"{name} {version(name)}"
        print(f"| {label} | {' | '.join(shares[kind] for kind in NEEDED)} | {parser.crashes} |", flush=True)


if __name__ == "__main__":
    main()
