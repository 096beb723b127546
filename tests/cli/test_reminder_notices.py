"""A reminder falls due while a chat is open: seen in a real terminal, by the real clock."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeAlias

import pexpect
import pytest

from frontmind.stores.sqlite import SqliteStore
from support import BERLIN, PROGRAM, REPOSITORY, Run

Open: TypeAlias = Callable[..., pexpect.spawn]

# What another process adds is told within this time, and the machine may be busy.
PATIENCE = 30
NOTICE = r"\[Reminder r1: stretch \(due [^)]*\)\]"
PROMPT = r">\x08?[^>\n]*\x1b\[\?25h"


def add_reminder(folder: Path, *, seconds: float) -> None:
    """As another process does it: due so many seconds from now."""

    async def add() -> None:
        now = datetime.now(BERLIN)
        store = SqliteStore.open(str(folder / "mind.db"))
        try:
            await store.add_reminder("stretch", now + timedelta(seconds=seconds), zone="Europe/Berlin", at=now)
        finally:
            await store.close()

    asyncio.run(add())


@pytest.fixture
def open_chat(environment: dict[str, str], tmp_path: Path) -> Iterator[Open]:
    """Opens a chat that waits for its first line; all chats of a test share a database."""
    (tmp_path / "script.json").write_text(json.dumps(["Reply 1.", "Reply 2."]), encoding="utf-8")
    children: list[pexpect.spawn] = []

    def opened(model: str = "scripted:script.json", **more: str) -> pexpect.spawn:
        child = pexpect.spawn(
            str(PROGRAM),
            ["chat", "--model", model, "--db", str(tmp_path / "mind.db"), "--timezone", "Europe/Berlin"],
            env={**environment, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", **more},
            cwd=str(tmp_path),
            dimensions=(30, 100),
            encoding="utf-8",
            timeout=PATIENCE,
        )
        children.append(child)
        child.expect("Ctrl-C stops a reply")
        child.expect(PROMPT)
        return child

    yield opened
    for child in children:
        child.close(force=True)


def test_a_reminder_is_told_while_the_prompt_waits_and_the_half_written_line_stays(
    open_chat: Open, tmp_path: Path
) -> None:
    chat = open_chat()
    chat.send("half a li")
    chat.expect("half a li")
    add_reminder(tmp_path, seconds=1)
    chat.expect(NOTICE)
    chat.expect("> half a li")
    chat.send("ne\r")
    chat.expect("Reply 1.")
    chat.expect(PROMPT)
    chat.sendeof()
    chat.expect(pexpect.EOF)
    assert "+half a line\n" in (tmp_path / "mind.db.history").read_text(encoding="utf-8")


def test_of_two_chats_exactly_one_tells_it_and_after_a_restart_it_is_only_overdue(
    open_chat: Open, frontmind: Run, tmp_path: Path
) -> None:
    chats = [open_chat(), open_chat()]
    add_reminder(tmp_path, seconds=1)
    deadline = time.monotonic() + PATIENCE
    told: list[pexpect.spawn] = []
    while not told and time.monotonic() < deadline:
        told = [chat for chat in chats if chat.expect([NOTICE, pexpect.TIMEOUT], timeout=0.3) == 0]
    assert len(told) == 1
    for chat in chats:
        # A turn asks for due reminders, too.
        chat.send("hello\r")
        chat.expect(r"\[turn \d .*?\]")
        chat.expect(PROMPT)
        chat.send("/remind\r")
        chat.expect(r"r1  [^\n]* \(overdue\)  stretch")
        assert "[Reminder" not in chat.before
        chat.expect(PROMPT)
        chat.sendeof()
        chat.expect(pexpect.EOF)
        assert "[Reminder" not in chat.before

    again = open_chat()
    again.send("/remind\r")
    again.expect(r"r1  [^\n]* \(overdue\)  stretch")
    assert "[Reminder" not in again.before
    shown = frontmind("window", "show", "--model", "scripted:script.json", "--json")
    assert 'status="overdue">stretch</reminder>' in json.loads(shown.stdout)["notification_center"]


def test_what_fell_due_while_nothing_ran_is_told_at_the_start_and_once(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('["Reply 1."]', encoding="utf-8")
    early, late = (("--timezone", "Europe/Berlin", "--now", f"2026-11-30T{at}") for at in ("09:15", "09:45"))
    frontmind("chat", "--model", "echo", *early, given="/remind stretch at 9:30\n")
    first = frontmind("chat", "--model", "scripted:script.json", *late, "--message", "hello")
    assert first.stdout.splitlines()[:2] == ["[Reminder r1: stretch (due Mon 30 Nov 2026, 09:30)]", "Reply 1."]
    second = frontmind("chat", "--model", "scripted:script.json", *late, "--message", "hello")
    assert second.stdout.splitlines()[0] == "Reply 1."


def test_a_notice_is_not_on_standard_output_when_that_is_for_programs(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('["Reply 1."]', encoding="utf-8")
    frontmind("chat", "--model", "echo", "--now", "2026-11-30T09:15", given="/remind stretch at 9:30\n")
    late = frontmind("chat", "--model", "scripted:script.json", "--now", "2026-11-30T09:45", "--json", given="hello\n")
    assert [json.loads(line)["reply"] for line in late.stdout.splitlines()] == ["Reply 1."]
    assert late.stderr == "[Reminder r1: stretch (due Mon 30 Nov 2026, 09:30)]\n"


@contextmanager
def slow_server(release: threading.Event) -> Iterator[str]:
    """A server that says one word, and the rest when it is released; as the name of a model."""

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self._say({"role": "assistant", "content": "Well"})
            release.wait(PATIENCE)
            self._say({"content": ", that is all."})
            self._say({}, finish="stop")
            self.wfile.write(b"data: [DONE]\n\n")

        def _say(self, delta: dict[str, str], finish: str | None = None) -> None:
            chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()

        def log_message(self, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    with ExitStack() as stack:
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        stack.callback(release.set)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"compatible:m@http://127.0.0.1:{server.server_port}/v1"


def test_a_notice_comes_behind_a_reply_that_streams(open_chat: Open, tmp_path: Path) -> None:
    release = threading.Event()
    with slow_server(release) as model:
        chat = open_chat(model)
        chat.send("tell me\r")
        chat.expect("Well")
        add_reminder(tmp_path, seconds=0)
        # Longer than a chat waits before it looks again.
        assert chat.expect([NOTICE, pexpect.TIMEOUT], timeout=6) == 1
        release.set()
        chat.expect("that is all.")
        chat.expect(r"\[turn 1 .*?\]\r\n" + NOTICE)
        chat.expect(PROMPT)


def test_ctrl_c_stops_a_tool_that_hangs_and_the_chat_goes_on(open_chat: Open, frontmind: Run, tmp_path: Path) -> None:
    call = {"name": "child__hang", "arguments": {}}
    hang = {"text": "I wait.", "calls": [{"name": "load_tool", "arguments": {"name": "child__hang"}}]}
    script = [hang, {"calls": [{"name": "use_tool", "arguments": call}]}, "Still here."]
    (tmp_path / "hang.json").write_text(json.dumps(script), encoding="utf-8")
    settings = tmp_path / "settings.toml"
    command = json.dumps([sys.executable, str(REPOSITORY / "tests" / "assistant" / "mcp_child.py")])
    settings.write_text(f"[mcp.child]\ncommand = {command}\ntime_limit = 600\n", encoding="utf-8")
    chat = open_chat("scripted:hang.json", FRONTMIND_SETTINGS=str(settings))
    chat.send("wait for it\r")
    chat.expect(re.escape("[load_tool child__hang"))
    # The second step is stored before its tool runs.
    wait_for_steps(tmp_path, 2)
    chat.sendintr()
    chat.expect(re.escape("[stopped; what was said and done is kept]"))
    chat.expect(PROMPT)
    chat.send("are you there?\r")
    chat.expect("Still here.")
    chat.expect(PROMPT)
    chat.sendeof()
    chat.expect(pexpect.EOF)
    chat.close()
    assert chat.exitstatus == 0
    messages = json.loads(frontmind("window", "show", "--model", "scripted:hang.json", "--json").stdout)["messages"]
    history = [message["text"] for message in messages if message["origin"] == "history"]
    asked = next(number for number, text in enumerate(history) if "use_tool(" in text)
    assert history[asked + 1].startswith("No result: the turn ended while this ran.")
    assert any("Still here." in text for text in history)


def wait_for_steps(folder: Path, count: int) -> None:
    async def steps() -> int:
        store = SqliteStore.open_existing_read_only(str(folder / "mind.db"))
        try:
            return sum(len(turn.steps) for turn in await store.turns("main"))
        finally:
            await store.close()

    deadline = time.monotonic() + PATIENCE
    while asyncio.run(steps()) < count:
        assert time.monotonic() < deadline, "the tool was never called"
