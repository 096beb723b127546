"""The model that sums up what was said: nothing about it stops a chat, and what it was asked for is not lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from frontmind.cli.memory_model import open_memory_model
from frontmind.cli.settings import Settings
from frontmind.providers.names import parse_model_name
from frontmind.providers.scripted import ScriptedModel
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.records import Segment
from support import Run

WRITTEN = json.dumps({"title": "Herons", "summary": "The person counts herons by the river."})
NO_FACTS = '{"memories": []}'


async def segments(path: Path) -> list[Segment]:
    store = SqliteStore.open(path)
    try:
        return list(await store.segments("main"))
    finally:
        await store.close()


def scripted(path: Path, *replies: str) -> str:
    path.write_text(json.dumps(replies))
    return f"scripted:{path}"


@pytest.mark.parametrize("name", ["deepseek:deepseek-chat", "local:missing.gguf"])
def test_a_memory_model_that_cannot_be_opened_is_told_and_the_chat_goes_on(frontmind: Run, name: str) -> None:
    answered = frontmind("chat", "--model", "echo", "--message", "Hello", env={"FRONTMIND_MEMORY_MODEL": name})
    assert answered.returncode == 0
    assert "Hello" in answered.stdout
    (line,) = [line for line in answered.stderr.splitlines() if "stay extracts" in line]
    assert line.startswith("frontmind: summaries of earlier segments stay extracts, and no memories are extracted: ")


def test_a_memory_model_whose_name_has_no_form_is_still_a_mistake(frontmind: Run) -> None:
    refused = frontmind("chat", "--model", "echo", "--message", "Hello", env={"FRONTMIND_MEMORY_MODEL": "nonsense"})
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize("way", ["--message", "pipe"])
def test_what_a_memory_model_was_asked_for_is_stored_and_told_before_the_program_ends(
    frontmind: Run, tmp_path: Path, way: str
) -> None:
    first = frontmind("chat", "--model", scripted(tmp_path / "chat.json", "I see nine herons."),
                      "--now", "2026-11-30T09:00", "--message", "How many herons are there by the river?")  # fmt: skip
    assert first.returncode == 0, first.stderr
    second = frontmind(
        "chat", "--model", "echo", "--now", "2026-11-30T14:00", *(("--message", "And now?") if way != "pipe" else ()),
        given="And now?\n" if way == "pipe" else "",
        env={"FRONTMIND_MEMORY_MODEL": scripted(tmp_path / "memory.json", WRITTEN, NO_FACTS)},
    )  # fmt: skip
    assert second.returncode == 0, second.stderr
    told = [line for line in second.stderr.splitlines() if "segment 1" in line]
    assert told[0].startswith("frontmind: the summary of segment 1: written by scripted:")
    assert told[0].endswith(" out")
    closed, present = asyncio.run(segments(tmp_path / "mind.db"))
    assert (closed.title, present.summary) == ("Herons", None)


async def test_the_engine_of_the_chat_is_not_asked_to_sum_up() -> None:
    told: list[str] = []
    name, chat = parse_model_name("local"), ScriptedModel(["unused"])
    assert await open_memory_model(name, name, chat, Settings(), tell=told.append) is None
    (line,) = told
    assert "local would lose the cache of this chat; name another in FRONTMIND_MEMORY_MODEL" in line


async def test_a_hosted_model_of_the_chat_sums_up_as_well() -> None:
    told: list[str] = []
    name, chat = parse_model_name("anthropic:claude-sonnet-5"), ScriptedModel(["unused"])
    assert await open_memory_model(name, name, chat, Settings(), tell=told.append) is chat
    assert told == []


def test_the_status_does_not_promise_what_the_engine_of_the_chat_would_not_do(frontmind: Run, tmp_path: Path) -> None:
    settings = {"FRONTMIND_MODEL": "local", "FRONTMIND_MEMORY_MODEL": "local"}
    told = frontmind("memory", "status", "--db", str(tmp_path / "mind.db"), env=settings).stdout
    assert "No model extracts memories" in told
