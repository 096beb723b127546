"""``frontmind window check``, as a person or a workflow runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from conversations import claude, marked
from support import PROGRAM, shared

Check: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def check(environment: dict[str, str], tmp_path: Path) -> Check:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(PROGRAM), "window", "check", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=60, check=False, cwd=tmp_path
        )

    return run


@pytest.mark.requirement("CHECK-1")
def test_nothing_is_found_in_the_recorded_requests(check: Check) -> None:
    result = check(str(shared("cache", "recorded_requests.jsonl")))
    assert (result.returncode, result.stdout) == (0, "35 request(s) checked, 0 finding(s)\n")


@pytest.mark.requirement("CHECK-1")
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("adk", {"marker-behind-volatile"}),
        ("agno", {"volatile-head", "marker-on-volatile"}),
        ("lc_dyn", {"volatile-head", "marker-on-volatile", "automatic-behind-volatile"}),
        ("lc_hud", {"automatic-behind-volatile"}),
        ("pyd_reminder", {"marker-on-volatile"}),
        ("pyd62_claude-opus-4-8", set()),
        ("pyd62_claude-sonnet-4-5", set()),
    ],
)
def test_what_other_libraries_sent_is_judged(check: Check, name: str, rules: set[str]) -> None:
    result = check(str(shared("peer_requests", f"{name}.jsonl")), "--json")
    value = json.loads(result.stdout)
    assert value["checked"] == 3
    assert {finding["rule"] for finding in value["findings"]} == rules
    assert result.returncode == (1 if rules else 0)
    for finding in value["findings"]:
        assert finding["line"] == finding["request"]
        assert finding["severity"] in ("error", "warning")
        assert finding["place"]
        assert finding["message"]
        assert finding["advice"]


def test_files_in_the_order_in_which_they_were_sent_tell_about_each_other(check: Check, tmp_path: Path) -> None:
    lines = shared("peer_requests", "lc_hud.jsonl").read_text(encoding="utf-8").splitlines()
    files = []
    for number, line in enumerate(lines):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(json.loads(line)["body"], indent=1), encoding="utf-8")
        files.append(str(path))
    assert check(files[0]).returncode == 0
    together = check(*files)
    assert together.returncode == 1
    assert "automatic-behind-volatile" in together.stdout
    assert "3 request(s) checked, 2 finding(s)" in together.stdout


def test_a_finding_is_an_annotation_of_the_file(check: Check, tmp_path: Path) -> None:
    path = tmp_path / "50%, a:b.jsonl"
    rows = [claude("q0"), claude("q1", system=marked("current time is 9:15\r, 100%"))]
    path.write_text("\n" + "\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    result = check(str(path), "--format", "github")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert len(lines) == 2
    folder = str(tmp_path).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    assert lines[0].startswith(f"::warning file={folder}/50%25%2C a%3Ab.jsonl,line=3,title=volatile-head::request 2, ")
    assert "current time is 9" in lines[0]
    assert lines[1].startswith("::warning file=")


def test_an_error_of_the_provider_is_an_error_annotation(check: Check, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(claude("q0", "a0", " ")), encoding="utf-8")
    result = check("request.json", "--format", "github")
    assert result.returncode == 1
    assert result.stdout == (
        "::error file=request.json,line=1,title=empty-text::messages[2].content[0]: the text of messages[2].content[0] "
        "is all white space, which is refused; leave it out\n"
    )


@pytest.mark.parametrize("options", [(), ("--json",), ("--format", "github")])
def test_text_of_others_cannot_move_the_cursor_or_write_a_command(
    check: Check, tmp_path: Path, options: tuple[str, ...]
) -> None:
    call = {"type": "tool_use", "id": "\x1b[2J\n::error::forged", "name": "look", "input": {}}
    tool = {"name": "\x1b[2J\n::error::forged", "description": "rendered at 9:15", "input_schema": {}}
    path = tmp_path / "request.json"
    path.write_text(json.dumps(claude("q0", ("assistant", [call]), "q1", tools=[tool])), encoding="utf-8")
    result = check(str(path), *options)
    assert result.returncode == 1
    assert "split-tool-pair" in result.stdout
    assert "\x1b" not in result.stdout
    assert not any(line.startswith("::error::") for line in result.stdout.splitlines())


def test_two_outputs_at_once_are_refused(check: Check, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(claude("q0", "a0", " ")), encoding="utf-8")
    result = check(str(path), "--format", "github", "--json")
    assert (result.returncode, result.stdout) == (2, "")
    assert "use one of them" in result.stderr


def test_a_file_that_cannot_be_read_ends_with_two_and_no_findings(check: Check, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps(claude("q0", "a0", "")) + "\n{}\n", encoding="utf-8")
    for arguments, said in (
        ((str(bad),), "request 2 of"),
        ((str(tmp_path / "nowhere.json"),), "nowhere.json"),
        ((), "REQUEST"),
    ):
        result = check(*arguments)
        assert (result.returncode, result.stdout) == (2, ""), result
        assert said in result.stderr
