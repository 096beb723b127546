"""The real local engine: what is expected of its cache is what it gives, on every request and through both its APIs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import platformdirs
import pytest

from benchmarks.layouts import MESSAGES
from frontmind.assistant.cache_watch import CacheWatch
from frontmind.assistant.report import TurnReport
from frontmind.providers.engine import Engine
from frontmind.providers.gguf import default_model_path
from frontmind.providers.local import LocalModel
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Finished, Model, Request, StreamEvent, TokenCount
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.calls import Call, CallEnd, Cause
from frontmind.values.message import Message, assistant, user
from frontmind.values.usage import Usage
from frontmind.window.choice import Framing
from frontmind.window.window import Window
from messages_model import MessagesModel
from support import Bench, HandClock, bench, calling, remember

pytestmark = pytest.mark.timeout(900)
FEW_TOKENS = 8
APIS = ("chat completions", "messages")


def open_model(api: str) -> LocalModel:
    """The model on an engine of its own, which holds nothing."""
    engine = Engine(default_model_path(platformdirs.user_cache_path("frontmind")))
    if api == "messages":
        return MessagesModel(engine, Framing.ASSISTANT, max_output_tokens=FEW_TOKENS)
    profile = resolve_profile("local", "")
    return LocalModel(engine, profile=profile, framing=choose_framing(profile), max_output_tokens=FEW_TOKENS)


@pytest.fixture(params=APIS)
async def model(request: pytest.FixtureRequest) -> AsyncIterator[LocalModel]:
    opened = open_model(request.param)
    yield opened
    await opened.close()


class Dubbed:
    """The local model, some of whose replies are replaced, after the engine has given them."""

    def __init__(self, model: LocalModel, replies: Sequence[Message | None]) -> None:
        self._model = model
        self._replies = iter(replies)
        self.name = model.name
        self.context_limit = model.context_limit
        self.max_output_tokens = model.max_output_tokens
        self.profile = model.profile
        self.framing = model.framing

    def encode(self, window: Window) -> Request:
        return self._model.encode(window)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        said = next(self._replies)
        async for event in self._model.stream(request):
            if said is None or not isinstance(event, Finished):
                yield event
            else:
                yield Finished(said, event.usage, event.stop)

    async def count_request(self, request: Request) -> TokenCount:
        return await self._model.count_request(request)

    async def count_text(self, text: str) -> TokenCount:
        return await self._model.count_text(text)

    async def expected_cached(self, request: Request) -> int | None:
        return await self._model.expected_cached(request)

    async def close(self) -> None:
        return None


async def talk(bench_: Bench, messages: Sequence[str]) -> list[TurnReport]:
    reports = []
    for message in messages:
        reports.append(await bench_.orchestrator.run_turn(message))
        bench_.clock.advance(minutes=1)
    return reports


def pair(call: Call) -> tuple[Usage, Usage]:
    """What was expected of a call, and what the engine counted."""
    assert call.new.expected is not None
    assert call.end is not None
    assert not call.end.usage.estimated
    return call.new.expected, call.end.usage


def require_exact(calls: Sequence[Call]) -> None:
    for number, call in enumerate(calls, 1):
        expected, counted = pair(call)
        assert (expected.cached, expected.input) == (counted.cached, counted.input), f"call {number}"


def ended(call: Call) -> CallEnd:
    assert call.end is not None
    return call.end


@pytest.mark.requirement("LAB-2")
@pytest.mark.requirement("LAB-3")
async def test_every_request_of_a_conversation_gets_what_is_expected(model: LocalModel) -> None:
    async with bench(model) as bench_:
        await bench_.store.add_reminder("Call Anna", bench_.clock.now(), zone="Europe/Berlin", at=bench_.clock.now())
        reports = []
        for number, message in enumerate(MESSAGES):
            if number in (2, 5):
                await remember(bench_.store, f"You like trains, and said so {number} times.", bench_.clock.now())
            reports += await talk(bench_, [message])
        calls = await bench_.store.calls(conversation="main")
    assert len(calls) == len(MESSAGES) == len(reports)
    require_exact(calls)
    assert [report.expected_cached for report in reports] == [pair(call)[1].cached for call in calls]
    assert pair(calls[0])[1].cached == 0
    assert all(pair(call)[1].cached > 100 for call in calls[1:])
    assert [ended(call).verdict.cause for call in calls] == [Cause.FIRST, *[Cause.NOTHING] * (len(calls) - 1)]
    for call in calls:
        usage, parts = ended(call).usage, ended(call).parts
        assert sum(part.read for part in parts) == usage.cached
        assert sum(part.fresh for part in parts) == usage.fresh == usage.input - usage.cached


@pytest.mark.requirement("LAB-3")
async def test_every_step_of_a_tool_loop_gets_what_is_expected(model: LocalModel) -> None:
    steps: list[Message | None] = [
        calling(("add_reminder", {"text": "call Anna", "due": "2026-11-30T17:00"}), said="I note that."),
        calling(("list_reminders", {}), ("list_documents", {}), said="Let me look."),
        assistant("It is noted."),
    ]
    dubbed: Model = Dubbed(model, [None, *steps, None])
    async with bench(dubbed) as bench_:
        reports = await talk(bench_, ["Hello!", "Remind me to call Anna.", "Thanks."])
    assert [len(report.calls) for report in reports] == [1, 3, 1]
    calls = [call for report in reports for call in report.calls]
    require_exact(calls)
    read = [pair(call)[1] for call in reports[1].calls]
    # Each step reads the whole request of the step before.
    assert read[1].cached >= read[0].input - 10
    assert read[2].cached >= read[1].input - 10
    assert {ended(call).verdict.cause for call in calls[1:]} == {Cause.NOTHING}


@pytest.mark.parametrize("edited", ["an old message", "the system prompt"])
@pytest.mark.requirement("LAB-3")
async def test_an_edit_in_the_middle_gets_what_is_expected_and_is_named(model: LocalModel, edited: str) -> None:
    clock = HandClock()
    store = SqliteStore.open(":memory:")
    watch = CacheWatch(store=store, model=model, clock=clock, conversation="main")
    facts = " ".join(f"Fact {number} is about trains." for number in range(25))
    history = (user(f"One. {facts}"), assistant("A."), user(f"Two. {facts}"), assistant("B."))

    def window(system: str, *said: Message) -> Window:
        return Window(system, "", said, "", (user("And now?"),), framing=model.framing)

    async def ask(window: Window) -> Call:
        request = model.encode(window)
        watched = await watch.before(request, await store.save_request(request), turn=1, framing=model.framing.framing)
        events = [event async for event in model.stream(watch.request_to_send(request))]
        finished = events[-1]
        assert isinstance(finished, Finished)
        clock.advance(minutes=1)
        return await watch.after(watched, finished)

    try:
        calls = [
            await ask(window("You help.", *history)),
            await ask(window("You help.", *history, user("C"), assistant("D"))),
        ]
        if edited == "an old message":
            calls.append(await ask(window("You help.", *history[:2], user(f"Too. {facts}"), assistant("B."))))
        else:
            calls.append(await ask(window("You hinder.", *history)))
        calls.append(await ask(window("You help.", *history)))
    finally:
        await store.close()
    require_exact(calls)
    verdict = ended(calls[2]).verdict
    assert verdict.cause is Cause.MOVED
    assert verdict.tokens > 100
    if edited == "an old message":
        assert verdict.place in ("messages[3].content[0]", "messages[2].content[0]")
        assert ("Two." in verdict.before, "Too." in verdict.after) == (True, True)
    else:
        assert ("You help." in verdict.before, "You hinder." in verdict.after) == (True, True)
        assert pair(calls[2])[1].cached < 30


async def test_a_new_assistant_on_an_engine_that_lives_on_gets_what_is_expected(
    model: LocalModel, tmp_path: Path
) -> None:
    db, clock = str(tmp_path / "mind.db"), HandClock()
    async with bench(model, db=db, clock=clock) as bench_:
        await talk(bench_, MESSAGES[:2])
    async with bench(model, db=db, clock=clock) as bench_:
        (report,) = await talk(bench_, MESSAGES[2:3])
    require_exact(report.calls)
    assert report.usage.cached > 200
    assert ended(report.calls[0]).verdict.cause is Cause.NOTHING


@pytest.mark.parametrize("api", APIS)
@pytest.mark.requirement("LAB-3")
async def test_after_a_restart_of_the_engine_nothing_is_expected_and_the_cause_is_told(
    api: str, tmp_path: Path
) -> None:
    db, clock = str(tmp_path / "mind.db"), HandClock()
    reports = []
    for messages in (MESSAGES[:2], MESSAGES[2:4]):
        model = open_model(api)
        try:
            async with bench(model, db=db, clock=clock) as bench_:
                reports += await talk(bench_, messages)
        finally:
            await model.close()
    calls = [call for report in reports for call in report.calls]
    require_exact(calls)
    restarted = calls[2]
    assert pair(restarted)[0].cached == 0
    assert ended(restarted).verdict.cause is Cause.EVICTED
    assert "started anew" in ended(restarted).verdict.reason
    assert 100 < ended(restarted).verdict.tokens < pair(restarted)[1].input
    assert ended(calls[3]).verdict.cause is Cause.NOTHING
