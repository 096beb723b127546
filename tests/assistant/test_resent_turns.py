"""Going on from an earlier turn: what was said since is kept and no longer sent, and what stands before is cached."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from frontmind.assistant.caller import Caller
from frontmind.assistant.going_back import InPlaceOf
from frontmind.assistant.looking_ahead import look_ahead
from frontmind.assistant.report import CacheLoss, TurnAccepted, TurnEvent
from frontmind.assistant.sent_windows import SentWindows
from frontmind.assistant.waiting import waits_for
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.errors import ModelError, UsageError
from frontmind.providers.protocol import Finished, Request, StreamEvent
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.values.calls import Cause
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message, assistant, user
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.records import Line, Turn, TurnState
from frontmind.values.tool import Tool
from frontmind.window.canonical import canonical_json
from support import EVERY_WAY, Bench, HandClock, bench, calling, playing, remember, selected

DONE, REPLACED = TurnState.DONE, TurnState.REPLACED
LONG = "tell me about tea and mountains and what to pack for a long walk " * 60
"""About 800 tokens by the rule of thumb."""


def whole(request: Any) -> str:
    return json.dumps(request, ensure_ascii=False)


def in_common(one: Any, other: Any) -> str:
    """What two requests begin with, as a cache sees it."""
    blocks = zip(read_request(one).blocks, read_request(other).blocks, strict=False)
    return "\n".join(first.shown for first, _ in takewhile(lambda pair: pair[0].key == pair[1].key, blocks))


async def states(bench_: Bench) -> list[TurnState]:
    return [turn.state for turn in await bench_.store.turns("main")]


async def sent(bench_: Bench, request_hash: str) -> bytes:
    return canonical_json(await bench_.store.load_request(request_hash))


async def talk(bench_: Bench, *messages: str) -> list[Any]:
    """Turns a minute apart, with a new reminder before each."""
    requests = []
    for message in messages:
        now = bench_.clock.now()
        await bench_.store.add_reminder(f"Think of {message}", now, zone="Europe/Berlin", at=now)
        report = await bench_.orchestrator.run_turn(message)
        requests.append(await bench_.store.load_request(report.request))
        bench_.clock.advance(minutes=1)
    return requests


@pytest.mark.requirement("WEB-4")
@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
async def test_going_on_from_an_earlier_turn_keeps_the_prefix_before_it(
    name: str, framing: Any, tmp_path: Path
) -> None:
    numbers = iter(range(1, 99))
    path, clock = str(tmp_path / "mind.db"), HandClock()

    def reply(request: Request) -> str:
        return f"answer {next(numbers)}"

    async with bench(playing(name, reply, framing), db=path, clock=clock) as bench_:
        _, _, third, *_ = await talk(bench_, "one", "two", "three", "four", "five")
        shown = await bench_.mind.builder.preview("other", replaces=3, reader=bench_.model)
        report = await bench_.orchestrator.run_turn("other", place=InPlaceOf(3))
        request = await bench_.store.load_request(report.request)
        assert canonical_json(request) == canonical_json(bench_.model.encode(shown.window))
        assert await states(bench_) == [DONE, DONE, REPLACED, REPLACED, REPLACED, DONE]
        assert (report.turn, report.reply, report.system_change) == (6, "answer 6", None)
        common = in_common(third, request)
        assert "answer 2" in common
        assert [word in whole(request) for word in ("answer 3", "answer 5", "six")] == [False] * 3
        after = await bench_.orchestrator.run_turn("and on")
        following = await bench_.store.load_request(after.request)
        assert "answer 2" in in_common(request, following)
        assert "answer 6" in whole(following)
        here = await bench_.mind.builder.preview("next", reader=bench_.model)
    async with bench(playing(name, reply, framing), db=path, clock=clock) as bench_:
        there = await bench_.mind.builder.preview("next", reader=bench_.model)
        assert canonical_json(bench_.model.encode(there.window)) == canonical_json(bench_.model.encode(here.window))


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "anthropic:claude-opus-5-5", "deepseek:deepseek-chat"])
async def test_a_system_prompt_that_was_renewed_since_stays_as_it_was_sent_last(name: str) -> None:
    async with bench(playing(name, lambda request: "fine")) as bench_:
        await bench_.store.put_document("house", "The house is blue.", bench_.clock.now())
        await talk(bench_, "one")
        bench_.clock.advance(minutes=70)
        await bench_.store.put_document("house", "The house is red now.", bench_.clock.now())
        second, _ = await talk(bench_, "two", "three")
        assert "red now" in whole(second)
        report = await bench_.orchestrator.run_turn("other", place=InPlaceOf(2))
        request = await bench_.store.load_request(report.request)
    assert report.system_change is None
    assert "red now" in in_common(second, request)
    assert "fine" in in_common(second, request), "the turn before is in the common prefix too"
    assert "blue" not in whole(request)


async def test_the_first_turn_can_be_replaced() -> None:
    async with bench(ScriptedModel(["hi", "ho", "hello"])) as bench_:
        await talk(bench_, "uno", "due")
        report = await bench_.orchestrator.run_turn("eins", place=InPlaceOf(1))
        assert await states(bench_) == [REPLACED, REPLACED, DONE]
        request = whole(await bench_.store.load_request(report.request))
        assert [turn.reply.text for turn in await bench_.store.turns("main") if turn.reply] == ["hi", "ho", "hello"]
    assert len(report.window.history) == 0
    assert '"ho"' not in request


async def test_only_a_turn_that_is_there_can_be_replaced_and_nothing_is_changed() -> None:
    caller = Caller(tools=(Tool("weather"),))
    async with bench(ScriptedModel(["hi", calling(("weather", {})), "sunny"])) as bench_:
        await talk(bench_, "one")
        await bench_.orchestrator.run_turn("two", caller=caller)
        for number in (0, 3, -1):
            with pytest.raises(UsageError, match=f"no turn {number}"):
                await bench_.orchestrator.run_turn("other", place=InPlaceOf(number))
            with pytest.raises(UsageError, match=f"no turn {number}"):
                await bench_.mind.builder.preview("other", replaces=number)
        assert await states(bench_) == [DONE, TurnState.OPEN]
        assert (await bench_.orchestrator.continue_turn([ToolResult("c1", "x")], caller=caller)).reply == "sunny"


@dataclass
class Elsewhere:
    """The place behind the first turn and an exchange that was had elsewhere.

    Attributes:
        states: those that it was asked with.
        taken_by: the turns that it was told of.
    """

    states: list[TurnState] = field(default_factory=list)
    taken_by: list[Turn] = field(default_factory=list)

    async def line(self, states: Mapping[int, TurnState]) -> Line:
        self.states = list(states.values())
        at = HandClock().now()
        brought = ImportedTurn("key", user("vier"), at, assistant("from elsewhere"), at)
        return Line([1], (brought,), "api")

    async def taken(self, turn: Turn) -> None:
        self.taken_by.append(turn)


async def test_a_turn_begins_behind_what_its_place_says_and_the_place_is_told_before_anybody() -> None:
    place = Elsewhere()

    def accepted(event: TurnEvent) -> None:
        assert [turn.number for turn in place.taken_by] == [4]

    async with bench(ScriptedModel(["one.", "two.", "three."])) as bench_:
        await talk(bench_, "eins", "zwei")
        report = await bench_.orchestrator.run_turn("drei", place=place, on_event=accepted)
        request = whole(await bench_.store.load_request(report.request))
        turns = await bench_.store.turns("main")
    assert place.states == [DONE, DONE]
    assert [(turn.user.text, turn.state) for turn in turns] == [
        ("eins", DONE),
        ("zwei", REPLACED),
        ("vier", DONE),
        ("drei", DONE),
    ]
    assert [word in request for word in ("one.", "two.", "from elsewhere")] == [True, False, True]


async def test_a_turn_that_is_cancelled_while_it_is_accepted_is_accepted() -> None:
    place = Elsewhere()
    events: list[TurnEvent] = []
    async with bench(ScriptedModel(["one."])) as bench_:
        await talk(bench_, "eins")
        cancelling = asyncio.get_running_loop().create_future()

        def accepting() -> None:
            asyncio.get_running_loop().call_soon(running.cancel)
            cancelling.set_result(None)

        running = asyncio.create_task(
            bench_.orchestrator.run_turn("drei", place=place, on_accepting=accepting, on_event=events.append)
        )
        with pytest.raises(asyncio.CancelledError):
            await running
        assert cancelling.done()
        newest = (await bench_.store.turns("main"))[-1]
    assert (newest.user.text, newest.state) == ("drei", TurnState.OPEN)
    assert [event.turn for event in events if isinstance(event, TurnAccepted)] == place.taken_by == [newest]


async def test_a_turn_that_waits_for_its_caller_can_be_replaced_and_taken_up_again() -> None:
    caller = Caller(tools=(Tool("weather"),))
    async with bench(ScriptedModel(["hi", calling(("weather", {})), "other answer", "sunny"])) as bench_:
        await talk(bench_, "one")
        await bench_.orchestrator.run_turn("two", caller=caller)
        report = await bench_.orchestrator.run_turn("other", caller=caller, place=InPlaceOf(2))
        assert (report.reply, len(report.window.history)) == ("other answer", 2)
        with pytest.raises(UsageError, match="no turn of this conversation waits"):
            await bench_.orchestrator.continue_turn([ToolResult("c1", "x")], caller=caller)
        await bench_.store.set_line("main", [1, 2])
        assert waits_for((await bench_.store.turns("main"))[1]) == (ToolCall("c1", "weather", "{}"),)
        again = await bench_.orchestrator.continue_turn([ToolResult("c1", "x")], caller=caller)
        assert (again.turn, again.reply) == (2, "sunny")
        assert await states(bench_) == [DONE, DONE, REPLACED]


async def test_a_message_that_waits_in_front_of_the_replaced_turn_goes_along() -> None:
    replies: list[str | ModelError] = ["hi", ModelError("down", model="m"), "both", "other"]

    def reply(request: Request) -> str:
        said = replies.pop(0)
        if isinstance(said, ModelError):
            raise said
        return said

    async with bench(ScriptedModel(reply)) as bench_:
        await talk(bench_, "one")
        with pytest.raises(ModelError):
            await bench_.orchestrator.run_turn("lost words")
        await bench_.orchestrator.run_turn("three")
        report = await bench_.orchestrator.run_turn("drei", place=InPlaceOf(3))
        request = whole(await bench_.store.load_request(report.request))
    assert (report.joined, "lost words" in request, "three" in request, "both" in request) == (1, True, False, False)


async def test_turns_that_had_left_the_window_are_sent_again() -> None:
    numbers = iter(range(1, 99))
    model = ScriptedModel(lambda request: f"answer {next(numbers)} " + "word " * 700, context_limit=6000)
    async with bench(model) as bench_:
        reports = [await bench_.orchestrator.run_turn(f"question {number}") for number in range(1, 9)]
        start = (await bench_.store.window_opening("main")).start
        assert start > 3
        shown = await bench_.mind.builder.preview("other", replaces=3, reader=model)
        report = await bench_.orchestrator.run_turn("other", place=InPlaceOf(3))
        request = await bench_.store.load_request(report.request)
    assert sum(one.left_out for one in reports) == start - 1
    assert canonical_json(request) == canonical_json(model.encode(shown.window))
    assert [f"answer {number} " in whole(request) for number in (1, 2, 3)] == [True, True, False]


async def test_a_message_in_the_place_of_a_turn_is_stored_with_what_it_replaces_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[TurnEvent] = []
    async with bench(ScriptedModel(["a", "b", "c", "d"])) as bench_:
        await talk(bench_, "one", "two", "three")
        monkeypatch.setattr("frontmind.stores.sqlite.conversations.to_message", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await bench_.orchestrator.run_turn("other", place=InPlaceOf(2), on_event=said.append)
        monkeypatch.undo()
        assert (await states(bench_), said) == ([DONE] * 3, [])
        begin_turn, writing, goes_on = bench_.store.begin_turn, asyncio.Event(), asyncio.Event()

        async def slow(*given: Any, **named: Any) -> Turn:
            begun = await begin_turn(*given, **named)
            writing.set()
            await goes_on.wait()
            return begun

        monkeypatch.setattr(bench_.store, "begin_turn", slow)
        turn = bench_.orchestrator.run_turn("other", place=InPlaceOf(2), on_event=said.append)
        task = asyncio.ensure_future(turn)
        await writing.wait()
        task.cancel()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await states(bench_) == [DONE, REPLACED, REPLACED, TurnState.OPEN]
    assert [(type(event), event.turn.number) for event in said if isinstance(event, TurnAccepted)] == [
        (TurnAccepted, 4)
    ]


async def test_turns_that_were_replaced_are_not_said_to_have_left_the_window() -> None:
    numbers = iter(range(1, 99))
    model = ScriptedModel(lambda request: f"answer {next(numbers)} " + "word " * 700, context_limit=6000)
    async with bench(model) as bench_:
        for number in range(1, 4):
            await bench_.orchestrator.run_turn(f"question {number}")
        await bench_.orchestrator.run_turn("other", place=InPlaceOf(2))
        reports = [await bench_.orchestrator.run_turn(f"question {number}") for number in range(5, 10)]
        start = (await bench_.store.window_opening("main")).start
        window = await SentWindows(bench_.store, "main").window(reports[-1].turn)
    assert start > 4
    assert sum(report.left_out for report in reports) == window.known.left_out == start - 1 - 2


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "anthropic:claude-opus-5-5", "deepseek:deepseek-chat"])
async def test_whatever_is_replaced_a_new_process_would_send_the_same(name: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    path = str(tmp_path / "mind.db")

    def reply(request: Request) -> str | Message:
        if chance.random() < 0.2:
            raise ModelError("down", model="m")
        done = not any(block.kind == "tool_result" for block in read_request(request).blocks[-3:])
        return calling(("list_reminders", {}), said="See: ") if done and chance.random() < 0.3 else "a reply"

    clock = HandClock()
    answered = 0
    async with bench(playing(name, reply), db=path, clock=clock) as here:
        for number in range(1, 16):
            replaces = chance.randrange(1, number) if number > 1 and chance.random() < 0.4 else None
            message = f"message {number}"
            if chance.random() < 0.3:
                await remember(here.store, f"You said {message}.", clock.now())
            if chance.random() < 0.3:
                await here.mind.builder.preview(
                    "only a look", replaces=chance.randrange(1, number) if number > 1 else None
                )
            async with bench(playing(name, reply), db=path, clock=clock) as there:
                shown = await there.mind.builder.preview(message, replaces=replaces, reader=there.model)
                expected = canonical_json(there.model.encode(shown.window))
                stable = (shown.window.cached_system, shown.window.history)
            try:
                place = None if replaces is None else InPlaceOf(replaces)
                report = await here.orchestrator.run_turn(message, place=place)
            except ModelError:
                continue
            answered += 1
            assert (report.window.cached_system, report.window.history) == stable
            # A look at what would be replaced does not change what sections read from the store.
            assert replaces is not None or await sent(here, report.calls[0].new.request) == expected
            clock.advance(minutes=chance.choice([1, 7, 90]))
    assert answered > 3


class Caching(ScriptedModel):
    """Plays a hosted model whose cache keeps the rules of its profile."""

    def __init__(self, name: str, clock: HandClock, script: Callable[[Request], str]) -> None:
        selection = selected(name, overrides="min_cached_tokens=10")
        super().__init__(script, name=name, profile=selection.profile, framing=selection.framing, max_output_tokens=99)
        self._clock = clock
        self._cache = CacheSimulator(self.profile)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        usage = self._cache.send(size_request(read_request(request)), self._clock.now()).usage
        async for event in super().stream(request):
            if isinstance(event, Finished):
                yield replace(event, usage=replace(usage, output=event.usage.output, estimated=False))
            else:
                yield event

    async def expected_cached(self, request: Request) -> int | None:
        return None


@pytest.mark.parametrize("back", [1, 3, 7])
@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "openai:gpt-5.5", "deepseek:deepseek-chat"])
async def test_what_the_cache_gives_behind_a_replaced_turn_is_expected(name: str, back: int) -> None:
    clock = HandClock()
    events: list[TurnEvent] = []
    async with bench(Caching(name, clock, lambda request: "a reply"), clock=clock) as bench_:
        reports = []
        for number in range(10):
            reports.append(await bench_.orchestrator.run_turn(f"{number} {LONG}"))
            clock.advance(seconds=20)
        number = 10 - back
        mind, store, message = bench_.mind, bench_.store, f"other {LONG}"
        ahead = await look_ahead(
            mind, store, bench_.model, clock, conversation="main", message=message, replaces=number
        )
        report = await bench_.orchestrator.run_turn(message, place=InPlaceOf(number), on_event=events.append)
    before = reports[number - 1]
    assert report.usage.cached >= before.usage.cached > 0, "all that stood in front of the replaced turn is read"
    assert ahead.prediction.expected.cached == report.expected_cached == report.usage.cached
    assert not [event for event in events if isinstance(event, CacheLoss)]
    assert [call.end.verdict.cause for call in report.calls if call.end is not None] == [Cause.NOTHING]
