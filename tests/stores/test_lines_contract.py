"""What any store promises of the list of conversations, and of the turns that are what was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmind.continuum.history import next_segment
from frontmind.errors import UsageError
from frontmind.stores.protocols import Store
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Image
from frontmind.values.passages import PassageKind
from frontmind.values.records import (
    Completion,
    ConversationOverview,
    Line,
    SegmentSummary,
    Sent,
    Step,
    Turn,
    TurnState,
    WindowOpening,
)
from frontmind.values.titles import title
from frontmind.values.usage import Usage
from support import passages_with

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
DONE, OPEN, REFUSED, REPLACED = TurnState.DONE, TurnState.OPEN, TurnState.REFUSED, TurnState.REPLACED
EXCHANGE = PassageKind.EXCHANGE
COMPLETION = Completion(assistant("ok"), NINE, "0" * 64, "m", Usage(1, 0, 0, 1), False, {})
STEP = Step(assistant("I look."), "0" * 64, "m", Usage(1, 0, 0, 1))


async def begin(store: Store, text: str, at: datetime = NINE, *, conversation: str = "main") -> Turn:
    return await store.begin_turn(conversation, user(text), at, segment_pause=HOUR)


async def say(
    store: Store,
    text: str,
    reply: str = "ok",
    at: datetime = NINE,
    *,
    conversation: str = "main",
    opening: WindowOpening = COMPLETION.opening,
) -> Turn:
    turn = await begin(store, text, at, conversation=conversation)
    completion = replace(COMPLETION, reply=assistant(reply), answered_at=at, opening=opening)
    return await store.complete_turn(turn.id, completion)


async def states(store: Store, conversation: str = "main") -> list[TurnState]:
    return [turn.state for turn in await store.turns(conversation)]


async def found(store: Store, words: str) -> list[int]:
    return [passage.number for passage in await passages_with(store, words)]


class TestLines:
    async def test_the_state_of_each_turn_is_told_by_number(self, store: Store) -> None:
        for text in ("one", "two", "three"):
            await say(store, text)
        await begin(store, "four")
        await say(store, "elsewhere", conversation="second")
        await store.set_line("main", [1, 3, 4])
        states = await store.line("main")
        assert list(states.items()) == [(1, DONE), (2, REPLACED), (3, DONE), (4, OPEN)]
        assert await store.line("nothing") == await store.of("somebody else").line("main") == {}

    @pytest.mark.requirement("WEB-1")
    async def test_a_turn_that_was_replaced_is_kept_and_neither_counted_nor_found(self, store: Store) -> None:
        kept, other = await say(store, "Where do herons nest?", "In alders."), store.of("somebody else")
        gone = await say(store, "And storks?", "On roofs.", NINE + 2 * HOUR)
        await say(store, "And storks?", "On roofs.", conversation="second")
        await say(other, "And storks?", "On roofs.")
        await store.set_line("main", [1])
        assert await store.turns("main") == [kept, replace(gone, state=REPLACED)]
        assert [(segment.number, segment.turns) for segment in await store.segments("main")] == [(1, 1)]
        assert await store.count_segments("main") == 1
        assert [segment.number for segment in await store.segments_without_summary("main")] == [1]
        (overview,) = [each for each in await store.conversations() if each.name == "main"]
        assert (overview.turns, overview.last, overview.last_at) == (1, 1, NINE)
        assert [passage.conversation for passage in await passages_with(store, "storks roofs")] == ["second"]
        assert len(await passages_with(other, "storks roofs")) == 1

    async def test_a_turn_that_comes_back_is_what_it_was(self, store: Store) -> None:
        await say(store, "a")
        open_one = await begin(store, "waits")
        broken = await begin(store, "broken off")
        await store.begin_step(broken.id, STEP, sent=Sent())
        await say(store, "b", opening=WindowOpening())
        before = await store.turns("main")
        await store.set_line("main", ())
        assert await states(store) == [REPLACED] * 4
        assert [turn.reply for turn in await store.turns("main")] == [turn.reply for turn in before]
        await store.set_line("main", [4, 2, 3, 1, 1])
        assert await store.turns("main") == before
        assert (await store.turns("main"))[1] == open_one

    async def test_what_comes_back_is_found_again_and_embedded_anew(self, store: Store) -> None:
        await say(store, "Where do herons nest?", "In alders.")
        turn = await say(store, "And storks?", "On roofs.")
        await store.begin_space("m", 1)
        first = await store.passages_of(EXCHANGE, [turn.id])
        await store.save_vectors("m", [(passage.id, b"\0\0") for passage in first], embedded_to=first[-1].id)
        await store.set_line("main", [1])
        assert list(await store.passages([passage.id for passage in first])) == []
        assert list(await store.vectors("m", [passage.id for passage in first])) == []
        await store.set_line("main", [1, 2])
        second = await store.passages_of(EXCHANGE, [turn.id])
        assert [(passage.text, passage.context) for passage in second] == [
            (passage.text, passage.context) for passage in first
        ]
        assert min(passage.id for passage in second) > max(passage.id for passage in first)
        assert await found(store, "storks") == [2]
        assert list(await store.vectors("m", [passage.id for passage in second])) == []

    async def test_a_turn_is_found_with_what_was_said_in_front_of_it_on_its_line(self, store: Store) -> None:
        await say(store, "Where do herons nest?", "In alders.")
        await say(store, "And storks?", "On roofs.")
        third = await say(store, "Why?", "It is warm there.")
        contexts = []
        for line in ([1, 2, 3], [1, 3], [3], [1, 2, 3]):
            await store.set_line("main", line)
            contexts.append([passage.context for passage in await store.passages_of(EXCHANGE, [third.id])])
        assert contexts == [["On roofs."], ["In alders."], [""], ["On roofs."]]

    async def test_a_message_that_waited_is_found_with_the_turn_that_it_went_along_with(self, store: Store) -> None:
        await begin(store, "Do not forget the ladder")
        await say(store, "And storks?", "On roofs.")
        await store.set_line("main", [2])
        assert await found(store, "ladder") == []
        await store.set_line("main", [1, 2])
        assert await found(store, "ladder") == [2]

    async def test_the_same_line_again_changes_nothing(self, store: Store) -> None:
        for word in ("a", "b", "c"):
            await say(store, word)
        await store.save_summary("main", 1, SegmentSummary("T", "t", "", NINE))
        for line in ([1, 2, 3], [1, 2]):
            await store.set_line("main", line)
            before = await store.turns("main"), await store.newest_passage(), await store.segments("main")
            await store.set_line("main", line)
            assert before == (await store.turns("main"), await store.newest_passage(), await store.segments("main"))

    async def test_a_turn_begins_behind_a_line_and_what_was_said_elsewhere(self, store: Store) -> None:
        for number, word in enumerate(("a", "b", "c")):
            await say(store, word, at=NINE + 2 * HOUR * number)
        elsewhere = ImportedTurn("k", user("storks?"), NINE, assistant("On roofs."), NINE + MINUTE)
        turn = await store.begin_turn(
            "main", user("d"), NINE + 30 * MINUTE, segment_pause=HOUR, line=Line([1], (elsewhere,), "api")
        )
        assert await states(store) == [DONE, REPLACED, REPLACED, DONE, OPEN]
        assert (turn.number, turn.segment, await found(store, "storks")) == (5, 1, [4])

    async def test_a_turn_does_not_begin_behind_a_line_that_is_none(self, store: Store) -> None:
        for word in ("a", "b"):
            await say(store, word)
        before = await store.turns("main")
        elsewhere = ImportedTurn("k", user("storks?"), NINE, assistant("On roofs."), NINE)
        with pytest.raises(UsageError, match="has no turn"):
            line = Line([1, 3], (elsewhere,), "api")
            await store.begin_turn("main", user("d"), NINE, segment_pause=HOUR, line=line)
        assert await store.turns("main") == before

    @pytest.mark.parametrize("numbers", [[1, 4], [0], [-1], [2], [10**30]])
    async def test_only_turns_that_could_be_said_make_a_line(self, store: Store, numbers: list[int]) -> None:
        await say(store, "a")
        refused, last = await begin(store, "b"), await begin(store, "c")
        await store.complete_turn(last.id, replace(COMPLETION, refuses=(refused.id,)))
        with pytest.raises(UsageError, match="has no turn"):
            await store.set_line("main", numbers)
        assert await states(store) == [DONE, REFUSED, DONE]

    async def test_a_refused_turn_stays_refused(self, store: Store) -> None:
        refused, last = await begin(store, "b"), await begin(store, "c")
        await store.complete_turn(last.id, replace(COMPLETION, refuses=(refused.id,)))
        await store.set_line("main", ())
        assert await states(store) == [REFUSED, REPLACED]
        await store.set_line("main", [2])
        assert await states(store) == [REFUSED, DONE]

    async def test_a_conversation_without_turns_has_no_line(self, store: Store) -> None:
        await store.set_line("main", ())
        with pytest.raises(UsageError, match="'main' has no turn 1"):
            await store.set_line("main", [1])
        await say(store.of("somebody else"), "a")
        with pytest.raises(UsageError, match="'main' has no turn 1"):
            await store.set_line("main", [1])
        assert await states(store.of("somebody else")) == [DONE]

    async def test_a_replaced_turn_gets_neither_steps_nor_a_reply(self, store: Store) -> None:
        turn = await begin(store, "a")
        await store.set_line("main", ())
        with pytest.raises(UsageError):
            await store.begin_step(turn.id, STEP, sent=Sent())
        with pytest.raises(UsageError):
            await store.complete_turn(turn.id, COMPLETION)
        later = await begin(store, "b")
        with pytest.raises(UsageError):
            await store.complete_turn(later.id, replace(COMPLETION, refuses=(turn.id,)))
        assert await states(store) == [REPLACED, OPEN]

    @pytest.mark.parametrize(
        ("line", "opening"),
        [([1, 2, 3], WindowOpening(3, "earlier")), ([1, 2], WindowOpening(3, "earlier")), ([1, 3], WindowOpening())],
    )
    async def test_a_window_that_began_behind_a_turn_that_changes_begins_anew(
        self, store: Store, line: list[int], opening: WindowOpening
    ) -> None:
        for number in (1, 2, 3):
            await say(store, "a", opening=WindowOpening(3, "earlier") if number == 3 else WindowOpening())
        await store.set_line("main", line)
        assert await store.window_opening("main") == opening

    async def test_a_window_does_not_begin_behind_a_turn_that_comes_back(self, store: Store) -> None:
        await say(store, "a")
        await say(store, "b")
        await store.set_line("main", [1])
        await say(store, "c", opening=WindowOpening(3, "of a alone"))
        await store.set_line("main", [1, 2])
        assert await store.window_opening("main") == WindowOpening()

    async def test_the_summary_of_a_segment_with_a_turn_that_changes_is_forgotten(self, store: Store) -> None:
        for hour in (0, 2, 4):
            await say(store, f"a{hour}", at=NINE + hour * HOUR)
            await say(store, f"b{hour}", at=NINE + hour * HOUR)
            await store.save_summary("main", hour // 2 + 1, SegmentSummary("T", "t", "", NINE))
        await store.set_line("main", [1, 2, 3, 5, 6])
        assert [segment.title for segment in await store.segments("main")] == ["T", "a2", "T"]
        await store.set_line("main", [1, 2, 3, 4, 5, 6])
        assert [segment.number for segment in await store.segments_without_summary("main")] == [2]

    async def test_a_turn_goes_on_from_what_counts_and_its_number_is_new(self, store: Store) -> None:
        await say(store, "a")
        await say(store, "b", at=NINE + 3 * HOUR)
        await store.set_line("main", [1])
        soon = await begin(store, "c", NINE + 10 * MINUTE)
        assert (soon.number, soon.segment) == (3, 1)
        await store.set_line("main", ())
        anew = await begin(store, "d", NINE + 5 * HOUR)
        assert (anew.number, anew.segment) == (4, 1)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "complete", "line", "refuse"]), st.integers(-90, 90), st.sets(st.integers(1, 8))
    ),
    max_size=14,
)


class TestSequences:
    @settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(actions=ACTIONS)
    async def test_what_is_told_of_a_conversation_follows_from_its_turns_that_count(
        self, store: Store, actions: list[tuple[str, int, set[int]]]
    ) -> None:
        conversation, now = f"c{len(await store.conversations())}", NINE
        for action, minutes, numbers in actions:
            now += minutes * MINUTE
            turns = await store.turns(conversation)
            waiting = [turn for turn in turns if turn.state is OPEN]
            if action == "begin":
                begun = await begin(store, f"Message {minutes} {len(turns)}", now, conversation=conversation)
                assert begun.segment == next_segment(turns, now, pause=HOUR)
            elif action == "line":
                possible = {turn.number for turn in turns if turn.state is not REFUSED}
                await store.set_line(conversation, numbers & possible)
            elif waiting:
                refused = [turn.id for turn in waiting[:-1]] if action == "refuse" else []
                end = replace(COMPLETION, answered_at=now, refuses=tuple(refused))
                await store.complete_turn(waiting[-1].id, end)
        turns = [turn for turn in await store.turns(conversation) if turn.state in (OPEN, DONE)]
        assert told(await store.segments(conversation)) == segments_of(turns)
        assert await store.count_segments(conversation) == len(segments_of(turns))
        overviews = [each for each in await store.conversations() if each.name == conversation]
        assert overviews == ([overview_of(turns)] if turns else [])
        answered = [turn.id for turn in turns if turn.state is DONE]
        every = await store.passages_of(EXCHANGE, [turn.id for turn in await store.turns(conversation)])
        assert {passage.ref for passage in every} == set(answered)


def told(segments: Sequence[object]) -> list[tuple[object, ...]]:
    fields = ("number", "title", "first", "last", "turns", "started_at", "ended_at")
    return [tuple(getattr(segment, name) for name in fields) for segment in segments]


def segments_of(turns: Sequence[Turn]) -> list[tuple[object, ...]]:
    numbers = sorted({turn.segment for turn in turns})
    groups = [[turn for turn in turns if turn.segment == number] for number in numbers]
    return [
        (
            number,
            title(group[0].user.text),
            group[0].number,
            group[-1].number,
            len(group),
            group[0].asked_at,
            max(max(turn.asked_at, turn.answered_at or turn.asked_at) for turn in group),
        )
        for number, group in zip(numbers, groups, strict=True)
    ]


def overview_of(turns: Sequence[Turn]) -> ConversationOverview:
    return ConversationOverview(
        name=turns[0].conversation,
        title=title(turns[0].user.text),
        started_at=turns[0].asked_at,
        last_at=max(max(turn.asked_at, turn.answered_at or turn.asked_at) for turn in turns),
        turns=len(turns),
        last=turns[-1].number,
    )


class TestConversations:
    async def test_the_one_with_the_newest_message_comes_first_and_ties_go_by_name(self, store: Store) -> None:
        for name, minute in (("b", 5), ("c", 9), ("a", 5), ("d", 1)):
            await say(store, f"in {name}", at=NINE + minute * MINUTE, conversation=name)
        assert [each.name for each in await store.conversations()] == ["c", "a", "b", "d"]
        await begin(store, "again", NINE + 10 * MINUTE, conversation="d")
        newest, *_ = await store.conversations()
        assert newest == ConversationOverview("d", "in d", NINE + MINUTE, NINE + 10 * MINUTE, 2, 2)

    async def test_pages_follow_each_other_without_gap_or_repetition(self, store: Store) -> None:
        for number in range(11):
            await say(store, "a", at=NINE + number // 3 * MINUTE, conversation=f"c{number:02}")
        every = list(await store.conversations())
        assert len(every) == 11
        for size in (1, 3, 4, 20):
            pages: list[ConversationOverview] = []
            before = None
            while page := await store.conversations(newest=size, before=before):
                pages += page
                before = (page[-1].last_at, page[-1].name)
            assert pages == every
        assert list(await store.conversations(newest=0)) == []

    async def test_each_owner_has_its_own(self, store: Store) -> None:
        other = store.of("somebody else")
        await say(store, "mine")
        await say(other, "theirs", at=NINE + MINUTE)
        assert [each.title for each in await store.conversations()] == ["mine"]
        assert [each.title for each in await other.conversations()] == ["theirs"]
        assert list(await store.of("third").conversations()) == []

    async def test_one_without_a_turn_that_counts_is_not_listed(self, store: Store) -> None:
        await say(store, "a", conversation="replaced")
        await store.set_line("replaced", ())
        await store.add_passages("meeting", [])
        assert list(await store.conversations()) == []
        await store.set_line("replaced", [1])
        assert [each.name for each in await store.conversations()] == ["replaced"]

    async def test_its_title_is_that_of_its_first_segment(self, store: Store) -> None:
        await say(store, "Where do herons nest?")
        await say(store, "And storks?", at=NINE + 2 * HOUR)
        await store.save_summary("main", 2, SegmentSummary("Storks", "t", "", NINE))
        titles = [(await store.conversations())[0].title]
        await store.save_summary("main", 1, SegmentSummary("Herons", "t", "", NINE))
        titles.append((await store.conversations())[0].title)
        await store.set_line("main", [2])
        titles.append((await store.conversations())[0].title)
        assert titles == ["Where do herons nest?", "Herons", "Storks"]

    @pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "日本語", "'; --", "x" * 1000])
    async def test_every_name_and_title_comes_back(self, store: Store, name: str) -> None:
        await say(store, f"q {name[:20]}", conversation=name)
        (overview,) = await store.conversations()
        assert (overview.name, overview.title) == (name, title(f"q {name[:20]}"))
        assert list(await store.conversations(before=(overview.last_at, name))) == []

    async def test_a_message_without_text_has_a_title_too(self, store: Store) -> None:
        picture = Message(Role.USER, (Image("image/png", "AAAA", ""),))
        await store.begin_turn("main", picture, NINE, segment_pause=HOUR)
        assert [each.title for each in await store.conversations()] == [title("")]
