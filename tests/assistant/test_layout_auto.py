"""`--layout auto` in real turns: the layout follows from how the conversation runs, also after a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from frontmind.assistant.report import TurnReport
from frontmind.assistant.sent_windows import SentWindows
from frontmind.assistant.window_view import view_of_sent
from frontmind.assistant.wiring import build_mind, build_orchestrator
from frontmind.cachelab.session import Decision, Look, Plan, SessionTurn, play
from frontmind.cachelab.stored import stored_session
from frontmind.providers.protocol import Model, Request
from frontmind.providers.reading import read_request
from frontmind.stores.sqlite import SqliteStore
from frontmind.tools.function import tool
from frontmind.values.message import Message
from frontmind.window.choice import Framing
from support import TOOLS, Bench, HandClock, bench, calling, playing, remember

CLAUDE = "anthropic:claude-opus-4-8"
LONG = "The herons stand in the reeds and wait for the frogs. " * 30
PERSONA = "You know everything about herons. " * 900


@tool
def look(at: str) -> str:
    """Look somewhere.

    Args:
        at: where.
    """
    return f"At {at} was seen: {LONG}"


@asynccontextmanager
async def auto(model: Model, clock: HandClock, *, db: str = ":memory:") -> AsyncIterator[Bench]:
    """An assistant that chooses its layout, with a long system prompt and memories that other people wrote."""
    store = SqliteStore.open(db)
    mind = build_mind(store=store, clock=clock, descriptions=TOOLS, tools=(look,), persona=PERSONA, chooses_layout=True)
    orchestrator = build_orchestrator(mind, store=store, model=model, clock=clock)
    try:
        yield Bench(store, model, clock, mind, orchestrator)
    finally:
        mind.close()
        await store.close()


async def talk(bench_: Bench, numbers: Sequence[int], *, minutes: float = 1) -> list[TurnReport]:
    reports = []
    for number in numbers:
        bench_.clock.advance(minutes=minutes)
        reports.append(await bench_.orchestrator.run_turn(f"Message {number}."))
    return reports


def chatting(request: Request) -> str:
    return f"I see. {LONG}"


class Working:
    """Calls a tool six times in each turn."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: Request) -> str | Message:
        self.asked += 1
        return f"Done. {LONG}" if self.asked % 7 == 0 else calling(("look", {"at": f"place {self.asked}"}))


def plans(reports: Sequence[TurnReport]) -> list[tuple[Framing, str]]:
    return [(report.framing.framing, report.framing.ttl) for report in reports]


async def test_after_a_pause_the_history_is_kept_for_longer() -> None:
    async with auto(playing(CLAUDE, chatting), HandClock()) as bench_:
        quick = await talk(bench_, range(3))
        slow = await talk(bench_, range(3, 6), minutes=12)
        (request,) = (await bench_.sent())[-1:]
    assert {ttl for _, ttl in plans(quick)} == {"5m"}
    assert plans(slow)[-1][1] == "1h"
    assert (
        "nothing is cached any more" in slow[0].framing.reason or "nothing is cached any more" in slow[1].framing.reason
    )
    markers = [block.marker for block in read_request(request).blocks if block.marker is not None]
    assert {marker.ttl for marker in markers} == {"1h"}


async def test_why_a_layout_was_chosen_is_still_known_of_an_earlier_window() -> None:
    async with auto(playing(CLAUDE, chatting), HandClock()) as bench_:
        reports = [*await talk(bench_, range(3)), *await talk(bench_, range(3, 6), minutes=12)]
        windows = SentWindows(bench_.store, "main")
        shown = [view_of_sent(await windows.window(report.turn)).framing_reason for report in reports]
    assert shown == [report.framing.reason for report in reports]
    assert len(set(shown)) > 1


async def test_what_is_asked_for_an_hour_is_no_break_after_ten_minutes() -> None:
    clock = HandClock()
    async with auto(playing(CLAUDE, chatting), clock) as bench_:
        await talk(bench_, range(6), minutes=12)
        await bench_.store.put_document("plans", "tea", clock.now())
        held, later = await talk(bench_, range(6, 8), minutes=12)
        taken = (await talk(bench_, (9,), minutes=59.5 + 1))[0]
    assert "tea" not in held.window.cached_system + later.window.cached_system
    assert "tea" in taken.window.cached_system


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "openai:gpt-5.5"])
async def test_a_change_of_the_layout_rewrites_nothing_that_is_cached(name: str) -> None:
    model = playing(name, Working())
    async with auto(model, HandClock()) as bench_:
        for number in range(3):
            await remember(bench_.store, f"You like heron number {number}.", bench_.clock.now())
        reports = await talk(bench_, range(10))
        session = await stored_session(bench_.store, "main")
    changes = [index for index in range(1, 10) if plans(reports)[index] != plans(reports)[index - 1]]
    assert changes
    calls = list(play(session, model.profile, AsItWas([Plan(*plan) for plan in plans(reports)])))
    assert len(calls) == 70


class AsItWas:
    """Chooses what was chosen, and holds every change against what the cache would have given without it."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = plans

    def choose(self, past: Sequence[SessionTurn], turn: SessionTurn, current: Plan | None, look: Look) -> Decision:
        chosen = self._plans[len(past)]
        if current is not None and chosen != current:
            assert look(chosen).read >= look(current).read
        return Decision(chosen)


async def test_a_new_process_chooses_what_the_old_one_would_have(tmp_path: Path) -> None:
    async def held(restarts: bool) -> list[tuple[Framing, str]]:
        clock, script, found = HandClock(), Working(), []
        path = str(tmp_path / f"{restarts}.db")
        groups = [[number] for number in range(8)] if restarts else [list(range(8))]
        for group in groups:
            async with auto(playing(CLAUDE, script), clock, db=path) as bench_:
                found += plans(await talk(bench_, group, minutes=4))
        return found

    assert await held(restarts=True) == await held(restarts=False)


async def test_a_look_ahead_shows_the_layout_that_the_turn_takes() -> None:
    async with auto(playing(CLAUDE, chatting), HandClock()) as bench_:
        for number in range(8):
            bench_.clock.advance(minutes=2 if number < 5 else 11)
            shown = await bench_.mind.builder.preview(f"Message {number}.", reader=bench_.model)
            report = await bench_.orchestrator.run_turn(f"Message {number}.")
            assert shown.window.framing == report.framing


async def test_inside_of_a_turn_the_layout_stays() -> None:
    async with auto(playing(CLAUDE, Working()), HandClock()) as bench_:
        await talk(bench_, range(4))
        turns = await bench_.store.turns("main")
        for turn in turns:
            requests = [await bench_.store.load_request(step.request) for step in turn.steps]
            requests.append(await bench_.store.load_request(turn.request or ""))
            bodies = [[block.key for block in read_request(request).blocks] for request in requests]
            for one, two in pairwise(bodies):
                assert two[: len(one)] == one


async def test_without_prices_the_profile_decides_and_the_reason_says_so() -> None:
    async with auto(playing("ollama:qwen3", chatting), HandClock()) as bench_:
        (report,) = await talk(bench_, (1,))
    assert report.framing.framing is Framing.ASSISTANT
    assert "nobody knows what cached tokens of this model cost" in report.framing.reason


async def test_without_auto_the_layout_is_stored_too() -> None:
    async with bench(playing(CLAUDE, chatting, Framing.APPEND)) as bench_:
        await talk(bench_, (1,))
        (turn,) = await bench_.store.turns("main")
    assert turn.sent is not None
    assert (turn.sent.framing, turn.sent.ttl) == ("append", "")


async def test_a_conversation_that_went_on_without_auto_goes_on_with_it(tmp_path: Path) -> None:
    path, clock = str(tmp_path / "mind.db"), HandClock()
    async with bench(playing(CLAUDE, chatting, Framing.APPEND), db=path, clock=clock) as bench_:
        await talk(bench_, range(3))
    async with auto(playing(CLAUDE, chatting), clock, db=path) as bench_:
        (report,) = await talk(bench_, (4,))
    assert report.framing.reason.startswith("auto: ")
