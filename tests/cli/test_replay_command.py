"""``frontmind replay``, as a person runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pexpect
import pytest

from support import PROGRAM, Run

OPUS = "anthropic:claude-opus-4-8"
SYSTEM = "You help with everything that a person may ask of you. " * 200


def rows(count: int = 5, *, name: str = "tea") -> list[dict[str, Any]]:
    """A conversation whose system prompt tells the time, so that nothing of it is ever read."""
    told: list[dict[str, Any]] = []
    messages: list[dict[str, str]] = []
    for number in range(count):
        messages = [*messages, {"role": "user", "content": f"question {number} " * 20}]
        system = f"{SYSTEM}\n<clock>\nIt is 9:{number:02}\n</clock>"
        marked = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
        body = {"model": "claude-opus-4-8", "max_tokens": 9, "system": [marked], "messages": messages}
        usage = {
            "input_tokens": 90 * (number + 1),
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 2_760,
            "output_tokens": 7,
        }
        told.append(
            {
                "provider": "anthropic",
                "model": "claude-opus-4-8",
                "conversation": name,
                "request": body,
                "usage": usage,
                "time": f"2026-11-30T09:{15 + number}:00Z",
            }
        )
        messages = [*messages, {"role": "assistant", "content": f"answer {number} " * 30}]
    return told


def written(path: Path, *lines: object) -> str:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return str(path)


def told(frontmind: Run, file: str, *arguments: str, code: int = 0) -> dict[str, Any]:
    result = frontmind("replay", file, "--json", *arguments)
    assert result.returncode == code, result.stderr
    assert result.stderr == ""
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def layouts(model: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["layout"], row["lifetime"]): row for row in (*model["recorded"], *model["layouts"])}


def test_a_request_log_is_replayed_in_every_layout_of_the_recorded_model(frontmind: Run, tmp_path: Path) -> None:
    value = told(frontmind, written(tmp_path / "log.jsonl", *rows()))
    (model,) = value["models"]
    found = layouts(model)
    assert (value["kind"], value["problems"], model["model"]) == ("request log", [], OPUS)
    assert list(found) == [
        ("as recorded", ""),
        ("the same requests, simulated", ""),
        ("sections in the system prompt", "5m"),
        ("sections in the system prompt", "1h"),
        ("slide (assistant)", "5m"),
        ("slide (assistant)", "1h"),
        ("slide (user_text)", "5m"),
        ("slide (user_text)", "1h"),
        ("clear_at", "5m"),
        ("clear_at", "1h"),
        ("append", "5m"),
        ("append", "1h"),
        ("Frontmind auto", ""),
    ]
    assert {row["calls"] for row in found.values()} == {5}
    recorded = found["as recorded", ""]
    assert (recorded["read"], recorded["written"], recorded["fresh"]) == (0, 13_800, 1_350)
    assert recorded["equivalents"] == 13_800 * 1.25 + 1_350
    # The clock moved the prefix of every request; behind it, nothing does.
    assert found["the same requests, simulated", ""]["read"] == 0
    assert found["slide (assistant)", "5m"]["read"] > 8_000
    assert found["slide (assistant)", "5m"]["equivalents"] < recorded["equivalents"] / 2
    assert model["trust"] == {"calls": 5, "near": 5, "expected_read": 0, "actual_read": 0, "prompt": 15_150}
    assert value["conversations"][0]["sections"] == ["clock"]
    # Sizes are corrected to what was counted.
    baseline = found["sections in the system prompt", "5m"]
    assert sum(baseline[part] for part in ("read", "written", "fresh")) == pytest.approx(15_150, rel=0.02)
    # It is no straw man: what stays of the system prompt is read, and nothing behind the clock.
    assert baseline["read"] == pytest.approx(4 * 2_750, rel=0.02)


def test_one_recording_is_replayed_for_several_providers(frontmind: Run, tmp_path: Path) -> None:
    models = ("openai:gpt-5.5", "deepseek:deepseek-chat", OPUS)
    file = written(tmp_path / "log.jsonl", *rows())
    value = told(frontmind, file, *(part for model in models for part in ("--model", model)))
    assert [model["model"] for model in value["models"]] == list(models)
    names = {name for name, _ in layouts(value["models"][0])}
    assert {f"as recorded ({OPUS})", "developer", "append", "Frontmind auto"} <= names
    assert "clear_at" not in names


def test_the_table_names_the_cheapest_and_says_what_was_taken_to_be_so(frontmind: Run, tmp_path: Path) -> None:
    result = frontmind("replay", written(tmp_path / "log.jsonl", *rows()))
    assert (result.returncode, result.stderr) == (0, "")
    assert "request log; 1 conversation, 5 calls of 1 model" in result.stdout
    assert "The cheapest: " in result.stdout
    assert "5 of 5 calls agree within 5 %" in result.stdout
    assert "taken for sections, because they change or pass with their turn: clock" in result.stdout
    assert "another layout might have led to others" in result.stdout
    assert "look_back_joins_tools=True [S]: " in result.stdout
    assert max(len(line.rstrip()) for line in result.stdout.split("Assumptions")[0].splitlines()[2:22]) <= 100


def test_facts_of_your_own_change_the_rules(frontmind: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl", *rows())
    value = told(frontmind, file, "--model", OPUS, "--profile", "min_cached_tokens=90000")
    assert {row["read"] for row in value["models"][0]["layouts"]} == {0}


BROKEN: tuple[tuple[object, str], ...] = (
    ("{not json", "it is not JSON"),
    ('{"usage": NaN}', "it is not JSON"),
    ("3", "it is no object"),
    ({"provider": "anthropic"}, "it has no request"),
    (rows(1)[0] | {"provider": "acme"}, "the provider 'acme' is unknown; use one of"),
    (rows(1)[0] | {"request": {"prompt": "q"}}, "the shape of no supported format"),
    (rows(1, name="a")[0] | {"usage": None}, "it has no usage"),
    (rows(1, name="b")[0] | {"usage": {"input_tokens": -1, "output_tokens": 1}}, "input_tokens is -1"),
    (rows(1, name="c")[0] | {"usage": {"input_tokens": 10**18, "output_tokens": 1}}, "which counts no tokens"),
    (rows(1, name="d")[0] | {"usage": {"input_tokens": "many", "output_tokens": 1}}, "input_tokens is many"),
    (rows(1, name="e")[0] | {"time": "soon"}, "the time 'soon' cannot be read"),
)


@pytest.mark.requirement("LAB-8")
def test_what_is_broken_is_said_by_its_line_and_the_rest_is_replayed(frontmind: Run, tmp_path: Path) -> None:
    good = rows()
    file = written(tmp_path / "log.jsonl", *good, *(line for line, _ in BROKEN))
    value = told(frontmind, file, code=1)
    assert [problem["place"] for problem in value["problems"]] == [
        f"log.jsonl:{number}" for number in range(6, 6 + len(BROKEN))
    ]
    for problem, (_, said) in zip(value["problems"], BROKEN, strict=True):
        assert said in problem["why"]
    assert value["conversations"][0]["calls"] == 5
    assert value["models"][0]["layouts"][0]["calls"] == 10
    text = frontmind("replay", file)
    assert text.returncode == 1
    assert [line.split(": ")[0] for line in text.stderr.splitlines()] == [
        problem["place"] for problem in value["problems"]
    ]


def test_a_time_that_goes_backwards_is_said_by_its_line(frontmind: Run, tmp_path: Path) -> None:
    told_rows = rows()
    told_rows[3]["time"] = "2026-11-30T08:00:00Z"
    value = told(frontmind, written(tmp_path / "log.jsonl", *told_rows), code=1)
    assert [problem["place"] for problem in value["problems"]] == ["log.jsonl:4"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "nothing in log.jsonl can be replayed"),
        ("hello\n", "nothing in log.jsonl can be replayed"),
        ("[]", "nothing in log.jsonl can be replayed"),
        (json.dumps(rows(1)[0] | {"provider": "acme"}), "nothing in log.jsonl can be replayed"),
        ("SQLite format 3\0 and no more", "log.jsonl"),
        (None, "there is no file log.jsonl"),
    ],
)
def test_a_file_without_anything_to_replay_could_not_run(
    frontmind: Run, tmp_path: Path, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "log.jsonl").write_text(content)
    result = frontmind("replay", "log.jsonl")
    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr.splitlines()[-1]


def test_a_list_over_several_lines_is_read_as_well(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps(rows(), indent=1))
    assert told(frontmind, "log.json")["conversations"][0]["calls"] == 5


def test_only_one_conversation_is_replayed_when_it_is_named(frontmind: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl", *rows(), *rows(2, name="rain"))
    assert told(frontmind, file)["models"][0]["layouts"][0]["calls"] == 7
    assert told(frontmind, file, "--conversation", "rain")["models"][0]["layouts"][0]["calls"] == 2
    result = frontmind("replay", file, "--conversation", "snow")
    assert (result.returncode, "it has 2, such as tea, rain" in result.stderr) == (2, True)


def test_what_stands_in_a_recording_cannot_move_the_cursor(frontmind: Run, tmp_path: Path) -> None:
    hostile = "\x1b[2J\u202e[red]"
    told_rows = rows(name=f"{hostile}tea\nrm -rf")
    for one in told_rows:
        one["model"] = one["request"]["model"] = f"claude{hostile}"
    file = written(tmp_path / "log.jsonl", *told_rows, {"provider": hostile, "request": {}}, f"{hostile}")
    for arguments in ((), ("--json",)):
        result = frontmind("replay", file, *arguments)
        assert result.returncode == 1
        for stream in (result.stdout, result.stderr):
            assert not any(character in stream for character in "\x1b\u202e")


def test_a_conversation_of_the_own_database_is_replayed(frontmind: Run, tmp_path: Path) -> None:
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps(["Hello.", "Tea is ready.", "Good night."]))
    now = ("--now", "2026-11-30T09:15", "--timezone", "Europe/Berlin")
    given = "Good morning\nIs there tea?\nGood night\n"
    assert frontmind("chat", "--model", f"scripted:{replies}", *now, given=given).returncode == 0
    value = told(frontmind, str(tmp_path / "mind.db"), "--model", OPUS)
    assert (value["kind"], value["conversations"][0]["calls"]) == ("Frontmind database", 3)
    found = layouts(value["models"][0])
    assert found["slide (assistant)", "5m"]["read"] > 3_000
    assert found["the same requests, simulated", ""]["calls"] == 3
    assert "datetime_section" in value["conversations"][0]["sections"]
    result = frontmind("replay", str(tmp_path / "mind.db"), "--conversation", "other")
    assert (result.returncode, "no call of a model" in result.stderr) == (2, True)


def test_a_session_of_claude_code_is_replayed(frontmind: Run, tmp_path: Path) -> None:
    def line(kind: str, number: int, content: object, **message: object) -> dict[str, object]:
        return {
            "type": kind,
            "uuid": f"{kind}{number}",
            "sessionId": "s-1",
            "timestamp": f"2026-03-01T10:{number:02}:00Z",
            "message": {"role": kind, "content": content, **message},
        }

    entries: list[object] = [{"type": "summary", "summary": "The clock", "leafUuid": "x"}]
    for number in range(6):
        entries.append(line("user", 2 * number, f"question {number} " * 50))
        usage = {"input_tokens": 3, "cache_read_input_tokens": 15_000, "cache_creation_input_tokens": 200 * number}
        said = [{"type": "text", "text": f"answer {number} " * 90}]
        entries.append(
            line(
                "assistant",
                2 * number + 1,
                said,
                id=f"m{number}",
                model="claude-opus-4-8",
                usage=usage | {"output_tokens": 9},
            )
        )
    value = told(frontmind, written(tmp_path / "session.jsonl", *entries))
    assert (value["kind"], value["conversations"][0]["calls"]) == ("Claude Code sessions", 6)
    (model,) = value["models"]
    recorded = layouts(model)["as recorded", ""]
    assert (recorded["read"], recorded["written"]) == (90_000, 3_000)
    append = layouts(model)["append", "5m"]
    assert append["read"] + append["written"] + append["fresh"] == pytest.approx(93_018, rel=0.02)
    assert any("system prompt and tools are not in the file" in line for line in model["assumptions"])


def test_a_terminal_is_told_how_far_it_is(environment: dict[str, str], tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl", *(row for number in range(40) for row in rows(5, name=f"c{number}")))
    child = pexpect.spawn(
        str(PROGRAM),
        ["replay", file, "--model", OPUS],
        env=os.environ | environment,
        encoding="utf-8",
        timeout=120,
        dimensions=(40, 120),
    )
    child.expect("replaying")
    child.expect("Assumptions:")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
