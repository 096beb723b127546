"""Two real sessions of an agent, of which only figures are known: what one call left is what the next one reads."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import pytest

from figures import FiguredCall, FiguredRead, figured_reads
from frontmind.values.calls import Cause
from frontmind.values.usage import Usage
from support import REPOSITORY, START

FILE: Final = REPOSITORY / "tests" / "data" / "cache" / "agent_session_turns.csv"
LIFETIME: Final = 300
EVENTS: Final = {
    "thinking_level_change": Cause.PARAMETERS,
    "model_change": Cause.MODEL,
    "compaction": Cause.MOVED,
}


def rows() -> dict[str, list[dict[str, str]]]:
    """The rows of each session."""
    sessions: dict[str, list[dict[str, str]]] = {}
    with FILE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            sessions.setdefault(row["session"], []).append(row)
    return sessions


def call(row: Mapping[str, str]) -> FiguredCall:
    fresh, read, written = (int(row[name]) for name in ("input", "cache_read", "cache_write"))
    usage = Usage(fresh + read + written, read, written, int(row["output"]))
    happened = frozenset(cause for event, cause in EVENTS.items() if event in row["events_between"])
    counted = None if row["kind"] == "aborted_no_usage" else usage
    return FiguredCall(datetime.fromisoformat(row["timestamp"]), row["model"], counted, happened)


def reads() -> dict[str, list[FiguredRead]]:
    """What the calls of each session have read, worked out from their times and counts alone."""
    return {
        name: list(figured_reads([call(row) for row in session], lifetime=LIFETIME)) for name, session in rows().items()
    }


def test_what_a_call_read_and_wrote_is_what_the_next_one_reads() -> None:
    judged = [one for session in reads().values() for one in session if one.expected is not None]
    assert len(judged) == 908
    assert sum(one.is_exact for one in judged) == 853
    for name, session in rows().items():
        told = {int(row["idx"]): row for row in session}
        for one in reads()[name]:
            if one.expected is not None:
                row = told[one.index]
                assert one.expected == int(row["expected_read"])
                assert one.is_exact is (row["verdict"] == "exact")


def test_the_misses_are_told_apart_as_far_as_figures_allow() -> None:
    misses = {
        name: Counter(one.verdict.cause.value for one in session if one.expected is not None and not one.is_exact)
        for name, session in reads().items()
    }
    assert misses == {
        "before-compaction.jsonl": {"nothing": 3, "parameters": 1, "expired": 1, "moved": 2, "evicted": 8},
        "large-session.jsonl": {"nothing": 3, "parameters": 6, "expired": 4, "moved": 2, "evicted": 25},
    }
    more = Counter(
        one.verdict.reason
        for session in reads().values()
        for one in session
        if not one.is_exact and one.expected is not None and one.verdict.cause is Cause.NOTHING
    )
    assert more == {
        "a call in between, which nobody counted, wrote more": 5,
        "an entry of an earlier call is still there": 1,
    }
    # Nothing was ever read in part: where it is not all there, it is gone from the beginning.
    assert all(one.read == 0 for session in reads().values() for one in session if (one.expected or 0) > one.read)


def test_the_docs_have_the_counts_as_they_are() -> None:
    docs = (REPOSITORY / "docs" / "cache-rules.md").read_text(encoding="utf-8")
    every = [one for session in reads().values() for one in session if one.expected is not None]
    counts = Counter(one.verdict.reason or one.verdict.cause.value for one in every if not one.is_exact)
    table = dict(re.findall(r"^\| (.+) \| (\d+) \|$", docs, re.MULTILINE))
    assert sorted(map(int, table.values())) == sorted(counts.values())
    assert f"For {len(every)} there is a call" in docs
    for reason in ("a call in between, which nobody counted, wrote more", "an entry of an earlier call is still there"):
        assert int(table[f"read more: {reason}"]) == counts[reason]


def usage(read: int, written: int, fresh: int = 3) -> Usage:
    return Usage(read + written + fresh, read, written, 9)


@pytest.mark.parametrize(
    ("second", "seconds", "cause", "lost"),
    [
        (usage(1000, 50), 60, Cause.NOTHING, 0),
        (usage(0, 1050), 300, Cause.EVICTED, 1000),
        (usage(0, 1050), 301, Cause.EXPIRED, 1000),
        (usage(0, 400), 60, Cause.MOVED, 1000),
        (usage(600, 450), 60, Cause.EVICTED, 400),
        (usage(1200, 50), 60, Cause.NOTHING, 0),
    ],
)
def test_each_miss_has_the_cause_that_its_figures_show(second: Usage, seconds: int, cause: Cause, lost: int) -> None:
    calls = [
        FiguredCall(START, "m", usage(0, 1000)),
        FiguredCall(START + timedelta(seconds=seconds), "m", second),
    ]
    first, then = figured_reads(calls, lifetime=LIFETIME)
    assert (first.expected, first.verdict.cause) == (None, Cause.FIRST)
    assert (then.verdict.cause, then.verdict.tokens) == (cause, lost)


def test_what_was_changed_explains_a_miss_before_its_figures_do() -> None:
    late = FiguredCall(START + timedelta(hours=1), "m", usage(0, 400))
    for changed, cause in (
        (Cause.PARAMETERS, Cause.PARAMETERS),
        (Cause.MODEL, Cause.MODEL),
        (Cause.MOVED, Cause.EXPIRED),
    ):
        calls = [FiguredCall(START, "m", usage(0, 1000)), replace(late, changed=frozenset({changed}))]
        assert list(figured_reads(calls, lifetime=LIFETIME))[1].verdict.cause is cause
    calls = [FiguredCall(START, "m", usage(0, 1000)), replace(late, model="another")]
    assert list(figured_reads(calls, lifetime=LIFETIME))[1].verdict.cause is Cause.MODEL


def test_a_call_that_broke_off_passes_on_what_was_changed_and_keeps_nothing_alive() -> None:
    minutes = [START + timedelta(minutes=number) for number in (0, 3, 4, 8)]
    first, broken = FiguredCall(minutes[0], "m", usage(0, 1000)), FiguredCall(minutes[1], "m", None)
    for at, cause in ((minutes[2], Cause.EVICTED), (minutes[3], Cause.EXPIRED)):
        last = FiguredCall(at, "m", usage(0, 1050))
        _, then = figured_reads([first, broken, last], lifetime=LIFETIME)
        assert then.verdict.cause is cause
        changed = replace(broken, changed=frozenset({Cause.PARAMETERS}))
        _, then = figured_reads([first, changed, last], lifetime=LIFETIME)
        assert then.verdict.cause is Cause.PARAMETERS
