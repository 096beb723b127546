"""What became of one request in the next: extended, moved or shrunk."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from conversations import FRAMED, claude, marked, sent
from frontmind.providers.reading import read_request
from frontmind.values.section import HEADER, RULE
from frontmind.window.choice import Framing
from frontmind.window.difference import Difference, Kind, compare
from support import shared


def difference(a: Any, b: Any) -> Difference:
    return compare(read_request(a), read_request(b))


def center(time: str, memory: str = "tea") -> str:
    return f"{HEADER}\n{RULE}\n<datetime_section>\n{time}\n</datetime_section>\n\n<memory>\n{memory}\n</memory>\n{RULE}"


@pytest.mark.parametrize(("provider", "model", "framing"), FRAMED)
def test_every_request_of_a_conversation_extends_the_one_before(provider: str, model: str, framing: Framing) -> None:
    layouts = [read_request(body) for body in sent(provider, model, framing)]
    assert len(layouts) == 11
    for a, b in pairwise(layouts):
        result = compare(a, b)
        assert result.kind is Kind.EXTENDED, result
    assert len(layouts[-1].blocks) > len(layouts[0].blocks) + 15


@pytest.mark.parametrize(("provider", "model", "framing"), FRAMED)
def test_a_rewritten_message_of_the_history_is_found_in_every_format(
    provider: str, model: str, framing: Framing
) -> None:
    requests = sent(provider, model, framing)
    rewritten = json.loads(json.dumps(requests[-1]).replace("reply 1", "reply X"))
    result = difference(requests[-2], rewritten)
    assert result.kind is Kind.MOVED
    assert result.block is not None
    assert "reply 1" in result.before
    assert "reply X" in result.after


@pytest.mark.parametrize(("provider", "model", "framing"), FRAMED)
def test_a_changed_section_of_the_system_prompt_is_named_in_every_format(
    provider: str, model: str, framing: Framing
) -> None:
    requests = sent(provider, model, framing)
    rewritten = json.loads(json.dumps(requests[-1]).replace("Tea is hot.", "Tea is cold."))
    result = difference(requests[-2], rewritten)
    assert result.kind is Kind.MOVED
    assert result.block is not None
    assert result.block.name == "domaindoc"


PEERS = {
    "adk": ["extended", "extended"],
    "lc_hud": ["extended", "extended"],
    "pyd_reminder": ["extended", "extended"],
    "pyd62_claude-opus-4-8": ["extended", "extended"],
    "pyd62_claude-sonnet-4-5": ["extended", "extended"],
    "agno": ["moved", "moved"],
    "lc_dyn": ["moved", "moved"],
    "pyd_instr": ["moved", "moved"],
    "pyd_append": ["moved", "extended"],
}


@pytest.mark.parametrize("name", PEERS)
def test_what_other_libraries_sent_is_judged_by_what_is_still_in_its_place(name: str) -> None:
    lines = shared("peer_requests", f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    layouts = [read_request(json.loads(line)["body"]) for line in lines]
    results = [compare(a, b) for a, b in pairwise(layouts)]
    assert [result.kind.value for result in results] == PEERS[name]
    for result in results:
        if result.kind is Kind.MOVED:
            assert result.block is not None
            assert result.block.role == "system"


def test_a_marker_that_moved_is_no_difference() -> None:
    first = claude(("user", marked("q0")), system=marked("You help.", "1h"))
    second = claude("q0", "a0", ("user", marked("q1")), system=marked("You help."), cache_control={"type": "ephemeral"})
    result = difference(first, second)
    assert (result.kind, result.kept, result.blocks) == (Kind.EXTENDED, 2, 2)


def test_equal_requests_are_extended() -> None:
    result = difference(claude("q0", "a0", "q1"), claude("q0", "a0", "q1"))
    assert (result.kind, result.kept) == (Kind.EXTENDED, 4)


def test_the_same_question_at_another_time_keeps_the_history() -> None:
    first = claude("q0", "a0", RULE, center("9:00"), "q1")
    second = claude("q0", "a0", RULE, center("9:01"), "q1")
    result = difference(first, second)
    assert result.kind is Kind.EXTENDED
    assert [block.name for block in result.slid] == ["datetime_section"]


def test_a_section_that_is_rewritten_while_tools_run_is_named() -> None:
    call = ("assistant", [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}])
    answer = ("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}])
    first = claude("q0", "a0", RULE, center("9:00"), "q1")
    assert difference(first, claude("q0", "a0", RULE, center("9:00"), "q1", call, answer)).kind is Kind.EXTENDED
    result = difference(first, claude("q0", "a0", RULE, center("9:01"), "q1", call, answer))
    assert result.kind is Kind.MOVED
    assert result.block is not None
    assert result.block.name == "datetime_section"
    assert "9:00" in result.before
    assert "9:01" in result.after


def test_an_old_section_that_stays_with_other_text_is_moved() -> None:
    first = claude(("user", [{"type": "text", "text": center("9:00")}, {"type": "text", "text": "q0"}]))
    second = claude(("user", [{"type": "text", "text": center("9:05")}, {"type": "text", "text": "q0"}]), "a0", "q1")
    assert difference(first, second).kind is Kind.MOVED


def test_a_block_put_in_front_of_the_history_is_the_one_that_is_named() -> None:
    result = difference(claude("q0", "a0", "q1"), claude("new", ("assistant", "yes"), "q0", "a0", "q1", "a1", "q2"))
    assert result.kind is Kind.MOVED
    assert result.after.startswith("new")
    assert "put in front of" in result.reason


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_a_section_in_one_text_with_the_question_slides(gap: str) -> None:
    first = claude("q0", "a0", ("user", f"{RULE}\n{center('9:00')}{gap}q1"))
    result = difference(first, claude("q0", "a0", "q1", "a1", ("user", f"{RULE}\n{center('9:01')}{gap}q2")))
    assert result.kind is Kind.EXTENDED
    assert {block.name for block in result.slid} == {"notification_center", "datetime_section", "memory"}


def test_a_question_that_was_rewritten_is_moved() -> None:
    result = difference(claude("q0", "a0", "q1"), claude("q0", "a0", "q1, really", "a1", "q2"))
    assert result.kind is Kind.MOVED
    assert (result.before, result.after) == ("q1", "q1, really")


def test_the_first_difference_of_long_texts_is_shown_with_a_little_around() -> None:
    text = "x" * 5000
    result = difference(claude("q0", system=text + "one"), claude("q0", system=text + "two"))
    assert result.before == "…" + "x" * 30 + "one"
    assert result.after == "…" + "x" * 30 + "two"


@pytest.mark.parametrize(
    ("b", "gone"),
    [
        (claude("q1", "a1", "q2", "a2", "q3"), "q0"),
        (claude("q0", ("user", "q1"), "a1", "q2", "a2", "q3"), "a0"),
        (claude("q0", "a0"), "q1"),
        (claude("q0", "a0", "q2", "a2", "q3"), "q1"),
    ],
    ids=["front trimmed", "an answer is gone", "only the beginning", "an exchange is gone"],
)
def test_messages_that_are_just_gone_are_shrunk(b: Any, gone: str) -> None:
    result = difference(claude("q0", "a0", "q1", "a1", "q2"), b)
    assert result.kind is Kind.SHRUNK
    assert result.before == gone
    assert result.block is not None
    assert result.block.area == "messages"


def test_a_summary_in_the_place_of_the_front_is_moved() -> None:
    result = difference(claude("q0", "a0", "q1", "a1", "q2"), claude("summary", "ok", "q1", "a1", "q2", "a2", "q3"))
    assert result.kind is Kind.MOVED


def test_reasoning_of_the_turn_that_closed_may_go_and_older_reasoning_may_not() -> None:
    def answer(name: str, *, thinking: bool) -> tuple[str, Any]:
        thought = [{"type": "thinking", "thinking": "hm", "signature": name}] if thinking else []
        return "assistant", [*thought, {"type": "tool_use", "id": name, "name": "look", "input": {}}]

    result = ("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}])
    running = claude("q0", answer("c1", thinking=True), result)
    closed = claude("q0", answer("c1", thinking=False), result, "a0", "q1")
    assert difference(running, closed).kind is Kind.EXTENDED
    with_reasoning = claude("q0", answer("c1", thinking=True), result, "a0", "q1")
    assert difference(with_reasoning, closed).kind is Kind.SHRUNK


def test_reasoning_words_and_calls_that_are_items_are_one_message_of_the_model() -> None:
    def asked(text: str) -> dict[str, Any]:
        return {"role": "user", "content": text}

    def thought(name: str) -> dict[str, Any]:
        return {"type": "reasoning", "summary": [], "encrypted_content": name}

    def put_in(time: str) -> list[dict[str, Any]]:
        return [asked(RULE), {"role": "assistant", "content": center(time)}]

    words = {"role": "assistant", "content": "I look."}
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
    reply = {"role": "assistant", "content": "a0"}

    def body(*items: Any) -> dict[str, Any]:
        return {"model": "gpt-5.5", "input": list(items)}

    running = body(*put_in("9:00"), asked("q0"), thought("t0"), words, call, output)
    answered = body(asked("q0"), thought("t0"), words, call, output, thought("t1"), reply, *put_in("9:01"), asked("q1"))
    assert difference(running, answered).kind is Kind.EXTENDED
    went_on = json.loads(json.dumps(answered).replace("9:01", "9:02"))
    assert difference(answered, went_on).kind is Kind.EXTENDED
    rewritten = json.loads(json.dumps(went_on).replace('"a0"', '"b0"'))
    result = difference(answered, rewritten)
    assert (result.kind, result.before, result.after) == (Kind.MOVED, "a0", "b0")


def test_a_tool_that_is_new_is_moved_and_named() -> None:
    look, remind = ({"name": name, "input_schema": {"type": "object"}} for name in ("look", "remind"))
    result = difference(claude("q0", tools=[look]), claude("q0", "a0", "q1", tools=[look, remind]))
    assert result.kind is Kind.MOVED
    assert result.block is not None
    assert (result.block.place, result.block.name) == ("tools[1]", "remind")


def test_another_model_is_said_beside_the_kind() -> None:
    result = difference(claude("q0"), claude("q0", "a0", "q1", model="claude-opus-4-8"))
    assert (result.kind, result.other_model) == (Kind.EXTENDED, True)


def test_ten_thousand_messages_are_compared_in_one_walk() -> None:
    texts = [text for turn in range(5000) for text in (f"question {turn}", "ok")]
    long, longer = claude(*texts, "last"), claude(*texts, "last", "ok", "next")
    assert difference(long, longer).kept == 10_002
    assert difference(long, claude(*texts[2:], "last", "ok", "next")).kind is Kind.SHRUNK


@pytest.mark.parametrize(
    "b",
    [
        claude("q1", "a1", RULE, center("9:00"), "q2"),
        claude("q1", "a1", "q2", "a2", RULE, center("9:05"), "q3"),
        claude("q2", "a2", RULE, center("9:05"), "q3"),
    ],
    ids=["in the same turn", "in the next turn", "all but the question"],
)
def test_a_history_that_was_trimmed_in_front_of_a_section_is_shrunk(b: Any) -> None:
    result = difference(claude("q0", "a0", "q1", "a1", RULE, center("9:00"), "q2"), b)
    assert (result.kind, result.before) == (Kind.SHRUNK, "q0")


def test_a_section_that_was_kept_and_is_gone_from_the_history_is_no_extension() -> None:
    def asked(time: str, question: str) -> tuple[str, Any]:
        parts = [f"{RULE}\n{center(time)}", question] if time else [question]
        return "user", [{"type": "text", "text": part} for part in parts]

    kept = claude(asked("9:00", "q0"), "a0", asked("9:01", "q1"))
    went_on = claude(asked("9:00", "q0"), "a0", asked("9:01", "q1"), "a1", asked("9:02", "q2"))
    lost = claude(asked("", "q0"), "a0", asked("9:01", "q1"), "a1", asked("9:02", "q2"))
    assert difference(kept, went_on).kind is Kind.EXTENDED
    assert difference(kept, went_on).slid == ()
    result = difference(kept, lost)
    assert result.kind is Kind.SHRUNK
    assert result.block is not None
    assert result.block.in_center
