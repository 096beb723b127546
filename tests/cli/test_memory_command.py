"""``frontmind memory``, and ``/memory``, ``/remember`` and ``/forget`` in a chat, as a person uses them."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from frontmind.cli.memory_command import Memories, forget, memory, parse_memory_id, remember
from frontmind.errors import UsageError
from frontmind.recall.facts import FactKeeper
from frontmind.reminders.in_words import parse_slot
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.memories import Extraction, LinkKind, MemoryChanges, MemoryLink, MemoryOrigin, NewMemory
from frontmind.values.message import user
from support import BERLIN, START, HandClock, Run

NOW = ("--now", "2026-11-30T09:15", "--timezone", "Europe/Berlin")
DAY = timedelta(days=1)


@pytest.fixture
async def memories() -> AsyncIterator[Memories]:
    store, clock = SqliteStore.open(IN_MEMORY), HandClock()
    yield Memories(store, clock, FactKeeper(store, clock))
    await store.close()


async def moved(memories: Memories) -> None:
    """m1 was superseded by m2 a day later."""
    changes = MemoryChanges(
        added=(
            NewMemory("You live in Paris", START - DAY, MemoryOrigin.EXTRACTED, "main", 3, 0.7),
            NewMemory("You live in\nRome", START),
        ),
        superseded=((-1, -2, START),),
        links=(MemoryLink(-2, -1, LinkKind.SUPERSEDES),),
    )
    await memories.store.change_memories(changes, START)


class TestInAChat:
    async def test_a_memory_is_kept_listed_shown_changed_and_forgotten(self, memories: Memories) -> None:
        assert await memory(memories, "") == "No memories. Add one: /remember You prefer tea"
        assert await remember(memories, "You prefer tea") == "Remembered as m1: You prefer tea"
        assert await remember(memories, "you prefer tea.") == "Known already as m1: You prefer tea"
        assert await memory(memories, "list") == "m1  2026-11-30  You prefer tea"
        assert (
            await memory(memories, "edit m1 You prefer  green tea") == "Changed: m1  2026-11-30  You prefer green tea"
        )
        assert await memory(memories, "until m1 2027-03-14") == (
            "Changed: m1  2026-11-30  You prefer green tea  (until Sun 14 Mar 2027)"
        )
        assert await memory(memories, "happens 1 tomorrow at 9am") == (
            "Changed: m1  2026-11-30  You prefer green tea  (on Tue 1 Dec 2026, 09:00; until Sun 14 Mar 2027)"
        )
        await memory(memories, "until m1 none")
        assert "until" not in await memory(memories, "show m1")
        assert await forget(memories, "M1") == "Forgot m1: You prefer  green tea"
        assert "No memories" in await memory(memories, "list all")

    async def test_what_is_known_of_a_memory_is_shown_with_both_dates_and_its_links(self, memories: Memories) -> None:
        await moved(memories)
        await memories.store.note_memory_uses([1], START)
        assert await memory(memories, "") == "m2  2026-11-30  You live in Rome"
        assert (await memory(memories, "list all")).splitlines() == [
            "m1  2026-11-29  You live in Paris  (superseded by m2 since 2026-11-30)",
            "m2  2026-11-30  You live in Rome",
        ]
        assert (await memory(memories, "show m1")).splitlines() == [
            "m1  You live in Paris",
            "  extracted, observed Sun 29 Nov 2026, 09:15, from turn 3 of main",
            "  confidence 0.70, importance 0.63, used on 1 day",
            "  superseded by m2 since Mon 30 Nov 2026, 09:15",
            "  is superseded by m2  2026-11-30  You live in Rome",
        ]
        assert "  supersedes m1  2026-11-29  You live in Paris" in await memory(memories, "show m2")

    async def test_what_a_forgotten_memory_had_superseded_can_hold_again(self, memories: Memories) -> None:
        await moved(memories)
        assert (await forget(memories, "m2")).endswith("m1 it had superseded; /memory restore lets one hold again.")
        assert await memory(memories, "restore m1") == "Holds again: m1  2026-11-29  You live in Paris"
        before = await memories.store.memory(1)
        assert await memory(memories, "restore m1") == "Holds already: m1  2026-11-29  You live in Paris"
        assert await memories.store.memory(1) == before
        assert await memory(memories, "") == "m1  2026-11-29  You live in Paris"

    async def test_the_figures_tell_what_a_model_has_read_and_what_failed(self, memories: Memories) -> None:
        await moved(memories)
        assert await memory(memories, "status") == (
            "1 hold, 1 superseded; 1 of them extracted by a model from 0 segments."
        )
        await memories.store.begin_turn("main", user("hello"), START, segment_pause=DAY)
        failed = Extraction("main", 1, 0, "openai:gpt", START, failures=2, problem="it is down")
        await memories.store.change_memories(MemoryChanges(), START, extraction=failed)
        assert (await memory(memories, "status")).splitlines()[1] == (
            "Segment 1 of main was not read (2 attempts with openai:gpt): it is down"
        )

    async def test_memories_go_to_a_file_and_come_back(self, memories: Memories, tmp_path: Path) -> None:
        await moved(memories)
        for name in ("all.jsonl", "all.md"):
            file = tmp_path / name
            assert await memory(memories, f"export {file}") == f"2 memories written to {file}"
            assert await memory(memories, f"import {file}") == "2 there already"
            with pytest.raises(UsageError, match="there already"):
                await memory(memories, f"export {file}")
        (tmp_path / "broken.jsonl").write_text('{"text": "You swim"}\n' + "x\n" * 12)
        said = (await memory(memories, f"import {tmp_path / 'broken.jsonl'}")).splitlines()
        assert said[0] == "1 added, 12 left out"
        assert said[1].startswith("left out: line 2: it is not JSON")
        assert said[-1] == "and 2 more"

    @pytest.mark.parametrize(
        "arguments",
        ["what", "list some", "show", "show m9", "show tea", "edit", "edit m1", "edit m9 x", "until m1",
         "until m1 soon", "until m1 every day", "until m1 2026-02-30", "happens m1 x", "restore m9", "forget",
         "forget m9", "export", "import", "import none.jsonl", "import .", "export .", "export \x00",
         "edit m1 \u3000", "forget m0"],
    )  # fmt: skip
    async def test_arguments_that_cannot_be_used_are_explained_on_one_line(
        self, memories: Memories, arguments: str
    ) -> None:
        await remember(memories, "You prefer tea")
        before = await memories.store.memories()
        with pytest.raises(UsageError) as caught:
            await memory(memories, arguments)
        assert "\n" not in str(caught.value)
        assert await memories.store.memories() == before

    @pytest.mark.parametrize("run", [remember, forget])
    async def test_without_a_text_or_an_id_it_is_asked_for(self, memories: Memories, run: Any) -> None:
        with pytest.raises(UsageError, match=r"/(remember|forget) "):
            await run(memories, "")

    def test_slash_commands_reach_the_store_of_the_chat(self, frontmind: Run) -> None:
        said = frontmind(
            "chat", "--model", "echo", *NOW, given="/remember You prefer tea\n/memory\n/forget m1\n/memory\n/help\n"
        )
        assert (said.returncode, said.stderr) == (0, "")
        for line in ("Remembered as m1: You prefer tea", "m1  2026-11-30  You prefer tea", "Forgot m1: You prefer tea"):
            assert line in said.stdout.splitlines()
        assert "No memories." in said.stdout
        assert "/memory show ID" in said.stdout

    def test_a_search_shows_rules_as_they_are_and_nothing_that_moves_the_cursor(self, frontmind: Run) -> None:
        given = "/remember You draw ═══ \x1b[2J\u202e\ttea\n/search tea\n/memory\n"
        said = frontmind("chat", "--model", "echo", *NOW, given=given)
        assert (said.returncode, said.stderr) == (0, "")
        assert said.stdout.count("You draw ═══") == 4
        assert "&#x" not in said.stdout
        assert not {"\x1b", "\u202e"} & set(said.stdout)


class TestWhatPeopleWrite:
    @pytest.mark.parametrize(
        ("text", "read"),
        [
            ("2027-03-14", date(2027, 3, 14)),
            ("2020-03-14", date(2020, 3, 14)),
            ("2027-03-14T15:00", datetime(2027, 3, 14, 15, tzinfo=BERLIN)),
            ("2027-03-14 15:00Z", datetime(2027, 3, 14, 15, tzinfo=UTC)),
            ("tomorrow", date(2026, 12, 1)),
            ("friday at noon", datetime(2026, 12, 4, 12, tzinfo=BERLIN)),
            (" None ", None),
        ],
    )
    def test_a_time_is_iso_8601_or_a_phrase(self, text: str, read: datetime | date | None) -> None:
        slot = parse_slot(text, START)
        assert slot == read
        assert type(slot) is type(read)

    @pytest.mark.parametrize("text", ["", "m", "m0", "r1", "1.5", "m1 m2", "m-1", "²", "m" + "1" * 16])
    def test_what_is_no_id_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match="no id of a memory"):
            parse_memory_id(text)


def on(tmp_path: Path, name: str = "mind.db") -> tuple[str, str]:
    return ("--db", str(tmp_path / name))


def run_json(frontmind: Run, *arguments: str) -> Any:
    result = frontmind("memory", *arguments, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


class TestOutsideOfAChat:
    def test_a_memory_is_added_edited_shown_listed_and_forgotten(self, frontmind: Run, tmp_path: Path) -> None:
        db = on(tmp_path)
        added = run_json(frontmind, "add", "You prefer tea", *db, *NOW)
        assert (added["id"], added["text"], added["origin"]) == ("m1", "You prefer tea", "person")
        assert (added["observed_at"], added["importance"]) == ("2026-11-30T09:15:00+01:00", 0.5)
        again = frontmind("memory", "add", "You prefer tea!", *db, *NOW)
        assert again.stdout == "Known already: m1  2026-11-30  You prefer tea\n"
        edited = frontmind("memory", "edit", "m1", "--text", "You swim", "--until", "2027-03-14", *db, *NOW)
        assert edited.stdout == "m1  2026-11-30  You swim  (until Sun 14 Mar 2027)\n"
        assert run_json(frontmind, "edit", "m1", "--until", "none", *db, *NOW)["valid_until"] is None
        assert frontmind("memory", "show", "m1", *db, *NOW).stdout.startswith("m1  You swim\n  person, observed Mon")
        listed = run_json(frontmind, "list", *db, *NOW)
        assert [(each["id"], each["text"], each["version"]) for each in listed] == [("m1", "You swim", 3)]
        assert run_json(frontmind, "show", "m1", *db, *NOW) == listed[0]
        assert frontmind("memory", "forget", "m1", *db).stdout == "Forgot m1: You swim\n"
        assert frontmind("memory", "list", *db).stdout == "No memories.\n"

    @pytest.mark.parametrize("name", ["all.jsonl", "all.md"])
    def test_what_is_exported_is_imported_once(self, frontmind: Run, tmp_path: Path, name: str) -> None:
        for text in ("You prefer tea", "You see\x1b[2J nothing"):
            frontmind("memory", "add", text, *on(tmp_path), *NOW)
        written = frontmind("memory", "export", name, *on(tmp_path))
        assert (written.returncode, written.stdout, written.stderr) == (0, "", f"2 memories written to {name}\n")
        first = run_json(frontmind, "import", name, *on(tmp_path, "other.db"), *NOW)
        assert ([each["id"] for each in first["added"]], first["known"]) == (["m1", "m2"], 0)
        again = frontmind("memory", "import", name, *on(tmp_path, "other.db"))
        assert again.stdout == "2 there already\n"
        if name.endswith("jsonl"):
            assert run_json(frontmind, "list", *on(tmp_path, "other.db"), *NOW) == run_json(
                frontmind, "list", *on(tmp_path), *NOW
            )

    @pytest.mark.parametrize("form", ["jsonl", "markdown"])
    def test_a_printed_export_does_nothing_to_a_terminal(self, frontmind: Run, tmp_path: Path, form: str) -> None:
        frontmind("memory", "add", "You see\x1b[2J \u202enothing", *on(tmp_path), *NOW)
        printed = frontmind("memory", "export", "-", "--format", form, *on(tmp_path)).stdout
        assert "nothing" in printed
        assert not {"\x1b", "\u202e"} & set(printed)
        assert "\x1b" not in frontmind("memory", "list", *on(tmp_path)).stdout

    def test_broken_lines_are_named_and_the_others_are_imported(self, frontmind: Run, tmp_path: Path) -> None:
        (tmp_path / "some.jsonl").write_text('{"text": "You swim"}\n{"text": "\\u001b[2J", "turn": "x"}\n')
        result = frontmind("memory", "import", "some.jsonl", *on(tmp_path), *NOW)
        assert (result.returncode, result.stdout) == (1, "1 added, 1 left out\n")
        assert result.stderr.startswith("left out: line 2: turn: ")

    @pytest.mark.parametrize("form", ["jsonl", "markdown"])
    def test_a_memory_at_the_end_of_time_stops_no_export(self, frontmind: Run, tmp_path: Path, form: str) -> None:
        lines = ('{"text": "You wait", "observed_at": "2999-12-31T23:59:59-23:00"}', '{"text": "You swim"}')
        (tmp_path / "some.jsonl").write_text("\n".join(lines))
        result = frontmind("memory", "import", "some.jsonl", *on(tmp_path), *NOW)
        assert (result.returncode, result.stdout) == (1, "1 added, 1 left out\n")
        frontmind("memory", "edit", "m1", "--until", "2999-12-31T23:59:59-23:00", *on(tmp_path), *NOW)
        exported = frontmind("memory", "export", "-", "--format", form, *on(tmp_path), *NOW[2:])
        assert (exported.returncode, exported.stderr) == (0, "")
        assert "3000-01-01T23:59:59+01:00" in exported.stdout
        assert run_json(frontmind, "list", *on(tmp_path), *NOW)[0]["valid_until"] == "3000-01-01T23:59:59+01:00"

    def test_an_existing_file_is_replaced_only_when_that_is_said(self, frontmind: Run, tmp_path: Path) -> None:
        (tmp_path / "mine.md").write_text("mine")
        refused = frontmind("memory", "export", "mine.md", *on(tmp_path))
        assert (refused.returncode, "--force" in refused.stderr) == (2, True)
        assert (tmp_path / "mine.md").read_text() == "mine"
        assert frontmind("memory", "export", "mine.md", "--force", *on(tmp_path)).returncode == 0
        assert (tmp_path / "mine.md").read_text() == "# Memories\n\n"

    def test_looking_makes_no_database(self, frontmind: Run, tmp_path: Path) -> None:
        for arguments in (("list",), ("export", "-"), ("status",)):
            assert frontmind("memory", *arguments, *on(tmp_path)).returncode == 0
        assert frontmind("memory", "show", "m1", *on(tmp_path)).returncode == 2
        assert not (tmp_path / "mind.db").exists()

    @pytest.mark.parametrize(
        ("settings", "model"),
        [
            ({}, None),
            ({"FRONTMIND_MODEL": "anthropic:claude-sonnet-5"}, "anthropic:claude-sonnet-5"),
            ({"FRONTMIND_MODEL": "anthropic:claude-sonnet-5", "FRONTMIND_MEMORY_MODEL": "none"}, None),
            ({"FRONTMIND_MEMORY_MODEL": "ollama:qwen3"}, "ollama:qwen3"),
        ],
    )
    def test_the_status_names_the_model_that_extracts_or_says_that_there_is_none(
        self, frontmind: Run, tmp_path: Path, settings: dict[str, str], model: str | None
    ) -> None:
        told = frontmind("memory", "status", *on(tmp_path), env=settings).stdout
        assert ("No model extracts memories" in told) == (model is None)
        assert model is None or f"Memories are extracted by {model}." in told
        as_json = json.loads(frontmind("memory", "status", "--json", *on(tmp_path), env=settings).stdout)
        assert as_json == {"model": model, "holding": 0, "superseded": 0, "extracted": 0, "segments": 0, "failed": []}

    @pytest.mark.parametrize(
        "arguments",
        [("show", "x"), ("show", "m9"), ("edit", "m9"), ("edit", "m9", "--text", "x"), ("forget", "m9"), ("add", " "),
         ("import", "missing.jsonl"), ("import", "folder"), ("import", "pipe"), ("import", "latin.md"),
         ("export", "folder"), ("export", "folder", "--force"), ("list", "--timezone", "Mars")],
    )  # fmt: skip
    def test_what_cannot_be_done_is_one_line_and_exit_code_2(
        self, frontmind: Run, tmp_path: Path, arguments: tuple[str, ...]
    ) -> None:
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "latin.md").write_bytes(b"- caf\xe9\n")
        result = frontmind("memory", *arguments, *on(tmp_path))
        assert (result.returncode, result.stdout) == (2, "")
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("frontmind: ")
