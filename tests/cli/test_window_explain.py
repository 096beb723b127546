"""``frontmind window explain``: every block with its trinket, its size and age, and what the cache should do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import Run

NOW = "2026-11-30T09:15"


def explained(frontmind: Run, *arguments: str) -> dict[str, Any]:
    done = frontmind("window", "explain", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def conversation(frontmind: Run, tmp_path: Path) -> None:
    """A conversation of three turns with a reminder and a note."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["First reply. " * 40, "Second reply. " * 40, "Third reply. " * 40]), encoding="utf-8")
    lines = "/remind call Anna today at 6pm\n/remember The locker code is 4417.\nhello\nhow are you\nlocker code?\n"
    done = frontmind("chat", "--model", f"scripted:{script}", "--now", NOW, given=lines)
    assert done.returncode == 0, done.stderr


@pytest.mark.requirement("EXPLAIN-1")
def test_every_block_says_where_it_comes_from_and_the_sizes_add_up(frontmind: Run, conversation: None) -> None:
    found = explained(frontmind, "--now", NOW, "--model", "anthropic:claude-sonnet-4-5", "--message", "locker code?")
    assert found["tokens"]["total"] == sum(block["tokens"] for block in found["blocks"]) + found["tokens"]["residual"]
    assert found["framing"]["name"] == "assistant"
    assert found["framing"]["reason"]
    by_name = {block["name"]: block for block in found["blocks"]}
    assert by_name["datetime_section"]["trinket"] == "TimeManager"
    assert by_name["active_reminders"]["trinket"] == "ReminderManager"
    assert by_name["active_reminders"]["placement"] == "notification"
    assert by_name["tool_guidance"]["trinket"] == "ToolGuidanceTrinket"
    assert by_name["base_prompt"]["placement"] == "system"
    assert by_name["user message"]["placement"] == "turn"
    assert by_name["tool_guidance"]["age"] == "unchanged for 3 turns"
    order = [block["placement"] for block in found["blocks"]]
    assert order == sorted(order, key=["tools", "system", "history", "notification", "turn"].index)
    assert order.count("history") == 6
    assert all(block["why"] and block["expected"] in ("read", "written", "fresh") for block in found["blocks"])
    assert not any(block["exact"] for block in found["blocks"])


@pytest.mark.requirement("EXPLAIN-1")
def test_what_is_not_in_the_window_is_named_with_the_reason(frontmind: Run, conversation: None) -> None:
    found = explained(frontmind, "--now", NOW, "--model", "echo", "--message", "x")
    dropped = {item["name"]: item["why"] for item in found["dropped"]}
    assert dropped["context_search_results"] == "it had nothing to say"
    assert dropped["domaindoc"] == "it had nothing to say"


def test_facts_and_prices_of_the_model_are_shown_with_their_sources(frontmind: Run, conversation: None) -> None:
    found = explained(frontmind, "--now", NOW, "--model", "anthropic:claude-opus-5-5", "--message", "x")
    assert found["profile"]["checks_thinking"]["mark"] == "S"
    assert found["expected"]["usd"] > 0
    assert found["framing"]["name"] == "system_clear_at"
    assert explained(frontmind, "--model", "echo", "--message", "x")["expected"]["usd"] is None


@pytest.mark.requirement("FRAME-1")
@pytest.mark.parametrize("framing", ["assistant", "user_text", "append"])
def test_another_framing_can_be_asked_for(frontmind: Run, conversation: None, framing: str) -> None:
    found = explained(frontmind, "--model", "echo", "--framing", framing, "--message", "x")
    assert (found["framing"]["name"], found["framing"]["reason"]) == (framing, "asked for")


def test_a_framing_or_fact_that_cannot_be_is_one_line_and_exit_code_2(frontmind: Run) -> None:
    for arguments in (
        ("--model", "gemini:gemini-3", "--framing", "developer"),
        ("--model", "echo", "--profile", "colour=red"),
        ("--model", "echo", "--profile", "max_markers=0"),
    ):
        done = frontmind("window", "explain", "--message", "x", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("frontmind: ")
        assert done.stderr.count("\n") == 1


def test_a_table_for_people_groups_the_history_and_says_how_sizes_were_found(
    frontmind: Run, conversation: None
) -> None:
    done = frontmind("window", "explain", "--now", NOW, "--model", "echo", "--message", "x")
    assert done.returncode == 0
    assert "6 blocks" in done.stdout
    assert "~ sizes are estimated" in done.stdout
    every = frontmind("window", "explain", "--now", NOW, "--model", "echo", "--message", "x", "--all")
    assert "assistant message" in every.stdout


def test_nothing_is_written_and_no_key_is_needed(frontmind: Run, conversation: None, tmp_path: Path) -> None:
    before = (tmp_path / "mind.db").read_bytes()
    for model in ("anthropic:claude-opus-5", "openai:gpt-5.6-sol", "gemini:gemini-3-pro", "bedrock:m", "deepseek:m"):
        explained(frontmind, "--model", model, "--message", "x")
    assert (tmp_path / "mind.db").read_bytes() == before
