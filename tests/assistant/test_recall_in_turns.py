"""Recall in whole turns: what comes to mind, what is searched for, and what is embedded behind them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import platformdirs
import pytest

from frontmind.assistant.recalling import RecallOptions
from frontmind.assistant.wiring import build_mind, build_orchestrator
from frontmind.errors import ConnectionLost
from frontmind.providers.scripted import ScriptedModel
from frontmind.recall.context_searches import SearchRequest
from frontmind.recall.embedding import Embedder
from frontmind.recall.indexing import space_name
from frontmind.recall.minilm import MiniLM
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.message import Message
from frontmind.values.passages import PassageKind
from frontmind.values.section import PLACEMENT_NOTIFICATION
from frontmind.window.window import Window
from recall.concepts import ConceptEmbedder
from support import START, Bench, HandClock, bench, calling, remember


@asynccontextmanager
async def remembering(
    script: list[str | Message], embedder: Embedder | None, *, db: str = ":memory:", clock: HandClock | None = None
) -> AsyncIterator[Bench]:
    """An assistant that embeds in the background, as the program does."""
    clock, store, model = clock or HandClock(), SqliteStore.open(db), ScriptedModel(script)
    mind = build_mind(store=store, clock=clock, recall=RecallOptions(embedder))
    mind.start()
    try:
        yield Bench(store, model, clock, mind, build_orchestrator(mind, store=store, model=model, clock=clock))
    finally:
        await mind.aclose()
        await store.close()


def said(window: Window, name: str) -> str:
    """What a section says; empty where it is not there."""
    found = [section.content for section in window.sections if section.name == name]
    return found[0] if found else ""


def memories(window: Window) -> list[str]:
    return re.findall(r"<memory [^>]*>([^<]*)<", said(window, "relevant_memories"))


async def embedded(bench_: Bench) -> None:
    """Wait until everything that is stored is embedded."""
    await bench_.mind.recalling.indexer.catch_up()


async def test_a_memory_comes_with_the_message_that_it_bears_on_and_with_no_other() -> None:
    async with bench(ScriptedModel(["4417.", "You are welcome.", "Jupiter has many."])) as bench_:
        await remember(bench_.store, "Your locker code is 4417.", bench_.clock.now())
        first = await bench_.orchestrator.run_turn("What is my locker code?")
        second = await bench_.orchestrator.run_turn("Thank you!")
        third = await bench_.orchestrator.run_turn("How many moons does Jupiter have?")
    assert re.search(
        r'<memory id="m1" observed="2026-11-30 09:15" why="[^"]+">Your locker', said(first.window, "relevant_memories")
    )
    assert all(
        section.placement == PLACEMENT_NOTIFICATION
        for section in first.window.sections
        if section.name == "relevant_memories"
    )
    assert said(second.window, "relevant_memories") == said(third.window, "relevant_memories") == ""


async def test_a_memory_that_the_reply_used_is_noted_on_its_active_day() -> None:
    async with bench(ScriptedModel(["It is 4417.", "I do not know."])) as bench_:
        await remember(bench_.store, "Your locker code is 4417.", bench_.clock.now())
        await bench_.orchestrator.run_turn("What is my locker code?")
        bench_.clock.advance(days=2)
        await bench_.orchestrator.run_turn("What is my locker code?")
        uses = await bench_.store.memory_uses([1])
    assert [(use.memory, use.day) for use in uses] == [(1, START.date())]


async def test_an_exchange_comes_back_when_it_has_left_the_window_and_not_before() -> None:
    async with bench(ScriptedModel(["Noted."])) as bench_:
        await bench_.orchestrator.run_turn("My sister Ingrid plays the cello in Graz.")
        asked = "What does Ingrid play in Graz?"
        near = await bench_.mind.builder.preview(asked)
        assert said(near.window, "relevant_memories") == ""
        far = await bench_.mind.recalling.recall.surface(asked, now=bench_.clock.now(), limit=3, least=0.1)
    assert [find.hit.passage.kind for find in far] == [PassageKind.EXCHANGE]


@pytest.mark.parametrize("way", ["concepts", "minilm"])
async def test_what_is_said_in_other_words_comes_once_it_is_embedded(way: str) -> None:
    embedder = ConceptEmbedder() if way == "concepts" else await MiniLM.open(platformdirs.user_cache_path("frontmind"))
    async with remembering(["Bo!"], embedder) as bench_:
        await remember(bench_.store, "You have a puppy called Bo.", bench_.clock.now())
        await remember(bench_.store, "Your salary is paid on the 28th.", bench_.clock.now())
        await embedded(bench_)
        report = await bench_.orchestrator.run_turn("What is the name of my dog?")
    assert memories(report.window)[:1] == ["You have a puppy called Bo."]
    await embedder.close()


async def test_a_turn_is_embedded_behind_it_without_waiting() -> None:
    embedder = ConceptEmbedder()
    async with remembering(["Lovely.", "Yes."], embedder) as bench_:
        await embedded(bench_)
        embedder.gate.clear()
        # The embedder hangs, and the turn goes on: by words, and with its message stored.
        await asyncio.wait_for(bench_.orchestrator.run_turn("We got a puppy called Bo."), 30)
        await embedder.held.wait()
        embedder.gate.set()
        await embedded(bench_)
        (space,) = await bench_.store.vector_spaces()
        assert (space.name, space.embedded_to) == (space_name(embedder), await bench_.store.newest_passage())
    assert any("puppy called Bo" in text for text in embedder.embedded)


async def test_a_failing_embedder_fails_no_turn_and_is_told_in_one_line() -> None:
    embedder = ConceptEmbedder()
    embedder.failure = ConnectionLost("the server is gone; start it", model="concepts")
    async with remembering(["4417."], embedder) as bench_:
        await remember(bench_.store, "Your locker code is 4417.", bench_.clock.now())
        await embedded(bench_)
        report = await bench_.orchestrator.run_turn("What is my locker code?")
        assert memories(report.window) == ["Your locker code is 4417."]
        assert report.failures == ()
        told = bench_.mind.recalling.notices.take()
        assert any("the server is gone; start it" in line for line in told)
        assert bench_.mind.recalling.notices.take() == []


async def test_the_model_searches_on_purpose_and_reads_on_with_what_was_found() -> None:
    script: list[str | Message] = ["Noted.", calling(("search_context", {"query": "locker code"})), "It is 4417."]
    async with bench(ScriptedModel(script)) as bench_:
        await bench_.orchestrator.run_turn("Hello!")
        await remember(bench_.store, "Your locker code is 4417.", bench_.clock.now())
        report = await bench_.orchestrator.run_turn("Look it up, please.")
        turns = await bench_.store.turns("main")
    assert [use.is_error for use in report.tools] == [False]
    (step,) = turns[-1].steps
    assert step.results is not None
    assert "Your locker code is 4417." in str(step.results)
    assert said(report.window, "context_search_results") == ""


async def test_searches_leave_the_notification_center_with_their_segment() -> None:
    async with bench(ScriptedModel(["a", "b", "c"])) as bench_:
        from_before = await bench_.orchestrator.run_turn("Hello!")
        board = bench_.mind.memory.trinkets
        assert "context_search_results" in board
        await bench_.mind.recalling.searches.search_and_show(SearchRequest("tea"))
        shown = await bench_.orchestrator.run_turn("Well?")
        bench_.clock.advance(hours=2)
        later = await bench_.orchestrator.run_turn("Good morning!")
    assert said(from_before.window, "context_search_results") == said(later.window, "context_search_results") == ""
    assert 'query="tea" state="found"' in said(shown.window, "context_search_results")


async def test_the_same_state_gives_the_same_section_in_another_process(tmp_path: Path) -> None:
    db, clock, sections = str(tmp_path / "mind.db"), HandClock(), []
    async with remembering(["Noted."], ConceptEmbedder(), db=db, clock=clock) as bench_:
        for number in range(6):
            await remember(bench_.store, f"You have puppy number {number}.", clock.now())
        await embedded(bench_)
    for _ in range(2):
        async with remembering([], ConceptEmbedder(), db=db, clock=clock) as bench_:
            await embedded(bench_)
            sections.append(said((await bench_.mind.builder.preview("my dog, the puppy?")).window, "relevant_memories"))
    assert sections[0] == sections[1] != ""


async def test_closing_ends_what_goes_on_in_the_background() -> None:
    embedder = ConceptEmbedder()
    embedder.gate.clear()
    async with remembering([], embedder) as bench_:
        await remember(bench_.store, "You have a puppy.", bench_.clock.now())
        bench_.mind.recalling.indexer.wake()
        await embedder.held.wait()
        assert bench_.mind.recalling.background.running == 1
    assert bench_.mind.recalling.background.running == 0
    # It was lent, and stays its owner's to close.
    assert not embedder.closed
