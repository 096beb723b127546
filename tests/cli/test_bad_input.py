"""Bad input: one clear line that says what to do, exit code 2, and nothing is changed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from support import PROGRAM, Run

pytestmark = pytest.mark.requirement("CLI-1")

ECHO = ("--model", "echo")


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The error of a run that could not start: exactly one line on standard error, nothing else anywhere."""
    assert result.returncode == 2, result
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("frontmind: ")
    return lines[0]


def test_a_file_that_is_no_database_is_named_and_left_alone(frontmind: Run, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Anna,\n" * 400)
    line = one_line(frontmind("chat", *ECHO, "--message", "hi", db=str(path)))
    assert "letter.txt" in line
    assert "--db" in line
    assert path.read_text() == "Dear Anna,\n" * 400
    assert sorted(child.name for child in tmp_path.iterdir()) == ["home", "letter.txt"]


def test_the_database_of_another_program_is_left_alone(frontmind: Run, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    assert "not a Frontmind database" in one_line(frontmind("chat", *ECHO, "--message", "hi", db=str(path)))
    assert "not a Frontmind database" in one_line(frontmind("window", "show", *ECHO, db=str(path)))
    assert path.read_bytes() == before


def test_a_folder_in_place_of_the_database_is_named(frontmind: Run, tmp_path: Path) -> None:
    assert "--db" in one_line(frontmind("chat", *ECHO, "--message", "hi", db=str(tmp_path)))


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system without a right to write is made by root only")
def test_a_database_in_a_place_that_cannot_be_written_is_named(frontmind: Run) -> None:
    assert "--db" in one_line(frontmind("chat", *ECHO, "--message", "hi", db="/proc/frontmind/mind.db"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{not json", "not valid JSON"),
        ("[]", "no messages"),
        ('"hello"', "not a JSON list"),
        ('[{"role": "wizard", "content": "x"}]', "unknown role 'wizard'"),
        ('[{"content": "x"}]', "unknown role None"),
        ('[{"role": "user", "content": 7}]', "message 1"),
        ('[{"role": "user", "content": ""}]', "empty"),
        ("[3]", "message 1"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_broken_conversation_file_is_named_with_the_place(
    frontmind: Run, tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "talk.json"
    path.write_text(content)
    line = one_line(frontmind("window", "show", *ECHO, "--conversation", str(path), "--message", "hi"))
    assert said in line
    assert "talk.json" in line


def test_a_missing_or_binary_conversation_file_is_named(frontmind: Run, tmp_path: Path) -> None:
    assert "none.json" in one_line(frontmind("window", "show", *ECHO, "--conversation", "none.json"))
    (tmp_path / "cat.json").write_bytes(b"\xff\xfe\x00cat")
    assert "UTF-8" in one_line(frontmind("window", "show", *ECHO, "--conversation", "cat.json"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--timezone", "Mars/Olympus"), "unknown time zone 'Mars/Olympus'"),
        (("--timezone", "../../etc/passwd"), "unknown time zone"),
        (("--timezone", ""), "unknown time zone"),
        (("--now", "yesterday"), "ISO 8601"),
        (("--now", "2026-13-01T00:00"), "ISO 8601"),
        (("--model", "gpt"), "unknown model 'gpt'"),
        (("--model", "compatible:x"), "compatible:NAME@URL"),
        (("--model", "anthropic:"), "needs a name"),
        (("--model", "anthropic:claude-sonnet-5"), "ANTHROPIC_API_KEY"),
        (("--model", "openai:gpt-5.5"), "OPENAI_API_KEY"),
        (("--model", "local:/nowhere/model.gguf"), "/nowhere/model.gguf"),
        (("--model", "scripted:nowhere.json"), "nowhere.json"),
        (("--message", "  "), "empty"),
    ],
)
def test_an_argument_that_cannot_be_used_is_explained(frontmind: Run, arguments: tuple[str, ...], said: str) -> None:
    defaults = () if arguments[0] == "--model" else ECHO
    message = () if arguments[0] == "--message" else ("--message", "hi")
    assert said in one_line(frontmind("chat", *defaults, *message, *arguments))


def test_a_setting_that_cannot_be_used_is_named(frontmind: Run) -> None:
    result = frontmind("chat", *ECHO, "--message", "hi", env={"FRONTMIND_MAX_OUTPUT_TOKENS": "many"})
    assert "FRONTMIND_MAX_OUTPUT_TOKENS" in one_line(result)


def test_a_server_that_is_not_there_ends_the_program_and_keeps_the_message(frontmind: Run, tmp_path: Path) -> None:
    result = frontmind("chat", "--model", "compatible:m@http://127.0.0.1:9/v1", "--message", "are you there?")
    assert "http://127.0.0.1:9" in one_line(result)
    kept = frontmind("window", "show", *ECHO, "--message", "and now?")
    assert "are you there?" in kept.stdout


def test_an_unknown_option_is_explained(frontmind: Run) -> None:
    result = frontmind("chat", "--modle", "echo")
    assert result.returncode == 2
    assert "--modle" in result.stderr
    assert "Traceback" not in result.stderr


def test_looking_at_a_window_creates_no_database(frontmind: Run, tmp_path: Path) -> None:
    assert frontmind("window", "show", *ECHO, "--message", "hi").returncode == 0
    assert not (tmp_path / "mind.db").exists()


def test_unknown_slash_commands_and_arguments_are_explained_and_the_chat_goes_on(frontmind: Run) -> None:
    lines = ["/dance", "/remind water plants", "/remind done x", "/remind done r9", "/doc add none.md", "/doc on none",
             "/doc what", "/remember", "/search", "hello"]  # fmt: skip
    result = frontmind("chat", *ECHO, given="\n".join(lines) + "\n")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 9
    assert all(line.startswith("frontmind: ") for line in result.stderr.splitlines())
    assert "[turn 1 " in result.stdout


def test_a_name_that_no_file_can_have_is_refused_and_the_chat_goes_on(frontmind: Run) -> None:
    long = "a" * 300
    result = frontmind("chat", *ECHO, given=f"/doc add ~nosuchuser/x\n/doc add {long}\n/help\n")
    assert result.returncode == 1
    assert [line.startswith("frontmind: cannot use the path") for line in result.stderr.splitlines()] == [True, True]
    assert "/remember TEXT" in result.stdout
    assert "cannot use the path" in one_line(frontmind("window", "show", *ECHO, db=long))


def test_a_script_that_is_a_pipe_is_refused(frontmind: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in one_line(frontmind("chat", "--model", "scripted:pipe", "--message", "hi"))


def test_a_script_that_is_no_list_of_texts_is_named(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps({"a": 1}))
    assert "list of texts" in one_line(frontmind("chat", "--model", "scripted:script.json", "--message", "hi"))


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_program_started_with_a_closed_stream_runs_all_the_same(
    environment: dict[str, str], tmp_path: Path, redirect: str
) -> None:
    command = f"'{PROGRAM}' chat --model echo --message hi --db '{tmp_path / 'mind.db'}' {redirect}"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_output_that_cannot_be_written_is_one_line(environment: dict[str, str], tmp_path: Path) -> None:
    command = f"'{PROGRAM}' chat --model echo --message hi --db '{tmp_path / 'mind.db'}' >/dev/full"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert "cannot write the output" in one_line(
        subprocess.CompletedProcess(command, result.returncode, result.stdout, result.stderr)
    )


def test_a_document_that_is_a_pipe_or_a_device_is_refused(frontmind: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = frontmind("chat", *ECHO, given=f"/doc add pipe\n/doc add /dev/zero\n/doc add {tmp_path}\n")
    assert result.returncode == 1
    assert [line.count("not a regular file") for line in result.stderr.splitlines()] == [1, 1, 1]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00", "9999-12-31T23:59:59"])
def test_a_moment_too_far_away_is_refused(frontmind: Run, moment: str) -> None:
    assert "from 1900 to 2999" in one_line(frontmind("chat", *ECHO, "--message", "hi", "--now", moment))
