"""Ranking by evidence: what goes in front, what it is worth, and why."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from frontmind.recall.rank_evidence import Candidate, gather
from frontmind.recall.rank_times import asked_periods, asks_when, tells_when
from frontmind.recall.ranking import RELEVANT, rank
from frontmind.recall.words import Finder, folded, index_words, passage_for_model, query_words
from frontmind.values.passages import Passage, PassageKind

NOW = datetime(2024, 5, 20, 12, tzinfo=UTC)


def candidate(
    passage_id: int,
    text: str,
    *,
    context: str = "",
    at: datetime = NOW - timedelta(days=30),
    conversation: str = "main",
    number: int | None = None,
    bm25: float | None = 1.0,
    cosine: float | None = 0.2,
) -> Candidate:
    turn = passage_id if number is None else number
    passage = Passage(passage_id, PassageKind.EXCHANGE, passage_id, 0, conversation, turn, at, text, context)
    return Candidate(passage, bm25, cosine)


FILLER = [
    candidate(
        100 + place,
        f"User: {text}",
        at=NOW - timedelta(days=100 + place),
        number=100 + place,
        bm25=None,
        cosine=0.05 + 0.01 * (place % 5),
    )
    for place, text in enumerate(
        ("The train was late again.", "Can you sort this list?", "Thanks, that works.", "It rains.") * 5
    )
]


def order(query: str, *candidates: Candidate) -> list[int]:
    return [ranked.id for ranked in rank(query, candidates, now=NOW)]


def test_the_passage_with_more_of_the_querys_words_comes_first() -> None:
    both = candidate(2, "User: I called the adoption agency.", bm25=4.0)
    one = candidate(1, "User: I called the travel agency.", bm25=2.0)
    assert order("Which adoption agency did I call?", one, both, *FILLER)[:2] == [2, 1]


def test_a_similar_meaning_is_found_without_a_shared_word() -> None:
    similar = candidate(1, "User: Our puppy chewed the sofa.", bm25=None, cosine=0.6)
    assert order("What did the dog destroy?", *FILLER, similar)[0] == 1


def test_words_are_compared_by_their_stems() -> None:
    ranked = rank("adopting agencies", [candidate(1, "User: an adoption AGENCY")], now=NOW)
    assert ranked[0].reasons[0] == "words: adopting, agencies"


def test_what_a_person_said_goes_in_front_of_what_was_said_to_them() -> None:
    by_anna = candidate(1, "Anna: The pottery class starts soon.", at=NOW - timedelta(days=1))
    by_ben = candidate(2, "Ben: The pottery class starts soon.", at=NOW - timedelta(days=2))
    assert order("Which class does Anna take: pottery?", by_ben, by_anna, *FILLER)[0] == 1
    assert order("Which class does Ben take: pottery?", by_anna, by_ben, *FILLER)[0] == 2


def test_the_period_that_the_query_asks_about_is_preferred_but_nothing_else_is_lost() -> None:
    march = candidate(1, "User: We went to the lake.", at=datetime(2024, 3, 9, tzinfo=UTC))
    april = candidate(2, "User: We went to the lake.", at=datetime(2024, 4, 25, tzinfo=UTC))
    assert order("lake trip in April 2024", march, april) == [2, 1]
    assert order("lake trip in March 2024", april, march) == [1, 2]
    ranked = rank("lake trip in March 2024", [april, march], now=NOW)
    assert "time: March 2024" in ranked[0].reasons
    assert not any(reason.startswith("time") for reason in ranked[1].reasons)


def test_a_question_for_a_time_prefers_a_text_that_tells_one() -> None:
    telling = candidate(2, "User: I ran the race last week.", at=NOW - timedelta(days=9))
    silent = candidate(1, "User: I ran the race in style.", at=NOW - timedelta(days=40))
    assert order("When did I run the race?", silent, telling, *FILLER)[0] == 2


def test_what_was_said_around_a_passage_bears_on_it() -> None:
    day = NOW - timedelta(days=60)
    yes = "User: Yes, that one."
    around = [candidate(1, "User: Shall we see the violin concert?", at=day), candidate(2, yes, at=day, bm25=None)]
    elsewhere = candidate(3, yes, at=NOW - timedelta(days=3), bm25=None, number=50)
    found = order("violin concert", elsewhere, *around, *FILLER)
    assert found.index(1) < found.index(2) < found.index(3)


def test_a_memory_does_not_count_less_for_being_short() -> None:
    memory = candidate(1, "Prefers oat milk.", conversation="", number=0)
    chatter = candidate(2, "User: " + "Well, we talked about this and that and about milk for a long time. " * 6)
    assert order("oat milk", chatter, memory, *FILLER)[0] == 1


def test_scores_are_probabilities_and_fall() -> None:
    scores = [one.score for one in rank("train list", FILLER, now=NOW)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)


def test_a_query_that_nothing_bears_on_reaches_no_relevant_score() -> None:
    assert rank("How is the sourdough starter?", FILLER, now=NOW)[0].score < RELEVANT


def test_a_clear_answer_is_relevant_with_vectors_and_without() -> None:
    text = "User: My sourdough starter is called Fred and I feed it on Mondays.\nAssistant: Fred is a good name."
    query = "What is my sourdough starter called?"
    dense = candidate(1, text, bm25=9.0, cosine=0.75)
    lexical = [candidate(one.passage.id, one.passage.text, at=one.passage.at, bm25=0.5, cosine=None) for one in FILLER]
    assert rank(query, [*FILLER, dense], now=NOW)[0].score >= RELEVANT
    assert rank(query, [*lexical, candidate(1, text, bm25=9.0, cosine=None)], now=NOW)[0].score >= RELEVANT


@pytest.mark.parametrize("cosine", [0.55, None])
def test_a_clear_answer_is_relevant_in_a_young_conversation(cosine: float | None) -> None:
    far = None if cosine is None else 0.1
    said = [
        candidate(1, "User: The locker code is 4417, don't forget it.", bm25=1.0, cosine=cosine),
        candidate(2, "User: It rains.", bm25=None, cosine=far),
        candidate(3, "User: I moved house.", bm25=None, cosine=far),
    ]
    few = rank("What was the code for my locker again?", said, now=NOW, exchanges=3)
    assert few[0].id == 1
    assert few[0].score >= RELEVANT > few[1].score
    # Among many exchanges the same words tell less.
    many = rank("What was the code for my locker again?", said, now=NOW, exchanges=1000)
    assert many == rank("What was the code for my locker again?", said, now=NOW)
    assert many[0].score < few[0].score


def test_a_growing_conversation_has_no_step_from_few_to_many() -> None:
    said = [candidate(1, "User: The locker code is 4417.", bm25=1.0, cosine=0.5), *FILLER]
    scores = [rank("What is the locker code?", said, now=NOW, exchanges=count)[0].score for count in range(1, 260)]
    assert max(abs(one - other) for one, other in pairwise(scores)) < 0.1
    assert len(set(scores)) > 100


def test_how_many_exchanges_there_are_says_nothing_of_a_document() -> None:
    section = [candidate(1, "# Locker", conversation="", number=0), *FILLER]
    few, many = (
        next(one.score for one in rank("locker", section, now=NOW, exchanges=count) if one.id == 1)
        for count in (3, 1000)
    )
    assert few == many


def test_ties_are_broken_by_id_and_the_order_given_does_not_matter() -> None:
    same = [candidate(place, "User: tea", conversation="", number=0) for place in (3, 1, 2)]
    assert order("tea", *same) == [1, 2, 3]
    assert rank("tea list", [*same, *FILLER], now=NOW) == rank("tea list", [*FILLER, *reversed(same)], now=NOW)


def test_a_passage_without_a_vector_is_taken_for_the_least_similar() -> None:
    numbers = [one.numbers for one in gather("tea", [candidate(1, "tea", cosine=None), *FILLER], now=NOW)]
    assert numbers[0].cosine == min(number.cosine for number in numbers)


@pytest.mark.parametrize("query", ["", "?!", "the and of", "\ud800", "a" * 50_000, "x " * 5_000])
def test_no_query_and_no_text_breaks_it(query: str) -> None:
    odd = [
        candidate(1, ""),
        candidate(2, "\n\n \n: \n"),
        candidate(3, "  : x\n" * 50),
        candidate(4, "\u0130\u0307 \ufb01 \ud800"),
        candidate(5, "x", cosine=None, bm25=None),
    ]
    assert sorted(order(query, *odd)) == [1, 2, 3, 4, 5]
    assert rank(query, [], now=NOW) == []


def test_other_scripts_are_compared_as_they_stand() -> None:
    russian = candidate(1, "User: Моя кошка любит молоко.")
    assert order("кошка", candidate(2, "User: Моя собака спит."), russian, *FILLER)[0] == 1
    chinese = candidate(3, "User: 我的猫喜欢牛奶。", bm25=None)
    ranked = rank("猫喜欢什么?", [candidate(4, "User: 今天下雨。", bm25=None), chinese], now=NOW)
    assert ranked[0].id == 3
    assert ranked[0].reasons[0].startswith("words: 猫喜")


def test_accents_and_case_do_not_matter() -> None:
    finder = Finder(query_words("Café ZÜRICH"))
    assert {word for _, _, word in finder.occurrences(folded("the cafe in Zürich"))} == {0, 1}


def test_a_word_is_not_found_inside_another() -> None:
    assert Finder(query_words("art")).occurrences("start party") == []


def test_every_place_of_every_word_is_found_once_and_in_order() -> None:
    found = Finder(query_words("run running runs art artist")).occurrences("art, an artist runs; art")
    assert found == [(0, 3, 1), (8, 14, 2), (15, 19, 0), (21, 24, 1)]


def test_words_for_the_index_are_those_that_tell_something() -> None:
    assert index_words("What is the name of my dentist's dog?") == ("name", "dentist", "dog")
    assert index_words("Who are you?") == ("who", "are", "you")
    assert index_words("?!") == ()


def test_a_pasted_text_asks_for_the_words_of_its_beginning_and_end() -> None:
    words = index_words(" ".join(f"w{number}" for number in range(1000)))
    assert len(words) == 64
    assert (words[0], words[-1]) == ("w0", "w999")


def test_the_model_reads_the_day_and_what_was_said_before() -> None:
    assert passage_for_model("User: yes", "Assistant: Tea?", datetime(2024, 5, 2, tzinfo=UTC)) == (
        "2 May 2024\nAssistant: Tea?\nUser: yes"
    )
    assert passage_for_model("Likes tea.", "", datetime(2024, 5, 2, tzinfo=UTC)) == "2 May 2024\nLikes tea."


@pytest.mark.parametrize(
    ("query", "told", "nearness"),
    [
        ("in May 2023", date(2023, 5, 31), 1.0),
        ("in May 2023", date(2023, 6, 10), 0.5),
        ("in May 2023", date(2024, 5, 1), 0.0),
        ("in May", date(2024, 5, 1), 1.0),
        ("on 3 July 2023", date(2023, 7, 3), 1.0),
        ("on July 3rd, 2023", date(2023, 7, 9), 0.5),
        ("on 2023-07-03", date(2023, 7, 3), 1.0),
        ("in 2022", date(2022, 1, 1), 1.0),
        ("yesterday", date(2024, 5, 19), 1.0),
        ("yesterday", date(2024, 5, 18), 0.0),
        ("last week", date(2024, 5, 9), 1.0),
        ("last month", date(2024, 4, 2), 1.0),
        ("last year", date(2023, 11, 2), 1.0),
        ("two weeks ago", date(2024, 5, 6), 1.0),
        ("3 months ago", date(2024, 2, 20), 1.0),
    ],
)
def test_periods_are_understood(query: str, told: date, nearness: float) -> None:
    periods = asked_periods(f"What happened {query}?", NOW.date())
    assert max(period.nearness(told) for period in periods) == nearness


@pytest.mark.parametrize(
    "query", ["may I march on?", "What may she say?", "room 2023b", "on 2023-99-99", "99 May 2023"]
)
def test_what_is_no_date_breaks_nothing(query: str) -> None:
    assert all(period.nearness(NOW.date()) < 1 for period in asked_periods(query, NOW.date()))


def test_questions_and_answers_about_time_are_known() -> None:
    assert asks_when("When did I move?")
    assert not asks_when("Where did I move?")
    assert tells_when("I moved Last week.")
    assert not tells_when("I moved to Bern.")
