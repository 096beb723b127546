"""``frontmind remind list``, ``import`` and ``export``, as a person runs them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from frontmind.stores.sqlite import SqliteStore
from support import START, Run

NOW = ("--now", "2026-11-30T09:15", "--timezone", "Europe/Berlin")
EVENTS = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
UID:1
SUMMARY:Dentist
DTSTART;TZID=America/New_York:20261201T090000
END:VEVENT
BEGIN:VEVENT
UID:2
SUMMARY:Standup
DTSTART;TZID=Europe/Berlin:20260105T100000
RRULE:FREQ=WEEKLY;BYDAY=MO
END:VEVENT
BEGIN:VEVENT
UID:3
SUMMARY:Long ago
DTSTART;VALUE=DATE:20200101
END:VEVENT
BEGIN:VTODO
UID:4
SUMMARY:Pay rent
DUE;VALUE=DATE:20261202
END:VTODO
END:VCALENDAR
"""
BROKEN = EVENTS.replace("DTSTART;TZID=America/New_York:20261201T090000", "DTSTART:soon").replace(
    "SUMMARY:Dentist", "SUMMARY:Den\x1b[2Jtist"
)


@pytest.fixture
def calendar(tmp_path: Path) -> Path:
    path = tmp_path / "events.ics"
    path.write_text(EVENTS, encoding="utf-8")
    return path


def on(tmp_path: Path, name: str = "mind.db") -> tuple[str, str]:
    return ("--db", str(tmp_path / name))


def listed(frontmind: Run, tmp_path: Path, name: str = "mind.db", *options: str) -> list[dict[str, Any]]:
    result = frontmind("remind", "list", "--json", *on(tmp_path, name), *NOW, *options)
    assert (result.returncode, result.stderr) == (0, "")
    values: list[dict[str, Any]] = json.loads(result.stdout)
    return values


def test_a_calendar_file_becomes_reminders_once(frontmind: Run, tmp_path: Path, calendar: Path) -> None:
    first = frontmind("remind", "import", str(calendar), *on(tmp_path), *NOW)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.splitlines() == [
        "r1  Tue 1 Dec 2026, 15:00 (09:00 America/New_York) (coming)  Dentist",
        "r2  Mon 30 Nov 2026, 10:00, every Monday (today)  Standup",
        "r3  Wed 2 Dec 2026 (coming)  Pay rent",
        "3 added, 1 over",
    ]
    again = json.loads(frontmind("remind", "import", str(calendar), "--json", *on(tmp_path), *NOW).stdout)
    assert (again["added"], again["known"], again["past"], again["skipped"]) == ([], 3, 1, [])
    values = listed(frontmind, tmp_path)
    assert [(item["id"], item.get("due"), item.get("date"), item["rrule"], item["zone"]) for item in values] == [
        ("r1", "2026-12-01T15:00:00+01:00", None, None, "America/New_York"),
        ("r2", "2026-11-30T10:00:00+01:00", None, "FREQ=WEEKLY;BYDAY=MO", "Europe/Berlin"),
        ("r3", None, "2026-12-02", None, "Europe/Berlin"),
    ]


def test_what_is_exported_comes_back_the_same_in_another_database(
    frontmind: Run, tmp_path: Path, calendar: Path
) -> None:
    frontmind("remind", "import", str(calendar), *on(tmp_path), *NOW)
    written = frontmind("remind", "export", "out.ics", *on(tmp_path))
    assert (written.returncode, written.stdout, written.stderr) == (0, "", "3 reminders written to out.ics\n")
    printed = frontmind("remind", "export", "-", *on(tmp_path))
    assert printed.stdout.encode() == (tmp_path / "out.ics").read_bytes()
    back = frontmind("remind", "import", "out.ics", *on(tmp_path, "other.db"), *NOW)
    assert back.returncode == 0
    assert listed(frontmind, tmp_path, "other.db") == listed(frontmind, tmp_path)


def test_a_done_reminder_is_listed_only_when_all_are_asked_for(frontmind: Run, tmp_path: Path, calendar: Path) -> None:
    frontmind("remind", "import", str(calendar), *on(tmp_path), *NOW)
    assert "Done: Dentist" in frontmind("chat", "--model", "echo", *NOW, given="/remind done r1\n").stdout
    assert [item["id"] for item in listed(frontmind, tmp_path)] == ["r2", "r3"]
    assert [item["status"] for item in listed(frontmind, tmp_path, "mind.db", "--all")] == ["done", "today", "coming"]
    shown = frontmind("remind", "list", "--all", *on(tmp_path), *NOW).stdout
    assert "(done)  Dentist" in shown


def test_a_broken_entry_is_named_and_the_others_are_added(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.ics").write_text(BROKEN, encoding="utf-8")
    result = frontmind("remind", "import", "broken.ics", *on(tmp_path), *NOW)
    assert result.returncode == 1
    assert result.stderr == "left out: Den\ufffd[2Jtist: its DTSTART cannot be read\n"
    assert result.stdout.splitlines()[-1] == "2 added, 1 over, 1 left out"
    assert len(listed(frontmind, tmp_path)) == 2


@pytest.mark.parametrize("target", ["out.ics", "-"])
async def test_a_reminder_in_an_unknown_zone_is_named_and_the_others_are_exported(
    frontmind: Run, tmp_path: Path, calendar: Path, target: str
) -> None:
    frontmind("remind", "import", str(calendar), *on(tmp_path), *NOW)
    store = SqliteStore.open(str(tmp_path / "mind.db"))
    await store.add_reminder("fly \x1b[2J", START, zone="Mars/Olympus", at=START)
    await store.close()
    result = frontmind("remind", "export", target, *on(tmp_path))
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("left out: r4 fly \ufffd[2J: unknown time zone 'Mars/Olympus'")
    written = result.stdout if target == "-" else (tmp_path / target).read_text()
    assert written.count("BEGIN:VEVENT") == 3
    assert ("3 reminders written to out.ics" in result.stderr) == (target != "-")


def test_an_existing_file_is_replaced_only_when_that_is_said(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.ics").write_text("mine")
    refused = frontmind("remind", "export", "mine.ics", *on(tmp_path))
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert (tmp_path / "mine.ics").read_text() == "mine"
    assert frontmind("remind", "export", "mine.ics", "--force", *on(tmp_path)).returncode == 0
    assert (tmp_path / "mine.ics").read_text().startswith("BEGIN:VCALENDAR")


def test_looking_makes_no_database(frontmind: Run, tmp_path: Path) -> None:
    assert frontmind("remind", "list", *on(tmp_path)).stdout == "No reminders.\n"
    assert frontmind("remind", "export", "-", *on(tmp_path)).stdout.startswith("BEGIN:VCALENDAR")
    assert not (tmp_path / "mind.db").exists()


@pytest.mark.parametrize("name", ["missing.ics", "folder", "pipe", "text.ics", "big.ics"])
def test_what_is_no_calendar_file_is_one_line_and_exit_code_2(frontmind: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text.ics").write_text("hello")
    (tmp_path / "big.ics").write_bytes(b"BEGIN:VCALENDAR\n" + b" " * 10_000_000)
    result = frontmind("remind", "import", name, *on(tmp_path))
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("frontmind: ")
    assert not (tmp_path / "mind.db").exists()
