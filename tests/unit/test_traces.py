"""Rows of request logs and entries of Claude Code: what is taken from them, and what is refused, by its line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from frontmind.cachelab.trace_claude_code import ClaudeCodeLog
from frontmind.cachelab.trace_layouts import candidates, replay
from frontmind.cachelab.trace_log import RequestLog
from frontmind.cachelab.trace_rows import BrokenRow, LeftOut, read_row
from frontmind.cachelab.trace_usage import ImpossibleUsage, read_usage
from frontmind.cachelab.traces import Recording
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.values.message import Message, Role, assistant
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION
from frontmind.values.usage import Usage
from support import REPOSITORY, shared

AT = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
REQUEST = {"model": "claude-opus-4-8", "max_tokens": 9, "system": "S", "messages": [{"role": "user", "content": "q"}]}
COUNTED = {"input_tokens": 5, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 7, "output_tokens": 3}


def row(**more: Any) -> dict[str, Any]:
    return {"provider": "anthropic", "request": REQUEST, "usage": COUNTED, "time": "2026-11-30T09:15:00Z", **more}


def test_a_row_says_whom_it_went_to_when_and_what_was_counted() -> None:
    read = read_row(row(conversation="tea"))
    assert (read.layout.provider, read.layout.model, read.conversation) == ("anthropic", "claude-opus-4-8", "tea")
    assert (read.at, read.usage, read.faults) == (AT, Usage(32, 20, 7, 3), ())


@pytest.mark.parametrize("time", [1_796_030_100, 1_796_030_100.0, 1_796_030_100_000, "2026-11-30T10:15:00+01:00"])
def test_a_time_is_iso_8601_or_seconds_since_1970(time: object) -> None:
    assert read_row(row(time=time)).at == AT


def test_a_request_may_stand_by_itself_or_beside_its_address() -> None:
    for value in (REQUEST, {"path": "/v1/messages", "beta": None, "body": REQUEST}):
        read = read_row(value)
        assert (read.layout.wire, read.usage, read.faults) == (Wire.ANTHROPIC, None, ())


def test_the_provider_of_a_row_is_taken_before_what_the_body_looks_like() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    assert read_row({"provider": "ollama", "request": body, "usage": usage}).layout.provider == "ollama"
    anthropic = read_row({"provider": "anthropic", "request": body, "usage": COUNTED})
    assert (anthropic.layout.wire, anthropic.usage) == (Wire.ANTHROPIC, Usage(32, 20, 7, 3))


NAN = float("nan")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"usage": None}, "it has no usage"),
        ({"usage": {}}, "it has no usage"),
        ({"usage": "many"}, "its usage cannot be: the usage is many"),
        ({"usage": COUNTED | {"input_tokens": -5}}, "input_tokens is -5, which counts no tokens"),
        ({"usage": COUNTED | {"input_tokens": 10**18}}, "input_tokens is 1000000000000000000"),
        ({"usage": COUNTED | {"input_tokens": "5"}}, "input_tokens is 5, which counts no tokens"),
        ({"usage": COUNTED | {"input_tokens": 5.5}}, "input_tokens is 5.5"),
        ({"usage": COUNTED | {"input_tokens": NAN}}, "input_tokens is nan"),
        ({"usage": COUNTED | {"input_tokens": True}}, "input_tokens is True"),
        ({"usage": {"output_tokens": 3}}, "no figures of the format anthropic"),
        (
            {"usage": COUNTED | {"cache_creation": {"ephemeral_5m_input_tokens": 9}}},
            "cache_creation_input_tokens is 7, and by lifetimes it is 9",
        ),
        ({"time": "yesterday"}, "the time 'yesterday' cannot be read"),
        ({"time": NAN}, "the time 'nan' cannot be read"),
        ({"request": {key: REQUEST[key] for key in ("max_tokens", "system", "messages")}}, "it names no model"),
    ],
)
def test_what_cannot_be_is_said_and_the_rest_of_the_row_holds(more: dict[str, Any], said: str) -> None:
    read = read_row(row(**more))
    (fault,) = read.faults
    assert said in fault
    assert len(read.decoded.messages) == 1


@pytest.mark.parametrize(
    ("wire", "figures"),
    [
        (Wire.OPENAI_CHAT, {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 7}),
        (Wire.OPENAI_CHAT, {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 6}}),
        (
            Wire.OPENAI_CHAT,
            {
                "prompt_tokens": 5,
                "completion_tokens": 1,
                "prompt_cache_hit_tokens": 4,
                "prompt_cache_miss_tokens": 2,
            },
        ),
        (Wire.OPENAI_RESPONSES, {"input_tokens": 5, "output_tokens": 1, "total_tokens": 5}),
        (
            Wire.BEDROCK_CONVERSE,
            {"inputTokens": 5, "cacheReadInputTokens": 9, "outputTokens": 1, "totalTokens": 6},
        ),
        (Wire.GEMINI, {"promptTokenCount": 5, "cachedContentTokenCount": 9, "candidatesTokenCount": 1}),
        (Wire.GEMINI, {"promptTokenCount": 5, "candidatesTokenCount": 1, "totalTokenCount": 99}),
    ],
)
def test_figures_that_contradict_each_other_are_refused(wire: Wire, figures: dict[str, Any]) -> None:
    with pytest.raises(ImpossibleUsage):
        read_usage(wire, figures)


def test_a_token_that_one_provider_counts_twice_is_no_contradiction() -> None:
    figures = {
        "prompt_tokens": 2168,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 2161, "cache_write_tokens": 2161},
    }
    assert read_usage(Wire.OPENAI_CHAT, figures, both=True) == Usage(2168, 2161, 2161, 1)
    with pytest.raises(ImpossibleUsage):
        read_usage(Wire.OPENAI_CHAT, figures)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "it is no object"),
        (None, "it is no object"),
        ({}, "it has no request"),
        (row(request="{"), "is a text that is not JSON"),
        (row(request={"prompt": "q"}), "the shape of no supported format"),
        (row(provider="acme"), "the provider 'acme' is unknown; use one of local, anthropic"),
        (row(provider=["anthropic"]), "is unknown"),
        (row(request=REQUEST | {"messages": [3]}), "its request cannot be read"),
        (row(request=REQUEST | {"messages": [{"role": "wizard", "content": "q"}]}), "out of shape"),
        (row(request=REQUEST | {"messages": [{"role": "user", "content": [{"no": "type"}]}]}), "cannot be read"),
        (row(provider="acme\x1b[2J\nrm"), "unknown"),
        (
            {"request": {"model": "gpt-5.5", "input": [{"type": "function_call", "call_id": "c", "name": True}]}},
            "out of shape",
        ),
        (row(request=REQUEST | {"messages": [{"role": "user", "content": [{"type": "text"}]}]}), "out of shape"),
    ],
)
def test_a_row_that_is_no_call_is_refused_on_one_line(value: object, said: str) -> None:
    with pytest.raises(BrokenRow) as raised:
        read_row(value)
    assert said in str(raised.value)
    assert str(raised.value).isprintable()


def test_rows_of_another_kind_are_left_out() -> None:
    for more in ({"uri": "https://x/v1/messages/count_tokens?beta=true"}, {"uri": "https://x/v1beta/cachedContents"}):
        with pytest.raises(LeftOut):
            read_row(row(**more))
    with pytest.raises(LeftOut, match="only the provider has"):
        read_row({"request": {"model": "gpt-5.5", "input": "q", "previous_response_id": "r1"}})


def test_a_time_that_goes_backwards_is_said_with_its_line() -> None:
    problems: list[Any] = []
    log = RequestLog(problems, begin=AT)
    log.read("line 1", row())
    log.read("line 2", row(time="2026-11-30T08:00:00Z"))
    (recording,) = log.recordings()
    assert [(problem.place, problem.why[:20]) for problem in problems] == [("line 2", "its time lies before")]
    assert [call.at for call in recording.calls] == [AT, AT]


def recorded() -> Path:
    own = REPOSITORY / "tests" / "data" / "cache" / "recorded_requests.jsonl"
    return own if own.exists() else shared("cache", "recorded_requests.jsonl")


def test_every_recording_of_the_providers_is_read() -> None:
    problems: list[Any] = []
    log = RequestLog(problems, begin=AT)
    for number, line in enumerate(recorded().read_text(encoding="utf-8").splitlines(), start=1):
        log.read(f"line {number}", json.loads(line))
    recordings = list(log.recordings())
    assert problems == []
    assert sum(log.left_out.values()) == 4
    assert sum(len(recording.calls) for recording in recordings) == 31
    summed = [call for recording in recordings for call in recording.calls if call.is_sum]
    assert {call.place for call in summed} == {"line 5", "line 8", "line 9", "line 10", "line 11"}


# Claude Code


def entry(kind: str, content: object, *, at: int, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    moment = f"2026-03-01T10:{at // 60:02}:{at % 60:02}.000Z"
    return {"type": kind, "uuid": f"{kind}-{at}", "sessionId": "s-1", "timestamp": moment, "message": message, **more}


def reply(key: str, *blocks: dict[str, Any], at: int, total: int = 20_000, **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 4,
        "cache_read_input_tokens": total - 104,
        "cache_creation_input_tokens": 100,
        "output_tokens": 9,
    }
    return entry(
        "assistant", list(blocks), at=at, message={"id": key, "model": "claude-opus-4-8", "usage": usage}, **more
    )


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(key: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": "Read", "input": {"path": "a.py"}}


def result(key: str, words: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": key, "content": words}]


def session(*entries: dict[str, Any]) -> tuple[list[Recording], list[Any]]:
    problems: list[Any] = []
    log = ClaudeCodeLog(problems, begin=AT)
    for number, value in enumerate(entries, start=1):
        log.read(f"line {number}", value)
    return list(log.recordings()), problems


REMINDER = "<system-reminder>The list is empty.</system-reminder>"
TALK = (
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    entry("user", f"Why does it fail?\n{REMINDER}", at=1),
    reply("m1", text("I look."), at=2),
    reply("m1", call("t1"), at=3),
    # Calls that were made at once: a result stands between the lines of one reply.
    entry("user", result("t1", "line " * 400), at=4),
    reply("m1", call("t2"), at=5),
    entry("user", result("t2", "more " * 400), at=6),
    reply("m2", text("The clock is wrong."), at=9, total=21_000),
    entry("user", "Thanks", at=20),
    reply("m3", text("Gladly."), at=22, total=21_100),
)


def test_a_session_of_claude_code_becomes_turns_with_their_steps() -> None:
    (recording,), problems = session(*TALK)
    assert problems == []
    first, second = recording.stretches[0].session.turns
    assert (first.user, first.reply) == ((Text("Why does it fail?"),), assistant("The clock is wrong."))
    (step,) = first.steps
    assert step.said.parts == (Text("I look."), *(ToolCall(key, "Read", '{"path":"a.py"}') for key in ("t1", "t2")))
    assert step.results == Message(Role.USER, (ToolResult("t1", "line " * 400), ToolResult("t2", "more " * 400)))
    assert (second.user, second.reply) == ((Text("Thanks"),), assistant("Gladly."))
    assert [call.usage.input for call in recording.calls if call.usage] == [20_000, 21_000, 21_100]
    assert [item.content for item in first.sections if item.placement == PLACEMENT_NOTIFICATION] == [REMINDER]
    assert first.at == datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC)


def test_what_the_file_does_not_have_is_taken_from_the_figures() -> None:
    (recording,), _ = session(*TALK)
    profile = resolve_profile("anthropic", "claude-opus-4-8")
    append = next(layout for layout in candidates(profile) if layout.name == "append")
    total = replay(recording, profile, append, price_of=lambda provider, model, usage: None)
    assert total.calls == 3
    assert total.usage.input == pytest.approx(62_100, rel=0.02)
    assert any("not in the file" in item.text for item in recording.assumptions)


def test_a_summary_of_claude_code_opens_a_new_window() -> None:
    summary = entry("user", "We looked at the clock.", at=30, isCompactSummary=True)
    (recording,), _ = session(
        *TALK, summary, entry("user", "Go on", at=31), reply("m4", text("Done."), at=33, total=9_000)
    )
    turn = recording.stretches[0].session.turns[-1]
    assert (turn.start, turn.summary, turn.user) == (2, "We looked at the clock.", (Text("Go on"),))


def test_a_summary_in_the_middle_of_a_turn_ends_it() -> None:
    summary = entry("user", "I was reading.", at=7, isCompactSummary=True)
    (recording,), _ = session(*TALK[:7], summary, reply("m2", text("It is the clock."), at=9, total=9_000))
    before, after = recording.stretches[0].session.turns
    assert (before.reply, after.start, after.summary, after.reply) == (
        None,
        1,
        "I was reading.",
        assistant("It is the clock."),
    )
    assert len(recording.calls) == 2


def test_a_side_chain_is_a_conversation_of_its_own() -> None:
    aside = (
        entry("user", "Find the tests", at=10, isSidechain=True, agentId="a1b2"),
        reply("x1", text("In tests."), at=11, total=4_000, isSidechain=True, agentId="a1b2"),
    )
    recordings, problems = session(*TALK[:8], *aside, *TALK[8:])
    assert problems == []
    assert [(one.name, len(one.calls)) for one in recordings] == [("s-1", 3), ("s-1, side chain a1b2", 1)]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (entry("assistant", [text("x")], at=9, message={"id": "m9", "model": "claude-opus-4-8"}), "it has no usage"),
        (reply("m9", text("x"), at=9) | {"message": None}, "it has no message"),
        (reply("m9", {"type": "tool_use"}, at=9), "its content is out of shape"),
        (reply("m9", call("t9") | {"id": ["t9"]}, at=9), "its content is out of shape"),
        (reply("m9", text("x"), at=9, total=-5), "its usage cannot be"),
    ],
)
def test_a_broken_entry_is_said_with_its_line_and_the_rest_is_read(broken: dict[str, Any], said: str) -> None:
    (recording,), problems = session(*TALK[:8], broken, *TALK[8:])
    assert [problem.place for problem in problems] == ["line 9"]
    assert said in problems[0].why
    assert len(recording.calls) >= 3
