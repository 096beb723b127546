"""How likely a memory bears on a message: what speaks for it, and how much of that is enough."""

from __future__ import annotations

import pytest

from frontmind.recall.rank_evidence import Candidate
from frontmind.recall.rank_memories import rank_memories
from frontmind.recall.ranking import RELEVANT
from frontmind.values.passages import Passage, PassageKind
from support import START


def memory(number: int, text: str, cosine: float | None = None) -> Candidate:
    return Candidate(Passage(number, PassageKind.MEMORY, number, 0, "", 0, START, text), None, cosine)


def score(query: str, text: str, cosine: float | None = None, *, count: int = 20) -> float:
    (ranked,) = rank_memories(query, [memory(1, text, cosine)], count=count)
    return ranked.score


def test_words_in_common_and_a_like_meaning_speak_for_a_memory() -> None:
    ranked = rank_memories(
        "Which tea do I like?",
        [memory(1, "You own a boat.", 0.1), memory(2, "You prefer green tea.", 0.6), memory(3, "Ana drinks tea.", 0.3)],
        count=20,
    )
    assert [one.id for one in ranked] == [2, 3, 1]
    assert ranked[0].reasons == ("words: tea", "similar meaning")
    assert (ranked[1].reasons, ranked[2].reasons) == (("words: tea",), ())
    assert ranked[0].score >= RELEVANT > ranked[2].score


def test_without_vectors_the_words_decide_alone() -> None:
    assert score("What is my locker code?", "Your locker code is 4417.") >= RELEVANT
    assert score("How many moons does Jupiter have?", "Your locker code is 4417.") < 0.02


def test_a_memory_that_is_not_embedded_yet_is_judged_by_its_words_beside_others_that_are() -> None:
    ranked = rank_memories(
        "What is my locker code?",
        [memory(1, "You own a boat.", 0.2), memory(2, "Your locker code is 4417.", None)],
        count=2,
    )
    assert [one.id for one in ranked] == [2, 1]
    assert ranked[0].score >= RELEVANT


@pytest.mark.parametrize("cosine", [0.3, 0.45])
def test_among_more_memories_each_must_say_more_to_be_the_one_that_is_meant(cosine: float) -> None:
    few, some, many, very_many = (
        score("Who is my dentist?", "You see Dr. Weber.", cosine, count=count) for count in (3, 130, 1000, 100_000)
    )
    assert few > some > many == very_many
    assert score("Who is my dentist?", "You see Dr. Weber.", cosine, count=1) == few


def test_equal_memories_come_by_id_and_the_order_in_which_they_are_given_does_not_matter() -> None:
    candidates = [memory(number, "You like tea.", 0.5) for number in (3, 1, 2)]
    ranked = rank_memories("tea?", candidates, count=3)
    assert [one.id for one in ranked] == [1, 2, 3]
    assert ranked == rank_memories("tea?", candidates[::-1], count=3)


@pytest.mark.parametrize("query", ["", "?!", "\ud800", "茶", "the of and"])
def test_a_message_without_words_is_like_no_memory(query: str) -> None:
    assert score(query, "You prefer green tea.") < 0.02
    assert score(query, "You prefer green tea.", 0.0) < 0.02
