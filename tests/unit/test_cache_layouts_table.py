"""The table of layouts: its rows are measured, its verdict is computed, and every row has the same conversation."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

import pytest

from benchmarks.cache_layouts import Table, as_json, conclusion, main, markdown, measured, summary
from benchmarks.cache_peers import moment_of, priced, script_of
from benchmarks.cache_rows import AUTO, PEER_MODEL, Row, plans, rows_of
from benchmarks.peers.script import PeerCall
from frontmind.cachelab.baselines import BASELINES
from frontmind.cachelab.scenarios import scenario_of, write_session
from frontmind.cachelab.session import Fixed, Session, Total, play
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.values.message import Message, Role
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_text

OPUS = resolve_profile("anthropic", "claude-opus-4-8")
CHAT = scenario_of("chat")


@cache
def short(name: str = "chat", turns: int = 5) -> Session:
    session = asyncio.run(write_session(scenario_of(name)))
    return replace(session, turns=session.turns[:turns])


@cache
def table() -> Table:
    return measured(CHAT, short(), OPUS)


def costing(equivalents: float) -> Total:
    return Total(1, Usage(1000, 400, 500, 0), equivalents)


def made(auto: float, *others: Row) -> Table:
    rows = (*others, Row(AUTO, costing(auto), "It took append."))
    return Table(CHAT, PEER_MODEL, 1, rows)


def requests(name: str, profile: Profile = OPUS, *, session: Session | None = None) -> list[dict[str, Any]]:
    baseline = next(baseline for baseline in BASELINES if baseline.name == name)
    plan = plans(profile)[0]
    return [call.request for call in play(session or short(), profile, Fixed(plan), spelling=baseline.spelling)]


def test_every_layout_that_the_model_takes_has_a_row_for_each_lifetime() -> None:
    assert [row.layout for row in table().rows] == [
        "sections in the system prompt",
        "automatic caching, sliding block",
        "slide, both markers, 5m",
        "slide, both markers, 1h",
        "clear_at, 5m",
        "clear_at, 1h",
        "append, 5m",
        "append, 1h",
        "slide, both markers, 1h and 5m (the default)",
        AUTO,
    ]
    assert all(row.total is not None and row.total.calls == 5 for row in table().rows)


def test_a_longer_lifetime_reads_the_same_and_costs_more_where_nothing_expires() -> None:
    five, hour = (row.total for row in table().rows if row.layout.startswith("clear_at"))
    assert five is not None
    assert hour is not None
    assert five.usage.cached == hour.usage.cached > 0
    assert five.equivalents < hour.equivalents


def test_other_models_have_the_rows_that_they_can_take() -> None:
    openai = {row.layout for row in measured(CHAT, short(turns=2), resolve_profile("openai", "gpt-5.5")).rows}
    assert {"developer", "append", "sections in the system prompt"} <= openai
    assert not {"clear_at", "automatic caching, sliding block"} & openai


def test_libraries_have_rows_on_their_own_model_only() -> None:
    with_them, without = (len(rows_of(OPUS, with_peers=asked)) for asked in (True, False))
    assert with_them > without
    deepseek = resolve_profile("deepseek", "deepseek-chat")
    assert len(rows_of(deepseek, with_peers=True)) == len(rows_of(deepseek, with_peers=False))


def test_the_system_prompt_baseline_says_the_sections_there_and_nowhere_else() -> None:
    for number, request in enumerate(requests("sections in the system prompt")):
        assert "<relevant_memories" in canonical_text(request["system"])
        assert "<relevant_memories" not in canonical_text(request["messages"])
        assert request["messages"][-1]["content"][-1]["text"] == Message(Role.USER, short().turns[number].user).text
        assert "cache_control" in request["system"][0]
        assert "cache_control" not in request["system"][-1]


def test_the_automatic_baseline_marks_the_request_and_no_message() -> None:
    for request in requests("automatic caching, sliding block"):
        assert request["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" in canonical_text(request["system"])
        assert "cache_control" not in canonical_text(request["messages"])
        assert "<relevant_memories" in canonical_text(request["messages"])


def test_the_automatic_baseline_of_openai_leaves_the_breakpoint_to_the_provider() -> None:
    for request in requests("automatic caching, sliding block", resolve_profile("openai", "gpt-5.6-sol")):
        assert "prompt_cache_options" not in request
        assert "prompt_cache_breakpoint" not in canonical_text(request["input"])


def test_the_libraries_script_has_the_words_of_the_session() -> None:
    session = short("tools", 2)
    script = script_of(session)
    assert "<base_prompt>" in script.system
    assert [tool.name for tool in script.tools] == [tool.name for tool in session.turns[0].tools]
    for said, turn in zip(script.turns, session.turns, strict=True):
        assert turn.reply is not None
        assert said.reply == turn.reply.text
        assert len(said.steps) == len(turn.steps) == 15
        assert said.sections["datetime_section"].startswith("It is Monday")
        assert said.sections["relevant_memories"].startswith("<memory ")
    assert {name for turn in script.turns for step in turn.steps for name in step.changed} >= {"datetime_section"}


def test_requests_of_libraries_are_priced_at_the_moments_of_the_session() -> None:
    near = short(turns=2)
    later = replace(near.turns[1], at=near.turns[0].at + timedelta(minutes=6))
    far = replace(near, turns=(near.turns[0], later))
    marked = {"type": "text", "text": "fact " * 2000, "cache_control": {"type": "ephemeral"}}
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 9,
        "system": [marked],
        "messages": [{"role": "user", "content": "Hello!"}],
    }
    calls = [PeerCall(0, 0, body), PeerCall(1, 0, body)]
    assert moment_of(near, 1, 0) == near.turns[1].at
    assert priced(calls, near, OPUS).usage.cached == 2500
    assert priced(calls, far, OPUS).usage.cached == 0


def test_a_library_that_is_missing_has_a_row_that_says_so() -> None:
    shown = markdown(made(100.0, Row("Agno", None, "not installed; run: pip install '.[bench]'", is_peer=True)))
    assert "| Agno | not installed; run: pip install '.[bench]' |" in shown
    assert f"{AUTO} is the cheapest row." in shown


@pytest.mark.parametrize(
    ("auto", "told", "holds"),
    [
        (100.0, f"{AUTO} is the cheapest row.", True),
        (101.9, f"{AUTO} is 1.9 % above the cheapest row (append): within 2 %.", True),
        (104.0, f"{AUTO} is 4.0 % above the cheapest row (append): NOT within 2 %.", False),
    ],
)
def test_the_verdict_is_computed_from_the_rows(auto: float, told: str, holds: bool) -> None:
    compared = made(auto, Row("append", costing(100.0)), Row("slide", costing(110.0)))
    assert told in markdown(compared)
    assert as_json(compared)["auto"]["holds"] is holds
    assert ("not in chat" in conclusion([compared])) is not holds


def test_where_a_library_is_the_cheapest_the_own_layouts_are_compared_beside() -> None:
    compared = made(104.0, Row("append", costing(103.0)), Row("Agno", costing(100.0), is_peer=True))
    assert not compared.verdict.holds
    assert compared.own_verdict.holds
    assert "Among its own layouts: Frontmind auto is 1.0 % above the cheapest row (append)" in markdown(compared)
    assert conclusion([compared]).endswith("in 0 of 1 scenarios; not in chat (+4.0 %, Agno).")


def test_the_summary_has_each_scenario_beside_the_others_and_the_cheapest_in_bold() -> None:
    compared = made(1_234.0, Row("append", costing(1_000.0)), Row("Agno", None, "not installed", is_peer=True))
    lines = summary([compared, compared]).splitlines()
    assert lines[0] == "| thousands of equivalents | chat | chat |"
    assert lines[2:] == [
        "| append | **1.0** | **1.0** |",
        "| Agno | - | - |",
        f"| **{AUTO}** | 1.2 | 1.2 |",
    ]


def test_the_cheapest_row_stands_at_one() -> None:
    shares = [line.split("|")[-2].strip() for line in markdown(table()).splitlines() if line.startswith("| ")][1:]
    assert min(shares) == "1.00"
    assert len(shares) == len(table().rows)


def test_the_command_prints_json_that_has_all_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "chat", "--no-peers", "--jobs", "1", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["tables"]
    assert told["model"] == PEER_MODEL
    for row in told["rows"]:
        assert row["read"] + row["written"] + row["fresh"] > 30 * 5_000
        assert row["hit_share"] == pytest.approx(row["read"] / (row["read"] + row["written"] + row["fresh"]), abs=1e-4)


def test_an_unknown_model_is_said_and_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", "nobody:nothing", "--jobs", "1"]) == 2
    told = capsys.readouterr()
    assert "unknown model 'nobody:nothing'" in told.err
    assert not told.out
