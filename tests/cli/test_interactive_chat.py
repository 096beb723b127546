"""The interactive chat in a real terminal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from frontmind.cli.slash import COMMANDS
from support import PROGRAM


@pytest.fixture
def terminal(environment: dict[str, str], tmp_path: Path) -> Iterator[pexpect.spawn]:
    """A chat that waits for its first line."""
    (tmp_path / "script.json").write_text(json.dumps(["Reply 1.", "Reply 2."]))
    child = pexpect.spawn(
        str(PROGRAM),
        ["chat", "--model", "scripted:script.json", "--db", str(tmp_path / "mind.db")],
        env={**environment, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"},
        cwd=str(tmp_path),
        dimensions=(30, 100),
        encoding="utf-8",
        timeout=30,
    )
    child.expect("Frontmind with scripted")
    child.expect(">")
    yield child
    child.close(force=True)


def test_a_message_is_answered_and_ctrl_d_leaves(terminal: pexpect.spawn) -> None:
    terminal.send("hello\r")
    terminal.expect("Reply 1.")
    terminal.expect(r"\[turn 1 .*>")
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


def test_ctrl_c_at_the_prompt_does_not_leave(terminal: pexpect.spawn) -> None:
    terminal.sendintr()
    terminal.expect("/quit or Ctrl-D leaves")
    terminal.send("still here?\r")
    terminal.expect("Reply 1.")
    terminal.send("/quit\r")
    terminal.expect(pexpect.EOF)


def test_alt_enter_begins_a_new_line_of_the_same_message(terminal: pexpect.spawn, tmp_path: Path) -> None:
    terminal.send("first line\x1b\rsecond line\r")
    terminal.expect("Reply 1.")
    terminal.send("/quit\r")
    terminal.expect(pexpect.EOF)
    history = (tmp_path / "mind.db.history").read_text()
    assert "+first line\n+second line\n" in history


def test_a_wrong_command_is_explained_and_the_chat_goes_on(terminal: pexpect.spawn) -> None:
    terminal.send("/dance\r")
    terminal.expect("there is no command /dance")
    terminal.send("hello\r")
    terminal.expect("Reply 1.")


def test_ctrl_c_while_the_program_still_loads_leaves_without_a_traceback(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        """
import os, signal, sys

class PressesCtrlC:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "frontmind.cli.settings_file":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, PressesCtrlC)
"""
    )
    finished = subprocess.run(
        [str(PROGRAM), "chat", "--model", "echo", "--db", ":memory:"],
        input="hello\n",
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": str(tmp_path)},
        timeout=60,
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (130, "", "")


def test_the_list_of_commands_fits_100_columns_and_names_each_command(terminal: pexpect.spawn) -> None:
    terminal.send("/help\r")
    terminal.expect(r"/remind WHAT WHEN.*/quit +leave\r\n")
    assert isinstance(terminal.after, str)
    lines = terminal.after.strip().split("\r\n")
    assert max(map(len, lines)) <= 100
    assert {line.split()[0] for line in lines} == {command.name for command in COMMANDS}
