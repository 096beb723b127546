"""How many phrases are understood: the recorded phrases of two projects, by kind.

    python -m benchmarks.dates [--wrong]

The data are beside the repository; without them this says so and ends. docs/dates.md says how a case is judged.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

from frontmind.errors import UsageError
from frontmind.reminders.phrases import read_when

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "dates"
POINT, DATE, RECURRENCE, RANGE, NOTHING = "a point in time", "a date", "a recurrence", "a range or duration", "no time"
NEEDED = (POINT, DATE, RECURRENCE)
UTC = ZoneInfo("UTC")
_KINDS = {"time": POINT, "datetime": POINT, "date": DATE, "set": RECURRENCE}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a parser says: the moment (without a zone), or the date; and the rule of a recurrence.

    Attributes:
        exdates: occurrences that are left out.
    """

    due: datetime | date
    rrule: str = ""
    exdates: tuple[datetime | date, ...] = ()


Parser: TypeAlias = Callable[[str, datetime], Answer | None]
"""A phrase and the moment it is said, without a zone, to what is understood; None when nothing is."""


@dataclass(frozen=True, slots=True)
class Case:
    """A phrase of the data.

    Attributes:
        source: which file it is from.
        right: says whether an answer is right.
        expected: what the data say, for the list of wrong cases.
    """

    kind: str
    source: str
    phrase: str
    reference: datetime
    right: Callable[[Answer | None], bool]
    expected: str


def frontmind(phrase: str, now: datetime) -> Answer | None:
    """Frontmind's own reading."""
    try:
        found = read_when(phrase, now.replace(tzinfo=UTC))
    except UsageError:
        return None
    assert found.due is not None
    return Answer(_plain(found.due), found.rrule, tuple(_plain(each) for each in found.exdates))


def _plain(due: datetime | date) -> datetime | date:
    return due.replace(tzinfo=None) if isinstance(due, datetime) else due


# --- the phrases of Recognizers-Text -----------------------------------------------------------------------------


def recognizers_cases(name: str) -> Iterable[Case]:
    """The rows of one of its files with a single result, or none."""
    for row in json.loads((DATA / name).read_text(encoding="utf-8")):
        results = row["Results"]
        if len(results) > 1 or "ReferenceDateTime" not in row.get("Context", {}):
            continue
        reference = datetime.fromisoformat(row["Context"]["ReferenceDateTime"][:19])
        if not results:
            yield Case(NOTHING, name, row["Input"], reference, lambda answer: answer is None, "nothing")
            continue
        kind = _KINDS.get(results[0]["TypeName"].removeprefix("datetimeV2."), RANGE)
        values = results[0]["Resolution"]["values"]
        expected = " or ".join(
            str(value.get("value", value.get("start"))) + f" {value.get('timex', '')}" for value in values
        )
        yield Case(kind, name, row["Input"], reference, _judge(kind, values, reference), expected)


def _judge(kind: str, values: list[Mapping[str, str]], reference: datetime) -> Callable[[Answer | None], bool]:
    if kind == RECURRENCE:
        return lambda answer: answer is not None and _is_rule(answer, values[0]["timex"])
    if kind == RANGE:
        return lambda answer: answer is None
    texts = [value["value"] for value in values]
    if texts == ["not resolved"]:
        return lambda answer: answer is None
    wanted = _to_come(texts, reference)
    return lambda answer: answer is not None and not answer.rrule and _written(answer.due, wanted[0]) in wanted


def _to_come(texts: Sequence[str], reference: datetime) -> list[str]:
    """Of values in the past and the future, those in the future; a time of day, or the only value, as it is."""
    if len(texts) == 1 or ":" in texts[0][:3]:
        return list(texts)
    # A date is to come until its day is over: of today and a year from now, the data's files name either.
    later = [text for text in texts if text >= f"{reference:%Y-%m-%d %H:%M:%S}"[: len(text)]]
    return later or [max(texts)]


def _written(due: datetime | date, like: str) -> str:
    """The answer in the form of the data: a time of day, a date, or both."""
    if ":" in like[:3]:
        return f"{due:%H:%M:%S}" if isinstance(due, datetime) else ""
    if len(like) == 10:
        return "" if isinstance(due, datetime) else due.isoformat()
    return f"{due:%Y-%m-%d %H:%M:%S}" if isinstance(due, datetime) else ""


_TIMEX = {
    "P1D": "FREQ=DAILY",
    "P2D": "FREQ=DAILY;INTERVAL=2",
    "P1W": "FREQ=WEEKLY",
    "P3W": "FREQ=WEEKLY;INTERVAL=3",
    "P3M": "FREQ=MONTHLY;INTERVAL=3",
    "P0.5Y": "FREQ=MONTHLY;INTERVAL=6",
    "P1Y": "FREQ=YEARLY",
    "P1WD": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
    "P1WE": "FREQ=WEEKLY;BYDAY=SA,SU",
    "P2WE": "FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,SU",
    "XXXX-WXX-WE": "FREQ=WEEKLY;BYDAY=SA,SU",
}
_CODES = ("", "MO", "TU", "WE", "TH", "FR", "SA", "SU")
_PARTS_OF_DAY = {"TMO": range(5, 12), "TNI": range(18, 24)}


def rule_of(timex: str) -> tuple[str, time | None, range | None]:
    """What a TIMEX of a set says: the RRULE, the time of day, and the hours of the part of the day."""
    plain = re.sub(r"(?<=.)P1(?:D|W|M)$", "", timex)
    at = re.search(r"T(\d\d)(?::(\d\d))?$", plain)
    part = next((hours for name, hours in _PARTS_OF_DAY.items() if plain.endswith(name)), None)
    base = plain[: at.start()] if at else "" if part else plain
    if found := re.fullmatch(r"XXXX-WXX-(\d)", base):
        rule = f"FREQ=WEEKLY;BYDAY={_CODES[int(found[1])]}"
    elif found := re.fullmatch(r"XXXX-XX-(\d\d)", base):
        rule = f"FREQ=MONTHLY;BYMONTHDAY={int(found[1])}"
    else:
        rule = _TIMEX.get(base, "FREQ=DAILY" if base == "" else "")
    return rule, time(int(at[1]), int(at[2] or 0)) if at else None, part


def _is_rule(answer: Answer, timex: str) -> bool:
    """Whether the rule and its time of day are those of a TIMEX of a set."""
    rule, at, part = rule_of(timex)
    if not rule or _parts(answer.rrule) != _parts(rule):
        return False
    if not isinstance(answer.due, datetime):
        return at is None and part is None
    return answer.due.hour in part if part else answer.due.time() == at


def _parts(rrule: str) -> dict[str, tuple[str, ...]]:
    """An RRULE's parts; the order of a list and an interval of one make no difference."""
    parts = dict(part.partition("=")[::2] for part in rrule.split(";") if part)
    parts.setdefault("INTERVAL", "1")
    return {name: tuple(sorted(value.split(","))) for name, value in parts.items() if name != "WKST"}


# --- the phrases of recurrent ------------------------------------------------------------------------------------


def recurrent_cases() -> Iterable[Case]:
    """The rows of recurrent's own tests."""
    data = json.loads((DATA / "recurrence_phrases.json").read_text(encoding="utf-8"))
    reference = datetime.fromisoformat(data["reference"])
    for row in data["cases"]:
        expected = row["expected"]
        if isinstance(expected, dict) and "expected_failure" in expected:
            # Of this one recurrent says only that it fails at it, not what would be right.
            continue
        yield Case(*_recurrent(row["input"], expected, reference), str(expected))


def _recurrent(
    phrase: str, expected: Any, reference: datetime
) -> tuple[str, str, str, datetime, Callable[[Answer | None], bool]]:
    source = "recurrence_phrases.json"
    if expected is None:
        return RECURRENCE, source, phrase, reference, lambda answer: answer is None
    if isinstance(expected, dict):
        return RECURRENCE, source, phrase, reference, lambda answer: _is_recurrence(answer, expected, reference)
    moment = datetime.fromisoformat(expected)
    # Its own dates are moments at midnight as well; no phrase of it names midnight.
    if moment.time() == time():
        return DATE, source, phrase, reference, lambda answer: answer is not None and answer == Answer(moment.date())
    return POINT, source, phrase, reference, lambda answer: answer is not None and answer == Answer(moment)


def _is_recurrence(answer: Answer | None, expected: Mapping[str, Any], reference: datetime) -> bool:
    if answer is None or not answer.rrule:
        return False
    if "exrule" in expected:
        return _occurs_like(answer, expected, reference)
    wanted = _parts(_expected_rule(expected))
    given = _parts(answer.rrule)
    until = given.pop("UNTIL", ("",))[0][:8]
    if given != wanted or until != expected.get("until", ""):
        return False
    if ("byhour" in expected) != (isinstance(answer.due, datetime) and expected["freq"] in _BY_DAYS):
        return False
    first = _first(expected, reference)
    if isinstance(answer.due, datetime):
        return answer.due == first and _left_out(answer, expected)
    return answer.due == first.date() and _left_out(answer, expected)


_BY_DAYS = ("daily", "weekly", "monthly", "yearly")


def _expected_rule(expected: Mapping[str, Any]) -> str:
    names = ("byday", "bymonthday", "byyearday", "byweekno", "bymonth", "bysetpos", "count")
    parts = [f"FREQ={expected['freq'].upper()}", f"INTERVAL={expected['interval']}"]
    return ";".join(parts + [f"{name.upper()}={expected[name]}" for name in names if name in expected])


def _first(expected: Mapping[str, Any], reference: datetime) -> datetime:
    """The first occurrence after the reference, on or after the start that is said; exceptions do not occur."""
    start = datetime.fromisoformat(expected.get("dtstart", reference.isoformat()))
    start = start.replace(hour=int(expected.get("byhour", 0)), minute=int(expected.get("byminute", 0)))
    rule = rrulestr(re.sub(r";COUNT=\d+", "", _expected_rule(expected)), dtstart=start)
    excluded = _excluded_days(expected)
    by_days = "byhour" not in expected and expected["freq"] in _BY_DAYS
    for found in rule:
        is_later = found > reference if not by_days or "dtstart" not in expected else found >= reference
        if is_later and found.date() not in excluded:
            return found
    raise AssertionError("the data's rule never occurs")


def _excluded_days(expected: Mapping[str, Any]) -> set[date]:
    """Whole days and months that are left out."""
    days: set[date] = set()
    for each in expected.get("exdate", ()):
        if isinstance(each, list):
            month, year = each
            first = date(year, month, 1)
            days |= {day for day in (first + timedelta(days=n) for n in range(31)) if day.month == month}
        elif "T" not in each:
            days.add(date.fromisoformat(each))
    return days


def _left_out(answer: Answer, expected: Mapping[str, Any]) -> bool:
    """Whether what is left out of the rule's occurrences is what the data leave out."""
    if "exdate" not in expected:
        return not answer.exdates
    moments = {datetime.fromisoformat(each) for each in expected.get("exdate", ()) if isinstance(each, str)}
    days = _excluded_days(expected)
    given = set(answer.exdates)
    start = answer.due if isinstance(answer.due, datetime) else datetime.combine(answer.due, time())
    until = start + timedelta(days=730)
    plain = re.sub(r";UNTIL=[^;]*", "", answer.rrule)
    wanted = {
        found if isinstance(answer.due, datetime) else found.date()
        for found in rrulestr(plain, dtstart=start).between(start, until, inc=True)
        if found.date() in days or ("T" in str(expected.get("exdate")) and found in moments)
    }
    return given == wanted


def _occurs_like(answer: Answer, expected: Mapping[str, Any], reference: datetime) -> bool:
    """Whether the occurrences of four years are those of the data's rule without those of its exception."""
    end = reference + timedelta(days=4 * 365)
    start = answer.due if isinstance(answer.due, datetime) else datetime.combine(answer.due, time())
    given = set(rrulestr(answer.rrule, dtstart=start).between(start, end, inc=True)) - set(answer.exdates)
    base = rrulestr(_expected_rule(expected), dtstart=reference).between(reference, end, inc=True)
    exception = rrulestr(expected["exrule"], dtstart=reference).between(reference, end, inc=True)
    return given == set(base) - set(exception) - {reference}


# --- the score ---------------------------------------------------------------------------------------------------


def all_cases() -> tuple[Case, ...]:
    """Every case of the data."""
    return (
        *recognizers_cases("DateTimeModel.json"),
        *recognizers_cases("DateTimeModelTasksMode.json"),
        *recurrent_cases(),
    )


@dataclass(frozen=True, slots=True)
class Score:
    """Of one kind: how many cases there are, and those that were not right with what was answered."""

    kind: str
    cases: int
    wrong: tuple[tuple[Case, Answer | None], ...]

    @property
    def share(self) -> float:
        return 1 - len(self.wrong) / self.cases


def score(parser: Parser, cases: Sequence[Case]) -> list[Score]:
    """The parser's score, by kind."""
    scores = []
    for kind in (POINT, DATE, RECURRENCE, NOTHING, RANGE):
        of_kind = [case for case in cases if case.kind == kind]
        answers = [(case, parser(case.phrase, case.reference)) for case in of_kind]
        scores.append(Score(kind, len(of_kind), tuple(pair for pair in answers if not pair[0].right(pair[1]))))
    return scores


def table(scores: Sequence[Score]) -> str:
    """The scores as a Markdown table."""
    lines = ["| kind | cases | right | share |", "|---|--:|--:|--:|"]
    for each in scores:
        lines.append(f"| {each.kind} | {each.cases} | {each.cases - len(each.wrong)} | {100 * each.share:.1f} % |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, and with ``--wrong`` what was not right."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--wrong", action="store_true", help="list the cases that were not right")
    wanted = arguments.parse_args()
    if not DATA.is_dir():
        print("dates: the recorded phrases are not beside the repository")
        return
    scores = score(frontmind, all_cases())
    print(table(scores))
    if wanted.wrong:
        for each in scores:
            for case, answer in each.wrong:
                print(f"{case.kind}: {case.phrase!r} at {case.reference}: {case.expected}; read {answer}")


if __name__ == "__main__":
    main()
