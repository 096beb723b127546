"""A refresh of the cache is sent where it pays, in time, and never beside a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from frontmind.assistant.keep_alive import KeepAlive
from frontmind.assistant.wiring import build_mind, build_orchestrator
from frontmind.cachelab.keeping_alive import Held, lifetime_of, refreshing, worthwhile_refresh
from frontmind.errors import ModelUnavailable
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import Request
from frontmind.providers.scripted import ScriptedModel
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.calls import Call, Purpose
from frontmind.values.message import user
from frontmind.window.window import Window
from support import MODELS, TOOLS, HandClock, playing, selected

CLAUDE = "anthropic:claude-opus-4-8"
MINUTE = timedelta(minutes=1)


def profile(name: str = CLAUDE) -> Profile:
    provider, _, model = name.partition(":")
    return resolve_profile(provider, model)


def after(*minutes: float) -> list[timedelta]:
    return [MINUTE * number for number in minutes]


def test_a_refresh_pays_where_the_person_comes_back_a_little_too_late() -> None:
    refresh = worthwhile_refresh(profile(), Held(20_000), after(7, 8, 6, 7, 1, 2), silent=timedelta(), left=1)
    assert refresh is not None
    assert timedelta(minutes=4) < refresh.after < refresh.until == timedelta(minutes=5)
    assert refresh.saving > refresh.cost
    # Four of five, one of them taken to be endless: written for 1.25, read for 0.1.
    assert refresh.saving == pytest.approx(4 / 5 * 20_000 * 1.15)
    assert refresh.cost == pytest.approx(20_000 * 0.1)


def test_where_one_refresh_is_too_few_several_in_a_row_are_weighed() -> None:
    pauses = after(*[13] * 6)
    assert worthwhile_refresh(profile(), Held(20_000), pauses, silent=timedelta(), left=1) is None
    refresh = worthwhile_refresh(profile(), Held(20_000), pauses, silent=timedelta(), left=5)
    assert refresh is not None
    # Two of them reach until the thirteenth minute; more would only be sent if the person stayed away.
    assert refresh.cost == pytest.approx(2 * 20_000 * 0.1)
    third = worthwhile_refresh(profile(), Held(20_000), pauses, silent=MINUTE * 9, left=3)
    assert third is None


@pytest.mark.parametrize(
    ("pauses", "why"),
    [
        ((), "nothing is known of the person"),
        ((1, 2, 1, 3), "who comes back in time needs none"),
        ((40, 50, 60, 90), "who comes back much later has nothing of one"),
        ((7, *[60] * 30), "it would be in vain too often"),
    ],
)
def test_a_refresh_does_not_pay(pauses: Sequence[float], why: str) -> None:
    assert worthwhile_refresh(profile(), Held(20_000), after(*pauses), silent=timedelta(), left=1) is None, why


def test_what_is_kept_for_an_hour_anyway_is_no_reason_for_a_refresh() -> None:
    pauses = after(*[7] * 3, *[30] * 5)
    assert worthwhile_refresh(profile(), Held(20_000), pauses, silent=timedelta(), left=1) is not None
    assert worthwhile_refresh(profile(), Held(20_000, steady=18_000), pauses, silent=timedelta(), left=1) is None


def test_what_is_processed_anew_with_each_refresh_counts_as_its_cost() -> None:
    pauses = after(*[7] * 3, *[30] * 5)
    found = worthwhile_refresh(profile(), Held(20_000), pauses, silent=timedelta(), left=1)
    dearer = worthwhile_refresh(profile(), Held(20_000, fresh=500), pauses, silent=timedelta(), left=1)
    assert found is not None
    assert dearer is not None
    assert dearer.cost > found.cost
    assert worthwhile_refresh(profile(), Held(20_000, fresh=20_000), pauses, silent=timedelta(), left=1) is None


def test_what_no_later_turn_reads_is_no_saving() -> None:
    pauses = after(*[7] * 3, *[30] * 5)
    assert worthwhile_refresh(profile(), Held(20_000, passing=18_000), pauses, silent=timedelta(), left=1) is None


def test_the_lifetime_is_the_one_that_was_asked_for() -> None:
    assert lifetime_of(profile(), "") == timedelta(minutes=5)
    assert lifetime_of(profile(), "1h") == timedelta(hours=1)
    assert lifetime_of(profile("openai:gpt-5.5"), "") == timedelta(minutes=5)
    assert lifetime_of(profile("deepseek:deepseek-chat"), "") is None


@pytest.mark.parametrize("name", ["ollama:qwen3", "echo:", "deepseek:deepseek-chat"])
def test_where_prices_or_lifetimes_are_unknown_nothing_is_refreshed(name: str) -> None:
    assert worthwhile_refresh(profile(name), Held(20_000), after(*[6] * 9), silent=timedelta(), left=1) is None


@pytest.mark.parametrize("name", MODELS)
def test_a_refresh_differs_from_its_turn_only_in_the_length_of_the_reply(name: str) -> None:
    selection = selected(name)
    request = selection.encode(Window("S", "", (), "", (user("Hello."),)))
    refresh = refreshing(request, selection.profile)
    changed = {key for key in {*request, *refresh} if request.get(key) != refresh.get(key)}
    assert changed <= {
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "inferenceConfig",
        "generationConfig",
    }
    assert len(changed) == 1


class Waits:
    """Sleeps that last until the test lets the clock go on."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.asked: list[float] = []
        self._waiting: asyncio.Future[None] | None = None

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    @property
    def is_pending(self) -> bool:
        return self._waiting is not None and not self._waiting.done()

    async def settle(self) -> None:
        """Let the keeping alive come to where it waits, or to its end: the store works in a thread."""
        while is_kept_alive() and not self.is_pending:
            await asyncio.to_thread(lambda: None)

    async def over(self, *, later: float = 0) -> None:
        """Let the newest wait end, so many seconds late."""
        await self.settle()
        assert self._waiting is not None
        self.clock.advance(seconds=self.asked[-1] + later)
        if not self._waiting.done():
            self._waiting.set_result(None)
        await self.settle()


def is_kept_alive() -> bool:
    return any(task.get_name() == "keeping the cache alive" for task in asyncio.all_tasks())


@dataclass
class Kept:
    """A conversation whose cache is kept alive."""

    store: SqliteStore
    clock: HandClock
    waits: Waits
    keep_alive: KeepAlive
    say: Callable[[float], Awaitable[None]]
    told: list[str] = field(default_factory=list)

    async def refreshes(self) -> list[Call]:
        return [call for call in await self.store.calls() if call.new.purpose is Purpose.KEEP_ALIVE]


@asynccontextmanager
async def kept(model: ScriptedModel, *, most: int = 2) -> AsyncIterator[Kept]:
    clock, store, told = HandClock(), SqliteStore.open(":memory:"), list[str]()
    waits = Waits(clock)
    mind = build_mind(store=store, clock=clock, descriptions=TOOLS, persona="You know all about herons. " * 900)
    keep_alive = KeepAlive(
        store=store,
        model=model,
        bus=mind.bus,
        clock=clock,
        conversation="main",
        most=most,
        sleep=waits,
        tell=told.append,
    )
    orchestrator = build_orchestrator(mind, store=store, model=model, clock=clock, keep_alive=keep_alive)

    async def say(minutes: float) -> None:
        clock.advance(minutes=minutes)
        await orchestrator.run_turn("Go on.")

    try:
        yield Kept(store, clock, waits, keep_alive, say, told)
    finally:
        await keep_alive.aclose()
        mind.close()
        await store.close()


async def often_away(here: Kept, *, minutes: float = 6) -> None:
    """So many turns that it is known how long the person is away."""
    for _ in range(8):
        await here.say(minutes)


async def test_a_refresh_is_sent_in_time_and_stands_in_the_ledger() -> None:
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return "The herons stand in the reeds. " * 40

    async with kept(playing(CLAUDE, reply)) as here:
        await often_away(here)
        last = asked[-1]
        await here.waits.over()
        (call,) = await here.refreshes()
        turns = await here.store.turns("main")
    assert call.new.sent_at - turns[-1].asked_at < 5 * MINUTE
    assert (asked[-1]["max_tokens"], asked[-1]["messages"]) == (0, last["messages"])
    assert asked[-1]["system"] == last["system"]
    assert call.end is not None
    assert call.end.usage.input > 0
    assert len(turns) == 8
    assert here.told == []


async def test_there_are_no_more_refreshes_in_a_row_than_allowed() -> None:
    async with kept(playing(CLAUDE, lambda request: "Yes. " * 4000), most=2) as here:
        await often_away(here, minutes=13)
        for _ in range(2):
            await here.waits.over()
        assert len(await here.refreshes()) == 2
        assert len(here.waits.asked) == 2


async def test_a_turn_ends_the_waiting() -> None:
    async with kept(playing(CLAUDE, lambda request: "Yes. " * 4000)) as here:
        await often_away(here)
        await here.waits.settle()
        here.keep_alive.rest()
        await here.waits.settle()
        await here.waits.over()
        assert await here.refreshes() == []


async def test_a_machine_that_slept_past_the_end_of_the_entry_refreshes_nothing() -> None:
    async with kept(playing(CLAUDE, lambda request: "Yes. " * 4000)) as here:
        await often_away(here)
        await here.waits.over(later=120)
        assert await here.refreshes() == []


async def test_none_are_sent_unless_they_are_asked_for() -> None:
    async with kept(playing(CLAUDE, lambda request: "Yes. " * 4000), most=0) as here:
        await often_away(here)
        await here.waits.settle()
        assert here.waits.asked == []


async def test_a_failure_is_told_and_the_next_turn_runs() -> None:
    def reply(request: Request) -> str:
        if request["max_tokens"] == 0:
            raise ModelUnavailable("the network is down", model="claude")
        return "Yes. " * 4000

    async with kept(playing(CLAUDE, reply)) as here:
        await often_away(here)
        await here.waits.over()
        assert [line for line in here.told if "the network is down" in line]
        await here.say(1)
        assert len(await here.store.turns("main")) == 9


async def test_closing_ends_the_waiting_for_good() -> None:
    async with kept(playing(CLAUDE, lambda request: "Yes. " * 4000)) as here:
        await often_away(here)
        await here.waits.settle()
        waits = len(here.waits.asked)
        assert waits
        await here.keep_alive.aclose()
        await here.waits.over()
        await here.say(1)
        await here.waits.settle()
        assert len(here.waits.asked) == waits
        assert await here.refreshes() == []
