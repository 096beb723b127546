"""The first days with an assistant: a handful of memories, and what comes to mind of them at everyday messages.

Nothing was fitted to these; they show whether what was fitted to public conversations holds for a person's own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import platformdirs
import pytest
import pytest_asyncio

from frontmind.events import TurnContext
from frontmind.recall.embedder_source import GivenEmbedder
from frontmind.recall.indexing import Indexer
from frontmind.recall.minilm import MiniLM
from frontmind.recall.search import Recall
from frontmind.recall.search_indexes import SearchIndexes
from frontmind.recall.surfacing import Surfacing
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from recall.test_search import exchange
from support import START, remember

CACHE: Final = Path(platformdirs.user_cache_path("frontmind"))

TEA = "You prefer tea to coffee"
LISBON = "You live in Lisbon"
SISTER = "Your sister Anna lives in Bremen"
FLIGHT = "Your flight to Oslo leaves on 12 December at 9:40"
LOCKER = "The locker code is 4417"
PEANUTS = "You are allergic to peanuts"
SIX: Final = (TEA, LISBON, SISTER, FLIGHT, LOCKER, PEANUTS)

ASKED_OF_SIX: Final = (
    ("What tea do I like?", TEA),
    ("What should I drink in the morning?", TEA),
    ("Where do I live?", LISBON),
    ("What does Anna do?", SISTER),
    ("When is my flight?", FLIGHT),
    ("What was the code for my locker again?", LOCKER),
    ("Can I eat a Snickers?", PEANUTS),
    ("Could you recommend a restaurant for dinner with my sister?", SISTER),
    ("I'm off to the airport soon", FLIGHT),
)

VEGETARIAN = "You are a vegetarian and do not eat fish either."
RUNNING = "You go running on Tuesdays and Saturdays."
NURSE = "You work as a nurse at the children's hospital."
BOSS = "Your boss is called Miriam Okafor."
DOG = "You have a dog, a beagle called Pepper."
BIRTHDAY = "Your mother's birthday is on 3 March."
WIFI = "The guest wifi password is bluewhale92."
PENICILLIN = "You are allergic to penicillin."
DENTIST = "Your next dentist appointment is on 14 January at 8:30."
CAR = "Your car is a red Skoda, and it is due for inspection in May."
PIANO = "You are learning to play the piano."
TOM = "Your son Tom is seven and afraid of the dark."
TWELVE: Final = (
    *(VEGETARIAN, RUNNING, NURSE, BOSS, DOG, BIRTHDAY),
    *(WIFI, PENICILLIN, DENTIST, CAR, PIANO, TOM),
)

ASKED_OF_TWELVE: Final = (
    ("What is the wifi password?", WIFI),
    ("My friends are here, how do they get on the internet?", WIFI),
    ("When is my mum's birthday?", BIRTHDAY),
    ("What could I give my mother for her birthday?", BIRTHDAY),
    ("What's my dog called?", DOG),
    ("Which breed is Pepper?", DOG),
    ("What do I do for a living?", NURSE),
    ("How do I tell my boss that I want a day off?", BOSS),
    ("Who is Miriam?", BOSS),
    ("Is there anything I can't eat?", VEGETARIAN),
    ("Suggest a recipe without meat", VEGETARIAN),
    ("The doctor wants to give me antibiotics, is there anything to say?", PENICILLIN),
    ("What am I allergic to?", PENICILLIN),
    ("When do I have to go to the dentist?", DENTIST),
    ("What colour is my car?", CAR),
    ("When does the car need its inspection?", CAR),
    ("Which days do I go running?", RUNNING),
    ("Which instrument am I learning?", PIANO),
    ("How old is Tom?", TOM),
    ("My son won't sleep without a light on", TOM),
)

NOTHING_BEARS_ON: Final = (
    *("Hello!", "How are you today?", "Thanks, that helps.", "Good night", "Good morning!", "ok, great"),
    *("Write a poem about the sea", "What is the capital of France?", "Please explain recursion to me", "what is 2+2"),
    *("Translate 'cheese' into Italian", "Fix this Python function please.", "How many moons does Jupiter have?"),
    *("Who wrote Hamlet?", "Summarize the text below in three sentences.", "What is the boiling point of water?"),
)


SAID: Final = (
    ("I prefer tea to coffee, by the way.", "Noted: tea it is."),
    ("I just moved to Lisbon and love it.", "Congratulations! Which neighbourhood?"),
    ("My sister Anna lives in Bremen, she is a nurse.", "That is a demanding job."),
    ("My flight to Oslo leaves on 12 December at 9:40.", "I will keep it in mind."),
    ("The locker code is 4417, don't forget it.", "I will not."),
)
ASKED_OF_SAID: Final = (
    ("What tea do I like?", 0),
    ("What should I drink in the morning?", 0),
    ("Where do I live?", 1),
    ("Where did I move to?", 1),
    ("What does Anna do?", 2),
    ("Where does my sister live?", 2),
    ("Could you recommend a restaurant for dinner with my sister?", 2),
    ("When is my flight?", 3),
    ("Which city am I flying to?", 3),
    ("What was the code for my locker again?", 4),
)


@pytest_asyncio.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(":memory:")
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def minilm() -> AsyncIterator[MiniLM]:
    embedder = await MiniLM.open(CACHE)
    yield embedder
    await embedder.close()


async def searching(store: Store, embedder: MiniLM | None) -> Recall:
    indexes = SearchIndexes(store, patience=60)
    if embedder is not None:
        await Indexer(store, indexes, GivenEmbedder(embedder)).catch_up()
    return Recall(store, indexes)


async def remembering(store: Store, memories: Sequence[str], embedder: MiniLM | None) -> Recall:
    for text in memories:
        await remember(store, text, START - timedelta(days=3))
    return await searching(store, embedder)


async def comes_to_mind(store: Store, recall: Recall, message: str) -> list[str]:
    """What is shown beside the message, as a turn shows it."""
    context = TurnContext(
        conversation="main",
        turn=1,
        message=message,
        now=START,
        previous_message_at=None,
    )
    return [find.hit.passage.text for find in await Surfacing(store, recall).surface(context)]


async def shown_right_and_wrong(
    store: Store, recall: Recall, asked: Sequence[tuple[str, str]]
) -> tuple[list[str], list[str]]:
    """The questions at which what answers them is shown, and everything else that is shown with any of them."""
    right, wrong = [], []
    for question, answer in asked:
        shown = await comes_to_mind(store, recall, question)
        right += [question] if answer in shown else []
        wrong += [text for text in shown if text != answer]
    return right, wrong


def share(part: Sequence[str], whole: Sequence[object]) -> float:
    return len(part) / len(whole)


@pytest.mark.parametrize(("memories", "asked"), [(SIX, ASKED_OF_SIX), (TWELVE, ASKED_OF_TWELVE)])
async def test_the_right_memory_comes_to_mind(
    store: SqliteStore, minilm: MiniLM, memories: Sequence[str], asked: Sequence[tuple[str, str]]
) -> None:
    """Measured: at 6 of 9 and 16 of 20 questions, with one memory beside them all that does not answer."""
    right, wrong = await shown_right_and_wrong(store, await remembering(store, memories, minilm), asked)
    assert share(right, asked) >= 0.65
    assert len(wrong) <= 2


@pytest.mark.parametrize(("memories", "asked"), [(SIX, ASKED_OF_SIX), (TWELVE, ASKED_OF_TWELVE)])
async def test_the_right_memory_comes_to_mind_by_words_alone(
    store: SqliteStore, memories: Sequence[str], asked: Sequence[tuple[str, str]]
) -> None:
    """Measured: at 5 of 9 and 15 of 20 questions, with one memory beside each that does not answer."""
    right, wrong = await shown_right_and_wrong(store, await remembering(store, memories, None), asked)
    assert share(right, asked) >= 0.55
    assert len(wrong) <= 2


@pytest.mark.parametrize(("memories", "asked"), [(SIX, ASKED_OF_SIX), (TWELVE, ASKED_OF_TWELVE)])
async def test_the_memory_that_answers_is_the_first_that_a_search_finds(
    store: SqliteStore, minilm: MiniLM, memories: Sequence[str], asked: Sequence[tuple[str, str]]
) -> None:
    recall = await remembering(store, memories, minilm)
    for question, answer in asked:
        found = await recall.search(question, now=START, limit=3)
        assert found[0].hit.passage.text == answer, question


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("memories", [SIX[:1], SIX[:3], SIX, TWELVE])
async def test_at_what_nothing_bears_on_nothing_comes_to_mind(
    store: SqliteStore, minilm: MiniLM, memories: Sequence[str], dense: bool
) -> None:
    recall = await remembering(store, memories, minilm if dense else None)
    for message in NOTHING_BEARS_ON:
        assert await comes_to_mind(store, recall, message) == [], message


@pytest.mark.parametrize("dense", [True, False])
async def test_what_was_said_in_a_young_conversation_comes_to_mind(
    store: SqliteStore, minilm: MiniLM, dense: bool
) -> None:
    """Measured: at 6 of 10 questions, with vectors and by words alone, with one exchange that does not answer."""
    for number, (message, reply) in enumerate(SAID):
        await exchange(store, message, reply, at=START - timedelta(days=9 - number), conversation="earlier")
    recall = await searching(store, minilm if dense else None)
    asked = [(question, "User: {}\nAssistant: {}".format(*SAID[answer])) for question, answer in ASKED_OF_SAID]
    right, wrong = await shown_right_and_wrong(store, recall, asked)
    assert share(right, asked) >= 0.6
    assert len(wrong) <= 2
    for message in NOTHING_BEARS_ON:
        assert await comes_to_mind(store, recall, message) == [], message
