"""``frontmind ledger``, as a person uses it."""

from __future__ import annotations

import asyncio
import csv
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from frontmind.stores.sqlite import SqliteStore
from frontmind.values.calls import CacheVerdict, CallEnd, CallPart, Cause, NewCall, Purpose
from frontmind.values.usage import Usage
from support import Run

ZONE = ("--timezone", "Europe/Berlin")
NINE = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
MODEL = "anthropic:claude-sonnet-4-5"
EVIL = "=main\x1b[2J"
NEW = NewCall("main", 1, 0, Purpose.TURN, MODEL, "assistant", "ab", NINE, Usage(1_000, 0, 900, 0))
MOVED = CacheVerdict(Cause.MOVED, 900, "domaindoc is another one", "system[1] (domaindoc)", "old", "new")
PARTS = (CallPart("domaindoc", "DomaindocTrinket", 0, 900, 0), CallPart("user message", "", 0, 0, 100))
FIRST = CallEnd(NINE, Usage(1_000, 0, 900, 50), Decimal("0.0044"), Decimal("0.00375"), parts=PARTS)

Noted = tuple[NewCall, CallEnd | None]


def at(day: int, hour: int = 9) -> datetime:
    return NINE + timedelta(days=day, hours=hour - 9)


def twelve_turns() -> list[Noted]:
    """Three days of four turns; the fifth lost its prefix, the last broke off, the sixth is of another conversation."""
    noted: list[Noted] = []
    for turn in range(1, 13):
        sent_at = at((turn - 1) // 4, 9 + (turn - 1) % 4)
        expected = 900 if turn > 1 else 0
        new = replace(NEW, turn=turn, sent_at=sent_at, expected=Usage(1_000, expected, 0, 0))
        if turn == 1:
            end: CallEnd | None = replace(FIRST, ended_at=sent_at)
        elif turn == 5:
            end = replace(FIRST, ended_at=sent_at, verdict=MOVED)
        else:
            kept = (CallPart("domaindoc", "DomaindocTrinket", 900, 0, 0), CallPart("user message", "", 0, 0, 100))
            end = CallEnd(sent_at, Usage(1_000, 900, 0, 50), Decimal("0.0013"), Decimal("0.00375"), parts=kept)
        if turn == 6:
            new, end = replace(new, conversation=EVIL, model="local"), CallEnd(sent_at, Usage(1_000, 900, 0, 50))
        noted.append((new, None if turn == 12 else end))
    return noted


def fill(path: Path, noted: Sequence[Noted]) -> None:
    async def run() -> None:
        store = SqliteStore.open(path)
        for new, end in noted:
            call_id = await store.begin_call(new)
            if end is not None:
                await store.finish_call(call_id, end)
        await store.close()

    asyncio.run(run())


@pytest.fixture
def db(tmp_path: Path) -> tuple[str, ...]:
    fill(tmp_path / "mind.db", twelve_turns())
    return ("--db", "mind.db")


def shown(frontmind: Run, *arguments: str) -> str:
    result = frontmind("ledger", *arguments, *ZONE)
    assert (result.returncode, result.stderr) == (0, "")
    return str(result.stdout)


def read(frontmind: Run, *arguments: str) -> Any:
    return json.loads(shown(frontmind, *arguments, "--json"))


def line_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(start))


class TestTable:
    def test_each_turn_is_a_row_and_all_are_summed(self, frontmind: Run, db: tuple[str, ...]) -> None:
        table = shown(frontmind, *db)
        assert line_of(table, "main 2 ").split() == ["main", "2", "1", "900", "0", "100", "50", "90", "%", "900"]
        assert line_of(table, "main 5 ").split()[-1] == "900"
        assert "900 less" in table
        assert line_of(table, "all").split() == ["all", "12", "8,100", "1,800", "1,100", "550", "74", "%", "9,000"]
        money = table[table.index("dollars") :]
        assert line_of(money, "main 5 ").split() == ["main", "5", "0.0044", "-0.0006", "900", "moved"]
        assert line_of(money, "all").split() == ["all", "0.0192", "+", "?", "0.0183", "+", "?", "900", "moved"]

    def test_what_is_not_known_is_shown_as_that(self, frontmind: Run, db: tuple[str, ...]) -> None:
        table = shown(frontmind, *db)
        assert line_of(table, "main 12 ").split() == ["main", "12", "·", "broken", "off", "1", *"?????"]
        money = table[table.index("dollars") :]
        assert line_of(money, "=main").split()[-2:] == ["?", "?"]
        assert "? not known; the price is known of 10 of 12 calls\n" in table
        assert "1 broken off, or still running" in table

    @pytest.mark.parametrize(
        ("by", "names"),
        [
            ("conversation", ["main · 1 broken off", "=main"]),
            ("day", ["2026-11-30", "2026-12-01", "2026-12-02 · 1 broken off"]),
            ("trinket", ["DomaindocTrinket", "(user message)", "(not attributed) · 1 broken off", "(reply)"]),
            ("model", [MODEL, "local"]),
            ("call", ["2026-11-30 09:00  main 1.0", "2026-12-02 12:00  main 12.0 · broken off"]),
        ],
    )
    def test_rows_can_be_of_other_things(self, frontmind: Run, db: tuple[str, ...], by: str, names: list[str]) -> None:
        table = shown(frontmind, *db, "--by", by)
        for name in names:
            assert line_of(table, name)

    def test_names_do_nothing_to_the_terminal(self, frontmind: Run, db: tuple[str, ...]) -> None:
        for by in ("turn", "conversation", "call"):
            for form in ((), ("--json",), ("--csv",)):
                assert "\x1b" not in shown(frontmind, *db, "--by", by, *form)

    def test_a_name_with_markup_of_the_terminal_library_is_shown_as_it_is(self, frontmind: Run, tmp_path: Path) -> None:
        fill(tmp_path / "mind.db", [(replace(NEW, conversation="[red]x[/red]"), FIRST)])
        assert "[red]x[/red]" in shown(frontmind, "--db", "mind.db", "--by", "conversation")

    def test_there_is_a_plot_below(self, frontmind: Run, db: tuple[str, ...]) -> None:
        plot = shown(frontmind, *db).split("\n\n")[-1].splitlines()
        assert plot[-1].split() == ["█", "read", "▓", "written", "░", "fresh"]
        assert [line.count("█") > line.count("▓") for line in plot[:5]] == [False, True, True, True, False]

    def test_a_long_ledger_is_shown_from_its_end_and_says_so(self, frontmind: Run, tmp_path: Path) -> None:
        fill(tmp_path / "mind.db", [(replace(NEW, turn=turn), FIRST) for turn in range(1, 61)])
        table = shown(frontmind, "--db", "mind.db")
        assert "20 more, with older calls; --newest 60 shows all" in table
        assert line_of(table, "all").split()[1] == "60"
        assert "turn 21 " in table
        assert "turn 20 " not in table
        assert "turn 1 " in shown(frontmind, "--db", "mind.db", "--newest", "60")


class TestChoosing:
    def test_a_conversation_and_days_are_chosen(self, frontmind: Run, db: tuple[str, ...]) -> None:
        def turns(*arguments: str) -> list[int]:
            return [row["turn"] for row in read(frontmind, *db, *arguments)["rows"]]

        assert turns("--conversation", EVIL) == [6]
        assert turns("--since", "2026-12-01", "--until", "2026-12-01") == [5, 6, 7, 8]
        assert turns("--until", "2026-11-30T11:00") == [1, 2]
        assert turns("--since", "2026-12-02", "--conversation", "main") == [9, 10, 11, 12]
        assert turns("--newest", "2") == [11, 12]

    def test_a_day_is_one_of_the_persons_zone(self, frontmind: Run, tmp_path: Path) -> None:
        fill(tmp_path / "mind.db", [(replace(NEW, sent_at=datetime(2026, 11, 30, 23, 30, tzinfo=UTC)), FIRST)])
        db = ("--db", "mind.db", "--by", "day")
        assert read(frontmind, *db)["rows"][0]["day"] == "2026-12-01"
        assert read(frontmind, *db, "--until", "2026-11-30")["rows"] == []
        west = json.loads(frontmind("ledger", *db, "--json", "--timezone", "America/New_York").stdout)
        assert (west["rows"][0]["day"], west["timezone"]) == ("2026-11-30", "America/New_York")

    def test_fewer_rows_leave_the_sum_of_all(self, frontmind: Run, db: tuple[str, ...]) -> None:
        found = read(frontmind, *db, "--newest", "3")
        assert (len(found["rows"]), found["older_rows"], found["total"]["calls"]) == (3, 9, 12)


class TestForPrograms:
    def test_json_has_every_figure_and_no_float_of_money(self, frontmind: Run, db: tuple[str, ...]) -> None:
        found = read(frontmind, *db)
        assert found["by"] == "turn"
        assert found["rows"][4] == {
            "conversation": "main",
            "turn": 5,
            "purpose": "turn",
            "calls": 1,
            "broken_off": 0,
            "input": 1_000,
            "read": 0,
            "written": 900,
            "fresh": 100,
            "output": 50,
            "estimated": False,
            "hit_share": 0.0,
            "expected_read": 900,
            "expected_of_calls": 1,
            "behind": 900,
            "dollars": "0.0044",
            "dollars_unknown_for_calls": 0,
            "dollars_without_cache": "0.00375",
            "saved": "-0.00065",
            "saved_unknown_for_calls": 0,
            "lost": {"moved": 900},
            "share": 0.090909,
        }
        assert found["rows"][11]["read"] is None
        assert found["total"]["dollars"] == "0.0192"

    def test_a_single_call_says_why_it_lost_what_was_cached(self, frontmind: Run, db: tuple[str, ...]) -> None:
        details = read(frontmind, *db, "--by", "call")["rows"][4]["details"]
        assert details["verdict"]["reason"] == "domaindoc is another one"
        assert (details["verdict"]["before"], details["verdict"]["after"]) == ("old", "new")
        assert details["parts"][0] == {
            "name": "domaindoc", "trinket": "DomaindocTrinket", "read": 0, "written": 900, "fresh": 0
        }  # fmt: skip

    def test_the_cost_of_the_trinkets_is_that_of_the_calls(self, frontmind: Run, db: tuple[str, ...]) -> None:
        found = read(frontmind, *db, "--by", "trinket", "--conversation", "main")
        assert sum(Decimal(row["dollars"] or 0) for row in found["rows"]) == Decimal(found["total"]["dollars"])
        (document,) = [row for row in found["rows"] if row["trinket"] == "DomaindocTrinket"]
        assert Decimal("0.005") < Decimal(document["dollars"]) < Decimal("0.0192")
        assert document["lost"] == {"moved": 900}

    def test_csv_is_a_table_without_formulas(self, frontmind: Run, db: tuple[str, ...]) -> None:
        lines = list(csv.DictReader(shown(frontmind, *db, "--csv").splitlines()))
        assert [line["turn"] for line in lines] == [str(turn) for turn in range(1, 13)]
        assert lines[5]["conversation"].startswith("'=main")
        assert (lines[4]["lost_moved"], lines[4]["dollars"], lines[11]["read"]) == ("900", "0.0044", "")


class TestSvg:
    def test_the_rows_are_drawn_into_a_file(self, frontmind: Run, db: tuple[str, ...], tmp_path: Path) -> None:
        result = frontmind("ledger", *db, "--svg", "cache.svg", "--by", "day", "--json", *ZONE)
        assert (result.returncode, result.stderr) == (0, "3 bars drawn in cache.svg\n")
        assert len(json.loads(result.stdout)["rows"]) == 3
        root = ET.parse(tmp_path / "cache.svg").getroot()
        assert len(root.findall("{http://www.w3.org/2000/svg}g")) == 3
        assert "2026-12-01" in "".join(root.itertext())

    def test_a_file_that_is_there_is_replaced_only_when_that_is_said(
        self, frontmind: Run, db: tuple[str, ...], tmp_path: Path
    ) -> None:
        (tmp_path / "mine.svg").write_text("mine")
        refused = frontmind("ledger", *db, "--svg", "mine.svg")
        assert (refused.returncode, refused.stdout, "--force" in refused.stderr) == (2, "", True)
        assert (tmp_path / "mine.svg").read_text() == "mine"
        mine = frontmind("ledger", *db, "--svg", "mine.svg", "--force")
        assert (mine.returncode, "no picture of this command" in mine.stderr) == (2, True)
        assert (tmp_path / "mine.svg").read_text() == "mine"
        for by in ("turn", "day"):
            assert frontmind("ledger", *db, "--svg", "own.svg", "--by", by, "--force").returncode == 0
        groups = ET.parse(tmp_path / "own.svg").getroot().findall("{http://www.w3.org/2000/svg}g")
        assert len(groups) == 3, "the picture by turn was replaced"

    @pytest.mark.parametrize(
        "target",
        ["mind.db", "./mind.db", "link.svg", "hard.svg", "mind.db-wal", "mind.db-shm", "mind.db-journal"],
    )
    def test_the_database_is_never_drawn_over(
        self, frontmind: Run, db: tuple[str, ...], tmp_path: Path, target: str
    ) -> None:
        (tmp_path / "link.svg").symlink_to("mind.db")
        (tmp_path / "hard.svg").hardlink_to(tmp_path / "mind.db")
        before = (tmp_path / "mind.db").read_bytes()
        for command in (("ledger", "--svg", target), ("memory", "export", target)):
            refused = frontmind(*command, "--force", *db)
            assert (refused.returncode, refused.stdout) == (2, ""), command
            assert "belongs to the database" in refused.stderr
        assert (tmp_path / "mind.db").read_bytes() == before
        assert not list(tmp_path.glob("mind.db-*"))

    def test_another_database_is_not_drawn_over_either(
        self, frontmind: Run, db: tuple[str, ...], tmp_path: Path
    ) -> None:
        fill(tmp_path / "other.db", twelve_turns())
        before = (tmp_path / "other.db").read_bytes()
        assert frontmind("ledger", *db, "--svg", "other.db", "--force").returncode == 2
        assert (tmp_path / "other.db").read_bytes() == before


class TestNothing:
    def test_where_there_is_no_database_it_says_so_and_makes_none(self, frontmind: Run, tmp_path: Path) -> None:
        assert shown(frontmind, "--db", "none.db") == "No calls: there is no database at none.db.\n"
        assert read(frontmind, "--db", "none.db")["rows"] == []
        assert len(shown(frontmind, "--db", "none.db", "--csv").splitlines()) == 1
        assert not (tmp_path / "none.db").exists()

    def test_an_empty_ledger_and_an_empty_choice_are_told_apart(self, frontmind: Run, tmp_path: Path) -> None:
        fill(tmp_path / "empty.db", [])
        fill(tmp_path / "mind.db", twelve_turns())
        assert shown(frontmind, "--db", "empty.db") == "No calls. Each is noted here as it is sent.\n"
        choice = shown(frontmind, "--db", "mind.db", "--conversation", "nobody")
        assert choice == "No calls of this conversation and time.\n"

    def test_looking_changes_nothing(self, frontmind: Run, db: tuple[str, ...], tmp_path: Path) -> None:
        before = (tmp_path / "mind.db").read_bytes()
        shown(frontmind, *db)
        assert (tmp_path / "mind.db").read_bytes() == before
        assert {path.name for path in tmp_path.glob("mind.db*")} <= {"mind.db", "mind.db.locks"}

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--json", "--csv"),
            ("--since", "yesterday"),
            ("--until", "2026-13-01"),
            ("--svg", "folder"),
            ("--svg", "folder", "--force"),
            ("--svg", "missing/cache.svg"),
            ("--timezone", "Mars"),
            ("--db", "text.db"),
        ],
    )
    def test_what_cannot_be_done_is_one_line_and_exit_code_2(
        self, frontmind: Run, db: tuple[str, ...], tmp_path: Path, arguments: tuple[str, ...]
    ) -> None:
        (tmp_path / "folder").mkdir()
        (tmp_path / "text.db").write_text("no database\n" * 100)
        result = frontmind("ledger", *db, *arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("frontmind: ")


@pytest.mark.parametrize("day", ["2026-11-30", "20261130", "2026-W49-1", "2026W491"])
def test_the_last_day_is_included_however_it_is_written(frontmind: Run, db: tuple[str, ...], day: str) -> None:
    assert read(frontmind, *db, "--until", day)["total"]["calls"] == 4


@pytest.mark.parametrize("cost", ["1e999999999", "-5", "1e-999999999", "1e12"])
def test_money_that_no_call_can_cost_is_a_damaged_ledger(
    frontmind: Run, db: tuple[str, ...], tmp_path: Path, cost: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "mind.db", isolation_level=None)) as connection:
        connection.execute("UPDATE calls SET cost = ? WHERE turn = 2", (cost,))
    for by in ("turn", "trinket"):
        result = frontmind("ledger", *db, "--by", by)
        assert (result.returncode, result.stdout) == (2, "")
        assert "a call of the ledger" in result.stderr
        assert "damaged" in result.stderr
