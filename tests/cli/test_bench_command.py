"""``frontmind bench placement`` as a person runs it, with a model whose replies are given."""

from __future__ import annotations

import json
from pathlib import Path

from support import Run


def script(tmp_path: Path, replies: int) -> str:
    path = tmp_path / "replies.json"
    path.write_text(json.dumps(["It is Monday, a window seat and 41."] * replies), encoding="utf-8")
    return f"scripted:{path}"


def test_the_result_is_a_table_and_progress_stands_beside_it(frontmind: Run, tmp_path: Path) -> None:
    finished = frontmind(
        "bench", "placement", "--model", script(tmp_path, 200), "--lengths", "0,300", "--questions", "2"
    )
    assert finished.returncode == 0, finished.stderr
    assert "### Against the system prompt" in finished.stdout
    for place in ("system prompt", "assistant", "user_text", "append", "after the question"):
        assert f"| {place} |" in finished.stdout
        assert f"s left] {place}, 'you prefer', history 300" in finished.stderr
    assert "s left]" not in finished.stdout


def test_the_result_as_json_has_every_answer(frontmind: Run, tmp_path: Path) -> None:
    arguments = ("bench", "placement", "--model", script(tmp_path, 200), "--lengths", "0", "--questions", "3", "--json")
    first, again = frontmind(*arguments), frontmind(*arguments)
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert len(told["facts"]) == 3
    assert len(told["answers"]) == 3 * 3 * len({item["placement"] for item in told["counts"]})
    assert {item["reply"] for item in told["answers"]} == {"It is Monday, a window seat and 41."}
    assert first.stdout == again.stdout
    other = frontmind(*arguments, "--seed", "1")
    assert json.loads(other.stdout)["facts"] != told["facts"]


def test_given_chats_fill_the_history(frontmind: Run, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    said = [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Good morning to you"}]
    chat.write_text(json.dumps(said * 5), encoding="utf-8")
    finished = frontmind(
        *("bench", "placement", "--model", script(tmp_path, 200), "--lengths", "200", "--questions", "1"),
        *("--history", str(chat), "--json"),
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["history_tokens"][0]["largest_prompt"] > 300


def test_a_model_that_fails_is_told_and_the_table_is_printed(frontmind: Run, tmp_path: Path) -> None:
    finished = frontmind("bench", "placement", "--model", script(tmp_path, 4), "--lengths", "0", "--questions", "2")
    assert finished.returncode == 1
    assert "questions were not answered; the first:" in finished.stderr
    assert "### Each place" in finished.stdout


def test_what_cannot_be_used_is_said_on_one_line(frontmind: Run, tmp_path: Path) -> None:
    model = script(tmp_path, 1)
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    for options, said in (
        (("--lengths", "0,many"), "cannot read the lengths"),
        (("--lengths", ""), "cannot read the lengths"),
        (("--history", str(broken)), "is not valid JSON"),
        (("--history", str(tmp_path / "none.json")), "cannot read the history"),
    ):
        finished = frontmind("bench", "placement", "--model", model, *options)
        assert finished.returncode == 2, options
        assert said in finished.stderr
        assert len(finished.stderr.splitlines()) == 1
        assert not finished.stdout
