"""What is expected of the cache before each call of a conversation, and the verdict after it.

The provider is a scripted one whose cache is real: it counts with sizes of its own, which no estimate knows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from frontmind.assistant.cache_watch import is_large
from frontmind.assistant.orchestrator import Orchestrator
from frontmind.assistant.report import CacheLoss, TurnEvent, TurnReport
from frontmind.assistant.wiring import build_mind, build_orchestrator
from frontmind.cachelab.outcome import Outcome
from frontmind.cachelab.prediction import Prediction, judged, told_by_engine
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import SizedRequest
from frontmind.cachelab.stored import stored_session
from frontmind.cli.cache_words import cache_text
from frontmind.cli.terminal import event_line
from frontmind.cli.views import report_json
from frontmind.errors import FrontmindError, ModelError, RequestRefused, StoreError, UsageError
from frontmind.providers.protocol import Finished, Request, StreamEvent
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.calls import CacheVerdict, Call, CallEnd, Cause, Purpose
from frontmind.values.message import Message
from frontmind.values.usage import Usage
from frontmind.window.choice import Framing
from support import EVERY_WAY, Bench, HandClock, bench, calling, remember, selected

CLAUDE = "anthropic:claude-sonnet-4-5"
LONG = "tell me about tea and mountains and what to pack for a long walk " * 60
"""About 800 tokens by the rule of thumb."""


class CountingModel(ScriptedModel):
    """Plays a hosted model: it counts with its own sizes, and its cache keeps the rules of the profile."""

    def __init__(
        self,
        name: str,
        clock: HandClock,
        script: Sequence[str | Message] | Callable[[Request], str | Message],
        *,
        framing: Framing | None = None,
        overrides: str = "min_cached_tokens=10",
        reports: bool = True,
    ) -> None:
        selection = selected(name, framing, overrides)
        super().__init__(script, name=name, profile=selection.profile, framing=selection.framing, max_output_tokens=99)
        self._clock = clock
        self._reports = reports
        self.cache = CacheSimulator(self.profile)

    def forget(self) -> None:
        """Drop all entries, as a provider does now and then."""
        self.cache = CacheSimulator(self.profile)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        usage = self.cache.send(counted(request), self._clock.now()).usage
        async for event in super().stream(request):
            if isinstance(event, Finished) and self._reports:
                yield replace(event, usage=replace(usage, output=event.usage.output, estimated=False))
            else:
                yield event

    async def expected_cached(self, request: Request) -> int | None:
        return None


class Forgetful(CacheSimulator):
    """Holds nothing, and looks at nothing."""

    def send(self, request: SizedRequest, at: datetime, **_: Any) -> Outcome:
        return Outcome(0, 0, sum(request.tokens), (), (), "", 0, CacheVerdict(Cause.FIRST))


def counted(request: Request) -> SizedRequest:
    """Sizes that depend on the text alone and are a tenth to a half larger than by the rule of thumb."""
    layout = read_request(request)
    return SizedRequest(
        layout, tuple(block.tokens + block.tokens * (10 + crc32(block.data) % 40) // 100 for block in layout.blocks)
    )


async def talk(bench_: Bench, *messages: str) -> list[TurnReport]:
    reports = []
    for message in messages:
        reports.append(await bench_.orchestrator.run_turn(message))
        bench_.clock.advance(minutes=1)
    return reports


def losses(events: Sequence[TurnEvent]) -> list[CacheLoss]:
    return [event for event in events if isinstance(event, CacheLoss)]


def ends(report: TurnReport) -> list[CallEnd]:
    return [call.end for call in report.calls if call.end is not None]


def expected(call: Call) -> Usage:
    assert call.new.expected is not None
    return call.new.expected


async def test_what_is_read_is_expected_to_the_token_from_the_third_turn_on() -> None:
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    async with bench(model, clock=clock) as bench_:
        reports = await talk(bench_, *(f"{n} {LONG}" for n in range(6)))
    usages = [report.usage for report in reports]
    assert usages[0].cached == reports[0].expected_cached == 0
    for before, report in zip(usages[1:], reports[2:], strict=False):
        assert report.usage.cached == before.cached + before.written > 0
        assert report.expected_cached == report.usage.cached, f"turn {report.turn}"
    assert {end.verdict.cause for report in reports[1:] for end in ends(report)} == {Cause.NOTHING}


async def test_every_step_of_a_tool_loop_is_expected_to_the_token() -> None:
    clock = HandClock()
    steps = [calling(("list_reminders", {}), said="One moment."), calling(("list_documents", {}), said="And here.")]
    model = CountingModel(CLAUDE, clock, [f"first {LONG}", f"second {LONG}", *steps, "done", *steps, "done"])
    async with bench(model, clock=clock) as bench_:
        reports = await talk(bench_, f"1 {LONG}", f"2 {LONG}", f"3 {LONG}", f"4 {LONG}")
        noted = await bench_.store.calls(conversation="main")
    for report in reports[2:]:
        assert [call.new.step for call in report.calls] == [0, 1, 2]
        for call, end in zip(report.calls, ends(report), strict=True):
            assert expected(call).cached == end.usage.cached > 0
            assert end.verdict.cause is Cause.NOTHING
    assert [call for report in reports for call in report.calls] == list(noted)
    assert {(call.new.purpose, call.new.layout, call.new.model) for call in noted} == {
        (Purpose.TURN, "assistant", CLAUDE)
    }
    assert len({call.new.request for call in noted}) == len(noted) == 8


async def test_another_process_expects_what_the_first_one_would_have(tmp_path: Path) -> None:
    db, clock = str(tmp_path / "mind.db"), HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    async with bench(model, db=db, clock=clock) as bench_:
        await talk(bench_, *(f"{n} {LONG}" for n in range(3)))
    async with bench(model, db=db, clock=clock) as bench_:
        (report,) = await talk(bench_, f"4 {LONG}")
    assert report.expected_cached == report.usage.cached > 1000


@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
async def test_an_estimate_never_says_that_the_provider_dropped_something(name: str, framing: Framing) -> None:
    clock = HandClock()
    script: list[str | Message] = []
    for turn in range(7):
        if turn in (3, 5):
            script.append(calling(("list_reminders", {}), said="One moment."))
        script.append(f"reply {turn} " + "and more of it " * 40 * turn)
    model = CountingModel(name, clock, script, framing=framing, overrides="")
    async with bench(model, clock=clock) as bench_:
        await remember(bench_.store, "You prefer tea to coffee.", clock.now())
        reports = await talk(bench_, *(f"{n} {LONG[: 900 * n]}" for n in range(7)))
    verdicts = [end.verdict for report in reports for end in ends(report)]
    assert len(verdicts) == 9
    assert {verdict.cause for verdict in verdicts} <= {Cause.FIRST, Cause.NOTHING, Cause.MINIMUM}


async def test_what_the_provider_dropped_is_seen_afterwards() -> None:
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    events: list[TurnEvent] = []
    async with bench(model, clock=clock) as bench_:
        await talk(bench_, *(f"{n} {LONG}" for n in range(4)))
        model.forget()
        report = await bench_.orchestrator.run_turn("and now?", on_event=events.append)
        (again,) = await talk(bench_, "and then?")
    (end,) = ends(report)
    assert end.usage.cached == 0 < expected(report.calls[0]).cached
    assert (end.verdict.cause, end.verdict.tokens) == (Cause.EVICTED, expected(report.calls[0]).cached)
    assert losses(events) == [], "nobody could know before"
    assert ends(again)[0].verdict.cause is Cause.NOTHING


async def test_a_pause_longer_than_the_lifetime_is_announced() -> None:
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    events: list[TurnEvent] = []
    async with bench(model, clock=clock) as bench_:
        await talk(bench_, *(f"{n} {LONG}" for n in range(5)))
        clock.advance(minutes=20)
        report = await bench_.orchestrator.run_turn("and now?", on_event=events.append)
    (event,) = losses(events)
    assert isinstance(event, CacheLoss)
    assert event.verdict.cause is Cause.EXPIRED
    (end,) = ends(report)
    # The system prompt is kept for an hour, the history for five minutes.
    assert end.usage.cached == expected(report.calls[0]).cached > 0
    assert end.verdict.cause is Cause.EXPIRED
    assert 2000 < end.verdict.tokens < end.usage.input


async def test_a_changed_system_prompt_is_announced_with_the_first_bytes_that_differ(tmp_path: Path) -> None:
    db, clock = str(tmp_path / "mind.db"), HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    events: list[TurnEvent] = []
    store = SqliteStore.open(db)
    try:
        for persona in ("You are kind. You help.", "You are kind. You insist."):
            mind = build_mind(store=store, clock=clock, persona=persona)
            orchestrator = build_orchestrator(mind, store=store, model=model, clock=clock)
            events.clear()
            for number in range(4):
                await orchestrator.run_turn(f"{number} {LONG}", on_event=events.append)
                clock.advance(minutes=1)
            mind.close()
    finally:
        await store.close()
    (event,) = losses(events)
    assert isinstance(event, CacheLoss)
    assert event.verdict.cause is Cause.MOVED
    assert "base_prompt" in event.verdict.place
    assert "You are kind. You help." in event.verdict.before
    assert "You are kind. You insist." in event.verdict.after


async def test_another_model_is_announced_as_the_cause(tmp_path: Path) -> None:
    db, clock = str(tmp_path / "mind.db"), HandClock()
    events: list[TurnEvent] = []
    for name in (CLAUDE, "openai:gpt-5.5"):
        model = CountingModel(name, clock, lambda request: "a reply")
        reports = []
        async with bench(model, db=db, clock=clock) as bench_:
            events.clear()
            for number in range(4):
                reports.append(await bench_.orchestrator.run_turn(f"{number} {LONG}", on_event=events.append))
                clock.advance(minutes=1)
    (event,) = losses(events)
    assert isinstance(event, CacheLoss)
    assert (event.verdict.cause, event.verdict.before, event.verdict.after) == (Cause.MODEL, CLAUDE, "openai:gpt-5.5")
    # What was announced is also what the ledger has of it.
    assert [end.verdict for report in reports for end in ends(report)] == [
        event.verdict,
        *[CacheVerdict(Cause.NOTHING)] * 3,
    ]


async def test_neither_a_first_call_nor_a_section_that_slides_is_announced() -> None:
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    events: list[TurnEvent] = []
    async with bench(model, clock=clock) as bench_:
        for number in range(5):
            await bench_.store.add_reminder(f"{number} {LONG}", clock.now(), zone="Europe/Berlin", at=clock.now())
            report = await bench_.orchestrator.run_turn(f"{number} {LONG}", on_event=events.append)
            clock.advance(minutes=1)
    assert "tea and mountains" in report.window.notification_center
    assert losses(events) == []


async def test_a_prompt_below_the_minimum_is_no_loss() -> None:
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply", overrides="min_cached_tokens=100000")
    async with bench(model, clock=clock) as bench_:
        reports = await talk(bench_, *(f"{n} {LONG}" for n in range(3)))
    assert [end.usage.cached for report in reports for end in ends(report)] == [0, 0, 0]
    verdicts = [end.verdict for report in reports for end in ends(report)]
    assert [verdict.cause for verdict in verdicts[1:]] == [Cause.MINIMUM, Cause.MINIMUM]
    assert {verdict.tokens for verdict in verdicts} == {0}


async def test_a_provider_that_caches_only_more_than_we_know_raises_no_alarm() -> None:
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    model.cache = CacheSimulator(replace(model.profile, min_cached_tokens=100_000))
    async with bench(model, clock=clock) as bench_:
        reports = await talk(bench_, *(f"{n} {LONG}" for n in range(4)))
    assert [report.usage.cached + report.usage.written for report in reports] == [0, 0, 0, 0]
    assert [expected(call).cached for report in reports for call in report.calls] == [0, 0, 0, 0]
    verdicts = [end.verdict for report in reports[1:] for end in ends(report)]
    # It is not our minimum that these prompts are below of.
    assert [verdict.cause for verdict in verdicts] == [Cause.EVICTED] * 3
    assert all("has cached nothing" in verdict.reason for verdict in verdicts)
    assert {verdict.tokens for verdict in verdicts} == {0}


async def test_a_small_loss_is_noted_and_not_announced() -> None:
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    events: list[TurnEvent] = []
    async with bench(model, clock=clock) as bench_:
        await talk(bench_, f"1 {LONG}", f"2 {LONG}")
        clock.advance(minutes=20)
        report = await bench_.orchestrator.run_turn("and now?", on_event=events.append)
    (end,) = ends(report)
    assert end.verdict.cause is Cause.EXPIRED
    assert 0 < end.verdict.tokens < 2000
    assert losses(events) == []


@pytest.mark.parametrize(("lost", "prompt", "large"), [(2001, 9000, True), (2000, 9000, False), (2001, 50_000, False)])
def test_a_loss_is_large_by_its_share_and_by_its_tokens(lost: int, prompt: int, large: bool) -> None:
    assert is_large(CacheVerdict(Cause.MOVED, lost), prompt) is large


async def test_a_server_that_counts_nothing_raises_no_alarm() -> None:
    clock = HandClock()
    model = CountingModel("compatible:m@http://127.0.0.1:9/v1", clock, lambda request: "a reply", reports=False)
    events: list[TurnEvent] = []
    async with bench(model, clock=clock) as bench_:
        reports = await talk(bench_, *(f"{n} {LONG}" for n in range(4)))
        assert all(end.usage.estimated and end.cost is None for report in reports for end in ends(report))
    assert {end.verdict.cause for report in reports[1:] for end in ends(report)} == {Cause.NOTHING}
    assert losses(events) == []


async def test_a_call_that_breaks_off_leaves_its_beginning_and_does_not_count() -> None:
    clock = HandClock()
    replies: list[str | None] = ["one", "two", None, "four"]

    def script(request: Request) -> str:
        reply = replies.pop(0)
        if reply is None:
            raise ModelError("the line is dead; try again", model=CLAUDE)
        return reply

    model = CountingModel(CLAUDE, clock, script)
    async with bench(model, clock=clock) as bench_:
        await talk(bench_, f"1 {LONG}", f"2 {LONG}")
        with pytest.raises(ModelError):
            await bench_.orchestrator.run_turn("3")
        (report,) = await talk(bench_, "4")
        noted = await bench_.store.calls(conversation="main")
    assert [call.end is not None for call in noted] == [True, True, False, True]
    # It went out and was cached all the same: more is read than is expected, and that is no loss.
    assert ends(report)[0].verdict.cause is Cause.NOTHING
    assert report.usage.cached >= expected(report.calls[0]).cached > 0


@pytest.mark.parametrize("method", ["begin_call", "finish_call", "calls"])
@pytest.mark.parametrize(
    "error",
    [
        StoreError("the disk is full; free some space", path="mind.db"),
        UsageError("the disk is full; free some space"),
        FrontmindError("the disk is full; free some space"),
    ],
)
async def test_a_ledger_that_fails_costs_no_reply_and_is_told(
    method: str, error: FrontmindError, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*args: object, **kwargs: object) -> None:
        raise error

    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    async with bench(model, clock=clock) as bench_:
        monkeypatch.setattr(SqliteStore, method, failing)
        (report,) = await talk(bench_, "hello")
        turns = await bench_.store.turns("main")
        monkeypatch.undo()
        (after,) = await talk(bench_, "hello again")
    assert report.reply == "a reply"
    assert [turn.reply is not None and turn.reply.text for turn in turns] == ["a reply"]
    assert len(report.problems) == 1
    assert "the disk is full; free some space" in report.problems[0]
    assert after.problems == ()


async def test_a_request_that_cannot_be_read_any_more_costs_no_reply_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*args: object, **kwargs: object) -> None:
        raise StoreError("the disk is bad; restore it", path="mind.db")

    db, clock = str(tmp_path / "mind.db"), HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    async with bench(model, db=db, clock=clock) as bench_:
        await talk(bench_, "one")
    async with bench(model, db=db, clock=clock) as bench_:
        monkeypatch.setattr(SqliteStore, "load_request", failing)
        (report,) = await talk(bench_, "two")
    assert report.reply == "a reply"
    assert ["the disk is bad; restore it" in problem for problem in report.problems] == [True]


@pytest.mark.parametrize("amount", [None, Decimal("nan"), Decimal("inf")])
async def test_a_price_that_cannot_be_had_costs_no_reply_and_is_told_once(amount: Decimal | None) -> None:
    def price(provider: str, model: str, usage: Usage) -> Decimal:
        if amount is None:
            raise UsageError("the price lists are not installed; install them")
        return amount

    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    async with bench(model, clock=clock) as bench_:
        orchestrator = build_orchestrator(bench_.mind, store=bench_.store, model=model, clock=clock, price_of=price)
        reports = [await orchestrator.run_turn("one"), await orchestrator.run_turn("two")]
        noted = await bench_.store.calls(conversation="main")
    assert [len(report.problems) for report in reports] == [1, 0]
    assert reports[0].problems[0].startswith("no price of a call is known: ")
    assert [(call.end.cost, call.end.full_price) for call in noted if call.end] == [(None, None)] * 2


async def test_a_call_that_is_sent_again_has_the_number_of_its_tool_step() -> None:
    clock = HandClock()
    asked = 0

    def script(request: Request) -> str | Message:
        nonlocal asked
        asked += 1
        match asked:
            case 2:
                raise ModelError("the line is dead; try again", model=CLAUDE)
            case 3:
                # The message that waits goes along, and is refused; the new one alone is taken.
                clock.advance(minutes=5)
                raise RequestRefused("not this", model=CLAUDE)
            case 4:
                clock.advance(minutes=10)
                return calling(("list_reminders", {}), said="One moment.")
            case _:
                return "a reply"

    model = CountingModel(CLAUDE, clock, script)
    async with bench(model, clock=clock) as bench_:
        await talk(bench_, "one")
        with pytest.raises(ModelError):
            await bench_.orchestrator.run_turn("two")
        begun = clock.now()
        await bench_.orchestrator.run_turn("three")
        noted = await bench_.store.calls(conversation="main")
        session = await stored_session(bench_.store, "main")
    steps = [(call.new.turn, call.new.step, call.end is not None) for call in noted]
    assert steps == [(1, 0, True), (2, 0, False), (3, 0, False), (3, 0, True), (3, 1, True)]
    last = session.turns[-1]
    assert [last.at - begun, last.steps[0].at - begun] == [timedelta(minutes=5), timedelta(minutes=15)]


async def test_a_turn_behind_a_long_loop_of_tools_is_expected_to_read_what_its_beginning_left() -> None:
    clock = HandClock()
    loop: list[str | Message] = [
        calling(("list_reminders", {}), said=f"Step {step}. " + "and so on " * 40) for step in range(12)
    ]
    model = CountingModel(
        "deepseek:deepseek-chat",
        clock,
        ["1", "2", *loop, "3", *loop, "4 " * 50, "5"],
        framing=Framing.ASSISTANT,
        overrides="",
    )
    async with bench(model, clock=clock) as bench_:
        await remember(bench_.store, "You prefer tea to coffee.", clock.now())
        report = (await talk(bench_, *(f"{n} {LONG}" for n in range(5))))[-1]
    (call,) = report.calls
    assert report.usage.cached > 2000
    assert abs(expected(call).cached - report.usage.cached) <= report.usage.input // 20


async def test_what_a_model_holds_is_expected_after_many_calls_of_another_one(tmp_path: Path) -> None:
    db, clock = str(tmp_path / "mind.db"), HandClock()
    models = {name: CountingModel(name, clock, lambda request: "a reply") for name in (CLAUDE, "openai:gpt-5.5")}
    for name in [CLAUDE] * 3 + ["openai:gpt-5.5"] * 9 + [CLAUDE]:
        async with bench(models[name], db=db, clock=clock) as bench_:
            report = await bench_.orchestrator.run_turn(LONG)
        clock.advance(seconds=10)
    assert report.expected_cached == report.usage.cached > 2000


async def test_of_a_long_conversation_a_call_reads_and_hashes_its_own_request_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    def noting(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            done.append(name)
            return do(*args, **kwargs)

        return noted

    monkeypatch.setattr("frontmind.cachelab.past_calls.read_request", noting("read", read_request))
    monkeypatch.setattr("frontmind.cachelab.prefixes.blake2b", noting("hash", blake2b))
    monkeypatch.setattr(SqliteStore, "load_request", noting("load", SqliteStore.load_request))
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    model.cache = Forgetful(model.profile)
    async with bench(model, clock=clock) as bench_:
        await talk(bench_, *(f"{n} {LONG}" for n in range(20)))
        done.clear()
        await talk(bench_, "and now?", "and then?")
    assert done == ["read", "hash"] * 2


async def test_a_call_has_its_price_with_and_without_a_cache() -> None:
    def price(provider: str, model: str, usage: Usage) -> Decimal | None:
        assert (provider, model) == ("anthropic", "claude-sonnet-4-5")
        return Decimal(10 * usage.input - 9 * usage.cached + 2 * usage.written + usage.output)

    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    async with bench(model, clock=clock) as bench_:
        orchestrator: Orchestrator = build_orchestrator(
            bench_.mind, store=bench_.store, model=model, clock=clock, price_of=price
        )
        await orchestrator.run_turn(f"1 {LONG}")
        report = await orchestrator.run_turn(f"2 {LONG}")
    (end,) = ends(report)
    usage = end.usage
    assert end.cost == 10 * usage.input - 9 * usage.cached + 2 * usage.written + usage.output
    assert end.full_price == 10 * usage.input + usage.output
    assert {part.name for part in end.parts} >= {"tools", "base_prompt", "history", "datetime_section", "user message"}
    assert {part.name: part.trinket for part in end.parts}["datetime_section"] == "TimeManager"
    assert sum(part.read + part.written + part.fresh for part in end.parts) == usage.input


ROUGH = Prediction(Usage(10_000, 8_000, 0, 0, estimated=True), 8_000, CacheVerdict(Cause.NOTHING), exact=False)
EXACT = replace(ROUGH, exact=True)
MOVED = replace(EXACT, expected=Usage(10_000, 3_000, 0, 0), verdict=CacheVerdict(Cause.MOVED, 5_000, "x is gone"))


@pytest.mark.parametrize(
    ("prediction", "cached", "cause", "tokens"),
    [
        (EXACT, 8_000, Cause.NOTHING, 0),
        (EXACT, 7_999, Cause.EVICTED, 1),
        (EXACT, 9_000, Cause.NOTHING, 0),
        (ROUGH, 7_600, Cause.NOTHING, 0),
        (ROUGH, 7_000, Cause.EVICTED, 1_000),
        (MOVED, 3_000, Cause.MOVED, 5_000),
        (MOVED, 4_000, Cause.MOVED, 4_000),
        (MOVED, 8_000, Cause.NOTHING, 0),
        (MOVED, 0, Cause.EVICTED, 8_000),
    ],
)
def test_the_verdict_follows_from_what_was_counted(
    prediction: Prediction, cached: int, cause: Cause, tokens: int
) -> None:
    verdict = judged(prediction, Usage(10_000, cached, 0, 5), selected(CLAUDE).profile)
    assert (verdict.cause, verdict.tokens) == (cause, tokens)
    if prediction is MOVED and cause is Cause.EVICTED:
        assert "x is gone" in verdict.reason


def test_a_prompt_about_as_large_as_the_minimum_is_not_called_dropped() -> None:
    near = Prediction(Usage(1_400, 1_200, 0, 0, estimated=True), 1_200, CacheVerdict(Cause.NOTHING), exact=False)
    verdict = judged(near, Usage(1_100, 0, 0, 5), selected(CLAUDE).profile)
    assert (verdict.cause, verdict.tokens) == (Cause.MINIMUM, 0)


def test_a_loss_that_is_known_stays_one_where_the_rest_is_about_as_large_as_the_minimum() -> None:
    expired = CacheVerdict(Cause.EXPIRED, 8_000, "the newest entry is older than its lifetime of 5m")
    near = Prediction(Usage(12_000, 1_100, 0, 0, estimated=True), 9_100, expired, exact=False)
    verdict = judged(near, Usage(12_000, 0, 9_000, 5), selected(CLAUDE).profile)
    assert (verdict.cause, verdict.tokens) == (Cause.EXPIRED, 9_100)


@pytest.mark.parametrize(
    ("tokens", "before", "cause", "lost"),
    [
        # The rules overrate what an engine holds whose template leaves tools out.
        (4_000, 3_900, Cause.NOTHING, 0),
        (4_000, 4_001, Cause.EVICTED, 1),
        (0, 0, Cause.EVICTED, 8_000),
        (800, 0, Cause.NOTHING, 0),
    ],
)
def test_an_engine_that_holds_less_than_before_was_started_anew(
    tokens: int, before: int, cause: Cause, lost: int
) -> None:
    told = told_by_engine(ROUGH, tokens, prompt=10_000, exact=True, before=before)
    assert (told.expected.cached, told.expected.estimated, told.exact) == (tokens, False, True)
    assert (told.verdict.cause, told.verdict.tokens) == (cause, lost)


def test_what_an_engine_keeps_of_a_prompt_that_moved_is_not_lost() -> None:
    told = told_by_engine(replace(MOVED, could=8_000), 2_000, prompt=10_000, exact=True, before=7_000)
    assert (told.verdict.cause, told.verdict.tokens) == (Cause.MOVED, 6_000)
    held = told_by_engine(replace(MOVED, could=8_000), 9_000, prompt=10_000, exact=True, before=7_000)
    assert held.verdict == CacheVerdict(Cause.NOTHING)


def test_what_is_told_of_a_loss_is_one_harmless_line() -> None:
    verdict = CacheVerdict(
        Cause.MOVED, 12_480, "system[0] (domaindoc) is another one", "system[0]", "a\x1b[2Jb\nc", "x" * 200
    )
    line = event_line(CacheLoss(verdict))
    assert line.startswith("[~12,480 tokens will not come from the cache: system[0] (domaindoc) is another one: ")
    assert '"a\ufffd[2Jb c" became "xxx' in line
    assert len(line) < 300
    assert "\n" not in line


async def test_the_cache_command_shows_each_call_with_its_parts() -> None:
    clock = HandClock()
    model = CountingModel(CLAUDE, clock, lambda request: "a reply")
    async with bench(model, clock=clock) as bench_:
        report = (await talk(bench_, f"1 {LONG}", f"2 {LONG}", f"3 {LONG}"))[-1]
    shown = cache_text(report)
    usage = report.usage
    assert f"call 1: {usage.cached:,} of {usage.input:,} prompt tokens read (~{usage.cached:,} expected)" in shown
    assert "all that was cached before was read" in shown
    assert "datetime_section" in shown
    assert report_json(report)["cache"] == [
        {
            "step": 0,
            "expected": {"input": expected(report.calls[0]).input, "cached": usage.cached},
            "cause": "nothing",
            "lost": 0,
            "reason": "",
            "place": "",
            "diagnosis": "",
            "cost": None if ends(report)[0].cost is None else str(ends(report)[0].cost),
        }
    ]
