"""The provider's own diagnosis: asked for with the reply before, and shown beside our verdict. The real SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from frontmind.assistant.report import TurnReport
from frontmind.cli.terminal import report_lines
from frontmind.providers.anthropic import AnthropicModel
from frontmind.providers.diagnostics import NO_DIFFERENCE, PENDING
from frontmind.values.calls import CallEnd, Cause
from providers.loopback import Exchange, Loopback, serving
from support import HandClock, bench, selected

CLAUDE = "anthropic:claude-sonnet-5"
"""Its notification center slides."""


class Claude:
    """Answers ``POST /v1/messages`` with a numbered id, and with what it is told to say of the cache."""

    def __init__(self, server: Loopback) -> None:
        self.url = server.url
        self.diagnostics: Any = None
        self.knows_question = True
        self.cached = 0
        self.bodies: list[dict[str, Any]] = []
        self.calls_tool_first = False
        server.answer = self._answer

    def _answer(self, exchange: Exchange) -> None:
        body = json.loads(exchange.body)
        self.bodies.append(body)
        exchange.start_stream()
        number = len(self.bodies)
        for event in _reply(number, self.cached, self.diagnostics, tool=self.calls_tool_first and number == 1):
            if not self.knows_question:
                event.get("message", {}).pop("diagnostics", None)
            # The SDK goes by the name of an event, not by its type.
            exchange.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def _reply(number: int, cached: int, diagnostics: Any, *, tool: bool) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 5000, "cache_read_input_tokens": cached}
    yield {
        "type": "message_start",
        "message": {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 1},
            "diagnostics": diagnostics,
        },
    }
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": f"Reply {number}."}
    if tool:
        block = {"type": "tool_use", "id": "toolu_1", "name": "list_reminders", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": "{}"}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = "tool_use" if tool else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}}
    yield {"type": "message_stop"}


@pytest.fixture
def claude() -> Iterator[Claude]:
    with serving() as server:
        yield Claude(server)


def opened(claude: Claude, overrides: str = "") -> AnthropicModel:
    selection = selected(CLAUDE, overrides=overrides)
    return AnthropicModel(
        selection.profile,
        name=CLAUDE,
        framing=selection.framing,
        max_output_tokens=99,
        api_key="k",
        base_url=claude.url,
    )


def ends(report: TurnReport) -> list[CallEnd]:
    return [call.end for call in report.calls if call.end is not None]


def reason(kind: str, tokens: int | None = None) -> dict[str, Any]:
    missed = {} if tokens is None else {"cache_missed_input_tokens": tokens}
    return {"cache_miss_reason": {"type": kind, **missed}}


async def test_each_request_names_the_reply_before_and_is_stored_without_it(claude: Claude) -> None:
    claude.calls_tool_first = True
    model = opened(claude)
    async with bench(model) as bench_:
        for message in ("one", "two"):
            await bench_.orchestrator.run_turn(message)
        stored = await bench_.sent()
        noted = await bench_.store.calls(conversation="main")
    await model.close()
    asked = [body["diagnostics"]["previous_message_id"] for body in claude.bodies]
    assert asked == [None, "msg_1", "msg_2"]
    assert all("diagnostics" not in request for request in stored)
    assert {key: claude.bodies[-1][key] for key in stored[-1]} == stored[-1]
    assert [call.end is not None and call.end.diagnosis for call in noted] == ["", NO_DIFFERENCE, NO_DIFFERENCE]


@pytest.mark.parametrize(
    ("diagnostics", "said"),
    [
        (reason("system_changed", 4321), "system_changed (~4,321 tokens)"),
        (reason("messages_changed", 7), "messages_changed (~7 tokens), as it says of every section that slides away"),
        (reason("previous_message_not_found"), "previous_message_not_found"),
        (reason("something_new", -1), "something_new"),
        (reason("\x1b[31mred\nline"), "\ufffd[31mred line"),
        ({"cache_miss_reason": None}, PENDING),
        (None, NO_DIFFERENCE),
    ],
)
async def test_what_the_provider_says_stands_in_the_ledger(claude: Claude, diagnostics: Any, said: str) -> None:
    model = opened(claude)
    async with bench(model) as bench_:
        await bench_.orchestrator.run_turn("one")
        claude.diagnostics, claude.cached = diagnostics, 5000
        report = await bench_.orchestrator.run_turn("two")
        noted = await bench_.store.calls(conversation="main")
    await model.close()
    assert [end.diagnosis for end in ends(report)] == [said]
    assert noted[-1].end == report.calls[-1].end
    assert report_lines(report) == []


async def test_a_gateway_that_does_not_know_the_question_says_nothing(claude: Claude) -> None:
    claude.knows_question = False
    model = opened(claude)
    async with bench(model) as bench_:
        await bench_.orchestrator.run_turn("one")
        report = await bench_.orchestrator.run_turn("two")
    await model.close()
    assert [body["diagnostics"]["previous_message_id"] for body in claude.bodies] == [None, "msg_1"]
    assert [end.diagnosis for end in ends(report)] == [""]


async def test_a_large_loss_is_told_with_the_diagnosis_beside_it(claude: Claude) -> None:
    model = opened(claude)
    clock = HandClock()
    async with bench(model, clock=clock) as bench_:
        await bench_.orchestrator.run_turn("one")
        claude.cached = 5000
        await bench_.orchestrator.run_turn("two")
        claude.diagnostics, claude.cached = reason("messages_changed", 9900), 0
        report = await bench_.orchestrator.run_turn("three")
    await model.close()
    (end,) = ends(report)
    assert end.verdict.cause is Cause.EVICTED
    (line,) = report_lines(report)
    assert "did not come from the cache: nothing in the request explains it" in line
    assert "the provider says: messages_changed (~9,900 tokens), as it says of every section that slides" in line


@pytest.mark.parametrize(
    ("overrides", "asks"),
    [("", True), ("cache_diagnostics=true", True), ("cache_diagnostics=false", False)],
)
async def test_a_fact_of_your_own_switches_it_off(claude: Claude, overrides: str, asks: bool) -> None:
    model = opened(claude, overrides)
    async with bench(model) as bench_:
        await bench_.orchestrator.run_turn("one")
        report = await bench_.orchestrator.run_turn("two")
    await model.close()
    assert ["diagnostics" in body for body in claude.bodies] == [asks, asks]
    assert [end.diagnosis for end in ends(report)] == [NO_DIFFERENCE if asks else ""]


@pytest.mark.parametrize("name", ["bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "echo", "local"])
def test_only_the_claude_api_is_asked(name: str) -> None:
    assert not selected(name).profile.cache_diagnostics
    assert selected(CLAUDE).profile.cache_diagnostics
