"""Memories are merged, superseded by time, linked, kept and forgotten; a segment is read once."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontmind.errors import Conflict, ModelError, ModelUnavailable, UsageError
from frontmind.providers.protocol import Request
from frontmind.providers.scripted import ScriptedModel
from frontmind.recall.extraction import Extractor
from frontmind.recall.facts import MOST_FAILURES, MOST_SHOWN, RETRY_AFTER, FactKeeper, Outcome
from frontmind.recall.linking import FactPlan, neighbours
from frontmind.recall.minilm import MiniLM
from frontmind.recall.similarity import (
    SameByVectors,
    SameByWords,
    may_be_the_same,
    normalised,
    sameness_by,
    word_overlap,
)
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.memories import LinkKind, Memory, MemoryChanges, MemoryLink, MemoryOrigin, NewMemory
from frontmind.values.message import Message, assistant, user
from frontmind.values.records import Completion, Segment, Turn
from frontmind.values.usage import Usage
from support import START, HandClock, remember

DAY = timedelta(days=1)
PAUSE = timedelta(hours=1)
TEA = {"text": "You prefer tea", "turn": 1, "confidence": 1}


class Alike:
    """An embedder to which all texts are alike."""

    name, dimensions = "alike", 1

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        numpy = pytest.importorskip("numpy")
        return numpy.ones((len(texts), 1), dtype="float32")

    async def close(self) -> None: ...


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(IN_MEMORY)
    yield opened
    await opened.close()


def answers(*memories: dict[str, Any]) -> str:
    return json.dumps({"memories": list(memories)})


async def say(store: SqliteStore, said: str, at: datetime = START, *, refuses: tuple[int, ...] = ()) -> Turn:
    """A DONE turn."""
    turn = await store.begin_turn("main", user(said), at, segment_pause=PAUSE)
    reply = Completion(assistant("I see."), at, "0" * 64, "m", Usage(1, 0, 0, 1), False, {}, refuses=refuses)
    return await store.complete_turn(turn.id, reply)


async def last_segment(store: SqliteStore) -> tuple[Segment, Sequence[Turn]]:
    return (await store.segments("main"))[-1], await store.turns("main")


class Failing(ScriptedModel):
    """A model that fails as often as it has errors, then answers."""

    def __init__(self, errors: Sequence[ModelError], reply: str, name: str = "scripted") -> None:
        left = list(errors)

        def answer(request: Request) -> str | Message:
            if left:
                raise left.pop(0)
            return reply

        super().__init__(answer, name=name)


def keeper(store: SqliteStore, *replies: str, clock: HandClock | None = None) -> FactKeeper:
    return FactKeeper(store, clock or HandClock(), extractor=Extractor(ScriptedModel(replies)))


async def extracted(store: SqliteStore, said: str, at: datetime, *memories: dict[str, Any]) -> Sequence[Memory]:
    """Say something in a segment of its own, and let a model extract these; what was added."""
    turn = await say(store, said, at)
    reply = answers(*({"turn": turn.number, "confidence": 1, **memory} for memory in memories))
    report = await keeper(store, reply).extract(*await last_segment(store))
    assert report.outcome is Outcome.EXTRACTED
    return report.added


class TestExtraction:
    async def test_a_memory_is_kept_with_its_source_and_the_time_at_which_it_was_said(self, store: SqliteStore) -> None:
        await say(store, "I prefer tea", START)
        clock = HandClock(START + DAY)
        report = await keeper(store, answers(TEA), clock=clock).extract(*await last_segment(store))
        (kept,) = report.added
        assert list(await store.memories()) == [kept]
        assert (kept.text, kept.observed_at, kept.recorded_at) == ("You prefer tea", START, START + DAY)
        assert (kept.conversation, kept.turn, kept.origin) == ("main", 1, MemoryOrigin.EXTRACTED)
        assert report.usage is not None

    @pytest.mark.requirement("MEMORY-3")
    async def test_without_a_model_nothing_is_extracted_and_the_figures_say_so(self, store: SqliteStore) -> None:
        await say(store, "I prefer tea")
        without = FactKeeper(store, HandClock())
        assert (await without.extract(*await last_segment(store))).outcome is Outcome.NO_MODEL
        figures = await without.statistics()
        assert (figures.model, figures.holding, figures.segments, figures.failed) == (None, 0, 0, ())

    async def test_a_clock_that_was_ahead_when_the_model_failed_lets_nothing_wait(self, store: SqliteStore) -> None:
        await say(store, "I prefer tea", START)
        clock = HandClock(START + 3650 * DAY)
        failing = keeper(store, "no JSON", clock=clock)
        assert (await failing.extract(*await last_segment(store))).outcome is Outcome.FAILED
        clock.advance(days=-3650)
        again = keeper(store, answers(TEA), clock=clock)
        assert (await again.extract(*await last_segment(store))).outcome is Outcome.EXTRACTED

    async def test_a_segment_is_read_once_also_when_it_told_nothing(self, store: SqliteStore) -> None:
        await say(store, "What is the capital of France?")
        once = keeper(store, answers())
        assert (await once.extract(*await last_segment(store))).outcome is Outcome.EXTRACTED
        assert (await once.extract(*await last_segment(store))).outcome is Outcome.ALREADY
        assert (await once.statistics()).segments == 1

    async def test_a_segment_that_has_grown_is_read_from_where_it_was_read_to(self, store: SqliteStore) -> None:
        await say(store, "I prefer tea")
        await keeper(store, answers(TEA)).extract(*await last_segment(store))
        await say(store, "And I love rain", START + timedelta(minutes=5))
        seen: list[str] = []

        def answer(request: Request) -> str:
            seen.append(str(request))
            return answers({"text": "You love rain", "turn": 2, "confidence": 1})

        again = FactKeeper(store, HandClock(), extractor=Extractor(ScriptedModel(answer)))
        assert [kept.text for kept in (await again.extract(*await last_segment(store))).added] == ["You love rain"]
        assert "I love rain" in seen[0]
        assert "I prefer tea" not in seen[0]

    async def test_all_of_the_segment_is_read_but_what_the_provider_refused(self, store: SqliteStore) -> None:
        await say(store, "the first segment", START - DAY)
        refused = await store.begin_turn("main", user("a refused message"), START, segment_pause=PAUSE)
        await say(store, "the second segment", START, refuses=(refused.id,))
        await store.begin_turn("main", user("nobody answered"), START, segment_pause=PAUSE)
        seen: list[str] = []

        def answer(request: Request) -> str:
            seen.append(str(request))
            return answers({"text": "You wait for an answer", "turn": 4, "confidence": 1})

        reading = FactKeeper(store, HandClock(), extractor=Extractor(ScriptedModel(answer)))
        report = await reading.extract(*await last_segment(store))
        assert [kept.turn for kept in report.added] == [4]
        assert "the second segment" in seen[0]
        assert "the first segment" not in seen[0]
        assert "a refused message" not in seen[0]

    async def test_a_failure_is_told_and_tried_again_later_and_the_memories_are_there_once(
        self, store: SqliteStore
    ) -> None:
        await say(store, "I prefer tea")
        clock = HandClock()
        model = Failing([ModelError("it is down;\nlook", model="m")] * 2, answers(TEA))
        failing = FactKeeper(store, clock, extractor=Extractor(model))
        first = await failing.extract(*await last_segment(store))
        assert (first.outcome, first.problem) == (Outcome.FAILED, "it is down; look")
        assert [each.problem for each in (await failing.statistics()).failed] == ["it is down; look"]
        assert (await failing.extract(*await last_segment(store))).outcome is Outcome.WAITING
        clock.moment += RETRY_AFTER
        assert (await failing.extract(*await last_segment(store))).outcome is Outcome.FAILED
        clock.moment += RETRY_AFTER
        assert (await failing.extract(*await last_segment(store))).outcome is Outcome.WAITING
        clock.moment += RETRY_AFTER
        assert (await failing.extract(*await last_segment(store))).outcome is Outcome.EXTRACTED
        assert (await failing.statistics()).failed == ()
        assert [kept.text for kept in await store.memories()] == ["You prefer tea"]

    async def test_after_too_many_failures_only_another_model_is_asked(self, store: SqliteStore) -> None:
        await say(store, "I prefer tea")
        clock = HandClock()
        failing = FactKeeper(store, clock, extractor=Extractor(ScriptedModel(["no JSON"] * MOST_FAILURES)))
        outcomes = []
        for _ in range(MOST_FAILURES + 1):
            outcomes.append((await failing.extract(*await last_segment(store))).outcome)
            clock.moment += 20 * DAY
        assert outcomes == [*[Outcome.FAILED] * (MOST_FAILURES - 1), Outcome.GIVEN_UP, Outcome.GIVEN_UP]
        other = FactKeeper(store, clock, extractor=Extractor(ScriptedModel([answers(TEA)], name="other")))
        assert (await other.extract(*await last_segment(store))).outcome is Outcome.EXTRACTED

    async def test_a_model_that_has_to_be_set_up_first_uses_up_no_attempt(self, store: SqliteStore) -> None:
        await say(store, "I prefer tea")
        model = Failing([ModelUnavailable("set a key", model="m")] * (MOST_FAILURES + 1), answers(TEA))
        unable = FactKeeper(store, HandClock(), extractor=Extractor(model))
        for _ in range(MOST_FAILURES + 1):
            report = await unable.extract(*await last_segment(store))
            assert (report.outcome, report.problem) == (Outcome.FAILED, "set a key")
        assert (await unable.extract(*await last_segment(store))).outcome is Outcome.EXTRACTED

    async def test_an_extraction_that_is_cancelled_leaves_nothing_and_can_be_done_again(
        self, store: SqliteStore
    ) -> None:
        await say(store, "I prefer tea")
        begun = asyncio.Event()

        class Hanging(ScriptedModel):
            async def stream(self, request: Request) -> AsyncIterator[Any]:
                begun.set()
                await asyncio.Event().wait()
                yield None

        hanging = FactKeeper(store, HandClock(), extractor=Extractor(Hanging([])))
        task = asyncio.ensure_future(hanging.extract(*await last_segment(store)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (list(await store.memories()), list(await store.extractions())) == ([], [])
        assert (await keeper(store, answers(TEA)).extract(*await last_segment(store))).outcome is Outcome.EXTRACTED
        assert len(await store.memories()) == 1

    async def test_a_crash_before_the_transaction_ends_stores_neither_the_mark_nor_the_memories(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await say(store, "I prefer tea")
        monkeypatch.setattr("frontmind.stores.sqlite.memories._note_extraction", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await keeper(store, answers(TEA)).extract(*await last_segment(store))
        monkeypatch.undo()
        assert (list(await store.memories()), list(await store.extractions())) == ([], [])
        assert (await keeper(store, answers(TEA)).extract(*await last_segment(store))).outcome is Outcome.EXTRACTED
        assert len(await store.memories()) == 1

    async def test_two_processes_that_read_a_segment_at_once_keep_its_memories_once(self, store: SqliteStore) -> None:
        await say(store, "I prefer tea")
        pair = [keeper(store, answers(TEA)), keeper(store, answers({**TEA, "text": "You love tea"}))]
        place = await last_segment(store)
        reports = await asyncio.gather(*(each.extract(*place) for each in pair))
        assert sorted(report.outcome for report in reports) == [Outcome.ALREADY, Outcome.EXTRACTED]
        assert len(await store.memories()) == 1

    async def test_what_was_read_of_turns_that_are_replaced_meanwhile_is_not_kept(self, store: SqliteStore) -> None:
        await say(store, "I prefer tea")
        await say(store, "I prefer coffee")
        segment, turns = await last_segment(store)
        await store.set_line("main", [1])
        report = await keeper(store, answers(TEA)).extract(segment, turns)
        assert (report.outcome, report.added, report.usage is None) == (Outcome.REPLACED, (), False)
        assert (list(await store.memories()), list(await store.extractions())) == ([], [])
        again = await keeper(store, answers(TEA)).extract(*await last_segment(store))
        assert [memory.text for memory in again.added] == ["You prefer tea"]

    async def test_memories_stay_when_the_turn_that_told_them_is_replaced_later(self, store: SqliteStore) -> None:
        (kept,) = await extracted(store, "I prefer tea", START, TEA)
        await store.set_line("main", ())
        assert list(await store.memories()) == [kept]

    async def test_a_memory_that_is_forgotten_while_the_model_answers_is_not_missed(self, store: SqliteStore) -> None:
        old = await remember(store, "You live in Paris", START - DAY)
        await say(store, "I live in Rome now")
        changing = SqliteStore.change_memories

        async def forgotten(self: SqliteStore, changes: MemoryChanges, at: datetime, **more: Any) -> Sequence[Memory]:
            if any(memory.id == old.id for memory in await self.memories()):
                await self.remove_memory(old.id)
            return await changing(self, changes, at, **more)

        moved = {"text": "You live in Rome", "turn": 1, "confidence": 1, "supersedes": ["m1"]}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqliteStore, "change_memories", forgotten)
            report = await keeper(store, answers(moved)).extract(*await last_segment(store))
        assert [kept.text for kept in report.added] == ["You live in Rome"]
        assert [kept.text for kept in await store.memories()] == ["You live in Rome"]

    async def test_a_model_is_shown_few_memories_all_and_of_many_the_nearest(self, store: SqliteStore) -> None:
        seen: list[list[str]] = []

        def answer(request: Request) -> str:
            seen.append(re.findall(r'memory id="(m\d+)"', str(request["messages"])))
            return answers()

        reading = FactKeeper(store, HandClock(), extractor=Extractor(ScriptedModel(answer)))
        await remember(store, "You prefer tea", START)
        await say(store, "My cello is broken")
        await reading.extract(*await last_segment(store))
        assert seen[-1] == ["m1"]
        for number in range(MOST_SHOWN):
            await remember(store, f"You once counted to number{number}", START)
        cello = await remember(store, "You play the cello", START)
        await say(store, "My cello is mended", START + DAY)
        await reading.extract(*await last_segment(store))
        assert f"m{cello.id}" in seen[-1]
        assert len(seen[-1]) < 20


class TestMerging:
    async def test_the_same_fact_said_again_is_one_memory_that_holds_since_the_later_time(
        self, store: SqliteStore
    ) -> None:
        (first,) = await extracted(store, "I prefer tea", START, {"text": "You prefer tea.", "confidence": 0.7})
        assert await extracted(store, "tea again", START + DAY, {"text": "you prefer  TEA"}) == ()
        (kept,) = await store.memories()
        assert (kept.id, kept.text, kept.confidence) == (first.id, "You prefer tea.", 1.0)
        assert (kept.observed_at, kept.turn) == (START + DAY, 2)

    async def test_an_older_observation_of_the_same_fact_changes_no_time(self, store: SqliteStore) -> None:
        (first,) = await extracted(store, "I prefer tea", START, {"text": "You prefer tea"})
        await extracted(store, "I prefer tea", START - 90 * DAY, {"text": "You prefer tea"})
        assert list(await store.memories()) == [first]

    async def test_the_same_twice_in_one_answer_is_one_memory(self, store: SqliteStore) -> None:
        added = await extracted(store, "tea!", START, {"text": "You prefer tea"}, {"text": "You prefer tea!"})
        assert [kept.text for kept in added] == ["You prefer tea"]

    async def test_an_appointment_of_the_same_words_on_another_day_is_another_memory(self, store: SqliteStore) -> None:
        visit = {"text": "You see the dentist"}
        await extracted(store, "dentist", START, {**visit, "happens_at": "2026-12-01"})
        await extracted(store, "dentist", START + DAY, {**visit, "happens_at": "2027-06-01"})
        await extracted(store, "dentist", START + 2 * DAY, {**visit, "happens_at": "2027-06-01"})
        assert [str(kept.happens_at) for kept in await store.memories()] == ["2026-12-01", "2027-06-01"]

    async def test_the_model_may_say_that_two_are_the_same_unless_the_words_tell_otherwise(
        self, store: SqliteStore
    ) -> None:
        await remember(store, "You have two kids", START - DAY)
        same: dict[str, Any] = {"same_as": ["m1"]}
        await extracted(store, "two children", START, {"text": "You have two children", **same})
        assert len(await store.memories()) == 1
        await extracted(store, "none at all", START + DAY, {"text": "You have no kids", **same})
        assert len(await store.memories()) == 2

    async def test_what_the_person_asks_to_keep_confirms_what_was_extracted(self, store: SqliteStore) -> None:
        (first,) = await extracted(store, "I prefer tea", START - DAY, {"text": "You prefer tea", "confidence": 0.7})
        kept, is_new = await FactKeeper(store, HandClock()).remember(" you prefer tea ")
        assert (kept.id, is_new, kept.text, kept.origin) == (first.id, False, "You prefer tea", MemoryOrigin.PERSON)
        assert (kept.observed_at, kept.confidence) == (START, 1.0)


class TestSuperseding:
    @pytest.mark.requirement("MEMORY-1")
    async def test_a_newer_fact_supersedes_an_older_one_and_both_dates_stay(self, store: SqliteStore) -> None:
        (paris,) = await extracted(store, "I live in Paris", START - 90 * DAY, {"text": "You live in Paris"})
        (rome,) = await extracted(
            store, "I moved to Rome", START, {"text": "You live in Rome", "supersedes": [f"m{paris.id}"]}
        )
        old = await store.memory(paris.id)
        assert (old.observed_at, old.superseded_at, old.superseded_by) == (START - 90 * DAY, START, rome.id)
        assert [kept.id for kept in await FactKeeper(store, HandClock()).list()] == [rome.id]
        assert list(await store.memory_links([rome.id])) == [MemoryLink(rome.id, paris.id, LinkKind.SUPERSEDES)]

    async def test_an_older_observation_that_comes_later_is_itself_superseded(self, store: SqliteStore) -> None:
        (rome,) = await extracted(store, "I live in Rome", START, {"text": "You live in Rome"})
        (paris,) = await extracted(
            store, "I live in Paris", START - 900 * DAY, {"text": "You live in Paris", "supersedes": [f"m{rome.id}"]}
        )
        assert (await store.memory(rome.id)).superseded_by is None
        assert (paris.superseded_by, paris.superseded_at) == (rome.id, START)
        assert [kept.text for kept in await FactKeeper(store, HandClock()).list()] == ["You live in Rome"]

    async def test_a_fact_that_holds_again_is_a_memory_of_its_own(self, store: SqliteStore) -> None:
        (berlin,) = await extracted(store, "Berlin", START - 2 * DAY, {"text": "You live in Berlin"})
        (paris,) = await extracted(
            store, "Paris", START - DAY, {"text": "You live in Paris", "supersedes": [f"m{berlin.id}"]}
        )
        (again,) = await extracted(
            store, "Berlin", START, {"text": "You live in Berlin", "supersedes": [f"m{paris.id}"]}
        )
        chain = [(kept.id, kept.superseded_by) for kept in await store.memories()]
        assert chain == [(berlin.id, paris.id), (paris.id, again.id), (again.id, None)]

    async def test_ids_that_were_not_shown_change_nothing(self, store: SqliteStore) -> None:
        theirs = await remember(store.of("bob"), "You live in Paris", START - DAY)
        (kept,) = await extracted(
            store, "Rome", START, {"text": "You live in Rome", "supersedes": [f"m{theirs.id}", "m99", "x", "m-1"]}
        )
        assert list(await store.of("bob").memories()) == [theirs]
        assert list(await store.memory_links([kept.id])) == []

    async def test_links_of_every_kind_are_kept(self, store: SqliteStore) -> None:
        for text in ("You play the cello", "You are tone-deaf", "Anna teaches music"):
            await remember(store, text, START - DAY)
        kinds = {"supports": ["m1"], "conflicts": ["m2"], "related": ["m3", "m3"]}
        (kept,) = await extracted(store, "orchestra", START, {"text": "You joined an orchestra", **kinds})
        assert {(link.target, link.kind) for link in await store.memory_links([kept.id])} == {
            (1, LinkKind.SUPPORTS),
            (2, LinkKind.CONFLICTS),
            (3, LinkKind.RELATED),
        }


def planned(days: Sequence[int]) -> tuple[FactPlan, list[int]]:
    plan = FactPlan(())
    return plan, [plan.add(NewMemory(f"fact of day {day}", START + day * DAY)) for day in days]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_facts_that_exclude_each_other_end_with_the_newest_in_whatever_order_they_come(order: Sequence[int]) -> None:
    plan, ids = planned(order)
    for index in range(1, len(ids)):
        plan.supersede(ids[index], ids[index - 1])
    assert [memory.observed_at for memory in plan.holding()] == [START + 3 * DAY]
    for memory in plan.all():
        if memory.superseded_by is not None:
            newer = plan[memory.superseded_by]
            assert memory.superseded_at == newer.observed_at > memory.observed_at


@given(st.lists(st.integers(0, 5), min_size=1, max_size=7), st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_whatever_supersedes_whatever_each_chain_ends_with_a_memory_that_holds(
    days: list[int], pairs: list[tuple[int, int]]
) -> None:
    plan, ids = planned(days)
    for new, other in pairs:
        if max(new, other) < len(ids):
            plan.supersede(ids[new], ids[other])
    for memory in plan.all():
        steps = 0
        while memory.superseded_by is not None:
            newer = plan[memory.superseded_by]
            assert newer.observed_at >= memory.observed_at
            memory, steps = newer, steps + 1
            assert steps <= len(ids)


def test_stored_cycles_end_nothing_in_a_loop() -> None:
    ring = [Memory(n, f"fact {n}", START, START, superseded_by=n % 3 + 1, superseded_at=START) for n in (1, 2, 3)]
    plan = FactPlan(ring)
    new = plan.add(NewMemory("newer", START + DAY))
    plan.supersede(new, 1)
    assert [memory.id for memory in plan.holding()] == [new]
    assert plan.changes().links


class TestNeighbours:
    @pytest.fixture
    async def linked(self, store: SqliteStore) -> SqliteStore:
        """1 supports 2 supports 3 supports 1 (a ring); 4 supersedes 2; 5 is alone."""
        for text in "abcde":
            await remember(store, text, START)
        pairs = [(1, 2, "supports"), (2, 3, "supports"), (3, 1, "supports"), (4, 2, "supersedes")]
        links = tuple(MemoryLink(source, target, LinkKind(kind)) for source, target, kind in pairs)
        await store.change_memories(MemoryChanges(links=links), START)
        return store

    async def found(self, store: SqliteStore, ids: Sequence[int], depth: int, limit: int) -> list[tuple[int, int]]:
        return [(near.memory.id, near.distance) for near in await neighbours(store, ids, depth, limit)]

    async def test_links_are_followed_both_ways_and_rings_once(self, linked: SqliteStore) -> None:
        assert await self.found(linked, [1], 1, 9) == [(2, 1), (3, 1)]
        assert await self.found(linked, [1], 9, 9) == [(2, 1), (3, 1), (4, 2)]
        assert await self.found(linked, [5], 9, 9) == []

    async def test_what_supersedes_comes_first_and_the_direction_is_told(self, linked: SqliteStore) -> None:
        found = await neighbours(linked, [2], 1, 9)
        assert [(near.memory.id, near.kind, near.outgoing) for near in found] == [
            (4, LinkKind.SUPERSEDES, False),
            (3, LinkKind.SUPPORTS, True),
            (1, LinkKind.SUPPORTS, False),
        ]
        assert [near.root for near in found] == [2, 2, 2]

    async def test_depth_and_count_are_bounds(self, linked: SqliteStore) -> None:
        assert await self.found(linked, [1], 9, 2) == [(2, 1), (3, 1)]
        assert await self.found(linked, [1], 9, 0) == await self.found(linked, [1], 0, 9) == []

    async def test_none_of_those_that_were_asked_for_is_its_own_neighbour(self, linked: SqliteStore) -> None:
        assert await self.found(linked, [3, 1, 3], 1, 9) == [(2, 1)]


class TestSameness:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("You prefer tea", "You prefer coffee"),
            ("You are not afraid of dogs", "You are afraid of dogs"),
            ("You don't eat fish at all these days", "You do eat fish at all these days"),
            ("Your meeting is on 3 May", "Your meeting is on 4 May"),
            ("Anna introduced you to Ben", "Ben introduced you to Anna"),
            ("Ben was your boss at the bank", "Ben is your boss at the bank"),
            ("You are the older sibling", "You are the younger sibling"),
            ("You program in C", "You program in C++"),
            ("", "You prefer tea"),
            ("…", "!"),
        ],
    )
    async def test_two_facts_are_never_taken_for_one_however_alike_their_vectors(self, one: str, other: str) -> None:
        for sameness in (SameByWords(), SameByVectors(Alike())):
            assert await sameness.find_same(one, [other]) is None
            assert await sameness.find_same(other, [one]) is None
        assert await SameByVectors(Alike()).find_same("You have a dog named Rex", ["Your dog is called Rex"]) == 0

    async def test_the_best_of_several_is_meant(self) -> None:
        others = ["You are learning to bake sourdough bread at home", "x", "You are learning to bake sourdough bread"]
        assert await SameByWords().find_same("You are learning to bake sourdough bread", others) == 2

    async def test_while_the_embedder_fails_words_are_compared(self) -> None:
        class Broken:
            name, dimensions = "broken", 1

            async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
                raise ModelUnavailable("no package", model="broken")

            async def close(self) -> None: ...

        sameness = SameByVectors(Broken())
        assert await sameness.find_same("You prefer tea", ["You prefer tea!"]) == 0
        assert await sameness.find_same("You prefer tea", ["You like tea"]) is None

    def test_only_an_embedder_that_was_measured_tells_what_is_the_same_by_meaning(self) -> None:
        class Measured(Alike):
            name = MiniLM.name

        assert isinstance(sameness_by(Measured()), SameByVectors)
        assert isinstance(sameness_by(Alike()), SameByWords)
        assert isinstance(sameness_by(None), SameByWords)

    @given(st.text(), st.text())
    def test_sameness_has_no_direction(self, one: str, other: str) -> None:
        assert may_be_the_same(one, other) == may_be_the_same(other, one)
        assert word_overlap(one, other) == word_overlap(other, one)
        assert normalised(normalised(one)) == normalised(one)


class TestKeeping:
    async def test_an_edited_text_is_the_persons_own_and_said_now(self, store: SqliteStore) -> None:
        (first,) = await extracted(store, "tea", START - DAY, {"text": "You prefer tea", "confidence": 0.7})
        edited = await FactKeeper(store, HandClock()).edit(first.id, lambda kept: replace(kept, text="You love tea"))
        assert (edited.text, edited.origin, edited.observed_at) == ("You love tea", MemoryOrigin.PERSON, START)
        later = await FactKeeper(store, HandClock()).edit(first.id, lambda kept: replace(kept, valid_until=None))
        assert later.observed_at == START

    async def test_an_edit_that_somebody_was_faster_than_is_made_again(self, store: SqliteStore) -> None:
        first = await remember(store, "a", START)
        raced: list[int] = []

        def change(kept: Memory) -> Memory:
            raced.append(kept.version)
            return replace(kept, confidence=0.5)

        saving = SqliteStore.save_memory

        async def slow(self: SqliteStore, memory: Memory, **more: Any) -> Memory:
            if len(raced) == 1:
                await saving(self, replace(memory, text="b"))
            return await saving(self, memory, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqliteStore, "save_memory", slow)
            edited = await FactKeeper(store, HandClock()).edit(first.id, change)
        assert (edited.text, edited.confidence, raced) == ("b", 0.5, [1, 2])

    @pytest.mark.parametrize("text", ["", " \n", "x" * 4001])
    async def test_a_text_that_is_none_or_a_document_is_refused(self, store: SqliteStore, text: str) -> None:
        first = await remember(store, "a", START)
        for attempt in (
            FactKeeper(store, HandClock()).remember(text),
            FactKeeper(store, HandClock()).edit(first.id, lambda kept: replace(kept, text=text)),
        ):
            with pytest.raises(UsageError):
                await attempt
        assert list(await store.memories()) == [first]

    async def test_a_forgotten_memory_is_gone_and_does_not_come_back_from_the_segment(self, store: SqliteStore) -> None:
        (kept,) = await extracted(store, "I prefer tea", START, {"text": "You prefer tea"})
        forgetting = keeper(store, answers(TEA))
        assert await forgetting.forget(kept.id) == kept
        assert (await forgetting.extract(*await last_segment(store))).outcome is Outcome.ALREADY
        assert list(await store.memories()) == []
        with pytest.raises(UsageError):
            await forgetting.forget(kept.id)

    async def test_memories_that_change_all_the_time_end_in_a_conflict(self, store: SqliteStore) -> None:
        async def never(*_: Any, **__: Any) -> Sequence[Memory]:
            raise Conflict("changed")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqliteStore, "change_memories", never)
            with pytest.raises(Conflict, match="all the time"):
                await FactKeeper(store, HandClock()).remember("You prefer tea")


async def test_two_programs_that_are_told_the_same_keep_it_once(tmp_path: Path) -> None:
    stores = [SqliteStore.open(str(tmp_path / "mind.db")) for _ in range(2)]
    kept = await asyncio.gather(*(FactKeeper(store, HandClock()).remember("You prefer tea") for store in stores))
    assert sorted(is_new for _, is_new in kept) == [False, True]
    assert [memory.text for memory in await stores[0].memories()] == ["You prefer tea"]
    for store in stores:
        await store.close()
