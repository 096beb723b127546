"""The server as a program: how it begins, what it refuses, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from frontmind.cli.serving import listen
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.records import Turn, TurnState
from providers.loopback import Exchange, serving
from support import PROGRAM, Run

MAIN = "/api/conversations/main"


@dataclass
class Program:
    """A server that runs in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    db: Path
    client: httpx2.Client

    def ends(self, seconds: float = 60) -> tuple[int, str, str]:
        """Wait for its end: exit code, and the rest of what it printed."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    async def turns(self, conversation: str = "main") -> list[Turn]:
        """What it has stored."""
        store = SqliteStore.open(self.db)
        try:
            return list(await store.turns(conversation))
        finally:
            await store.close()


@contextmanager
def program(environment: dict[str, str], folder: Path, *options: str, model: str = "echo") -> Iterator[Program]:
    db = folder / "mind.db"
    command = [str(PROGRAM), "serve", "--port", "0", "--db", str(db), "--model", model, *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"Frontmind with \S+ at (http://127\.0\.0\.1:\d+)\n", line)
        assert found, (line, process.stderr.read() if process.stderr and process.poll() is not None else "")
        with httpx2.Client(base_url=found[1], timeout=30) as client:
            yield Program(process, found[1], db, client)
    finally:
        process.kill()
        process.communicate()


class Words:
    """A model across a socket that says some words, and the others when it is let."""

    def __init__(self) -> None:
        self.rest = threading.Event()

    def answer(self, exchange: Exchange) -> None:
        exchange.start_stream()
        for text in ("One ", "two "):
            exchange.event(_chunk({"content": text}))
        while not self.rest.wait(0.02):
            # A program that has gone is noticed by the next write.
            exchange.wfile.write(b": \n\n")
            exchange.wfile.flush()
        exchange.event(_chunk({"content": "three."}, "stop"))
        exchange.event("[DONE]")


def _chunk(delta: dict[str, str], finish: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


@contextmanager
def talking(environment: dict[str, str], folder: Path, *options: str) -> Iterator[tuple[Program, Words]]:
    """A server whose model has said two words of a reply, and whose turn runs."""
    words = Words()
    with serving() as model:
        model.answer = _quietly(words.answer)
        try:
            with program(environment, folder, *options, model=f"compatible:m@{model.url}/v1") as running:
                yield running, words
        finally:
            words.rest.set()


def _quietly(answer: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
    def answered(exchange: Exchange) -> None:
        try:
            answer(exchange)
        except OSError:
            exchange.close_connection = True

    return answered


def _begin(running: Program) -> Iterator[str]:
    """Say something, and give back the lines of its events; the first two words were told when this returns."""
    begun = running.client.post(f"{MAIN}/turns", json={"text": "Count"})
    assert begun.status_code == 202, begun.text
    with running.client.stream("GET", begun.headers["location"]) as response:
        yield from response.iter_lines()


def _until(lines: Iterator[str], text: str) -> None:
    assert any(text in line for line in lines), text


def test_it_prints_its_address_serves_and_ends_quietly(environment: dict[str, str], tmp_path: Path) -> None:
    with program(environment, tmp_path) as running:
        health = running.client.get("/api/health").json()
        assert health["status"] == "ok" and health["model"] == "echo"
        assert "<title>Frontmind</title>" in running.client.get("/").text
        assert running.client.get("/api/health", headers={"host": "evil.example"}).status_code == 421
        with running.client.stream("GET", "/api/events") as page:
            lines = page.iter_lines()
            assert next(lines) == ": ping"
            running.process.send_signal(signal.SIGINT)
            assert "event: reminder" not in list(lines)
        assert running.ends() == (0, "", "")


@pytest.mark.requirement("WEB-15")
async def test_a_signal_in_the_middle_of_a_reply_keeps_what_was_said(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with talking(environment, tmp_path, "--grace", "0") as (running, _):
        lines = _begin(running)
        _until(lines, "two ")
        running.process.send_signal(signal.SIGTERM)
        _until(lines, "event: done")
        assert running.ends() == (0, "", "")
    (turn,) = await running.turns()
    assert (turn.state, turn.interrupted) == (TurnState.DONE, True)
    assert turn.reply is not None and turn.reply.text == "One two "


@pytest.mark.requirement("WEB-15")
async def test_a_reply_may_come_to_its_end_after_a_signal_and_nothing_new_begins(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with talking(environment, tmp_path, "--grace", "60") as (running, words):
        lines = _begin(running)
        _until(lines, "two ")
        running.process.send_signal(signal.SIGTERM)
        while running.client.get("/api/health").json()["status"] == "ok":
            assert running.process.poll() is None
        refused = running.client.post("/api/conversations/other/turns", json={"text": "New"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
        words.rest.set()
        _until(lines, "event: done")
        assert running.ends() == (0, "", "")
    (turn,) = await running.turns()
    assert turn.reply is not None and (turn.reply.text, turn.interrupted) == ("One two three.", False)
    assert await running.turns("other") == []


@pytest.mark.requirement("WEB-15")
async def test_a_second_signal_ends_it_at_once(environment: dict[str, str], tmp_path: Path) -> None:
    with talking(environment, tmp_path, "--grace", "600") as (running, _):
        lines = _begin(running)
        _until(lines, "two ")
        began = time.monotonic()
        running.process.send_signal(signal.SIGINT)
        while running.client.get("/api/health").json()["status"] == "ok":
            assert running.process.poll() is None
        running.process.send_signal(signal.SIGINT)
        _until(lines, "event: done")
        assert running.ends() == (0, "", "")
        assert time.monotonic() - began < 60
    (turn,) = await running.turns()
    assert turn.reply is not None and (turn.reply.text, turn.interrupted) == ("One two ", True)


@pytest.mark.requirement("WEB-15")
async def test_a_program_that_is_killed_loses_no_message(environment: dict[str, str], tmp_path: Path) -> None:
    with talking(environment, tmp_path) as (running, _):
        _until(_begin(running), "two ")
        running.process.kill()
        running.process.wait()
    (turn,) = await running.turns()
    assert (turn.state, turn.user.text) == (TurnState.OPEN, "Count")


@pytest.mark.requirement("WEB-13")
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_accounts_it_listens_nowhere_else(frontmind: Run, tmp_path: Path, host: str) -> None:
    ended = frontmind("serve", "--host", host, "--port", "0", "--model", "echo", "--db", str(tmp_path / "mind.db"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1 and "frontmind user add NAME" in ended.stderr


@pytest.mark.requirement("WEB-13")
def test_without_accounts_it_goes_by_no_other_name(frontmind: Run, environment: dict[str, str], tmp_path: Path) -> None:
    db = str(tmp_path / "mind.db")
    ended = frontmind("serve", "--allow-host", "Mind.example", "--port", "0", "--model", "echo", "--db", db)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "frontmind: without accounts the server is for this machine alone, and does not go by mind.example; make one "
        "first: frontmind user add NAME\n"
    )
    with program(environment, tmp_path, "--allow-host", "localhost") as running:
        assert running.client.get("/api/health", headers={"host": "localhost"}).status_code == 200


def test_a_server_that_runs_asks_for_keys_when_the_first_account_is_added(
    frontmind: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    with program(environment, tmp_path) as running:
        assert running.client.get("/api/me").status_code == 200
        made = frontmind("user", "add", "anna", "--db", str(running.db))
        assert made.returncode == 0, made.stderr
        began = time.monotonic()
        while running.client.get("/api/me").status_code == 200:
            assert time.monotonic() - began < 30
        headers = {"x-api-key": made.stdout.strip()}
        assert running.client.get("/api/me", headers=headers).json()["name"] == "anna"


def test_a_host_that_no_name_can_have_is_said_on_one_line(frontmind: Run, tmp_path: Path) -> None:
    db = str(tmp_path / "mind.db")
    assert frontmind("user", "add", "anna", "--db", db).returncode == 0
    ended = frontmind("serve", "--host", "a..b", "--model", "echo", "--db", db)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "frontmind: 'a..b' is no name of a host; pass another with --host\n"


def test_a_port_that_is_in_use_is_named(frontmind: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ended = frontmind("serve", "--port", port, "--model", "echo", "--db", str(tmp_path / "mind.db"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"frontmind: port {port} of 127.0.0.1 is in use; pass another with --port or --host\n"


def test_a_name_with_several_addresses_is_served_on_one_port_without_delay_of_small_packets() -> None:
    listeners = listen("localhost", 0)
    try:
        assert len({listener.getsockname()[1] for listener in listeners}) == 1
        assert all(listener.getsockname()[0] in ("127.0.0.1", "::1") for listener in listeners)
        # asyncio turns the delay off where the protocol is named, and nowhere else; it costs 40 ms a reply.
        assert all(listener.proto == socket.IPPROTO_TCP for listener in listeners)
    finally:
        for listener in listeners:
            listener.close()


def test_a_host_that_is_not_here_is_named(frontmind: Run, tmp_path: Path) -> None:
    ended = frontmind("serve", "--host", "192.0.2.1", "--model", "echo", "--db", str(tmp_path / "mind.db"))
    assert ended.returncode == 2 and "192.0.2.1 cannot be used" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_with_accounts_everybody_needs_a_key_and_no_key_is_printed(
    frontmind: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    made = frontmind("user", "add", "anna", "--db", str(tmp_path / "mind.db"))
    assert made.returncode == 0, made.stderr
    key = re.findall(r"fm_[\w-]{43}", made.stdout)[0]
    settings = tmp_path / "settings.toml"
    settings.write_text(f"[mcp.notes]\ncommand = {json.dumps([sys.executable, '-c', 'raise SystemExit(3)'])}\n")
    environment["FRONTMIND_SETTINGS"] = str(settings)
    with program(environment, tmp_path, "--allow-host", "mind.example") as running:
        assert running.client.get("/api/me").status_code == 401
        headers = {"authorization": f"Bearer {key}", "host": "mind.example"}
        assert running.client.get("/api/me", headers=headers).json()["name"] == "anna"
        assert running.client.get(f"/api/me?key={key}").status_code == 401
        running.process.send_signal(signal.SIGTERM)
        code, out, err = running.ends()
    assert (code, out) == (0, "")
    assert err.count("\n") == 1 and "MCP servers of the settings file are not used" in err
    assert key not in err


def test_the_conversation_of_the_terminal_goes_on_in_the_page(
    frontmind: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    assert frontmind("chat", "--model", "echo", "--message", "From the terminal").returncode == 0
    with program(environment, tmp_path) as running:
        (turn,) = running.client.get(f"{MAIN}/turns").json()["turns"]
        assert turn["user"]["text"] == "From the terminal"
        begun = running.client.post(f"{MAIN}/turns", json={"text": "From the page"})
        assert begun.json()["turn"] == 2


def test_it_says_what_is_missing_where_the_server_is_not_installed(tmp_path: Path, environment: dict[str, str]) -> None:
    program = (
        "import sys\n"
        "sys.modules['fastapi'] = None\n"
        "sys.argv = ['frontmind', 'serve', '--model', 'echo', '--db', ':memory:']\n"
        "from frontmind.cli.app import main\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60
    )
    assert ended.returncode == 2
    assert ended.stderr == "frontmind: the server needs the package fastapi; run: pip install 'frontmind[server]'\n"


def test_nothing_of_the_server_is_loaded_for_other_commands(environment: dict[str, str], tmp_path: Path) -> None:
    program = (
        "import sys, frontmind.cli.commands\nprint([n for n in ('fastapi', 'uvicorn', 'nh3') if n in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60
    )
    assert ended.stdout == "[]\n", ended.stderr
