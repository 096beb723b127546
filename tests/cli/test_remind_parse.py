"""``frontmind remind parse``, as a person runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support import PROGRAM

Parse: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def parse(environment: dict[str, str], tmp_path: Path) -> Parse:
    def run(
        phrase: str, *options: str, now: str = "2026-11-30T15:00", zone: str = "Europe/Berlin"
    ) -> subprocess.CompletedProcess[str]:
        command = [str(PROGRAM), "remind", "parse", phrase, "--now", now, "--timezone", zone, *options]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=60, check=False, cwd=tmp_path
        )

    return run


def understood(finished: subprocess.CompletedProcess[str]) -> Any:
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_a_time_of_day_that_has_passed_is_tomorrow(parse: Parse) -> None:
    assert understood(parse("remind me at 9am", "--json", now="2026-11-30T23:00")) == {
        "text": "remind me",
        "due": "2026-12-01T09:00:00+01:00",
        "zone": "Europe/Berlin",
    }


def test_a_day_without_a_time_of_day_stays_a_date(parse: Parse) -> None:
    assert understood(parse("renew the passport on 24 December", "--json")) == {
        "text": "renew the passport",
        "date": "2026-12-24",
        "zone": "Europe/Berlin",
    }


def test_a_recurrence_is_a_rule_and_its_first_time(parse: Parse) -> None:
    assert understood(parse("standup every weekday at 8:30", "--json", zone="Asia/Kolkata")) == {
        "text": "standup",
        "due": "2026-12-01T08:30:00+05:30",
        "rrule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
        "zone": "Asia/Kolkata",
    }


def test_what_is_left_out_of_a_recurrence_is_told(parse: Parse) -> None:
    found = understood(parse("water the plants every other tuesday except on 15 December", "--json"))
    assert (found["date"], found["rrule"]) == ("2026-12-01", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU")
    assert found["exdates"] == ["2026-12-15"]


def test_a_person_reads_the_text_the_time_and_the_rule(parse: Parse) -> None:
    finished = parse("every monday at 9am call Anna")
    assert finished.stdout == "call Anna\n  Monday, 2026-12-07 09:00 (Europe/Berlin)\n  again: FREQ=WEEKLY;BYDAY=MO\n"
    assert finished.returncode == 0


@pytest.mark.parametrize(
    "phrase",
    ["call Anna", "call Anna soon", "call Anna at 9am and at 5pm", "call Anna yesterday", "tomorrow", "", "\u2028"],
)
def test_what_is_not_understood_is_asked_back_in_one_line(parse: Parse, phrase: str) -> None:
    finished = parse(phrase, "--json")
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("frontmind: ")
    assert finished.stderr.count("\n") == 1


def test_a_text_cannot_move_the_cursor_of_a_terminal(parse: Parse) -> None:
    for options in ((), ("--json",)):
        finished = parse("\x1b[2Jcall\x07 \u202eAnna tomorrow", *options)
        assert finished.returncode == 0
        assert not set("\x1b\x07\u202e") & set(finished.stdout)
    assert json.loads(finished.stdout)["text"] == "\x1b[2Jcall\x07 \u202eAnna"
