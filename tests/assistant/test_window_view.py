"""An earlier window is shown as it was sent, and what its blocks cost adds up to what the provider counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from caching_model import CachingModel
from frontmind.assistant.looking_ahead import look_ahead
from frontmind.assistant.sent_windows import NoSuchWindow, SentWindows
from frontmind.assistant.window_changes import text_lines, window_changes
from frontmind.assistant.window_view import view_of_preview, view_of_sent
from frontmind.assistant.window_view_values import REST_AREA, BlockChange, ChangeKind, Operation, WindowView
from frontmind.errors import ModelError, UsageError
from frontmind.providers.protocol import Finished, Model, Request, StreamEvent, TokenCount
from frontmind.providers.reading import read_request
from frontmind.values.calls import Cause
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message, assistant, user
from frontmind.values.records import TurnState
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_json
from frontmind.window.choice import Framing
from support import EVERY_WAY, Bench, HandClock, bench, calling, without_markers

LONG = "Tell me about tea and mountains and what to pack for a long walk. " * 90
LOOK = calling(("list_reminders", {}), said="One moment.")
REMIND = calling(("add_reminder", {"text": "call Anna", "due": "2026-12-01T09:00"}))


class EngineModel(CachingModel):
    """Has its tokenizer at hand: a token for each word. Its template leaves tools out."""

    async def count_request(self, request: Request) -> TokenCount:
        return TokenCount(1, exact=True)

    async def count_text(self, text: str) -> TokenCount:
        return TokenCount(len(text.split()), exact=True)


@asynccontextmanager
async def talked(model: Model, clock: HandClock, *messages: str) -> AsyncIterator[Bench]:
    """A conversation in which this was said, a minute between the messages."""
    async with bench(model, clock=clock) as own:
        for message in messages:
            await own.orchestrator.run_turn(message)
            clock.advance(minutes=1)
        yield own


async def seen(own: Bench, turn: int, step: int | None = None, *, counts: bool = False) -> WindowView:
    windows = SentWindows(own.store, "main", model=own.model if counts else None, trinkets=own.mind.memory.trinkets)
    return view_of_sent(await windows.window(turn, step))


def texts_of(value: Any) -> list[str]:
    """Every text in a JSON value, and every part of it as JSON; what a request says is null, a cache does not see."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    return [canonical_json(value).decode(), *(text for item in inner for text in texts_of(item))]


def assert_adds_up(view: WindowView, usage: Usage) -> None:
    assert sum(block.tokens for block in view.blocks) == view.total == usage.input
    assert all(block.read + block.written + block.fresh == block.tokens for block in view.blocks)
    assert min(min(block.read, block.written, block.fresh) for block in view.blocks) >= 0
    figures = [sum(getattr(block, name) for block in view.blocks) for name in ("read", "written", "fresh")]
    # Where both are counted of the same tokens, they are shown as read.
    apart = usage.cached + usage.written <= usage.input
    written = usage.written if apart else max(usage.written - usage.cached, 0)
    assert figures == [usage.cached, written, usage.fresh]


@pytest.mark.requirement("WEB-5")
@pytest.mark.requirement("WEB-6")
@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
async def test_an_earlier_window_is_shown_as_it_was_sent_and_adds_up(name: str, framing: Framing) -> None:
    clock = HandClock()
    script: list[str | Message] = ["Tea is fine. " * 40, REMIND, LOOK, "Done. " * 40, "Yes. " * 40, "Good."]
    model = CachingModel(script, clock, name, framing)
    async with talked(model, clock, LONG, "Remind me to call Anna.", "And then?", "Thanks.") as own:
        calls = await own.store.calls(conversation="main")
        assert [(call.new.turn, call.new.step) for call in calls] == [(1, 0), (2, 0), (2, 1), (2, 2), (3, 0), (4, 0)]
        for call in calls:
            view = await seen(own, call.new.turn, call.new.step)
            assert call.end is not None
            assert (view.request, view.usage, view.exact) == (call.new.request, call.end.usage, True)
            assert view.steps == (3 if call.new.turn == 2 else 1)
            assert view.framing == framing
            assert view.framing_reason == model.framing.reason
            assert_adds_up(view, call.end.usage)
            stored = await own.store.load_request(view.request)
            sent = texts_of(without_markers(stored))
            for block in view.blocks:
                assert any(block.text in text for text in sent), block.name
            assert len(view.blocks) == len(read_request(stored).blocks)
        assert (await seen(own, 3)).blocks != (await seen(own, 4)).blocks


async def test_the_reminder_that_was_seen_in_a_turn_is_in_its_window_and_not_in_those_before() -> None:
    clock = HandClock()
    async with bench(CachingModel(["Yes."] * 3, clock), clock=clock) as own:
        await own.orchestrator.run_turn("Hello")
        await own.store.add_reminder("call Anna", clock.now(), zone="Europe/Berlin", at=clock.now())
        await own.orchestrator.run_turn("What is due?")
        await own.orchestrator.run_turn("And now?")
        first, second, third = [await seen(own, turn) for turn in (1, 2, 3)]

        def reminders(view: WindowView) -> list[tuple[str, str, str, str, BlockChange]]:
            return [
                (block.area, block.trinket, block.age, block.why, block.change)
                for block in view.blocks
                if block.name == "active_reminders"
            ]

        why = "ReminderManager wrote it for this turn"
        assert reminders(first) == []
        assert ("active_reminders", "ReminderManager", "it had nothing to say") in [
            (item.name, item.trinket, item.why) for item in first.dropped
        ]
        assert reminders(second) == [("notification", "ReminderManager", "new in this turn", why, BlockChange.NEW)]
        assert reminders(third) == [("notification", "ReminderManager", "unchanged for 1 turn", why, BlockChange.SAME)]
        base = next(block for block in third.blocks if block.name == "base_prompt")
        assert (base.area, base.age, base.change) == ("system", "unchanged for 2 turns", BlockChange.SAME)


async def test_a_section_that_a_tool_has_changed_is_new_in_the_step_and_not_in_the_turn_before() -> None:
    clock = HandClock()
    async with talked(CachingModel([REMIND, "Done."], clock), clock, "Remind me to call Anna tomorrow.") as own:
        before, after = await seen(own, 1, 0), await seen(own, 1, 1)
        assert "active_reminders" not in [block.name for block in before.blocks]
        said = next(block for block in after.blocks if block.name == "active_reminders")
        assert (said.area, said.change) == ("notification", BlockChange.NEW)
        kinds = [block.kind for block in after.blocks if block.change is BlockChange.NEW]
        assert kinds[:2] == ["tool_use", "tool_result"]


async def test_the_verdict_and_the_money_of_a_window_are_those_of_the_ledger() -> None:
    clock = HandClock()
    async with talked(CachingModel(["Yes. " * 400] * 3, clock), clock, LONG, LONG) as own:
        clock.advance(hours=2)
        await own.orchestrator.run_turn("Hello again")
        view, (*_, call) = await seen(own, 3), await own.store.calls()
        assert call.end is not None
        assert view.verdict == call.end.verdict
        assert view.verdict.cause is Cause.EXPIRED
        assert (view.cost, view.full_price, view.expected) == (call.end.cost, call.end.full_price, call.new.expected)


async def test_the_sizes_that_an_engine_counts_are_exact_and_the_template_is_a_block_of_its_own() -> None:
    clock = HandClock()
    async with talked(EngineModel(["Yes, I see. " * 30] * 2, clock), clock, LONG, "And then?") as own:
        estimated, counted = await seen(own, 2), await seen(own, 2, counts=True)
        assert not any(block.exact for block in estimated.blocks)
        assert estimated.blocks[-1].area != REST_AREA
        asked = next(block for block in counted.blocks if block.text == "And then?")
        assert (asked.tokens, asked.exact) == (2, True)
        assert {block.tokens for block in counted.blocks if block.area == "tools"} == {0}
        assert counted.blocks[-1].area == REST_AREA
        assert counted.blocks[-1].tokens > 0
        assert counted.usage is not None
        assert_adds_up(counted, counted.usage)


async def test_without_its_engine_the_sizes_are_estimates() -> None:
    class Gone(EngineModel):
        async def count_text(self, text: str) -> TokenCount:
            raise ModelError("the engine is gone", model=self.name)

    clock = HandClock()
    async with talked(Gone(["Yes."], clock), clock, "Hello") as own:
        assert await seen(own, 1, counts=True) == await seen(own, 1)


async def test_sizes_that_are_larger_than_the_whole_are_not_called_exact() -> None:
    class Miscounting(EngineModel):
        async def count_text(self, text: str) -> TokenCount:
            return TokenCount(100_000, exact=True)

    clock = HandClock()
    async with talked(Miscounting(["Yes."], clock), clock, "Hello") as own:
        view = await seen(own, 1, counts=True)
        assert not any(block.exact for block in view.blocks)
        assert view.usage is not None
        assert_adds_up(view, view.usage)


async def test_what_was_read_and_written_both_is_shown_in_one_place() -> None:
    class Overlapping(CachingModel):
        async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
            async for event in super().stream(request):
                yield replace(event, usage=Usage(1000, 900, 500, 3)) if isinstance(event, Finished) else event

    clock = HandClock()
    async with talked(Overlapping(["Yes."], clock), clock, "Hello") as own:
        assert_adds_up(await seen(own, 1), Usage(1000, 900, 500, 3))


async def test_a_window_whose_call_broke_off_is_shown_with_what_was_expected() -> None:
    clock = HandClock()
    async with bench(CachingModel([], clock), clock=clock) as own:
        with pytest.raises(ModelError):
            await own.orchestrator.run_turn("Hello")
        view = await seen(own, 1)
        assert view.usage is None
        assert view.expected is not None
        assert not view.exact
        assert any(block.text == "Hello" for block in view.blocks)
        assert_adds_up(view, view.expected)


async def test_a_replaced_turn_can_still_be_looked_at() -> None:
    clock = HandClock()
    async with talked(CachingModel(["Yes.", "No."], clock), clock, "First", "Second") as own:
        before = await seen(own, 2)
        await own.store.set_line("main", [1])
        assert (await own.store.turns("main"))[1].state is TurnState.REPLACED
        assert await seen(own, 2) == before


async def test_an_imported_turn_has_no_window_and_says_so() -> None:
    async with bench(CachingModel(["Yes."], HandClock())) as own:
        at = datetime(2026, 1, 2, tzinfo=UTC)
        turn = ImportedTurn(key="1", user=user("Hello"), reply=assistant("Hi"), asked_at=at, answered_at=at)
        await own.store.import_turns("main", [turn], source="test")
        with pytest.raises(UsageError, match="turn 1 was imported"):
            await seen(own, 1)
        await own.orchestrator.run_turn("And now?")
        assert any(block.text == "Hi" for block in (await seen(own, 2)).blocks)


async def test_a_turn_or_step_that_is_not_there_is_told_apart() -> None:
    clock = HandClock()
    async with talked(CachingModel(["Yes."], clock), clock, "Hello") as own:
        for turn, step in ((2, None), (0, None), (-1, None), (1, 1), (1, -1)):
            with pytest.raises(NoSuchWindow):
                await seen(own, turn, step)


@pytest.mark.parametrize(("name", "framing"), EVERY_WAY[::3])
async def test_a_look_ahead_shows_what_the_turn_then_sends(name: str, framing: Framing) -> None:
    clock = HandClock()
    model = CachingModel(["Tea is fine. " * 40] * 3, clock, name, framing)
    async with talked(model, clock, LONG, "And then?") as own:
        looked = await look_ahead(own.mind, own.store, model, clock, conversation="main", message="What is due?")
        newest = await SentWindows(own.store, "main").newest()
        view = view_of_preview(looked, newest, model=model.name, profile=model.profile)
        assert view.expected is not None
        assert_adds_up(view, view.expected)
        assert (view.turn, view.request, view.usage, view.sent_at) == (3, "", None, None)
        await own.orchestrator.run_turn("What is due?")
        sent = await seen(own, 3)

        def shown(window: WindowView) -> list[tuple[str, ...]]:
            return [
                (block.area, block.name, block.place, block.text, block.age, block.why, block.change)
                for block in window.blocks
            ]

        assert shown(view) == shown(sent)
        assert view.expected == sent.expected
        assert view.dropped == sent.dropped


async def test_a_look_at_another_line_has_nothing_of_the_turns_in_whose_place_it_stands() -> None:
    clock = HandClock()
    model = CachingModel(["Yes."] * 3, clock)
    async with talked(model, clock, "First", "Second", "Third") as own:
        looked = await look_ahead(own.mind, own.store, model, clock, conversation="main", message="Else", replaces=2)
        said = [block.text for block in looked.layout.blocks]
        assert "First" in said
        assert "Else" in said
        assert not {"Second", "Third"} & set(said)
        with pytest.raises(UsageError, match="no turn 9"):
            await look_ahead(own.mind, own.store, model, clock, conversation="main", message="Else", replaces=9)
        assert [turn.state for turn in await own.store.turns("main")] == [TurnState.DONE] * 3


async def test_a_diff_names_the_section_that_changed_and_what_was_said() -> None:
    clock = HandClock()
    async with talked(CachingModel(["Yes."] * 2, clock), clock, "First") as own:
        at = clock.now()
        await own.store.add_reminder("call Anna", at, zone="Europe/Berlin", at=at)
        await own.orchestrator.run_turn("Second")
        windows = SentWindows(own.store, "main")
        _, _, later = await windows.layout(2)
        view = await seen(own, 2)
        sizes = [block.tokens for block in view.blocks]
        found = window_changes(await windows.before(2, 0), 2, 0, later, sizes=sizes)
        changes = {(change.name, change.kind): change for change in found.changes}
        assert found.other == 1
        assert 0 < found.common < view.total
        assert ("active_reminders", ChangeKind.ADDED) in changes
        time = changes["datetime_section", ChangeKind.CHANGED]
        assert time.area == "notification"
        assert {line.operation for line in time.lines} == set(Operation)
        added = [change.after for change in found.changes if change.kind is ChangeKind.ADDED]
        assert "Yes." in added
        assert "Second" in added
        assert "First" not in added
        assert "base_prompt" not in {change.name for change in found.changes}
        again = window_changes((2, later), 2, 0, later, sizes=sizes)
        assert (again.changes, again.first_difference) == ((), "")


async def test_the_first_window_is_new_in_all() -> None:
    clock = HandClock()
    async with talked(CachingModel(["Yes."], clock), clock, "First") as own:
        windows = SentWindows(own.store, "main")
        _, _, layout = await windows.layout(1)
        assert await windows.before(1, 0) is None
        found = window_changes(None, 1, 0, layout, sizes=[])
        assert found.other is None
        assert {change.kind for change in found.changes} == {ChangeKind.ADDED}
        assert {block.change for block in (await seen(own, 1)).blocks} == {BlockChange.NEW}


def test_a_diff_of_long_texts_is_bounded_and_says_what_it_leaves_out() -> None:
    old, new = ("\n".join(f"{word} {number}" for number in range(100_000)) for word in ("old", "new"))
    lines = list(text_lines(old, new))
    assert len(lines) < 1000
    assert [line.text for line in lines][-2:] == [
        "… (99,700 lines of the earlier text, not compared)",
        "… (99,700 lines of the later text, not compared)",
    ]
    changed = list(text_lines("a" * 1_000_000 + "x", "a" * 1_000_000 + "y"))
    assert [(line.operation, line.text[-2:]) for line in changed] == [
        (Operation.REMOVED, "ax"),
        (Operation.ADDED, "ay"),
    ]
    assert all(len(line.text) < 2000 for line in changed)


def test_a_changed_line_stands_between_those_around_it() -> None:
    old = [f"line {number}" for number in range(20)]
    new = [*old[:10], "changed", *old[11:]]
    said = [f"{line.operation}{line.text}" for line in text_lines("\n".join(old), "\n".join(new))]
    assert said == [
        " … (7 lines the same in both)",
        " line 7",
        " line 8",
        " line 9",
        "-line 10",
        "+changed",
        " line 11",
        " line 12",
        " line 13",
        " … (6 lines the same in both)",
    ]


async def test_how_long_a_section_has_stood_is_counted_so_far_and_no_further() -> None:
    clock = HandClock()
    async with talked(CachingModel(["Yes."] * 60, clock), clock, *(f"Message {number}" for number in range(60))) as own:
        view = await seen(own, 60)
        assert (
            next(block for block in view.blocks if block.name == "base_prompt").age == "unchanged for 50 turns or more"
        )
