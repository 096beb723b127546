"""The recorded phrases of two projects: the shares that are read rightly, and that none of them harms."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from benchmarks.dates import (
    DATE,
    NEEDED,
    POINT,
    RECURRENCE,
    Answer,
    Case,
    all_cases,
    frontmind,
    score,
    table,
)
from frontmind.errors import UsageError
from frontmind.reminders.phrases import parse_reminder, parse_when
from support import shared

FILES = ("DateTimeModel.json", "DateTimeModelTasksMode.json", "recurrence_phrases.json")
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def cases() -> tuple[Case, ...]:
    for name in FILES:
        shared("dates", name)
    return all_cases()


def every_phrase() -> list[tuple[str, datetime]]:
    """Every row of the data, also those that are no case."""
    phrases = []
    for name in FILES:
        rows = json.loads(shared("dates", name).read_text(encoding="utf-8"))
        if isinstance(rows, dict):
            phrases += [(row["input"], datetime.fromisoformat(rows["reference"])) for row in rows["cases"]]
            continue
        for row in rows:
            reference = row.get("Context", {}).get("ReferenceDateTime", "2026-11-30T09:15:00")
            phrases.append((row["Input"], datetime.fromisoformat(reference[:19])))
    return phrases


def test_at_least_nine_of_ten_phrases_of_each_kind_that_a_reminder_needs_are_read_rightly(
    cases: tuple[Case, ...],
) -> None:
    scores = {each.kind: each for each in score(frontmind, cases)}
    for kind in NEEDED:
        assert scores[kind].share >= 0.9, f"{kind}: {scores[kind].share:.1%}"
    assert [scores[kind].cases for kind in NEEDED] == [79, 130, 236]


def test_a_parser_that_understands_nothing_or_always_the_same_scores_almost_nothing(cases: tuple[Case, ...]) -> None:
    silent = {each.kind: each.share for each in score(lambda phrase, now: None, cases)}
    today = {each.kind: each.share for each in score(lambda phrase, now: Answer(now.date()), cases)}
    weekly = {each.kind: each.share for each in score(lambda phrase, now: Answer(now.date(), "FREQ=WEEKLY"), cases)}
    assert silent[POINT] == 0 and silent[DATE] < 0.05 and silent[RECURRENCE] < 0.01
    assert today[POINT] == 0 and today[DATE] < 0.1 and today[RECURRENCE] == 0
    assert weekly[POINT] == 0 and weekly[DATE] == 0 and weekly[RECURRENCE] < 0.05


def test_the_table_says_how_many_cases_there_are_and_how_many_are_right(cases: tuple[Case, ...]) -> None:
    lines = table(score(frontmind, cases)).splitlines()
    assert len(lines) == 7
    for line in lines[2:]:
        _, count, right, share = (cell.strip() for cell in line.strip("|").split("|"))
        assert share == f"{100 * int(right) / int(count):.1f} %"


def test_no_phrase_of_the_data_crashes_or_takes_long() -> None:
    slowest = 0.0
    understood = 0
    phrases = every_phrase()
    for phrase, reference in phrases:
        for now in (reference.replace(tzinfo=UTC), reference.replace(tzinfo=BERLIN)):
            for read in (parse_reminder, parse_when):
                started = time.perf_counter()
                try:
                    found = read(phrase, now)
                    understood += 1
                    assert found.due >= now if isinstance(found.due, datetime) else found.due >= now.date()
                except UsageError as error:
                    assert "\n" not in str(error)
                slowest = max(slowest, time.perf_counter() - started)
    assert len(phrases) == 871
    assert understood > 500
    assert slowest < 1
