"""What is remembered of a conversation from window to window is what the store says, whoever has looked in between."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from frontmind.assistant.caller import NOBODY, Caller
from frontmind.assistant.known_history import KnownHistory
from frontmind.assistant.waiting import waits_for
from frontmind.continuum.history import INTERRUPTED, read_turns
from frontmind.errors import ModelError
from frontmind.providers.protocol import Request
from frontmind.providers.scripted import ScriptedModel
from frontmind.tools.function import tool
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import ToolResult
from frontmind.values.records import Step, Turn, TurnState
from frontmind.values.tool import Tool
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_json
from frontmind.window.history import History
from support import START, Bench, HandClock, bench, calling, playing

WEATHER = Tool("weather", '{"properties":{"place":{"type":"string"}},"type":"object"}', "Tells the weather.")
EDITOR = Caller("You are inside of an editor.", (WEATHER,))
NAMES = ("anthropic:claude-sonnet-4-5", "anthropic:claude-opus-5-5", "deepseek:deepseek-chat")


def turn(number: int, reply: str | None = None, *, steps: tuple[Step, ...] = ()) -> Turn:
    state = TurnState.OPEN if reply is None else TurnState.DONE
    said = None if reply is None else assistant(reply)
    return Turn(number, "main", number, 1, state, user(f"message {number}"), START, said, START, steps=steps)


def history_of(known: KnownHistory, turns: list[Turn], summary: str = "") -> History:
    return known.of(read_turns(turns, summary=summary), turns, model="m", summary=summary)


def made_anew(turns: list[Turn], summary: str = "") -> tuple[Message, ...]:
    return read_turns(turns, summary=summary).history


async def test_what_was_answered_is_checked_once_and_nothing_else_is_taken_over() -> None:
    said = calling(("look", {}))
    result = Message(Role.USER, (ToolResult("c1", "It is there."),))
    waits, done = Step(said, "0", "m", Usage(1, 0, 0, 1)), Step(said, "0", "m", Usage(1, 0, 0, 1), result)
    answered = [turn(1, "one"), turn(2), turn(3, "three")]
    known = KnownHistory()
    for turns in (
        answered[:1],
        answered,
        [*answered, turn(4, steps=(waits,))],
        [*answered, turn(4, steps=(done,))],
        [*answered, turn(4, "four", steps=(done,))],
        [*answered, turn(4, "four", steps=(done,)), turn(5, "five")],
        answered,
    ):
        for summary in ("", "Earlier."):
            assert tuple(history_of(known, turns, summary)) == made_anew(turns, summary)


async def look(at: Bench, message: str) -> None:
    await at.mind.builder.preview(message, reader=at.model)


async def test_a_look_while_a_turn_waits_for_its_caller_changes_nothing_that_is_sent_later() -> None:
    sent = []
    for looks in (False, True):
        replies = iter([calling(("weather", {"place": "Lisbon"})), "It is sunny.", "No rain."])
        model = ScriptedModel(lambda request, replies=replies: next(replies))  # type: ignore[misc]
        async with bench(model) as here:
            await here.orchestrator.run_turn("weather?", caller=EDITOR)
            if looks:
                await look(here, "typing")
            await here.orchestrator.continue_turn([ToolResult("c1", "very sunny")], caller=EDITOR)
            report = await here.orchestrator.run_turn("rain?", caller=EDITOR)
            sent.append(canonical_json(await here.store.load_request(report.request)))
    assert b"very sunny" in sent[0] and b"It is sunny." in sent[0]
    assert sent[1] == sent[0]


async def test_a_look_while_another_process_runs_a_tool_changes_nothing_that_is_sent_later(tmp_path: Path) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    @tool
    async def search() -> str:
        """Search."""
        begun.set()
        await goes_on.wait()
        return "found in the attic"

    path = str(tmp_path / "mind.db")
    here_model = ScriptedModel([calling(("search", {})), "In the attic."])
    async with (
        bench(here_model, db=path, tools=[search]) as here,
        bench(ScriptedModel(["Yes."]), db=path, tools=[search]) as there,
    ):
        running = asyncio.ensure_future(here.orchestrator.run_turn("where is it?"))
        await begun.wait()
        await look(there, "typing")
        goes_on.set()
        await running
        report = await there.orchestrator.run_turn("sure?")
        request = json.dumps(await there.store.load_request(report.request))
    assert "found in the attic" in request and "In the attic." in request
    assert INTERRUPTED not in request


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", NAMES)
async def test_whoever_looks_whenever_a_new_process_would_send_the_same(name: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    path, clock = str(tmp_path / "mind.db"), HandClock()
    asked = 0

    def reply(request: Request) -> str | Message:
        nonlocal asked
        asked += 1
        if chance.random() < 0.15:
            raise ModelError("down", model="m")
        return calling(("weather", {"place": str(asked)})) if chance.random() < 0.4 else f"reply {asked}"

    came_back = answered = 0
    async with bench(playing(name, reply), db=path, clock=clock) as here:
        for number in range(24):
            if chance.random() < 0.5:
                await look(here, "only a look")
            caller = EDITOR if chance.random() < 0.7 else NOBODY
            turns = await here.store.turns("main")
            waited = waits_for(turns[-1]) if turns else ()
            try:
                if waited and chance.random() < 0.7:
                    results = [ToolResult(call.id, f"result {number}") for call in waited]
                    await here.orchestrator.continue_turn(results, caller=EDITOR)
                    came_back += 1
                else:
                    await here.orchestrator.run_turn(f"message {number}", caller=caller)
            except ModelError:
                continue
            answered += 1
            clock.advance(minutes=chance.choice([1, 7]))
            async with bench(playing(name, reply), db=path, clock=clock) as there:
                windows = [await each.mind.builder.preview("?", reader=each.model) for each in (here, there)]
            assert windows[0].window.history == windows[1].window.history
    assert came_back and answered > came_back
