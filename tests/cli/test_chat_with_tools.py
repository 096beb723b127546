"""Every tool, called by a scripted model through the real program; seen where a person would look for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from frontmind.stores.sqlite import SqliteStore
from frontmind.values.parts import ToolCall
from support import REPOSITORY, Run, texts

Json: TypeAlias = "dict[str, Any]"

NOW = ("--now", "2026-11-30T09:15", "--timezone", "Europe/Berlin")
CHILD = REPOSITORY / "tests" / "assistant" / "mcp_child.py"
SOUP = "\n".join(f"{number}. Stir the soup." for number in range(1, 2001))


def reply(*calls: tuple[str, Json], text: str = "") -> Json:
    """A reply of a script that calls these tools."""
    return {"text": text, "calls": [{"name": name, "arguments": arguments} for name, arguments in calls]}


class Chat:
    """The program on one database, each time with a script of its own."""

    def __init__(self, frontmind: Run, folder: Path) -> None:
        self.frontmind = frontmind
        self.folder = folder
        self.env: dict[str, str] = {}

    def play(self, script: Sequence[Any], *lines: str, now: Sequence[str] = NOW) -> list[Json]:
        """The reports of the turns that the lines made."""
        (self.folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
        given = "".join(f"{line}\n" for line in lines)
        result = self.frontmind("chat", "--model", "scripted:script.json", *now, "--json", given=given, env=self.env)
        assert result.returncode == 0, result.stderr
        return [json.loads(line) for line in result.stdout.splitlines()]

    def window(self, now: Sequence[str] = NOW) -> Json:
        shown = self.frontmind("window", "show", "--model", "scripted:script.json", *now, "--json", env=self.env)
        assert shown.returncode == 0, shown.stderr
        found: Json = json.loads(shown.stdout)
        return found

    def results(self) -> list[str]:
        """What the tools answered, as the next window has it, without the line of the moment."""
        texts = [message["text"] for message in self.window()["messages"] if message["origin"] == "history"]
        observed = "[observed 2026-11-30 09:15]\n"
        return [part for text in texts if observed in text for part in text.split(observed)[1:]]

    def reminders(self) -> dict[str, Json]:
        listed = self.frontmind("remind", "list", "--all", "--json", "--db", str(self.folder / "mind.db"), *NOW)
        return {reminder["id"]: reminder for reminder in json.loads(listed.stdout)}


@pytest.fixture
def chat(frontmind: Run, tmp_path: Path) -> Chat:
    return Chat(frontmind, tmp_path)


@pytest.fixture
def with_server(chat: Chat, tmp_path: Path) -> Chat:
    """A chat with an MCP server in the settings file."""
    settings = tmp_path / "settings.toml"
    command = json.dumps([sys.executable, str(CHILD)])
    settings.write_text(f"[mcp.child]\ncommand = {command}\nenv = {{ SOUP = {json.dumps(SOUP)} }}\n", encoding="utf-8")
    chat.env = {"FRONTMIND_SETTINGS": str(settings)}
    return chat


def failed(report: Json) -> list[str]:
    return [tool["name"] for tool in report["tools"] if tool["is_error"]]


ADD_THREE = reply(
    ("add_reminder", {"text": "call Anna", "due": "2026-11-30T17:00"}),
    ("add_reminder", {"text": "pay rent", "date": "2026-12-02"}),
    ("add_reminder", {"text": "water the plants", "due": "2026-12-01T08:00", "rrule": "FREQ=DAILY"}),
    text="I note that.",
)
CHANGE_THEM = reply(
    ("complete_reminder", {"id": "r1"}),
    ("change_reminder", {"id": "r2", "text": "pay rent and power", "date": "2026-12-03"}),
    ("delete_reminder", {"id": "r3"}),
)
DOCUMENTS = (
    reply(("list_documents", {}), ("read_document", {"name": "house", "section": "Keys"})),
    reply(("edit_document", {"name": "house", "operation": "append_to_section", "section": "Keys", "text": "Blue."})),
    reply(("undo_document", {"name": "house"})),
)
SEARCH = reply(("search_context", {"query": "boxes", "where": "memories"}))
LOADED = (
    reply(("load_tool", {"name": "child__add"})),
    reply(("use_tool", {"name": "child__add", "arguments": {"a": 2, "b": 3}})),
)


def test_reminders_are_added_changed_completed_and_deleted_by_the_model(chat: Chat) -> None:
    (added,) = chat.play([ADD_THREE, reply(("list_reminders", {})), "Three."], "remind me of three things")
    assert [tool["name"] for tool in added["tools"]] == ["add_reminder"] * 3 + ["list_reminders"]
    assert failed(added) == []
    listed = chat.results()[-1]
    assert listed.splitlines() == [
        "r1, due Mon 30 Nov 2026, 17:00: call Anna (today)",
        "r2, due Wed 2 Dec 2026: pay rent (coming)",
        "r3, due Tue 1 Dec 2026, 08:00, every day: water the plants (coming)",
    ]
    before = chat.reminders()
    assert before["r1"]["due"] == "2026-11-30T17:00:00+01:00"
    assert before["r2"]["date"] == "2026-12-02"
    assert before["r3"]["rrule"].startswith("FREQ=DAILY")

    (changed,) = chat.play([CHANGE_THEM, "Done."], "anna is called, rent is tomorrow week")
    assert failed(changed) == []
    after = chat.reminders()
    assert after.keys() == {"r1", "r2"}
    assert after["r1"]["status"] == "done"
    assert (after["r2"]["text"], after["r2"]["date"]) == ("pay rent and power", "2026-12-03")
    center = chat.window()["notification_center"]
    assert "pay rent and power" in center
    assert "call Anna" not in center


def test_a_reminder_that_is_overdue_is_put_off_by_the_model(chat: Chat) -> None:
    chat.play([], "/remind stretch at 9:20")
    late = ("--now", "2026-11-30T09:30", "--timezone", "Europe/Berlin")
    assert 'status="overdue"' in chat.window(late)["notification_center"]
    script = [reply(("snooze_reminder", {"id": "r1", "until": "2026-11-30T11:00"})), "Later."]
    (report,) = chat.play(script, "not now", now=late)
    assert failed(report) == []
    assert chat.reminders()["r1"]["snoozed_until"] == "2026-11-30T11:00:00+01:00"
    assert 'status="overdue"' not in chat.window(late)["notification_center"]


def test_a_reminder_completed_in_step_1_is_not_listed_as_due_in_step_2(chat: Chat) -> None:
    chat.play([], "/remind call Anna at 5pm")
    script = [
        reply(("complete_reminder", {"id": "r1"})),
        reply(("list_reminders", {})),
        "Nothing is left.",
    ]
    (report,) = chat.play(script, "I called her")
    assert [tool["step"] for tool in report["tools"]] == [1, 2]
    assert chat.results()[-2:] == ["Done: r1: call Anna", "There are no reminders."]


def test_a_document_is_read_edited_and_undone_by_the_model_and_its_file_follows(chat: Chat, tmp_path: Path) -> None:
    house = tmp_path / "house.md"
    house.write_text("# House\nOld.\n\n## Keys\nUnder the pot.\n", encoding="utf-8")
    (read,) = chat.play([DOCUMENTS[0], "I see."], "/doc add house.md", "where are the keys?")
    assert failed(read) == []
    assert chat.results()[-1] == "## Keys\nUnder the pot.\n"
    assert "house (version 1, in the system prompt" in chat.results()[-2]

    (edited,) = chat.play([DOCUMENTS[1], "Noted."], "they are blue")
    assert failed(edited) == []
    assert house.read_text(encoding="utf-8") == "# House\nOld.\n\n## Keys\nUnder the pot.\n\nBlue.\n"
    window = chat.window()
    assert "Blue." not in window["system"]["cached"], "the system prompt keeps its bytes"
    assert "Blue." in window["notification_center"]

    (undone,) = chat.play([DOCUMENTS[2], "Taken back."], "no, they are not")
    assert failed(undone) == []
    assert "Blue." not in house.read_text(encoding="utf-8")
    assert "Blue." not in chat.window()["notification_center"]


def test_a_file_that_is_saved_in_an_editor_meanwhile_is_not_lost(chat: Chat, tmp_path: Path) -> None:
    house = tmp_path / "house.md"
    house.write_text("# House\n\n## Keys\nUnder the pot.\n", encoding="utf-8")
    chat.play(["Yes."], "/doc add house.md", "hello")
    house.write_text("# House\n\n## Keys\nUnder the pot.\n\n## Wifi\nhunter2\n", encoding="utf-8")
    (report,) = chat.play([DOCUMENTS[1], "Noted."], "they are blue")
    assert failed(report) == []
    text = house.read_text(encoding="utf-8")
    assert "Under the pot.\n\nBlue.\n" in text
    assert text.endswith("## Wifi\nhunter2\n")


async def test_a_tool_of_a_server_in_the_settings_file_is_loaded_and_used(with_server: Chat) -> None:
    (report,) = with_server.play([*LOADED, "Five."], "two and three?")
    assert [(tool["name"], tool["is_error"]) for tool in report["tools"]] == [("load_tool", False), ("use_tool", False)]
    guide, result = with_server.results()
    assert "Add two numbers." in guide and '"required"' in guide
    assert result == "5"
    store = SqliteStore.open(str(with_server.folder / "mind.db"))
    try:
        request: Mapping[str, Any] = await store.load_request(report["request"])
    finally:
        await store.close()
    assert "child__add: Add two numbers. (load_tool shows how)" in texts(request["messages"][0])
    assert "child__add" not in [tool["function"]["name"] for tool in request["tools"]]


def test_the_rest_of_a_result_that_was_too_long_is_read(with_server: Chat, tmp_path: Path) -> None:
    variable = ("use_tool", {"name": "child__variable", "arguments": {"name": "SOUP"}})
    with_server.play([reply(("load_tool", {"name": "child__variable"})), reply(variable), "Long."], "the soup?")
    shown, last = with_server.results()[-1].removesuffix("\n").rsplit("\n", 1)
    assert SOUP.startswith(shown)
    assert "more characters; read on with read_result" in last
    reference, offset = last.partition('result="')[2].split('"')[0], int(last.rpartition("offset=")[2].rstrip(")]"))
    more = reply(("read_result", {"result": reference, "offset": offset}))
    (report,) = with_server.play([more, "Read."], "and then?")
    assert failed(report) == []
    following = with_server.results()[-1]
    assert following.split("\n")[:5] == SOUP[offset:].split("\n")[:5]


def test_the_model_searches_what_was_kept(chat: Chat) -> None:
    (found,) = chat.play([SEARCH, "In the attic."], "/remember The boxes are in the attic", "where did I put that?")
    assert failed(found) == []
    assert "The boxes are in the attic" in chat.results()[-1]


def test_every_tool_that_the_model_is_told_of_is_called_in_this_module(with_server: Chat) -> None:
    with_server.play([], "/remind x at 5pm")
    called = [ADD_THREE, CHANGE_THEM, *DOCUMENTS, SEARCH, *LOADED]
    names = {call["name"] for one in called for call in one["calls"]}
    names |= {"list_reminders", "snooze_reminder", "read_result"}
    assert names == {tool["name"] for tool in with_server.window()["tools"]}


def test_a_server_that_dies_in_a_call_is_told_of_and_serves_the_next_one(with_server: Chat) -> None:
    script = [
        reply(("load_tool", {"name": "child__die"}), ("load_tool", {"name": "child__add"})),
        reply(("use_tool", {"name": "child__die", "arguments": {}})),
        LOADED[1],
        "It came back.",
    ]
    (report,) = with_server.play(script, "die")
    assert failed(report) == ["use_tool"]
    *_, died, added = with_server.results()
    assert "the connection to the MCP server 'child' was lost" in died
    assert added == "5"


def test_a_server_that_does_not_start_is_one_line_and_the_chat_goes_on(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('["Here."]')
    settings = tmp_path / "settings.toml"
    settings.write_text('[mcp.gone]\ncommand = ["no-such-program"]\n')
    result = frontmind(
        "chat",
        "--model",
        "scripted:script.json",
        "--json",
        "--message",
        "hi",
        env={"FRONTMIND_SETTINGS": str(settings)},
    )
    assert json.loads(result.stdout)["reply"] == "Here."
    (line,) = result.stderr.splitlines()
    assert "'gone'" in line and "no-such-program" in line and "its tools are missing" in line


def test_what_a_tool_did_is_a_line_of_the_chat(frontmind: Run, with_server: Chat, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps([*LOADED, reply(("complete_reminder", {"id": "r9"})), "Five."]))
    result = frontmind(
        "chat", "--model", "scripted:script.json", *NOW, "--message", "two and three?", env=with_server.env
    )
    lines = result.stdout.splitlines()
    assert lines[0].startswith("[load_tool child__add: child__add Add two numbers.")
    assert lines[1] == "[use_tool child__add: 5]"
    assert lines[2].startswith("[complete_reminder failed: no reminder has the id r9")
    assert lines[3] == "Five."
    assert result.stderr == ""


async def test_what_the_tools_did_is_a_step_of_the_stored_turn(chat: Chat, tmp_path: Path) -> None:
    chat.play([ADD_THREE, "Noted."], "three things")
    store = SqliteStore.open(str(tmp_path / "mind.db"))
    try:
        (turn,) = await store.turns("main")
    finally:
        await store.close()
    (step,) = turn.steps
    calls = [part for part in step.said.parts if isinstance(part, ToolCall)]
    assert [(call.id, call.name) for call in calls] == [(f"c{number}", "add_reminder") for number in (1, 2, 3)]
