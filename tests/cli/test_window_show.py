"""`frontmind window show` prints the window of the next turn and sends nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from frontmind.values.section import RULE
from support import Run

FIXED = ("--now", "2026-11-30T09:15", "--timezone", "Europe/Berlin")
EXAMPLES = (
    ("starts with the assistant", [("assistant", "Hello!"), ("user", "Hi"), ("assistant", "How are you?")]),
    ("two of one role in a row", [("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d")]),
    ("empty and blank texts", [("user", "a"), ("assistant", ""), ("user", "  \n"), ("assistant", "b")]),
    ("one huge message", [("user", "x" * 200_000), ("assistant", "long"), ("user", "again")]),
    ("ends with the user", [("user", "a"), ("assistant", "b"), ("user", "c")]),
)


def conversation(path: Path, messages: list[tuple[str, Any]]) -> str:
    path.write_text(json.dumps([{"role": role, "content": content} for role, content in messages]))
    return str(path)


def request(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert result.returncode == 0, result.stderr
    decoded: dict[str, Any] = json.loads(result.stdout)
    return decoded


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize(("name", "messages"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
@pytest.mark.parametrize("model", ["echo", "compatible:m@http://127.0.0.1:9/v1", "anthropic:claude-sonnet-5", "local"])
def test_conversations_as_exports_have_them_become_valid_requests(
    frontmind: Run, tmp_path: Path, model: str, name: str, messages: list[tuple[str, str]]
) -> None:
    path = conversation(tmp_path / "talk.json", messages)
    result = frontmind("window", "show", "--model", model, "--conversation", path, "--message", "next?", "--request")
    sent = [message for message in request(result)["messages"] if message["role"] != "system"]
    assert [message["role"] for message in sent] == ["user", "assistant"] * (len(sent) // 2) + ["user"]
    written = json.dumps(sent)
    assert all(text.strip() in written for _, text in messages)
    assert "next?" in json.dumps(sent[-1])
    if name in ("one huge message", "ends with the user"):
        too_large = name == "one huge message" and model == "local"
        assert [line[:14] for line in result.stderr.splitlines()] == (["this is larger"] if too_large else [])
    else:
        assert all(line.startswith("changed in talk.json: ") for line in result.stderr.splitlines())
        assert result.stderr


def test_the_text_form_shows_the_parts_in_true_order(frontmind: Run, tmp_path: Path) -> None:
    path = conversation(tmp_path / "talk.json", [("user", "first"), ("assistant", "second")])
    shown = frontmind("window", "show", "--model", "echo", *FIXED, "--conversation", path, "--message", "third").stdout
    order = [
        "<base_prompt>",
        "\nfirst",
        "\nsecond",
        f"\n{RULE}\n",
        "NOTIFICATION CENTER",
        "<datetime_section>",
        "\nthird",
    ]
    places = [shown.index(text) for text in order]
    assert places == sorted(places)
    assert "Monday, 30 November 2026, 09:15 (Europe/Berlin, UTC+01:00)" in shown


def test_json_names_every_section_with_its_placement(frontmind: Run) -> None:
    shown = request(frontmind("window", "show", "--model", "echo", *FIXED, "--message", "hi", "--json"))
    placements = {section["name"]: section["placement"] for section in shown["sections"]}
    assert placements == {
        "base_prompt": "system",
        "tool_guidance": "system",
        "tool_hints": "system",
        "datetime_section": "notification",
    }
    assert shown["framing"] == "assistant"
    assert [message["origin"] for message in shown["messages"]] == ["rule", "notification", "turn"]


def test_a_conversations_own_system_prompt_follows_the_base_prompt(frontmind: Run, tmp_path: Path) -> None:
    path = conversation(tmp_path / "talk.json", [("system", "Speak like a pirate."), ("user", "Hi")])
    shown = request(frontmind("window", "show", "--model", "echo", "--conversation", path, "--request"))
    base = shown["system"][0]["text"].partition("</base_prompt>")[0]
    assert "\n\nSpeak like a pirate.\n" in base
    assert shown["messages"][-1]["content"] == [{"type": "text", "text": "Hi"}]


def test_json_output_reads_back_exactly_whatever_the_message_holds(frontmind: Run) -> None:
    message = "a\u200eb \u200f\u05e9\u05dc\u05d5\u05dd \x7f\x85 \u202e ═"
    for form in ("--request", "--json"):
        result = frontmind("window", "show", "--model", "echo", "--message", message, form)
        assert not set(result.stdout) & set("\u200e\u200f\x7f\x85\u202e")
        assert json.loads(result.stdout)["messages"][-1] in (
            {"role": "user", "content": [{"type": "text", "text": message}]},
            {"role": "user", "origin": "turn", "tokens": 7, "text": message},
        )


def test_tool_calls_of_both_styles_stay_with_their_results(frontmind: Run, tmp_path: Path) -> None:
    openai_style = [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Lisbon\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    ]  # fmt: skip
    anthropic_style = [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Lisbon"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]},
    ]  # fmt: skip
    seen = []
    for style in (openai_style, anthropic_style):
        path = tmp_path / "talk.json"
        path.write_text(json.dumps(style))
        seen.append(
            request(frontmind("window", "show", "--model", "echo", *FIXED, "--conversation", str(path), "--request"))
        )
    assert seen[0] == seen[1]
    kinds = [block["type"] for message in seen[0]["messages"][-2:] for block in message["content"]]
    assert kinds == ["tool_use", "tool_result"]


def test_a_foreign_conversation_shows_nothing_of_the_stored_one(frontmind: Run, tmp_path: Path) -> None:
    frontmind("chat", "--model", "echo", "--message", "my secret stored talk")
    path = conversation(tmp_path / "talk.json", [("user", "Hi"), ("assistant", "Hello")])
    shown = frontmind("window", "show", "--model", "echo", "--conversation", path, "--message", "and now?")
    assert shown.returncode == 0
    assert "conversation_manifest" not in shown.stdout
    assert "my secret stored talk" not in shown.stdout


def test_the_stored_conversation_is_shown_and_not_changed(frontmind: Run, tmp_path: Path) -> None:
    frontmind("chat", "--model", "scripted:script.json", given="hello\n")  # no script yet: nothing is stored
    (tmp_path / "script.json").write_text(json.dumps(["Hi there."]))
    assert frontmind("chat", "--model", "scripted:script.json", given="hello\n/remember You like tea\n").returncode == 0
    shown = request(
        frontmind("window", "show", "--model", "compatible:m@http://127.0.0.1:9/v1", "--message", "tea?", "--request")
    )
    again = request(
        frontmind("window", "show", "--model", "compatible:m@http://127.0.0.1:9/v1", "--message", "tea?", "--request")
    )
    texts = [message["content"] for message in shown["messages"]]
    assert texts[1:3] == ["hello", "Hi there."]
    assert "You like tea</memory>" in texts[-2]
    assert texts[1:3] == [message["content"] for message in again["messages"]][1:3]


def test_the_sizes_of_the_json_form_add_up(frontmind: Run) -> None:
    shown = request(frontmind("window", "show", "--model", "echo", *FIXED, "--message", "hi", "--json"))
    system = sum(section["tokens"] for section in shown["sections"] if section["placement"] == "system")
    messages = sum(message["tokens"] for message in shown["messages"])
    tools = sum(tool["tokens"] for tool in shown["tools"])
    assert shown["tokens"]["total"] == tools + system + messages + shown["tokens"]["residual"]
    assert abs(shown["tokens"]["residual"]) < 10
