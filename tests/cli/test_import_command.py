"""``frontmind import``, as a person runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pexpect
import pytest

from exports import SAMPLES, chat, node, zipped
from frontmind.stores.sqlite import SqliteStore
from support import PROGRAM, Run, shared

NOW = ("--now", "2026-11-30T09:15", "--timezone", "Europe/Berlin")
QUESTION = node("u1", None, "user", "When does it leave?", at=1_700_000_001)
REPLY = node("a1", "u1", "assistant", "At nine.", at=1_700_000_002)
MORE = node("u2", "a1", "user", "And then?", at=1_700_000_003), node("a2", "u2", "assistant", "At ten.")


def written(path: Path, data: object) -> str:
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return str(path)


def summary(frontmind: Run, tmp_path: Path, kind: str, file: str, code: int = 0) -> dict[str, Any]:
    result = frontmind("import", kind, file, "--json", "--db", str(tmp_path / "mind.db"), *NOW)
    assert (result.returncode, result.stderr) == (code, "")
    value: dict[str, Any] = json.loads(result.stdout)
    return value


async def stored(tmp_path: Path, conversation: str) -> list[tuple[str, str]]:
    store = SqliteStore.open(str(tmp_path / "mind.db"))
    try:
        turns = await store.turns(conversation)
        return [(turn.user.text, turn.reply.text if turn.reply else "") for turn in turns]
    finally:
        await store.close()


@pytest.mark.requirement("IMPORT-1")
def test_an_export_is_imported_once(frontmind: Run, tmp_path: Path) -> None:
    arguments = ("import", "chatgpt", str(SAMPLES / "chatgpt_2026_sample.json"), "--db", str(tmp_path / "mind.db"))
    first = frontmind(*arguments, *NOW)
    assert (first.returncode, first.stderr) == (0, "")
    *names, last = first.stdout.splitlines()
    assert [name.split(" (")[0] for name in names] == [
        "chatgpt/Branching Conversation",
        "chatgpt/Unknown Type Coverage",
        "chatgpt/Code from metadata",
    ]
    assert last == "conversations: 3; exchanges: 3 added"
    assert frontmind(*arguments, *NOW).stdout == "conversations: 3; exchanges: 3 there already\n"


@pytest.mark.parametrize(
    ("kind", "file", "conversations", "empty"),
    [
        ("claude", "claude_2026_sample.json", 1, 0),
        ("claude", "claude_export_html_backup_conversations.json", 3, 1),
    ],
)
def test_exports_of_claude_are_imported(
    frontmind: Run, tmp_path: Path, kind: str, file: str, conversations: int, empty: int
) -> None:
    told = summary(frontmind, tmp_path, kind, str(SAMPLES / file))
    assert (told["conversations"], told["empty"], told["added"]) == (conversations, empty, conversations - empty)
    assert told["problems"] == []


async def test_an_export_that_has_grown_adds_what_is_new_at_the_end(frontmind: Run, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    first = summary(frontmind, tmp_path, "chatgpt", written(file, [chat(QUESTION, REPLY)]))
    grown = [chat(node("x", None, "user", "New chat"), key="c-2"), chat(QUESTION, REPLY, *MORE)]
    second = summary(frontmind, tmp_path, "chatgpt", written(file, grown))
    assert (first["added"], first["known"], second["added"], second["known"]) == (1, 0, 2, 1)
    (changed,) = first["changed"]
    assert changed["conversation"] in [item["conversation"] for item in second["changed"]]
    assert await stored(tmp_path, changed["conversation"]) == [
        ("When does it leave?", "At nine."),
        ("And then?", "At ten."),
    ]


@pytest.mark.requirement("IMPORT-1")
def test_broken_entries_are_told_with_their_place_and_the_rest_is_imported(frontmind: Run, tmp_path: Path) -> None:
    file = str(shared("chat_exports", "librechat_chatgpt-modern-export.json"))
    result = frontmind("import", "chatgpt", file, "--db", str(tmp_path / "mind.db"), *NOW)
    assert result.returncode == 1
    assert result.stdout.endswith("conversations: 2; exchanges: 3 added; broken places: 1\n")
    assert result.stderr.startswith("conversation 2 (6b0f0d9c-0000-4000-8000-000000000002): it has no 'mapping'")
    told = summary(frontmind, tmp_path, "chatgpt", file, code=1)
    assert (told["added"], told["known"], len(told["problems"])) == (0, 3, 1)


def test_a_zip_is_read_as_it_was_downloaded(frontmind: Run, tmp_path: Path) -> None:
    data = zipped({"conversations-0.json": [chat(QUESTION, REPLY)], "conversations-1.json": [chat(key="c-2")]})
    told = summary(frontmind, tmp_path, "chatgpt", written(tmp_path / "export.zip", data))
    assert (told["conversations"], told["empty"], told["added"]) == (2, 1, 1)


def test_sessions_and_messages_are_imported(frontmind: Run, tmp_path: Path) -> None:
    lines = [
        {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "message": {"content": "Why?"}},
        {"type": "assistant", "uuid": "a", "parentUuid": "u", "sessionId": "s", "message": {"content": "Because."}},
    ]
    session = "\n".join(json.dumps(line) for line in lines).encode()
    told = summary(frontmind, tmp_path, "claude-code", written(tmp_path / "s.jsonl", session))
    assert told["changed"][0]["conversation"].startswith("claude-code/Why? (")
    messages = [{"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Me."}]}]
    told = summary(frontmind, tmp_path, "openai-messages", written(tmp_path / "m.json", messages))
    assert told["changed"][0]["conversation"].startswith("openai-messages/Who? (")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<html>", "neither JSON nor a .zip"),
        ([{"uuid": "c", "chat_messages": []}], "frontmind import claude\n"),
        ([{"title": "x"}], "nothing in"),
        (zipped({"a.txt": b"x"}), "has no conversations.json"),
    ],
)
def test_what_cannot_be_read_at_all_is_refused(frontmind: Run, tmp_path: Path, data: object, said: str) -> None:
    file = written(tmp_path / "x", data)
    result = frontmind("import", "chatgpt", file, "--db", str(tmp_path / "mind.db"), *NOW)
    assert result.returncode == 2
    assert said in result.stderr


def test_an_export_without_a_conversation_is_fine(frontmind: Run, tmp_path: Path) -> None:
    told = summary(frontmind, tmp_path, "chatgpt", written(tmp_path / "x.json", []))
    assert (told["conversations"], told["added"]) == (0, 0)


@pytest.mark.parametrize("make", ["missing", "folder", "pipe"])
def test_a_file_that_is_none_is_refused(frontmind: Run, tmp_path: Path, make: str) -> None:
    path = tmp_path / "export"
    if make == "folder":
        path.mkdir()
    elif make == "pipe":
        os.mkfifo(path)
    result = frontmind("import", "chatgpt", str(path), "--db", str(tmp_path / "mind.db"))
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "mind.db").exists()


def test_nothing_in_an_export_reaches_the_terminal_as_a_command(frontmind: Run, tmp_path: Path) -> None:
    nasty = "\x1b[2J\u202e\nfrontmind: done"
    data = [chat(QUESTION, REPLY, title=nasty, key=nasty), {"id": nasty}, {"id": "b", "mapping": {nasty: 1}}]
    file = written(tmp_path / "x.json", data)
    for options in ((), ("--json",)):
        result = frontmind("import", "chatgpt", file, "--db", str(tmp_path / "mind.db"), *options, *NOW)
        assert result.returncode == 1
        assert "[2J" in result.stdout
        assert not {"\x1b", "\u202e"} & set(result.stdout + result.stderr)
        assert "frontmind: done" not in (result.stdout + result.stderr).splitlines()


def test_many_broken_places_are_counted_and_not_all_printed(frontmind: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "x.json", [chat(QUESTION, REPLY), *([7] * 100)])
    result = frontmind("import", "chatgpt", file, "--db", str(tmp_path / "mind.db"), *NOW)
    assert len(result.stderr.splitlines()) == 21
    assert result.stderr.endswith("and 80 more; --json lists all\n")
    assert len(summary(frontmind, tmp_path, "chatgpt", file, code=1)["problems"]) == 100


def test_a_large_file_tells_how_far_it_is(frontmind: Run, tmp_path: Path, environment: dict[str, str]) -> None:
    large = [chat(QUESTION, REPLY, key=f"c-{number}", padding="x" * 600_000) for number in range(20)]
    file = written(tmp_path / "x.json", large)
    result = frontmind("import", "chatgpt", file, "--db", str(tmp_path / "mind.db"), *NOW)
    assert result.returncode == 0
    assert [line.split(" %")[0] for line in result.stderr.splitlines()] == [f"{tenth}0" for tenth in range(1, 10)]
    arguments = ["import", "chatgpt", file, "--db", str(tmp_path / "other.db"), *NOW]
    child = pexpect.spawn(str(PROGRAM), arguments, env=environment | {"TERM": "xterm"}, timeout=60, encoding="utf-8")
    child.expect("reading x.json")
    child.expect("exchanges: 20 added")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
