"""After a pause the closed segments leave the window with a summary in their place; between pauses nothing moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from frontmind.assistant.report import TurnReport
from frontmind.assistant.window_opening import Reader
from frontmind.continuum.collapse import EARLIER_SEGMENTS
from frontmind.errors import ModelError
from frontmind.providers.diagnostics import DIAGNOSTICS
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.trinkets.markup import Element, parse
from frontmind.values.message import Message
from frontmind.values.parts import Text, Voice
from frontmind.values.records import SegmentSummary, Turn, WindowOpening
from frontmind.window.canonical import canonical_json
from support import EVERY_WAY, Bench, HandClock, bench, playing, prefix

CLAUDE = "anthropic:claude-sonnet-4-5"
LONG = "We walk along the river and count the {} herons in the reeds. " * 40
"""About 600 tokens."""


def replies(request: Request) -> str:
    return "I see. " + "The herons stand still. " * 40


async def say(bench_: Bench, *numbers: int, minutes: int = 1) -> list[TurnReport]:
    """A long turn for each number, each so many minutes after the one before."""
    reports = []
    for number in numbers:
        bench_.clock.advance(minutes=minutes)
        reports.append(
            await bench_.orchestrator.run_turn(f"Walk {number} was long. " + LONG.replace("{}", str(number)))
        )
    return reports


def first_text(report: TurnReport) -> str:
    """The first text of the conversation as it was sent: of the history, or where there is none of the turn."""
    message = (*report.window.history, *report.window.turn)[0]
    return next(part.text for part in message.parts if isinstance(part, Text))


def told(text: str) -> tuple[Element, ...]:
    element = parse(text)
    assert element.name == EARLIER_SEGMENTS
    assert isinstance(element.body, tuple)
    return element.body


async def test_after_a_pause_the_closed_segments_leave_and_a_summary_stands_for_them() -> None:
    async with bench(playing(CLAUDE, replies)) as bench_:
        before = await say(bench_, 1, 2, 3, 4)
        bench_.clock.advance(hours=2)
        (after,) = await say(bench_, 5)
        again = await say(bench_, 6)
        opening = await bench_.store.window_opening("main")
    assert [report.left_out for report in before] == [0, 0, 0, 0]
    # The morning's end is still there: two of its turns fit into what is carried over.
    assert (after.left_out, after.collapsed, after.was_full) == (2, 0, False)
    assert [message.text[-1350:-1330] for message in after.window.history[::2]] == [
        (f"Walk {number} was long. " + LONG.replace("{}", str(number)))[-1350:-1330] for number in (3, 4)
    ]
    (segment,) = told(first_text(after))
    assert segment.attributes["from"] == "2026-11-30 09:16"
    assert segment.attributes["to"] == "2026-11-30 09:19"
    assert segment.attributes["extract"] == "true"
    assert segment.attributes["still_sent"] == "its end"
    assert "herons" in str(segment.body)
    assert opening == WindowOpening(3, first_text(after))
    assert first_text(again[0]) == first_text(after)
    assert again[0].left_out == 0


async def test_the_next_pause_takes_the_rest_of_the_segment_and_keeps_the_older_summary_in_place() -> None:
    async with bench(playing(CLAUDE, replies)) as bench_:
        await say(bench_, 1, 2, 3, 4)
        bench_.clock.advance(hours=2)
        await say(bench_, 5, 6, 7)
        bench_.clock.advance(hours=2)
        (after,) = await say(bench_, 8)
    assert (after.collapsed, after.was_full) == (1, False)
    assert [item.attributes["number"] for item in told(first_text(after))] == ["1", "2"]
    assert [item.attributes.get("still_sent") for item in told(first_text(after))] == [None, "its end"]


async def test_a_short_conversation_is_not_collapsed() -> None:
    async with bench(playing(CLAUDE, lambda request: "ok")) as bench_:
        reports = []
        for _ in range(6):
            reports.append(await bench_.orchestrator.run_turn("good morning"))
            bench_.clock.advance(hours=3)
    assert [report.left_out for report in reports] == [0] * 6
    assert len(reports[-1].window.history) == 10


async def test_where_a_whole_segment_is_too_much_the_summary_stands_in_front_of_the_question_and_stays_there() -> None:
    async with bench(playing(CLAUDE, lambda request: "long answer " * 900)) as bench_:
        await say(bench_, 1)
        bench_.clock.advance(hours=2)
        (after,) = await say(bench_, 2)
        (following,) = await say(bench_, 3)
    assert len(after.window.history) == 0
    assert told(first_text(after))
    assert len(after.window.turn[0].parts) == 2
    assert following.window.history[0] == after.window.turn[0]


def durable(request: Request) -> list[bytes]:
    """What a cache sees, without what stands around the question that is asked."""
    layout = read_request(request)
    return [canonical_json(list(map(str, block.key))) for block in layout.blocks if not block.cleared]


@pytest.mark.requirement("RULE-1")
@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
async def test_between_collapses_not_a_byte_of_the_history_moves(name: str, framing: Any) -> None:
    async with bench(playing(name, replies, framing)) as bench_:
        reports = []
        for numbers in ((1, 2, 3, 4), (5, 6), (7, 8, 9)):
            reports += await say(bench_, *numbers)
            bench_.clock.advance(hours=2)
        sent = await bench_.sent()
    moved = [index for index, report in enumerate(reports) if report.left_out]
    assert moved == [4, 6]
    for index in range(1, len(reports)):
        before, after = reports[index - 1].window, reports[index].window
        if index in moved:
            assert told(first_text(reports[index]))
            continue
        assert (after.cached_system, after.tools) == (before.cached_system, before.tools)
        assert list(after.history[: len(before.history)]) == list(before.history)
        assert after.history[len(before.history)].text == before.turn[0].text
        if framing.keeps(Voice.USER) and framing.value != "developer":
            # Everything that was sent is sent again.
            assert durable(sent[index])[: len(durable(sent[index - 1]))] == durable(sent[index - 1])


async def test_in_the_bytes_of_a_request_the_summary_keeps_its_place(tmp_path: Path) -> None:
    path = str(tmp_path / "mind.db")
    clock = HandClock()
    async with bench(playing(CLAUDE, replies), db=path, clock=clock) as bench_:
        await say(bench_, 1, 2, 3, 4)
        clock.advance(hours=2)
        await say(bench_, 5)
    async with bench(playing(CLAUDE, replies), db=path, clock=clock) as bench_:
        await say(bench_, 6, 7)
        sent = await bench_.sent()
    for one, other, length in ((4, 5, 4), (5, 6, 6)):
        assert prefix(sent[one], length) == prefix(sent[other], length)
    assert prefix(sent[3], 1) != prefix(sent[4], 1)


@pytest.mark.parametrize("model", [CLAUDE, "deepseek:deepseek-chat", "openai:gpt-5.5", "local"])
async def test_a_look_ahead_says_what_the_turn_will_send(model: str) -> None:
    async with bench(playing(model, replies)) as bench_:
        await say(bench_, 1, 2, 3, 4)
        for hours in (2, 0, 5):
            bench_.clock.advance(hours=hours)
            shown = await bench_.mind.builder.preview("And now?", reader=bench_.model)
            report = await bench_.orchestrator.run_turn("And now?")
            sent = (await bench_.sent())[-1]
            assert canonical_json(bench_.model.encode(shown.window)) == canonical_json(sent)
            assert shown.opening == report_opening(report, shown.opening)


def report_opening(report: TurnReport, shown: WindowOpening) -> WindowOpening:
    return replace(shown, summary=first_text(report) if shown.summary else "")


class Failing(ScriptedModel):
    """Fails as often as it is told to, before it says anything."""

    def __init__(self, script: Callable[[Request], str]) -> None:
        played = playing(CLAUDE, script)
        super().__init__(script, name=played.name, profile=played.profile, framing=played.framing)
        self.failures = 0
        self.requests: list[Request] = []

    def _reply(self, request: Request) -> str | Message:
        self.requests.append(request)
        if self.failures:
            self.failures -= 1
            raise ModelError("down", model=self.name)
        return super()._reply(request)


async def test_a_turn_that_does_not_complete_changes_nothing_and_the_next_decides_the_same() -> None:
    model = Failing(replies)
    async with bench(model) as bench_:
        await say(bench_, 1, 2, 3, 4)
        bench_.clock.advance(hours=2)
        model.failures = 1
        with pytest.raises(ModelError):
            await say(bench_, 5)
        assert await bench_.store.window_opening("main") == WindowOpening()
        (after,) = await say(bench_, 6)
        opening = await bench_.store.window_opening("main")
    failed, answered = model.requests[-2:]
    assert opening == WindowOpening(3, first_text(after))
    assert (after.left_out, after.joined) == (2, 1)
    # What the failed request may have written to the cache is read by the next.
    assert prefix(failed, 4) == prefix(answered, 4)


class KeepsAll:
    """An opener that lets nothing leave."""

    async def opening(
        self, turn: Turn, before: Sequence[Turn], stored: WindowOpening, *, reader: Reader | None
    ) -> WindowOpening:
        return stored

    async def moved(
        self, turn: Turn, before: Sequence[Turn], start: int, *, reader: Reader | None, room: int | None = None
    ) -> WindowOpening:
        raise AssertionError("everything fits here")


@pytest.mark.parametrize(("minutes", "left"), [(4, 0), (6, 4)])
async def test_inside_of_a_segment_nothing_leaves_while_the_cache_may_be_warm(minutes: int, left: int) -> None:
    # Five minutes are the lifetime that the history of this model is marked for.
    async with bench(playing(CLAUDE, replies)) as bench_:
        own = bench_.mind.builder._opener
        bench_.mind.builder._opener = KeepsAll()
        await say(bench_, 1, 2, 3)
        bench_.clock.advance(hours=2)
        await say(bench_, 4, 5, 6)
        bench_.clock.advance(hours=2)
        await say(bench_, 7)
        bench_.mind.builder._opener = own
        (report,) = await say(bench_, 8, minutes=minutes)
    assert report.left_out == left


async def test_a_failed_request_in_between_may_have_kept_the_cache_alive() -> None:
    model = Failing(replies)
    async with bench(model) as bench_:
        own = bench_.mind.builder._opener
        bench_.mind.builder._opener = KeepsAll()
        await say(bench_, 1, 2, 3, 4)
        bench_.clock.advance(hours=2)
        await say(bench_, 5)
        bench_.mind.builder._opener = own
        model.failures = 1
        with pytest.raises(ModelError):
            await say(bench_, 6, minutes=4)
        (warm,) = await say(bench_, 7, minutes=4)
        (cold,) = await say(bench_, 8, minutes=6)
    assert (warm.left_out, cold.left_out) == (0, 2)


async def test_when_the_window_is_full_turns_leave_in_one_step_with_a_summary() -> None:
    model = playing(CLAUDE, replies)
    model.context_limit = 9_000
    async with bench(model) as bench_:
        reports = await say(bench_, *range(1, 21))
    full = [report for report in reports if report.left_out]
    assert 1 <= len(full) <= 4
    assert all(report.was_full and report.left_out > 1 for report in full)
    (segment,) = told(first_text(full[-1]))
    assert segment.attributes["still_sent"] == "its end"
    assert segment.attributes["from"] == "2026-11-30 09:16"
    assert segment.attributes["to"] > "2026-11-30 09:17"
    assert "the 1 herons" in str(segment.body)


async def test_a_better_summary_enters_the_window_with_the_next_collapse_and_not_before() -> None:
    async with bench(playing(CLAUDE, replies)) as bench_:
        await say(bench_, 1, 2, 3, 4)
        bench_.clock.advance(hours=2)
        (first,) = await say(bench_, 5)
        written = SegmentSummary("Herons", "The person counted herons & <reeds>.", "anthropic:m", bench_.clock.now())
        await bench_.store.save_summary("main", 1, written)
        second, third = await say(bench_, 6, 7)
        bench_.clock.advance(hours=2)
        (after,) = await say(bench_, 8)
    assert first_text(second) == first_text(third) == first_text(first)
    segment = told(first_text(after))[0]
    assert (segment.attributes["title"], segment.body) == ("Herons", "The person counted herons & <reeds>.")
    assert "extract" not in segment.attributes


async def test_a_summary_that_came_after_a_look_ahead_is_in_the_turn() -> None:
    async with bench(playing(CLAUDE, replies)) as bench_:
        await say(bench_, 1, 2, 3, 4)
        bench_.clock.advance(hours=2)
        await bench_.mind.builder.preview("And now?", reader=bench_.model)
        written = SegmentSummary("Herons", "The person counted herons.", "anthropic:m", bench_.clock.now())
        await bench_.store.save_summary("main", 1, written)
        (after,) = await say(bench_, 5)
    assert told(first_text(after))[0].body == "The person counted herons."


async def test_a_message_that_waits_goes_along_when_its_segment_leaves() -> None:
    model = Failing(replies)
    async with bench(model) as bench_:
        await say(bench_, 1, 2, 3, 4)
        model.failures = 1
        with pytest.raises(ModelError):
            await bench_.orchestrator.run_turn("Do not forget the boat.")
        bench_.clock.advance(hours=2)
        (after,) = await say(bench_, 5)
        bench_.clock.advance(hours=2)
        await say(bench_, 6)
    assert (after.left_out, after.joined) == (2, 1)
    assert "Do not forget the boat." in after.window.turn[0].text
    assert "boat" not in first_text(after)


async def test_the_manifest_lists_all_segments_and_says_what_the_window_holds() -> None:
    async with bench(playing(CLAUDE, replies)) as bench_:
        for numbers in ((1, 2, 3), (4, 5, 6), (7, 8)):
            reports = await say(bench_, *numbers)
            bench_.clock.advance(hours=2)
    (manifest,) = [item for item in reports[-1].window.sections if item.name == "conversation_manifest"]
    body = parse(manifest.content).body
    assert isinstance(body, tuple)
    assert [(item.attributes["number"], item.attributes.get("in_window")) for item in body] == [
        ("1", None),
        ("2", "its end"),
        ("3", "true"),
    ]
    assert [item.attributes.get("turns") for item in body] == ["3", "3", None]
    assert [item.attributes["to"] for item in body] == ["09:18", "11:21", "now"]


@dataclass(frozen=True)
class Exchange:
    """A message that is sent so many minutes after the one before."""

    minutes: int
    length: int
    outcome: str
    restarts: bool


exchanges = st.lists(
    st.builds(
        Exchange,
        minutes=st.sampled_from([0, 1, 4, 6, 59, 60, 61, 600]),
        length=st.sampled_from([1, 20, 60, 200]),
        outcome=st.sampled_from(["answered", "answered", "answered", "down"]),
        restarts=st.booleans(),
    ),
    min_size=4,
    max_size=12,
)


async def played(talk: Sequence[Exchange], folder: Path) -> list[tuple[Request, Request, TurnReport]]:
    """For each answered exchange what a look ahead showed, what was sent, and the report."""
    clock, model = HandClock(), Failing(lambda request: "I see the point of it. " * 30)
    seen = []
    opened = AsyncExitStack()
    for number, exchange in enumerate(talk):
        if number == 0 or exchange.restarts:
            await opened.aclose()
            bench_ = await opened.enter_async_context(bench(model, db=str(folder / "mind.db"), clock=clock))
        clock.advance(minutes=exchange.minutes)
        text = f"Question {number} is about the river. " + "The water is high. " * exchange.length
        model.failures = int(exchange.outcome == "down")
        shown = await bench_.mind.builder.preview(text, reader=model)
        with suppress(ModelError):
            report = await bench_.orchestrator.run_turn(text)
            sent: Request = {key: value for key, value in model.requests[-1].items() if key != DIAGNOSTICS}
            seen.append((model.encode(shown.window), sent, report))
    await opened.aclose()
    return seen


@pytest.mark.requirement("RULE-1")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(exchanges)
@example(
    [
        *(Exchange(1, 200, "answered", restarts=False) for _ in range(4)),
        Exchange(61, 200, "down", restarts=True),
        Exchange(6, 20, "answered", restarts=True),
        Exchange(6, 200, "answered", restarts=False),
        Exchange(600, 200, "answered", restarts=True),
    ]
)
def test_whatever_pauses_and_failures_there_are_only_a_collapse_moves_the_history(talk: list[Exchange]) -> None:
    with TemporaryDirectory() as folder:
        seen = asyncio.run(played(talk, Path(folder)))
    for shown, sent, _ in seen:
        assert canonical_json(shown) == canonical_json(sent)
    for (_, _, before), (_, _, after) in pairwise(seen):
        if after.left_out:
            assert told(first_text(after))
        else:
            kept_history = list(before.window.history)
            assert list(after.window.history[: len(kept_history)]) == kept_history
            assert after.window.history[len(kept_history)].parts == before.window.turn[0].parts
