"""From the requests of others back to what was said: sections, turns, steps, and what had left the window."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from benchmarks.cache_rows import rows_of
from frontmind.cachelab.baselines import IN_SYSTEM
from frontmind.cachelab.session import Session, SessionStep, SessionTurn
from frontmind.cachelab.trace_layouts import (
    Candidate,
    candidates,
    replay,
    replayed_calls,
    resent,
    resent_row,
    trust_in,
)
from frontmind.cachelab.trace_log import RequestLog
from frontmind.cachelab.traces import Recording, Stretch, section_names
from frontmind.providers.names import parse_model_name
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.values.message import Message, Role, assistant
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, Section
from frontmind.values.usage import Usage
from support import shared

AT = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
MODELS = (
    "anthropic:claude-opus-4-8",
    "anthropic:claude-sonnet-4-5",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "openai:gpt-5.5",
    "openai:gpt-5.6-sol",
    "gemini:gemini-3-pro",
    "deepseek:deepseek-chat",
    "openrouter:anthropic/claude-sonnet-4.6",
)


def profile_of(model: str) -> Profile:
    name = parse_model_name(model)
    return resolve_profile(name.provider.value, name.model)


EVERY_LAYOUT = [(model, layout) for model in MODELS for layout in candidates(profile_of(model))]


def element(name: str, text: str, author: Author = Author.OTHERS) -> Section:
    return Section(name, f"<{name}>\n{text}\n</{name}>", PLACEMENT_NOTIFICATION, cache_policy=False, author=author)


def clock(text: str) -> Section:
    return element("datetime_section", text, Author.APPLICATION)


def chat(turns: int = 7, *, leaves_at: int = 0) -> Session:
    """Turns with two steps in every second one, a clock, memories that change now and then; a start that moves."""
    told = []
    for number in range(turns):
        at = AT + timedelta(minutes=number)
        steps = [
            SessionStep(
                Message(Role.ASSISTANT, (Text("I look."), ToolCall(f"c{number}_{step}", "look", '{"q":"tea"}'))),
                Message(Role.USER, (ToolResult(f"c{number}_{step}", f"found {number} " * 90),)),
                at + timedelta(seconds=2 + step),
                (clock(f"It is 9:{number:02}:{step}"),) if step else (),
            )
            for step in range(2 if number % 2 else 0)
        ]
        sections = (
            Section("base_prompt", "You help. " * 900, PLACEMENT_SYSTEM, cache_policy=True),
            clock(f"It is 9:{number:02}"),
            element("relevant_memories", f"memory {'abcd'[number // 3]} " * 120),
        )
        gone = leaves_at and number >= leaves_at
        told.append(
            SessionTurn(
                at,
                (Text(f"question {number} " * 20),),
                assistant(f"answer {number} " * 60),
                sections,
                tuple(steps),
                start=leaves_at - 1 if gone else 0,
                summary="We talked about tea." if gone else "",
            )
        )
    return Session("chat", tuple(told))


def known(session: Session) -> Recording:
    calls = frozenset((index, step) for index, turn in enumerate(session.turns) for step in range(len(turn.steps) + 1))
    return Recording(session.name, (), (Stretch(session, (), calls),))


def logged(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Recording], list[str]]:
    problems: list[Any] = []
    log = RequestLog(problems, begin=AT)
    for number, row in enumerate(rows, start=1):
        log.read(f"line {number}", json.loads(json.dumps(row)))
    return list(log.recordings()), [f"{problem.place}: {problem.why}" for problem in problems]


def sent(recording: Recording, profile: Profile, layout: Candidate) -> Iterator[Mapping[str, Any]]:
    for call in replayed_calls(recording, profile, layout):
        # The figures say nothing about sizes, so that the estimates stay as they are.
        yield {
            "provider": profile.provider,
            "model": profile.model,
            "request": call.request,
            "time": call.at.isoformat(),
            "usage": None,
        }


def unpriced(provider: str, model: str, usage: Usage) -> None:
    return None


@pytest.mark.parametrize(("model", "layout"), EVERY_LAYOUT, ids=lambda item: str(getattr(item, "name", item)))
@pytest.mark.parametrize("session", [chat(), chat(leaves_at=4)], ids=["all", "cut"])
def test_what_was_sent_in_a_layout_costs_the_same_when_it_is_read_back(
    model: str, layout: Candidate, session: Session
) -> None:
    profile, original = profile_of(model), known(session)
    (recording,), _ = logged(list(sent(original, profile, layout)))
    (stretch,) = recording.stretches
    assert [[len(turn.steps), bool(turn.reply)] for turn in stretch.session.turns[:-1]] == [
        [len(turn.steps), True] for turn in session.turns[:-1]
    ]
    first, again = (replay(one, profile, layout, price_of=unpriced) for one in (original, recording))
    assert first.usage.cached + first.usage.written + first.usage.fresh == first.usage.input > 20_000
    assert (again.calls, again.usage) == (first.calls, first.usage)
    # And the requests as they are, by the rules, are the same once more.
    assert resent_row(resent([recording], profile), profile, price_of=unpriced).usage == first.usage


@pytest.mark.parametrize("model", MODELS)
def test_sections_in_the_system_prompt_are_told_from_what_stays_there(model: str) -> None:
    profile = profile_of(model)
    baseline = next(layout for layout in candidates(profile) if layout.name == IN_SYSTEM.name)
    slide = next(layout for layout in candidates(profile) if layout.name == "slide (user_text)")
    (recording,), _ = logged(list(sent(known(chat()), profile, baseline)))
    assert section_names(recording) == ["datetime_section", "relevant_memories"]
    first, again = (replay(one, profile, slide, price_of=unpriced) for one in (known(chat()), recording))
    # Between the sections of a system prompt stand blank lines, which no section has.
    assert again.usage.input == pytest.approx(first.usage.input, rel=0.001)
    assert again.usage.cached == pytest.approx(first.usage.cached, rel=0.01)


@pytest.mark.parametrize("model", MODELS)
def test_the_baseline_costs_what_the_bench_says_of_it(model: str) -> None:
    profile = profile_of(model)
    session = chat()
    shown = next(
        row
        for row in (measure(session, profile) for measure in rows_of(profile, with_peers=False)[:1])
        if row.layout == IN_SYSTEM.name
    )
    baseline = next(layout for layout in candidates(profile) if layout.name == IN_SYSTEM.name)
    row = replay(known(session), profile, baseline, price_of=unpriced)
    assert shown.total is not None
    assert (row.usage, row.equivalents) == (shown.total.usage, shown.total.equivalents)
    # The part of the system prompt that never changes is read, as it would be there.
    assert row.usage.cached > 2_000 * (row.calls - 1) or profile.min_cached_tokens > 2_500


def test_a_conversation_that_begins_anew_reads_the_system_prompt_of_its_earlier_part() -> None:
    profile = profile_of(MODELS[0])
    slide = next(layout for layout in candidates(profile) if layout.name == "slide (assistant)")
    first, second = chat(2), chat(2)
    later = replace(second, turns=tuple(replace(turn, at=turn.at + timedelta(minutes=3)) for turn in second.turns))
    anew = replace(known(first), stretches=(*known(first).stretches, *known(later).stretches))
    calls = list(replayed_calls(anew, profile, slide))
    opening = calls[len(calls) // 2]
    assert (opening.turn, opening.step) == (0, 0)
    assert calls[0].outcome.read == 0
    assert opening.outcome.read > 2_000


PEERS = {
    "adk.jsonl": ["passing_text"],
    "agno.jsonl": ["additional_information"],
    "lc_dyn.jsonl": ["system_part_1"],
    "lc_hud.jsonl": ["hud"],
    "pyd62_claude-opus-4-8.jsonl": ["operator_text"],
    "pyd62_claude-sonnet-4-5.jsonl": ["system"],
    "pyd_instr.jsonl": ["system_part_1"],
    "pyd_reminder.jsonl": ["passing_text"],
}


@pytest.mark.parametrize(("file", "sections"), PEERS.items())
def test_what_other_libraries_put_in_for_a_turn_is_found(file: str, sections: list[str]) -> None:
    rows = [json.loads(line) for line in shared("peer_requests", file).read_text(encoding="utf-8").splitlines()]
    (recording,), problems = logged(rows)
    assert problems == []
    (stretch,) = recording.stretches
    assert section_names(recording) == sections
    turns = stretch.session.turns
    assert [turn.user for turn in turns] == [(Text(f"question {number}"),) for number in range(3)]
    assert [turn.reply for turn in turns] == [assistant("ok reply"), assistant("ok reply"), None]
    said = [next(item for item in turn.sections if item.placement == PLACEMENT_NOTIFICATION) for turn in turns]
    assert len({section.content for section in said}) == len(said)


def messages(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]


def row(*texts: str, at: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "provider": "anthropic",
        "model": "claude-opus-4-8",
        "time": (AT + timedelta(minutes=at)).isoformat(),
        "request": {"model": "claude-opus-4-8", "max_tokens": 9, "system": "Help.", "messages": messages(*texts)},
        "usage": {"input_tokens": 30, "output_tokens": 3},
        **more,
    }


def turns_of(recording: Recording) -> list[tuple[str, str, int]]:
    (stretch,) = recording.stretches
    return [
        (Message(Role.USER, turn.user).text, turn.reply.text if turn.reply else "", turn.start)
        for turn in stretch.session.turns
    ]


def test_a_reply_is_what_stands_in_the_next_request_and_the_last_one_that_of_its_row() -> None:
    last = row("q1", "a1", "q2", at=1, response_content=[{"type": "text", "text": "a2"}])
    (recording,), problems = logged([row("q1"), last])
    assert (turns_of(recording), problems) == ([("q1", "a1", 0), ("q2", "a2", 0)], [])
    assert [call.place for call in recording.calls] == ["line 1", "line 2"]


def test_a_question_that_nobody_answered_is_a_call_and_no_history() -> None:
    (recording,), _ = logged([row("q1"), row("q1", at=1), row("q1", "a1", "q2", at=2)])
    assert turns_of(recording) == [("q1", "", 0), ("q1", "a1", 0), ("q2", "", 0)]
    assert len(recording.stretches[0].counted) == 3


def test_turns_that_left_the_window_move_its_start() -> None:
    rows = [row("q1"), row("q1", "a1", "q2", at=1), row("q2", "a2", "q3", at=2)]
    (recording,), _ = logged(rows)
    assert turns_of(recording) == [("q1", "a1", 0), ("q2", "a2", 0), ("q3", "", 1)]


def test_a_summary_in_front_of_what_is_left_is_told_from_it() -> None:
    texts = [{"type": "text", "text": "Before: q1."}, {"type": "text", "text": "q2"}]
    later = row("", "a2", "q3", at=2)
    later["request"]["messages"][0]["content"] = texts
    (recording,), _ = logged([row("q1"), row("q1", "a1", "q2", at=1), later])
    assert recording.stretches[0].session.turns[2].summary == "Before: q1."
    assert turns_of(recording)[2] == ("q3", "", 1)


def test_a_recording_that_begins_in_the_middle_has_the_past_in_front() -> None:
    (recording,), _ = logged([row("q1", "a1", "q2"), row("q1", "a1", "q2", "a2", "q3", at=1)])
    (stretch,) = recording.stretches
    assert [message.text for message in stretch.given] == ["q1", "a1"]
    assert turns_of(recording) == [("q2", "a2", 0), ("q3", "", 0)]
    slide = candidates(profile_of("anthropic:claude-opus-4-8"))[2]
    (first, *_) = replayed_calls(recording, profile_of("anthropic:claude-opus-4-8"), slide)
    assert len(first.request["messages"]) == 3


def test_requests_of_two_conversations_are_told_apart_by_what_they_say() -> None:
    rows = [row("q1"), row("Hello"), row("q1", "a1", "q2", at=1), row("Hello", "Hi", "How?", at=1)]
    first, second = logged(rows)[0]
    assert [turn[0] for turn in turns_of(first)] == ["q1", "q2"]
    assert [turn[0] for turn in turns_of(second)] == ["Hello", "How?"]
    assert (first.name, second.name) == ("conversation 1", "conversation 2")


def test_requests_of_one_name_that_have_nothing_in_common_are_two_conversations() -> None:
    rows = [row("q1", session="s"), row("Hello", session="s"), row("q1", "a1", "q2", at=1, session="s")]
    assert [recording.name for recording in logged(rows)[0]] == ["s", "s (2)"]


def test_results_that_were_shortened_later_do_not_split_the_turn() -> None:
    def step(number: int, result: str) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}}
        said = {"type": "tool_result", "tool_use_id": f"c{number}", "content": result}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [said]}]

    rows = [row("q1", at=number) for number in range(5)]
    for number, one in enumerate(rows):
        steps = [step(k, "(cleared)" if number == 4 and k == 0 else f"result {k}") for k in range(number)]
        one["request"]["messages"] += [message for pair in steps for message in pair]
    (recording,), _ = logged(rows)
    (turn,) = recording.stretches[0].session.turns
    assert len(turn.steps) == 4
    assert [item.text for item in recording.assumptions] == [
        "says earlier messages in other words: taken as they were said first"
    ]


def test_a_changed_section_inside_of_a_turn_is_said_behind_its_step() -> None:
    rows = []
    for number in range(3):
        one = row("q1", at=number)
        one["request"]["system"] = f"{'Be kind. ' * 300}\n<clock>\n9:{15 + number}\n</clock>"
        for step in range(number):
            call = {"type": "tool_use", "id": f"c{step}", "name": "look", "input": {}}
            result = {"type": "tool_result", "tool_use_id": f"c{step}", "content": "found"}
            one["request"]["messages"] += [
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]
        rows.append(one)
    (recording,), _ = logged(rows)
    (turn,) = recording.stretches[0].session.turns
    assert [section.content for step in turn.steps for section in step.changed] == [
        "<clock>\n9:16\n</clock>",
        "<clock>\n9:17\n</clock>",
    ]
    # Nothing but figures differs: the application wrote it.
    assert {section.author for section in turn.sections if section.name == "clock"} == {Author.APPLICATION}


def test_another_system_prompt_is_no_section() -> None:
    rows = [row("q1"), row("q1", "a1", "q2", at=1), row("q1", "a1", "q2", "a2", "q3", at=2)]
    for number, one in enumerate(rows):
        one["request"]["system"] = ("You are a pirate. " if number < 2 else "You are a nurse. ") * 300
    (recording,), _ = logged(rows)
    assert section_names(recording) == []
    prompts = [turn.sections[0].content[:16] for turn in recording.stretches[0].session.turns]
    assert prompts == ["You are a pirate", "You are a pirate", "You are a nurse."]


def test_the_rules_are_held_against_what_the_provider_counted() -> None:
    profile = profile_of("anthropic:claude-opus-4-8")
    slide = next(layout for layout in candidates(profile) if layout.name == "append")
    rows = [dict(one) for one in sent(known(chat()), profile, slide)]
    outcomes = [call.outcome.usage for call in replayed_calls(known(chat()), profile, slide)]
    for one, usage in zip(rows, outcomes, strict=True):
        one["usage"] = {
            "input_tokens": usage.fresh,
            "cache_read_input_tokens": usage.cached,
            "cache_creation_input_tokens": usage.written,
            "output_tokens": 7,
        }
    # One call whose entry was gone.
    rows[5]["usage"] |= {"cache_read_input_tokens": 0, "cache_creation_input_tokens": outcomes[5].input}
    rows[5]["usage"]["input_tokens"] = 0
    (recording,), problems = logged(rows)
    assert problems == []
    trust = trust_in(resent([recording], profile))
    assert (trust.calls, trust.near) == (len(rows), len(rows) - 1)
    assert trust.expected - trust.actual == outcomes[5].cached


def test_a_part_that_only_another_format_has_does_not_stop_the_replay() -> None:
    one = row("q1", "", "q2")
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tea " * 400}}
    one["request"]["messages"][1]["content"] = [block, {"type": "text", "text": "a1"}]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    one["request"]["messages"][2]["content"] = [image, {"type": "text", "text": "q2"}]
    one["request"]["tools"] = [{"type": "web_search_20250305", "name": "web_search"}]
    (recording,), _ = logged([one])
    gemini = profile_of("deepseek:deepseek-chat")
    total = replay(recording, replace(gemini), candidates(gemini)[0], price_of=unpriced)
    # The block keeps its size, and the picture counts its thousand tokens.
    assert total.usage.input > 1400
