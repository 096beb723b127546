"""What comes to mind with a message: what bears on it, what does not, how much of it, and what of it was used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.events import TurnCompletedEvent, TurnContext
from frontmind.recall.search import Recall
from frontmind.recall.surfacing import BUDGET, EXCERPT, Surfacing
from frontmind.recall.telling import cites, excerpt, is_small_talk, says_the_same, telling_words, used
from frontmind.stores.sqlite import SqliteStore
from frontmind.trinkets.budget import fits
from frontmind.trinkets.memory import recollection_elements
from frontmind.values.message import assistant, user
from frontmind.values.passages import PassageKind, Recollection
from frontmind.values.records import Completion
from frontmind.values.usage import Usage
from support import START, remember

# --- what tells a text apart ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "message", "reply", "is_used"),
    [
        ("Your locker code is 4417.", "What is my locker code?", "It is 4417.", True),
        ("Your locker code is 4417.", "What is my locker code?", "I do not know your locker code.", False),
        ("You prefer green tea.", "What should I drink?", "How about a green tea?", True),
        ("You prefer green tea.", "What should I drink?", "How about some coffee?", False),
        ("You prefer green tea.", "I prefer green tea, you know.", "Green tea it is!", False),
        ("You live in Hamburg with Anna.", "Will it rain?", "In Hamburg it will.", True),
        ("You are learning Portuguese.", "Which podcast?", "One for learners of Portuguese.", True),
        ("You have two cats.", "Hello!", "Hello! How are you?", False),
        ("", "Hello!", "Hello!", False),
    ],
)
def test_a_memory_is_used_when_the_reply_has_what_the_message_had_not(
    memory: str, message: str, reply: str, is_used: bool
) -> None:
    assert used(memory, message, reply) is is_used


@pytest.mark.parametrize(
    ("reply", "cited"),
    [("As in m12.", True), ("(m12)", True), ("m123 and xm12", False), ("M12", False), ("12 m", False)],
)
def test_a_memory_is_cited_by_its_whole_id(reply: str, cited: bool) -> None:
    assert cites(reply, "m12") is cited


@pytest.mark.parametrize(
    "message",
    [
        "hi",
        "Good morning!",
        "Thanks, that was great",
        "ok",
        "",
        "🙂",
        "Thank you very much.",
        "yes please",
        "?",
        "How are you?",
    ],
)
def test_small_talk_asks_for_nothing(message: str) -> None:
    assert is_small_talk(message)


@pytest.mark.parametrize(
    "message", ["tea?", "And Anna?", "What about her then?", "Danke", "茶", "why did she leave", "4417"]
)
def test_a_message_with_a_thing_in_it_is_no_small_talk(message: str) -> None:
    assert not is_small_talk(message)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("You prefer green tea.", "User: I prefer green tea.\nAssistant: Noted.", True),
        ("You prefer green tea in the morning.", "You prefer black tea in the morning.", False),
        ("You like fresh cilantro in soups.", "You do not like fresh cilantro in soups.", False),
        ("You don't like cilantro.", "You like cilantro.", False),
        ("The flight from Lisbon leaves on 3 May at noon.", "The flight from Lisbon leaves on 4 May at noon.", False),
        ("You own a boat.", "User: I own much. My brother has a boat, a house, three dogs and a garden.", False),
    ],
)
def test_two_texts_say_the_same_when_one_adds_nothing(one: str, other: str, same: bool) -> None:
    assert says_the_same(telling_words(one), telling_words(other)) is same


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=400), st.text(max_size=40), st.integers(40, 300))
def test_an_excerpt_is_never_longer_than_asked(text: str, query: str, length: int) -> None:
    short = excerpt(text, telling_words(query), length)
    assert len(short) <= length
    assert short == text if len(text) <= length else "…" in short


def test_an_excerpt_is_the_part_with_the_words_and_who_said_it() -> None:
    filler = "The weather was fine and we talked about this and that for a long while. "
    text = f"User: {filler * 8}\nAssistant: {filler * 4}The locker code is 4417, by the way. {filler * 4}"
    short = excerpt(text, telling_words("locker code"), 200)
    assert short.startswith("Assistant: …")
    assert short.endswith("…")
    assert "The locker code is 4417, by the way." in short


# --- surfacing -----------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(":memory:")
    yield opened
    await opened.close()


async def exchange(store: SqliteStore, asked: str, replied: str, at: datetime, conversation: str = "main") -> None:
    turn = await store.begin_turn(conversation, user(asked), at, segment_pause=timedelta(hours=1))
    await store.complete_turn(turn.id, Completion(assistant(replied), at, "0" * 64, "m", Usage(1, 0, 0, 1), False, {}))


def context(
    message: str, *, number: int = 1, start: int = 1, previous: datetime | None = None, now: datetime = START
) -> TurnContext:
    return TurnContext("main", number, now, message, previous, start)


def surfacing(store: SqliteStore, budget: int = BUDGET, told: list[str] | None = None) -> Surfacing:
    lines = told if told is not None else []
    return Surfacing(store, Recall(store), budget=budget, tell=lines.append)


def texts(found: Sequence[Recollection]) -> list[str]:
    return [find.hit.passage.text for find in found]


def completed(asked: TurnContext, reply: str) -> TurnCompletedEvent:
    return TurnCompletedEvent(asked, user(asked.message), assistant(reply), Usage(1, 0, 0, 1), asked.now)


async def test_a_memory_that_bears_on_the_message_comes_and_another_does_not(store: SqliteStore) -> None:
    await remember(store, "Your locker code is 4417.", START)
    await remember(store, "You prefer green tea.", START)
    assert texts(await surfacing(store).surface(context("What is my locker code?"))) == ["Your locker code is 4417."]


@pytest.mark.parametrize("message", ["Good morning!", "Thanks, great!", "How many moons does Jupiter have?", ""])
@pytest.mark.requirement("RECALL-3")
async def test_where_nothing_bears_on_the_message_nothing_comes(store: SqliteStore, message: str) -> None:
    for text in ("Your locker code is 4417.", "You prefer green tea in the morning.", "Great pizza is from Luigi."):
        await remember(store, text, START)
    assert await surfacing(store).surface(context(message)) == []


@pytest.mark.requirement("RECALL-1")
async def test_what_stands_in_the_window_does_not_come_and_what_left_it_does(store: SqliteStore) -> None:
    await exchange(store, "My locker code is 4417.", "Noted.", START)
    await exchange(store, "My locker is grey.", "Fine.", START)
    asked = "What is my locker code?"
    assert await surfacing(store).surface(context(asked, number=3)) == []
    found = await surfacing(store).surface(context(asked, number=3, start=2))
    assert texts(found) == ["User: My locker code is 4417.\nAssistant: Noted."]


@pytest.mark.requirement("RECALL-3")
async def test_finds_are_whole_and_within_the_budget(store: SqliteStore) -> None:
    for number in range(12):
        await exchange(store, f"locker story {number}. " + "We talked at length. " * 60, "Ok.", START, "old")
    await remember(store, "Your locker code is 4417.", START)
    found = await surfacing(store).surface(context("the locker story"))
    elements = [element for find in found for element in recollection_elements(find, START)]
    assert len(found) > 2
    assert fits(elements, BUDGET)
    assert all(len(text) <= EXCERPT for text in texts(found))
    assert await surfacing(store, budget=10).surface(context("the locker story")) == []


async def test_the_exchange_before_helps_only_within_its_segment(store: SqliteStore) -> None:
    await remember(store, "Ingrid is allergic to walnuts.", START)
    await exchange(store, "Is Ingrid allergic to walnuts or peanuts?", "Let me think.", START)
    soon, later = START + timedelta(minutes=1), START + timedelta(hours=2)
    asked = "What about her then?"
    found = await surfacing(store).surface(context(asked, number=2, previous=START, now=soon))
    assert texts(found) == ["Ingrid is allergic to walnuts."]
    assert await surfacing(store).surface(context(asked, number=2, previous=START, now=later)) == []


async def test_in_further_steps_of_a_turn_nothing_is_searched_for_anew(store: SqliteStore) -> None:
    await remember(store, "Your locker code is 4417.", START)
    mind, asked = surfacing(store), context("What is my locker code?")
    first = await mind.surface(asked)
    # The model noted something meanwhile, which it knows; said again, the section would cost its tokens once more.
    await remember(store, "Your locker is grey, and its code is easy.", START)
    later = START + timedelta(minutes=1)
    assert texts(first) == ["Your locker code is 4417."]
    assert await mind.surface(replace(asked, now=later)) == first
    assert len(await mind.surface(context("What is my locker code?", number=2, now=later))) == 2


async def test_what_was_forgotten_between_two_steps_of_a_turn_is_not_shown_again(store: SqliteStore) -> None:
    code = await remember(store, "Your locker code is 4417.", START)
    await remember(store, "Your locker is grey.", START)
    mind, asked = surfacing(store), context("What is my grey locker's code?")
    assert len(await mind.surface(asked)) == 2
    await store.remove_memory(code.id)
    assert texts(await mind.surface(asked)) == ["Your locker is grey."]


async def test_a_memory_that_the_reply_took_up_is_noted_once_a_day(store: SqliteStore) -> None:
    code = await remember(store, "Your locker code is 4417.", START)
    colour = await remember(store, "Your locker is grey and by the window.", START)
    await exchange(store, "hello", "hi", START)
    mind, asked = surfacing(store), context("What is the code of my locker?", number=2)
    assert {find.hit.passage.kind for find in await mind.surface(asked)} == {PassageKind.MEMORY}
    await mind.note_uses(completed(asked, "It is 4417."))
    assert [use.memory for use in await store.memory_uses([code.id, colour.id])] == [code.id]
    # The same turn is not noted again, and one that was shown nothing notes nothing.
    await mind.note_uses(completed(asked, "It is 4417, by the window."))
    await mind.note_uses(completed(context("other", number=3), "4417, by the window"))
    assert [use.memory for use in await store.memory_uses([code.id, colour.id])] == [code.id]


async def test_a_use_that_cannot_be_noted_is_told_and_fails_nothing(store: SqliteStore) -> None:
    await remember(store, "Your locker code is 4417.", START)
    told: list[str] = []
    mind, asked = surfacing(store, told=told), context("What is my locker code?")
    await mind.surface(asked)
    await store.close()
    await mind.note_uses(completed(asked, "It is 4417."))
    assert len(told) == 1
    assert told[0].startswith("that memories were used could not be noted: ")
