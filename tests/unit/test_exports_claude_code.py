"""Sessions of Claude Code: what two people said, out of the lines that a program wrote."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from exports import conversations, entries, problems, told
from frontmind.continuum.exports import Entry, ExportKind
from frontmind.continuum.exports.pairing import NO_REPLY


def line(key: str, parent: str | None, role: str, content: object, **more: Any) -> dict[str, Any]:
    return {
        "type": role,
        "uuid": key,
        "parentUuid": parent,
        "sessionId": "s-1",
        "timestamp": f"2026-03-01T10:00:{len(key):02}.500Z",
        "message": {"role": role, "content": content, **more.pop("message", {})},
        **more,
    }


def said_by(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def read(*lines: object) -> list[Entry]:
    data = b"\n".join(item if isinstance(item, bytes) else json.dumps(item).encode() for item in lines)
    return entries(ExportKind.CLAUDE_CODE, data, "session.jsonl")


def said(*lines: object) -> list[tuple[str, str]]:
    found = read(*lines)
    assert not problems(found)
    return [exchange for conversation in conversations(found) for exchange in told(conversation)]


QUESTION = line("u1", None, "user", "Why does the test fail?")
REPLY = line("a1", "u1", "assistant", said_by("The clock is wrong."))
EXCHANGE = ("Why does the test fail?", "The clock is wrong.")


def test_a_session_is_what_was_said_without_tools_and_thinking() -> None:
    lines = (
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        QUESTION,
        line("aa1", "u1", "assistant", [{"type": "thinking", "thinking": "hm"}], message={"id": "r1"}),
        line("aa2", "aa1", "assistant", said_by("I look at it."), message={"id": "r1"}),
        line("aa3", "aa2", "assistant", [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]),
        line("uu2", "aa3", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "1: x"}]),
        {"type": "progress", "uuid": "pp1", "parentUuid": "uu2", "sessionId": "s-1"},
        line("aaaa4", "pp1", "assistant", said_by("The clock is wrong.")),
        {"type": "system", "uuid": "ss1", "parentUuid": "aaaa4", "sessionId": "s-1", "subtype": "turn_duration"},
    )
    (conversation,) = conversations(read(*lines))
    assert told(conversation) == [(EXCHANGE[0], "I look at it.\n\nThe clock is wrong.")]
    assert conversation.key == "s-1"
    assert conversation.turns[0].asked_at == datetime(2026, 3, 1, 10, 0, 2, 500_000, tzinfo=UTC)
    assert conversation.turns[0].answered_at == datetime(2026, 3, 1, 10, 0, 5, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "hidden",
    [
        line("x", "u1", "user", "Caveat: ignore this", isMeta=True),
        line("x", "u1", "user", "A summary", isCompactSummary=True),
        line("x", "u1", "assistant", said_by("No response requested."), message={"model": "<synthetic>"}),
        line("x", "u1", "user", "<local-command-stdout>done</local-command-stdout>"),
        line("x", "u1", "user", "<command-name>/clear</command-name><command-args></command-args>"),
        line("x", "u1", "user", said_by("[Request interrupted by user]")),
        line("x", "u1", "user", "<system-reminder>be brief</system-reminder>"),
    ],
    ids=lambda item: str(item["message"]["content"])[:40],
)
def test_what_the_program_wrote_is_left_out_and_splits_nothing(hidden: dict[str, Any]) -> None:
    assert said(QUESTION, hidden, line("a1", "x", "assistant", said_by("The clock is wrong."))) == [EXCHANGE]


def test_a_side_chain_is_left_out() -> None:
    side = line("z1", None, "user", "You are an agent.", isSidechain=True)
    assert said(QUESTION, side, line("z2", "z1", "assistant", said_by("Aye."), isSidechain=True), REPLY) == [EXCHANGE]


def test_a_command_with_a_text_is_what_the_person_typed() -> None:
    command = "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    typed = line("u1", None, "user", f"{command}<command-args>the parser</command-args>")
    assert said(typed, REPLY)[0][0] == "/review the parser"


def test_a_reminder_beside_what_was_typed_is_taken_out() -> None:
    text = "<system-reminder>a</system-reminder>\nWhy?<system-reminder>b</system-reminder> <system-reminder> is a tag"
    assert said(line("u1", None, "user", text), REPLY)[0][0] == "Why? <system-reminder> is a tag"


def test_many_beginnings_of_a_reminder_without_an_end_take_no_time() -> None:
    text = "<system-reminder>" * 200_000
    assert said(line("u1", None, "user", text), REPLY)[0][0] == text


def test_a_prompt_that_was_taken_back_is_left_out() -> None:
    taken_back = line("u0", None, "user", "Start"), line("a0", "u0", "assistant", said_by("Started."))
    edited = line("u8", "a0", "user", "Wrong way"), line("a8", "u8", "assistant", said_by("Gone wrong."))
    again = line("u9", "a0", "user", "Right way"), line("a9", "u9", "assistant", said_by("Done."))
    assert said(*taken_back, *edited, *again) == [("Start", "Started."), ("Right way", "Done.")]


def test_pieces_of_one_reply_stay_together_where_tools_ran_at_the_same_time() -> None:
    first = line("a1", "u1", "assistant", said_by("Two things."), message={"id": "r1"})
    second = line("a2", "a1", "assistant", said_by("And the other."), message={"id": "r1"})
    result = line("r1", "a1", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "x"}])
    assert said(QUESTION, first, second, result, line("a3", "r1", "assistant", said_by("Found."))) == [
        (EXCHANGE[0], "Two things.\n\nAnd the other.\n\nFound.")
    ]


def test_what_was_said_before_a_compaction_or_a_break_is_kept() -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "parentUuid": None,
        "logicalParentUuid": "a1",
        "sessionId": "s-1",
    }
    behind = line("u2", "b", "user", "And now?"), line("a2", "u2", "assistant", said_by("Green."))
    anew = line("u3", "elsewhere", "user", "Thanks.")
    assert said(QUESTION, REPLY, boundary, *behind, anew) == [EXCHANGE, ("And now?", "Green."), ("Thanks.", NO_REPLY)]


def test_the_title_is_the_best_that_the_file_has() -> None:
    summary = {"type": "summary", "summary": "Clock trouble", "leafUuid": "a1"}
    assert conversations(read(summary, QUESTION, REPLY))[0].title == "Clock trouble"
    custom = {"type": "custom-title", "customTitle": "The clock", "sessionId": "s-1"}
    assert conversations(read(summary, QUESTION, custom, REPLY))[0].title == "The clock"
    assert conversations(read(QUESTION, REPLY))[0].title == EXCHANGE[0]


def test_sessions_in_one_file_are_conversations_of_their_own() -> None:
    other = {**QUESTION, "sessionId": "s-2"}, {**REPLY, "sessionId": "s-2"}
    first, second = conversations(read(QUESTION, REPLY, *other))
    assert told(first) == told(second) == [EXCHANGE]
    assert first.turns[0].key != second.turns[0].key


def test_a_broken_line_is_reported_with_its_place_and_the_rest_is_read() -> None:
    found = read(QUESTION, b'{"type": "user", "uu', b"[1]", {"type": "user", "uuid": "x", "sessionId": "s-1"}, REPLY)
    assert [told(conversation) for conversation in conversations(found)] == [[EXCHANGE]]
    assert [problem.place for problem in problems(found)] == ["line 2", "line 3", "line 4"]


def test_a_circle_is_cut_and_told() -> None:
    found = read({**QUESTION, "parentUuid": "a1"}, REPLY)
    assert [told(conversation) for conversation in conversations(found)] == [[EXCHANGE]]
    assert len(problems(found)) == 1


def test_entries_without_names_follow_each_other() -> None:
    nameless = [{key: value for key, value in item.items() if "uid" not in key} for item in (QUESTION, REPLY)]
    assert said(*nameless) == [EXCHANGE]
