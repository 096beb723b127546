"""Working memory: from the trinkets to the composed prompt over the bus."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from frontmind.errors import UsageError
from frontmind.events import (
    ComposeSystemPromptEvent,
    Event,
    EventBus,
    SystemPromptComposedEvent,
    TrinketContentEvent,
    TurnContext,
    UpdateTrinketEvent,
)
from frontmind.trinkets import EventAwareTrinket, TimeManager, TrinketPlacement
from frontmind.trinkets.markup import Body
from frontmind.values.section import RULE, Author, SectionFailure
from frontmind.working_memory.composer import HEADER
from frontmind.working_memory.core import WorkingMemory

NOW = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)


class Says(EventAwareTrinket):
    """Says or raises what it was given, the last of it again and again."""

    def __init__(self, name: str, *answers: Body | Exception | None) -> None:
        self.section_name = name  # type: ignore[misc]
        self._answers = list(answers)

    async def generate_content(self, context: TurnContext) -> Body | None:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Cached(Says):
    cache_policy = True


class Bench:
    """A bus with a working memory on it, and what was composed."""

    def __init__(self) -> None:
        self.bus = EventBus()
        self.memory = WorkingMemory(self.bus)
        self.composed: list[SystemPromptComposedEvent] = []
        self.bus.subscribe(SystemPromptComposedEvent, self.composed.append)

    async def compose(self, *, base_prompt: str = "<base_prompt>\nP\n</base_prompt>") -> SystemPromptComposedEvent:
        number = len(self.composed)
        context = TurnContext("main", number + 1, NOW + timedelta(minutes=number))
        assert await self.bus.publish(ComposeSystemPromptEvent(context, base_prompt)) == ()
        assert len(self.composed) == number + 1
        return self.composed[-1]


def names(event: SystemPromptComposedEvent) -> list[str]:
    return [section.name for section in event.sections]


@pytest.mark.requirement("SEED-7")
async def test_the_placement_flows_from_the_trinket_to_the_composed_prompt() -> None:
    bench = Bench()
    seen: list[Event] = []
    for kind in (UpdateTrinketEvent, TrinketContentEvent, SystemPromptComposedEvent):
        bench.bus.subscribe(kind, seen.append)
    trinket = TimeManager()
    bench.memory.register_trinket(trinket)
    event = await bench.compose()
    context = TurnContext("main", 1, NOW)
    content = "<datetime_section>\nIt is Monday, 30 November 2026, 09:15 (UTC+00:00).\n</datetime_section>"
    assert trinket.placement.value == "notification"
    assert seen == [
        UpdateTrinketEvent("datetime_section", context),
        TrinketContentEvent("datetime_section", content, "notification", author=Author.APPLICATION),
        event,
    ]
    assert event.context == context
    assert event.cached_content == "<base_prompt>\nP\n</base_prompt>"
    assert event.non_cached_content == ""
    assert event.notification_center == f"{HEADER}\n{RULE}\n{content}\n{RULE}"
    assert names(event) == ["base_prompt", "datetime_section"]
    assert event.failures == ()


async def test_a_cached_section_stands_in_front_of_an_uncached_one() -> None:
    bench = Bench()
    bench.memory.register_trinket(Says("fresh", "f"))
    bench.memory.register_trinket(Cached("lasting", "l"))
    event = await bench.compose(base_prompt="P")
    assert event.cached_content == "P\n\n<lasting>\nl\n</lasting>"
    assert event.non_cached_content == "<fresh>\nf\n</fresh>"


@pytest.mark.requirement("SEED-9")
async def test_whoever_registers_a_trinket_may_place_it_and_its_class_does_not_know() -> None:
    bench = Bench()
    weather, clock = Says("weather", "sun"), TimeManager()
    bench.memory.register_trinket(weather, placement=TrinketPlacement.NOTIFICATION_CENTER)
    bench.memory.register_trinket(clock, placement=TrinketPlacement.SYSTEM)
    event = await bench.compose()
    assert [(section.name, section.placement) for section in event.sections] == [
        ("base_prompt", "system"),
        ("datetime_section", "system"),
        ("weather", "notification"),
    ]
    assert weather.placement is TrinketPlacement.SYSTEM
    assert clock.placement is TrinketPlacement.NOTIFICATION_CENTER


@pytest.mark.requirement("SEED-10")
async def test_without_anything_to_say_there_is_no_notification_center() -> None:
    bench = Bench()
    bench.memory.register_trinket(Says("weather", None), placement=TrinketPlacement.NOTIFICATION_CENTER)
    assert (await bench.compose()).notification_center == ""


async def test_a_section_that_becomes_empty_is_gone_from_the_next_window() -> None:
    bench = Bench()
    bench.memory.register_trinket(Says("weather", "sun", None), placement=TrinketPlacement.NOTIFICATION_CENTER)
    assert "sun" in (await bench.compose()).notification_center
    assert (await bench.compose()).notification_center == ""


async def test_the_base_prompt_is_the_one_of_this_turn() -> None:
    bench = Bench()
    assert (await bench.compose(base_prompt="one")).cached_content == "one"
    assert (await bench.compose(base_prompt="two")).cached_content == "two"
    assert (await bench.compose(base_prompt="")).sections == ()


@pytest.mark.requirement("RULE-8")
async def test_the_order_of_registration_does_not_change_a_byte() -> None:
    prompts = []
    for order in (("weather", "calendar", "news"), ("news", "weather", "calendar")):
        bench = Bench()
        for name in order:
            bench.memory.register_trinket(Says(name, name), placement=TrinketPlacement.NOTIFICATION_CENTER)
        prompts.append(await bench.compose())
    assert prompts[0] == prompts[1]


@pytest.mark.parametrize("name", ["weather", "base_prompt"])
def test_a_second_section_of_the_same_name_is_refused(name: str) -> None:
    bench = Bench()
    bench.memory.register_trinket(Says("weather", "sun"))
    second = Says(name, "rain")
    with pytest.raises(UsageError, match=f"already a section '{name}'"):
        bench.memory.register_trinket(second)
    # The refused trinket is free for another working memory.
    second.attach(EventBus())


def test_one_instance_cannot_serve_two_working_memories() -> None:
    trinket = Says("weather", "sun")
    Bench().memory.register_trinket(trinket)
    other = Bench()
    with pytest.raises(UsageError, match="already attached"):
        other.memory.register_trinket(trinket)
    other.memory.register_trinket(Says("weather", "rain"))


async def test_an_unregistered_trinket_is_gone_from_the_next_window_and_its_name_is_free() -> None:
    bench = Bench()
    end = bench.memory.register_trinket(Says("weather", "sun"))
    assert "sun" in (await bench.compose()).non_cached_content
    end()
    assert names(await bench.compose()) == ["base_prompt"]
    bench.memory.register_trinket(Says("weather", "rain"))
    end()
    assert "rain" in (await bench.compose()).non_cached_content


async def test_an_unregistered_trinket_takes_its_failure_with_it() -> None:
    bench = Bench()
    end = bench.memory.register_trinket(Says("weather", ValueError("no")))
    assert len((await bench.compose()).failures) == 1
    end()
    assert (await bench.compose()).failures == ()


async def test_a_closed_working_memory_composes_nothing_more() -> None:
    bench = Bench()
    trinket = Says("weather", "sun")
    end = bench.memory.register_trinket(trinket)
    bench.memory.close()
    bench.memory.close()
    end()
    await bench.bus.publish(ComposeSystemPromptEvent(TurnContext("main", 1, NOW), "P"))
    assert bench.composed == []
    trinket.attach(EventBus())


async def test_content_of_a_section_that_nobody_registered_is_not_taken() -> None:
    bench = Bench()
    await bench.bus.publish(TrinketContentEvent("stranger", "text", "notification"))
    await bench.bus.publish(TrinketContentEvent("base_prompt", "mine now", "system"))
    assert names(await bench.compose()) == ["base_prompt"]


# --- at the same time --------------------------------------------------------------------------------------------


def meets_in_loop() -> Callable[[str], EventAwareTrinket]:
    here: dict[str, asyncio.Event] = {"one": asyncio.Event(), "two": asyncio.Event()}

    class Meets(EventAwareTrinket):
        def __init__(self, name: str) -> None:
            self.section_name = name  # type: ignore[misc]

        async def generate_content(self, context: TurnContext) -> str:
            here[self.section_name].set()
            await here["two" if self.section_name == "one" else "one"].wait()
            return "met"

    return Meets


def meets_in_threads() -> Callable[[str], EventAwareTrinket]:
    meeting = threading.Barrier(2)

    class Meets(EventAwareTrinket):
        def __init__(self, name: str) -> None:
            self.section_name = name  # type: ignore[misc]

        def generate_content(self, context: TurnContext) -> str:
            meeting.wait(timeout=10)
            return "met"

    return Meets


@pytest.mark.parametrize("meets", [meets_in_loop, meets_in_threads])
async def test_trinkets_are_asked_at_the_same_time(meets: Callable[[], Callable[[str], EventAwareTrinket]]) -> None:
    bench = Bench()
    kind = meets()
    for name in ("one", "two"):
        trinket = kind(name)
        trinket.time_limit = 10
        bench.memory.register_trinket(trinket)
    event = await bench.compose()
    assert event.failures == ()
    assert event.non_cached_content == "<one>\nmet\n</one>\n\n<two>\nmet\n</two>"


# --- failures ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("RULE-10")
async def test_a_failing_trinket_does_not_disturb_the_others_and_is_reported() -> None:
    bench = Bench()
    bench.memory.register_trinket(
        Says("weather", ValueError("no")), placement=TrinketPlacement.NOTIFICATION_CENTER, required=True
    )
    bench.memory.register_trinket(Says("calendar", KeyError("x")), placement=TrinketPlacement.NOTIFICATION_CENTER)
    bench.memory.register_trinket(TimeManager())
    event = await bench.compose()
    assert "It is Monday" in event.notification_center
    assert "<weather>\nUnavailable since 2026-11-30 09:15.\n</weather>" in event.notification_center
    since = "2026-11-30T09:15+00:00"
    assert event.failures == (
        SectionFailure("calendar", "KeyError: 'x'", since, required=False),
        SectionFailure("weather", "ValueError: no", since, required=True),
    )


@pytest.mark.requirement("RULE-10")
async def test_a_slow_trinket_does_not_hold_up_the_turn() -> None:
    class Hangs(EventAwareTrinket):
        section_name = "hangs"
        time_limit = 0.05

        async def generate_content(self, context: TurnContext) -> str:
            await asyncio.Event().wait()
            return ""

    bench = Bench()
    bench.memory.register_trinket(Hangs())
    bench.memory.register_trinket(TimeManager())
    event = await bench.compose()
    assert [failure.section for failure in event.failures] == ["hangs"]
    assert "It is Monday" in event.notification_center


@pytest.mark.requirement("RULE-10")
async def test_a_trinket_that_recovers_is_no_longer_reported() -> None:
    bench = Bench()
    bench.memory.register_trinket(
        Says("weather", ValueError("no"), "sun"), placement=TrinketPlacement.NOTIFICATION_CENTER, required=True
    )
    assert len((await bench.compose()).failures) == 1
    event = await bench.compose()
    assert event.failures == ()
    assert '<weather observed="2026-11-30 09:16">\nsun\n</weather>' in event.notification_center


@pytest.mark.requirement("RULE-9")
async def test_a_failing_system_section_keeps_its_last_good_bytes() -> None:
    bench = Bench()
    bench.memory.register_trinket(Cached("house", "rules", ValueError("no")))
    good, failed, again = await bench.compose(), await bench.compose(), await bench.compose()
    assert "rules" in good.cached_content
    assert good.cached_content == failed.cached_content == again.cached_content
    assert [failure.section for failure in again.failures] == ["house"]


@pytest.mark.requirement("RULE-9")
async def test_a_failing_system_section_that_was_empty_stays_empty() -> None:
    bench = Bench()
    bench.memory.register_trinket(Cached("house", None, ValueError("no")))
    good, failed = await bench.compose(), await bench.compose()
    assert good.cached_content == failed.cached_content == "<base_prompt>\nP\n</base_prompt>"
    assert [failure.section for failure in failed.failures] == ["house"]


@pytest.mark.requirement("RULE-9")
async def test_a_system_section_that_never_answered_says_so_with_the_same_bytes_every_turn() -> None:
    bench = Bench()
    bench.memory.register_trinket(Cached("house", ValueError("no")))
    first, second = await bench.compose(), await bench.compose()
    assert "<house>\nUnavailable.\n</house>" in first.cached_content
    assert first.cached_content == second.cached_content


async def test_a_failing_section_that_was_placed_into_the_system_prompt_keeps_its_last_good_bytes_too() -> None:
    class BrokenClock(TimeManager):
        async def generate_content(self, context: TurnContext) -> str:
            if context.turn > 1:
                raise ValueError("no")
            return "noon"

    bench = Bench()
    bench.memory.register_trinket(BrokenClock(), placement=TrinketPlacement.SYSTEM)
    good, failed = await bench.compose(), await bench.compose()
    assert "noon" in good.non_cached_content
    assert failed.non_cached_content == good.non_cached_content
    assert len(failed.failures) == 1


async def test_a_trinket_may_be_registered_while_another_is_asked() -> None:
    bench = Bench()

    class Registers(EventAwareTrinket):
        section_name = "registers"

        async def generate_content(self, context: TurnContext) -> str:
            if context.turn == 1:
                bench.memory.register_trinket(Says("late", "here"))
            return "done"

    bench.memory.register_trinket(Registers())
    assert names(await bench.compose()) == ["base_prompt", "registers"]
    assert names(await bench.compose()) == ["base_prompt", "late", "registers"]


class Broken(EventAwareTrinket):
    """Answers once; then its own handler raises, where the base class cannot catch it."""

    section_name = "broken"
    calls = 0

    def generate_content(self, context: TurnContext) -> str:
        return "first"

    async def handle_update(self, event: UpdateTrinketEvent) -> None:
        self.calls += 1
        if self.calls > 1:
            raise RuntimeError("mine")
        await super().handle_update(event)


@pytest.mark.requirement("RULE-10")
async def test_a_trinket_that_does_not_answer_is_a_failure_and_its_old_text_does_not_pass_as_fresh() -> None:
    bench = Bench()
    bench.memory.register_trinket(Broken(), placement=TrinketPlacement.NOTIFICATION_CENTER, required=True)
    first, second = await bench.compose(), await bench.compose()
    assert "first" in first.notification_center
    assert "first" not in second.notification_center
    assert [(failure.section, failure.reason, failure.required) for failure in second.failures] == [
        ("broken", "RuntimeError", True)
    ]
