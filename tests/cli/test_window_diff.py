"""``frontmind window diff``, as a person runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from conversations import claude
from support import PROGRAM, shared

Diff: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def diff(environment: dict[str, str], tmp_path: Path) -> Diff:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(PROGRAM), "window", "diff", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=60, check=False, cwd=tmp_path
        )

    return run


def saved(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


@pytest.mark.requirement("DIFF-1")
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("adk", ["extended", "extended"]),
        ("lc_hud", ["extended", "extended"]),
        ("pyd_reminder", ["extended", "extended"]),
        ("pyd62_claude-opus-4-8", ["extended", "extended"]),
        ("pyd62_claude-sonnet-4-5", ["extended", "extended"]),
        ("agno", ["moved", "moved"]),
        ("lc_dyn", ["moved", "moved"]),
        ("pyd_instr", ["moved", "moved"]),
        ("pyd_append", ["moved", "extended"]),
    ],
)
def test_consecutive_requests_of_a_file_are_compared_in_pairs(diff: Diff, name: str, kinds: list[str]) -> None:
    result = diff(str(shared("peer_requests", f"{name}.jsonl")), "--json")
    values = json.loads(result.stdout)
    assert [value["kind"] for value in values] == kinds
    assert result.returncode == (1 if "moved" in kinds else 0)
    assert all(value["place"].startswith("system[") for value in values if value["kind"] == "moved")


@pytest.mark.requirement("DIFF-1")
def test_the_block_that_was_rewritten_is_named_with_both_texts(diff: Diff) -> None:
    file = str(shared("peer_requests", "agno.jsonl"))
    result = diff(f"{file}#1", f"{file}#2", "--json")
    value = json.loads(result.stdout)
    assert result.returncode == 1
    assert (value["kind"], value["place"], value["name"]) == ("moved", "system[0]", "additional_information")
    assert "01:37:15" in value["a_text"]
    assert "01:37:16" in value["b_text"]
    people = diff(f"{file}#1", f"{file}#2")
    assert people.returncode == 1
    assert "moved" in people.stdout.splitlines()[0]
    assert "system[0] (additional_information)" in people.stdout
    assert "kept at the front: 1 of 3 blocks, ~88 tokens" in people.stdout


def test_two_files_are_compared_whatever_stands_around_the_request(diff: Diff, tmp_path: Path) -> None:
    first = saved(tmp_path / "a.json", claude("q0", "a0", "q1"))
    for number, later in enumerate(
        (
            claude("q0", "a0", "q1", "a1", "q2"),
            [claude("q0", "a0", "q1", "a1", "q2")],
            {"path": "/v1/messages", "body": claude("q0", "a0", "q1", "a1", "q2")},
            {"uri": "https://api.anthropic.com/v1/messages", "request": claude("q0", "a0", "q1", "a1", "q2")},
        )
    ):
        result = diff(first, saved(tmp_path / f"b{number}.json", later), "--json")
        assert (result.returncode, json.loads(result.stdout)["kind"]) == (0, "extended"), result.stderr


def test_a_shrunk_request_ends_with_one(diff: Diff, tmp_path: Path) -> None:
    a = saved(tmp_path / "a.json", claude("q0", "a0", "q1", "a1", "q2"))
    b = saved(tmp_path / "b.json", claude("q1", "a1", "q2", "a2", "q3"))
    result = diff(a, b, "--json")
    value = json.loads(result.stdout)
    assert (result.returncode, value["kind"], value["a_text"], value["b_text"]) == (1, "shrunk", "q0", "")


def test_saved_windows_of_two_times_are_extended(environment: dict[str, str], diff: Diff, tmp_path: Path) -> None:
    files = []
    for name, now in (("a", "2026-11-30T09:15"), ("b", "2026-11-30T09:40")):
        command = [str(PROGRAM), "window", "show", "--model", "echo", "--message", "hello", "--now", now, "--json"]
        command += ["--timezone", "Europe/Berlin", "--db", str(tmp_path / "mind.db")]
        shown = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
        (tmp_path / f"{name}.json").write_text(shown.stdout, encoding="utf-8")
        files.append(str(tmp_path / f"{name}.json"))
    result = diff(*files, "--json")
    value = json.loads(result.stdout)
    assert (result.returncode, value["kind"]) == (0, "extended")
    assert [block["name"] for block in value["slid"]] == ["datetime_section"]


def test_text_of_others_cannot_move_the_cursor(diff: Diff, tmp_path: Path) -> None:
    a = saved(tmp_path / "a.json", claude("q0", "a0", "q1", system="one\x1b[2J"))
    b = saved(tmp_path / "b.json", claude("q0", "a0", "q1", system="two\x1b[2J"))
    for options in ((), ("--json",)):
        result = diff(a, b, *options)
        assert result.returncode == 1
        assert "\x1b" not in result.stdout
        assert "one" in result.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not json", "is not JSON"),
        ("", "is not JSON"),
        ("[]", "has no request"),
        ('{"hello": 1}', "no request of a supported format"),
        ('[{"role": "user", "content": "hi"}]', "no request of a supported format"),
        ('{"messages": [], "system": "s"}\n{broken\n', "line 2"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_to_pass(diff: Diff, tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    good = saved(tmp_path / "good.json", claude("q0"))
    result = diff(str(path), good)
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert "bad.json" in result.stderr
    assert said in result.stderr
    assert "pass" in result.stderr


def test_which_request_is_meant_must_be_said(diff: Diff, tmp_path: Path) -> None:
    several = str(shared("peer_requests", "agno.jsonl"))
    one = saved(tmp_path / "one.json", claude("q0"))
    for arguments, said in (
        ((several, one), f"{several}#1"),
        ((one,), "only one request"),
        ((f"{several}#4", one), "3 request(s)"),
        ((f"{several}#0", one), "3 request(s)"),
        ((str(tmp_path / "nowhere.json"), one), "nowhere.json"),
    ):
        result = diff(*arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert said in result.stderr
