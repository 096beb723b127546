"""Whoever reads turns reads them as if those that were replaced were not there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontmind.assistant.segment_keeper import SegmentKeeper
from frontmind.assistant.segment_writing import writing_window
from frontmind.assistant.window_opening import SegmentOpener
from frontmind.cachelab.stored import stored_session
from frontmind.continuum.collapse import collapsed_start, left_segments
from frontmind.continuum.extract import extract
from frontmind.continuum.fit import window_start_to_fit
from frontmind.continuum.history import last_said, newest_message_at, next_segment, read_turns, unanswered_turns
from frontmind.events import TurnContext
from frontmind.events.background import Background
from frontmind.events.bus import EventBus
from frontmind.providers.protocol import Request, StreamEvent
from frontmind.providers.scripted import ScriptedModel
from frontmind.recall.extraction import Extractor
from frontmind.recall.facts import FactKeeper
from frontmind.recall.search import Recall
from frontmind.recall.surfacing import Surfacing
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.message import assistant, user
from frontmind.values.passages import Recollection
from frontmind.values.records import Completion, Step, Turn, TurnState
from frontmind.values.usage import Usage
from support import START, HandClock, bench

PAUSE = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
STEP = Step(assistant("I look."), "0" * 64, "m", Usage(1, 0, 0, 1))


def turn(number: int, kind: str) -> Turn:
    """A turn by a letter: done, open, broken off behind a tool call, refused, replaced with or without a reply."""
    asked = NINE + timedelta(minutes=20 * number)
    states = {"d": "done", "o": "open", "b": "open", "r": "refused", "x": "replaced", "y": "replaced"}
    said = user(f"What about the {number}th herons?")
    begun = Turn(number, "main", number, 1 + number // 3, TurnState(states[kind]), said, asked)
    if kind == "b":
        return replace(begun, steps=(STEP,))
    if kind not in "dx":
        return begun
    return replace(begun, reply=assistant(f"The {number}th herons wait for frogs."), answered_at=asked + MINUTE)


@given(kinds=st.text("dobrxy", max_size=12), start=st.integers(1, 6), minutes=st.integers(0, 400))
def test_no_reading_of_turns_tells_whether_there_are_replaced_ones(kinds: str, start: int, minutes: int) -> None:
    every = [turn(number, kind) for number, kind in enumerate(kinds, 1)]
    line = [item for item in every if item.state is not TurnState.REPLACED]
    now = NINE + timedelta(minutes=minutes)

    def readings(turns: Sequence[Turn]) -> list[object]:
        return [
            read_turns(turns, window_start=start),
            unanswered_turns(turns),
            newest_message_at(turns),
            last_said(turns, now),
            next_segment(turns, now, pause=PAUSE),
            extract(turns),
            collapsed_start(turns, start=start, segment=3, carry_over=10, least=1),
            left_segments(turns, 1, start),
            window_start_to_fit(turns, start=start, tokens=100, room=50),
            writing_window(turns, UTC, limit=None),
        ]

    assert readings(every) == readings(line)


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(IN_MEMORY)
    yield opened
    await opened.close()


async def say(store: SqliteStore, said: str, replied: str, at: datetime = START) -> Turn:
    begun = await store.begin_turn("main", user(said), at, segment_pause=PAUSE)
    completion = Completion(assistant(replied), at, "0" * 64, "m", Usage(1, 0, 0, 1), False, {})
    return await store.complete_turn(begun.id, completion)


async def test_no_memory_is_extracted_from_a_replaced_turn(store: SqliteStore) -> None:
    await say(store, "I prefer coffee", "Noted.")
    await store.set_line("main", ())
    await say(store, "I prefer tea", "Noted.")
    asked = ""

    def read(request: Request) -> str:
        nonlocal asked
        asked = str(request)
        return '{"memories": []}'

    (segment,) = await store.segments("main")
    keeper = FactKeeper(store, HandClock(), extractor=Extractor(ScriptedModel(read)))
    await keeper.extract(segment, await store.turns("main"))
    assert "I prefer tea" in asked
    assert "coffee" not in asked


class Asked(Recall):
    """A search that notes what it is told of what was said before the message."""

    before = ""

    async def surface(self, query: str, *, before: str = "", **more: Any) -> Sequence[Recollection]:
        self.before = before
        return await super().surface(query, before=before, **more)


@pytest.mark.parametrize("replaced", [0, 1, 30])
async def test_what_was_said_before_the_message_is_not_what_was_replaced(store: SqliteStore, replaced: int) -> None:
    await say(store, "Which locker is mine?", "The blue one.")
    for _ in range(replaced):
        await say(store, "Where do herons nest?", "In alders.")
        await store.set_line("main", [1])
    recall = Asked(store)
    await Surfacing(store, recall).surface(TurnContext("main", replaced + 2, START, "And its number?", START, 1))
    assert recall.before == "Which locker is mine?\nThe blue one."


async def test_the_extract_of_what_left_the_window_tells_of_no_replaced_turn(store: SqliteStore) -> None:
    await say(store, "The herons of the lake stand in the reeds.", "They wait for frogs there.")
    later = await say(store, "The storks of the roof are gone.", "They left in August.", START + MINUTE)
    await store.set_line("main", [1])
    newest = await store.begin_turn("main", user("And now?"), START + MINUTE * 2, segment_pause=PAUSE)
    before = await store.turns("main", until=newest.number - 1)
    opening = await SegmentOpener(store, HandClock(), "main").moved(newest, before, later.number + 1, reader=None)
    assert "herons" in opening.summary
    assert "storks" not in opening.summary


async def test_no_summary_is_kept_that_tells_of_a_turn_that_was_replaced_meanwhile(store: SqliteStore) -> None:
    await say(store, "The herons of the lake stand in the reeds.", "They wait.")
    await say(store, "The storks of the roof are gone.", "They left in August.", START + MINUTE)
    told: list[str] = []

    class Slow(ScriptedModel):
        """Writes its summary while the person goes on from before the last turn."""

        async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
            await store.set_line("main", [1])
            async for event in super().stream(request):
                yield event

    background, clock = Background(told.append), HandClock()
    clock.advance(hours=3)
    keeper = SegmentKeeper(
        store=store,
        bus=EventBus(),
        clock=clock,
        conversation="main",
        background=background,
        model=Slow(['{"title": "Storks", "summary": "The storks left in August."}']),
        tell=told.append,
    )
    keeper.start()
    await keeper.idle()
    keeper.detach()
    await background.close()
    (segment,) = await store.segments("main")
    assert segment.summary is None
    assert [line for line in told if "not kept, its turns have changed" in line]


async def test_a_session_holds_no_replaced_turn() -> None:
    async with bench(ScriptedModel(["one", "two", "three"])) as bench_:
        for message in ("a", "b"):
            await bench_.orchestrator.run_turn(message)
        await bench_.store.set_line("main", [1])
        await bench_.orchestrator.run_turn("c")
        session = await stored_session(bench_.store, "main")
        requests = await bench_.sent()
    assert [item.reply.text for item in session.turns if item.reply is not None] == ["one", "three"]
    assert '"b"' in str(requests[1]).replace("'", '"')
    assert '"b"' not in str(requests[2]).replace("'", '"')
