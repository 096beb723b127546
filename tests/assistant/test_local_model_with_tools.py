"""The real local model with tools present, in a conversation that has called one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.layouts import open_local
from frontmind.assistant.report import TurnReport
from frontmind.providers.scripted import ScriptedModel
from frontmind.values.message import Message
from support import HandClock, bench, calling

pytestmark = pytest.mark.timeout(900)

STORED = 7
"""How many messages the stored turn has."""
MESSAGES = ("Hello!", "When do I call Anna?", "And what should I pack for Lisbon?", "Thank you. One more tip?")


async def test_it_answers_with_tools_present_behind_a_call_and_reuses_exactly_what_it_should(tmp_path: Path) -> None:
    db, clock = str(tmp_path / "mind.db"), HandClock()
    script: list[str | Message] = [
        calling(("add_reminder", {"text": "call Anna", "due": "2026-11-30T17:00"}), said="I note that."),
        # Chat templates have trouble with a message that only calls.
        calling(("list_reminders", {}), ("list_documents", {})),
        "I will remind you.",
    ]
    async with bench(ScriptedModel(script), db=db, clock=clock) as before:
        stored = await before.orchestrator.run_turn("Remind me to call Anna at five.")
    assert [use.is_error for use in stored.tools] == [False] * 3

    model = await open_local()
    reports: list[TurnReport] = []
    try:
        async with bench(model, db=db, clock=clock) as assistant:
            for message in MESSAGES:
                clock.advance(minutes=1)
                pieces: list[str] = []
                report = await assistant.orchestrator.run_turn(message, on_text=pieces.append)
                reports.append(report)
                assert report.reply.strip()
                assert len(pieces) > 1, "it streams"
            requests = (await assistant.sent())[-len(MESSAGES) :]
            # Rendered by the model's own chat template, tools and all.
            prompts = [await model.count_request(request) for request in requests]
            stored_turn = await model.prefix_tokens(requests[0]["messages"][: 1 + STORED])
    finally:
        await model.close()

    for request, report, prompt in zip(requests, reports, prompts, strict=True):
        assert "add_reminder" in {tool["function"]["name"] for tool in request["tools"]}
        assert request["messages"][2]["tool_calls"][0]["function"]["name"] == "add_reminder"
        assert [message["role"] for message in request["messages"][1 : 1 + STORED]] == [
            *("user", "assistant", "tool", "assistant", "tool", "tool", "assistant")
        ]
        assert prompt.exact
        assert not report.usage.estimated
    assert len({str(request["tools"]) + str(request["messages"][0]) for request in requests}) == 1
    # The first turn fills an empty cache.
    for report in reports[1:]:
        assert report.usage.cached == report.expected_cached, f"turn {report.turn}"
        assert report.usage.cached >= len(stored_turn), f"turn {report.turn}"
    assert reports[-1].usage.cached > reports[-2].usage.cached > reports[1].usage.cached
