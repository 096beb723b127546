"""`frontmind chat` through a pipe, for one turn, and as JSON, with models that need nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from frontmind.values.section import RULE
from support import PROGRAM, Run

FIXED = ("--now", "2026-11-30T09:15", "--timezone", "Europe/Berlin")


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A script of twenty numbered replies."""
    (tmp_path / "script.json").write_text(json.dumps([f"Reply {number}." for number in range(1, 21)]))
    return "scripted:script.json"


def test_every_piped_line_is_a_turn_and_the_line_under_the_reply_tells_of_the_cache(
    frontmind: Run, script: str
) -> None:
    result = frontmind("chat", "--model", script, *FIXED, given="hello\n\nand again\n")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert [lines[0], lines[1], lines[3], lines[4]] == ["> hello", "Reply 1.", "> and again", "Reply 2."]
    assert lines[2].startswith("[turn 1 · cache: ~0 of ~")
    assert result.stderr == ""


def test_json_prints_one_object_a_reply_and_commands_beside_it(frontmind: Run, script: str) -> None:
    result = frontmind(
        "chat", "--model", script, "--json", given="one\n/remember You like tea\n/context\ntwo\n/quit\nthree\n"
    )
    replies = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(reply["turn"], reply["reply"]) for reply in replies] == [(1, "Reply 1."), (2, "Reply 2.")]
    for reply in replies:
        assert reply["framing"] == "assistant"
        assert {"input", "cached", "written", "output"} <= reply["usage"].keys()
        assert reply["expected_cached"] == 0
    assert "Remembered as m1: You like tea" in result.stderr
    assert "datetime_section\tnotification" in result.stderr


def test_one_turn_with_message_and_the_next_run_goes_on(frontmind: Run, script: str) -> None:
    first = json.loads(frontmind("chat", "--model", script, "--json", "--message", "one").stdout)
    second = json.loads(frontmind("chat", "--model", script, "--json", "--message", "two").stdout)
    assert (first["turn"], second["turn"]) == (1, 2)


def test_echo_shows_the_whole_request_with_the_section_before_the_question(frontmind: Run) -> None:
    result = frontmind("chat", "--model", "echo", *FIXED, "--json", "--message", "what time is it?")
    request = json.loads(json.loads(result.stdout)["reply"])
    texts = [message["content"][0]["text"] for message in request["messages"]]
    assert texts[0] == RULE
    assert "09:15 (Europe/Berlin, UTC+01:00)" in texts[1]
    assert texts[2] == "what time is it?"


def test_what_was_remembered_and_reminded_stands_in_the_next_window(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "house.md").write_text("The key is under the third pot.")
    given = (
        "/remember You prefer green tea\n/remind me to call Anna at 5pm\n/remind pay rent on 2026-12-02\n"
        f"/doc add {tmp_path / 'house.md'}\n/search tea\nwhich tea?\n"
    )
    result = frontmind("chat", "--model", "echo", *FIXED, "--json", given=given)
    assert result.returncode == 0, result.stderr
    request = json.loads(json.loads(result.stdout)["reply"])
    system = request["system"][0]["text"]
    center = request["messages"][1]["content"][0]["text"]
    document = '<document name="house" version="1" updated="2026-11-30 08:15 UTC">The key is under the third pot.'
    assert f"{document}</document>" in system
    assert '<reminder id="r1" due="Mon 30 Nov 2026, 17:00" status="today">call Anna</reminder>' in center
    assert '<reminder id="r2" due="Wed 2 Dec 2026" status="coming">pay rent</reminder>' in center
    assert '<search id="s1" query="tea" state="found" observed="2026-11-30 09:15">' in center
    observed = "2026-11-30 09:15"
    memory = rf'<memory id="m1" observed="{observed}" why="[^"]+">You prefer green tea</memory>'
    assert re.search(rf'<relevant_memories observed="{observed}">\n{memory}', center)


def test_commands_tell_what_they_did(frontmind: Run, script: str, tmp_path: Path) -> None:
    (tmp_path / "house.md").write_text("pots")
    given = "\n".join(
        ["/remind", "/remind in 10 minutes stretch", "/remind list", "/remind done r1", "/remind", "/doc",
         "/doc add house.md", "/doc", "/doc show house", "/doc off house", "/doc", "/search pots", "/help", "/quit"]
    )  # fmt: skip
    result = frontmind("chat", "--model", script, *FIXED, given=given + "\n")
    assert (result.returncode, result.stderr) == (0, "")
    said = result.stdout
    for expected in (
        "No reminders.",
        "Reminder r1 for Mon 30 Nov 2026, 09:25: stretch",
        "r1  Mon 30 Nov 2026, 09:25 (today)  stretch",
        "Done: stretch",
        "No documents.",
        "house (4 characters) is before the assistant",
        "house  on  4",
        "\npots\n",
        "house  off  4",
        "house: pots",
        "/remember TEXT",
    ):
        assert expected in said


def test_the_context_table_names_every_section_and_adds_up(frontmind: Run, script: str) -> None:
    result = frontmind("chat", "--model", script, *FIXED, given="hello\n/context\n")
    table = [line for line in result.stdout.splitlines() if "│" in line or "┃" in line]
    names = [line.split("│")[1].strip() for line in table if "│" in line]
    assert names[:4] == ["12 tools", "base_prompt", "tool_guidance", "tool_hints"]
    assert names[4:] == ["(rule)", "(header)", "datetime_section", "(rule)", "user message",
                         "(template and joins)", "all"]  # fmt: skip
    sizes = [int(line.split("│")[3].strip().lstrip("~").replace(",", "")) for line in table if "│" in line]
    assert sum(sizes[:-1]) == sizes[-1]


@pytest.mark.parametrize("line", ["/remember\tYou like tea", "/remember  You like tea", "/REMEMBER You like tea"])
def test_any_white_space_ends_the_name_of_a_command(frontmind: Run, script: str, line: str) -> None:
    assert "Remembered as m1: You like tea" in frontmind("chat", "--model", script, given=f"{line}\n").stdout


def test_quit_as_the_only_message_is_fine(frontmind: Run, script: str) -> None:
    assert frontmind("chat", "--model", script, "--message", "/quit").returncode == 0


def test_a_path_that_begins_with_a_slash_is_a_message(frontmind: Run, script: str) -> None:
    assert "Reply 1." in frontmind("chat", "--model", script, given="/etc/hosts is what?\n").stdout


def test_escape_sequences_from_a_reply_do_not_reach_the_terminal(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps(["\x1b[2Jgone\x07 \u202eevil"]))
    result = frontmind("chat", "--model", "scripted:script.json", "--message", "hi")
    assert "\x1b" not in result.stdout
    assert "\ufffd[2Jgone\ufffd \ufffdevil" in result.stdout


def test_input_that_is_not_utf8_is_a_message_all_the_same(frontmind: Run, script: str) -> None:
    result = frontmind("chat", "--model", script, given=b"caf\xe9 \xff\n", env={"LC_ALL": "C"})
    assert result.returncode == 0
    assert "Reply 1." in result.stdout


def test_a_turn_that_fails_gives_exit_code_1_and_the_chat_goes_on(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps([" ", "Both."]))
    result = frontmind("chat", "--model", "scripted:script.json", given="one\ntwo\n")
    assert result.returncode == 1
    assert "frontmind: scripted:script.json gave an empty reply" in result.stderr
    assert "[1 earlier message(s) without a reply went along]" in result.stdout


def test_a_reader_that_goes_away_ends_the_program_without_a_traceback(
    environment: dict[str, str], tmp_path: Path
) -> None:
    command = f"yes hello | head -2000 | '{PROGRAM}' chat --model echo --db '{tmp_path / 'mind.db'}' | head -1"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert result.stdout == "> hello\n"
    assert "Traceback" not in result.stderr


def test_an_interrupted_reply_is_kept_and_the_exit_code_says_so(environment: dict[str, str], tmp_path: Path) -> None:
    """The reply hangs behind a server that sends one word and then nothing."""
    release = threading.Event()

    class Hanging(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            chunk = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Well"}}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
            release.wait(60)

        def log_message(self, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hanging)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model = f"compatible:m@http://127.0.0.1:{server.server_port}/v1"
    db = str(tmp_path / "mind.db")
    process = subprocess.Popen(
        [str(PROGRAM), "chat", "--model", model, "--db", db, "--message", "tell me"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.read(4) == b"Well"
        os.kill(process.pid, signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        release.set()
        server.shutdown()
        server.server_close()
    assert process.returncode == 130, errors
    assert rest.decode() == "\n[stopped; what was said is kept]\n"
    shown = subprocess.run(
        [
            str(PROGRAM),
            "window",
            "show",
            "--model",
            "compatible:m@http://127.0.0.1:9/v1",
            "--db",
            db,
            "--message",
            "go on",
            "--request",
        ],
        capture_output=True,
        env=environment,
        check=True,
        timeout=60,
    )
    assert [message["content"] for message in json.loads(shown.stdout)["messages"]][1:3] == ["tell me", "Well"]
