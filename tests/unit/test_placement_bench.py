"""The placement bench: what is asked, how answers are judged, which windows are compared, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from frontmind.bench.facts import MOST_QUESTIONS, Fact, FactSheet, Wording, decoy_sayings, draw_facts
from frontmind.bench.histories import Exchange, built_in, cut_to, read_history
from frontmind.bench.intervals import bootstrap, mcnemar, wilson
from frontmind.bench.judging import Verdict, judge, names, plain
from frontmind.bench.placed_windows import ELEMENT_NAMES, Placement, Where, placed_windows, placements_of
from frontmind.bench.placement import Answer, PlacementRun, Progress, run_placement
from frontmind.bench.placement_table import as_json, compare_places, compare_wordings, markdown, tallies
from frontmind.bench.subjects import MEMORIES, REMINDERS, Kind, Subject, Value, clock_forms
from frontmind.errors import ModelError, UsageError
from frontmind.providers.protocol import Request
from frontmind.providers.scripted import ScriptedModel
from frontmind.values.section import HEADER, RULE
from frontmind.window.canonical import canonical_text
from support import EVERY_WAY, MODELS, playing, selected, texts

WINDOW, AISLE = Value("a window seat", ("window",)), Value("an aisle seat", ("aisle",))
QUIET = Value("a quiet coach", ("quiet",))
SEAT = Fact(
    Subject(Kind.MEMORY, "Which seat do I like?", (WINDOW, AISLE, QUIET), "the user prefers {}", "you prefer {}"),
    WINDOW,
    (AISLE, QUIET),
)


def judged(answer: str, fact: Fact = SEAT, given: tuple[Value, ...] = (WINDOW,)) -> Verdict:
    return judge(answer, fact, given=given, section_names=ELEMENT_NAMES)


def number(digits: str) -> Fact:
    held = Value(digits, (digits,))
    return Fact(Subject(Kind.MEMORY, "How many?", (held,)), held, ())


# Judging.


@pytest.mark.parametrize(
    "answer",
    [
        "A window seat.",
        "You like WINDOW seats best!",
        "No, you prefer window seats.",
        "Not only window seats, but mostly.",
        "I'm not sure. Window?",
        "It isn’t written down, but the window seat.",
    ],
)
def test_an_answer_that_names_the_value_is_right(answer: str) -> None:
    assert judged(answer).right


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I do not know.",
        "Windowless carriages.",
        "Not the window seat.",
        "You don't like a window seat.",
        "Anything rather than the window seat.",
        "A window or an aisle seat.",
    ],
)
def test_an_answer_that_does_not_name_the_value_alone_is_not_right(answer: str) -> None:
    assert not judged(answer).right


@pytest.mark.parametrize("answer", ["41", "Size 41.", "It is 41, I think", "(41)"])
def test_a_number_is_named_by_itself(answer: str) -> None:
    assert judged(answer, number("41")).right


@pytest.mark.parametrize("answer", ["141", "410", "41.5", "4,41", "18:41", "41:20", "A41", "size 41b"])
def test_a_number_is_not_named_by_a_longer_one(answer: str) -> None:
    assert not judged(answer, number("41")).right


@pytest.mark.parametrize("answer", ["14:30", "14.30 today", "at 2:30 pm", "2:30 P.M.", "Half past two."])
def test_a_time_is_named_by_each_of_its_spellings(answer: str) -> None:
    assert names(plain(answer), Value("14:30", clock_forms("14:30")))


@pytest.mark.parametrize("answer", ["2:30 am", "12:30", "14:305", "4:30", "half past three", "14:30:15"])
def test_a_time_is_not_named_by_another_one(answer: str) -> None:
    assert not names(plain(answer), Value("14:30", clock_forms("14:30")))


def test_a_value_that_no_fact_has_is_invented() -> None:
    assert judged("An aisle seat.").invented
    assert not judged("An aisle seat, but not the quiet coach.", given=(WINDOW, AISLE)).invented
    assert not judged("Not the aisle seat.").invented
    assert not judged("A window seat.").invented


def test_a_value_of_another_fact_is_wrong_and_not_invented() -> None:
    verdict = judged("An aisle seat.", given=(WINDOW, AISLE))
    assert not verdict.right
    assert not verdict.invented


def test_the_third_person_is_told_from_the_second() -> None:
    assert judged("The user's seat is a window seat.").third_person
    assert judged("User prefers a window seat.").third_person
    assert not judged("You are a user of trains and take a window seat.").third_person


def test_a_fact_that_the_model_takes_for_its_own_is_told() -> None:
    dentist = Fact(Subject(Kind.MEMORY, "Who?", (WINDOW,), "", "your dentist is {}"), WINDOW, ())
    allergic = Fact(Subject(Kind.MEMORY, "What?", (WINDOW,), "", "you are allergic to {}"), WINDOW, ())
    assert judged("I prefer a window seat.").as_its_own
    assert judged("My dentist is Dr. Tanaka.", dentist).as_its_own
    assert judged("I'm allergic to kiwi.", allergic).as_its_own
    assert not judged("I'm not sure.", allergic).as_its_own
    assert not judged("I remember that you prefer a window seat.").as_its_own
    assert not judged("Your dentist is Dr. Tanaka.", dentist).as_its_own


@pytest.mark.parametrize(
    "answer",
    [
        RULE,
        "Here is it: NOTIFICATION CENTER",
        HEADER.split("\n")[1],
        "<memory>You prefer a window seat.</memory>",
        "</relevant_memories>",
        "As the relevant_memories say, a window seat.",
        'memory id="m1" observed="2026-11-27"',
    ],
)
def test_a_piece_of_the_section_is_an_echo(answer: str) -> None:
    assert judged(answer).echo


def test_plain_words_about_memory_are_no_echo() -> None:
    assert not judged("From memory: a window seat. I set a reminder <3").echo


# What is asked.


@pytest.mark.parametrize("subject", [*MEMORIES, *REMINDERS], ids=lambda subject: subject.question)
def test_the_sentence_of_a_fact_names_its_value_and_no_other(subject: Subject) -> None:
    for value in subject.values:
        for sentence in filter(None, (subject.third, subject.second, subject.aside)):
            if "{}" not in sentence:
                continue
            told = plain(sentence.replace("{}", value.text))
            assert [other for other in subject.values if names(told, other)] == [value]
        assert not names(plain(subject.question), value)


def test_each_wording_begins_as_it_is_called() -> None:
    assert SEAT.worded(Wording.THIRD) == "The user prefers a window seat."
    assert SEAT.worded(Wording.SECOND) == "You prefer a window seat."
    assert SEAT.worded(Wording.RECALLED) == "I remember that you prefer a window seat."


@pytest.mark.parametrize("questions", range(1, MOST_QUESTIONS + 1))
def test_as_many_facts_are_drawn_as_are_asked_for(questions: int) -> None:
    sheet = draw_facts(questions, seed=questions)
    assert len({fact.subject.question for fact in sheet.facts}) == questions
    assert sum(len(sheet.of(kind)) for kind in Kind) == questions
    for fact in sheet.facts:
        assert fact.value not in fact.distractors
        assert set(fact.decoys) <= set(fact.distractors)


def test_more_facts_than_there_are_cannot_be_drawn() -> None:
    with pytest.raises(UsageError, match=f"from 1 to {MOST_QUESTIONS}"):
        draw_facts(MOST_QUESTIONS + 1, seed=0)


def test_the_same_seed_draws_the_same_facts_and_another_one_others() -> None:
    assert draw_facts(12, seed=5) == draw_facts(12, seed=5)
    assert draw_facts(12, seed=5) != draw_facts(12, seed=6)


def test_a_value_that_the_history_has_is_not_drawn() -> None:
    for seed in range(20):
        sheet = draw_facts(MOST_QUESTIONS, seed, avoiding="My cat PEPPER, and Mango, sleep all day.")
        cat = next(fact for fact in sheet.facts if "cat" in fact.subject.question)
        assert cat.value.text not in ("Pepper", "Mango")


# Histories.


async def words(text: str) -> int:
    return len(text.split())


LOCOMO = [
    {
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_10": [{"speaker": "Ann", "text": "Last?"}, {"speaker": "Bob", "text": "Yes."}],
            "session_2_date_time": "1 pm",
            "session_2": [
                {"speaker": "Bob", "text": "Hi!"},
                {"speaker": "Ann", "text": "Hello."},
                {"speaker": "Ann", "text": "How are you?"},
                {"speaker": "Bob", "text": "Fine."},
            ],
        },
        "qa": [],
    }
]


def test_a_file_in_the_form_of_locomo_is_read_in_the_order_of_its_sessions() -> None:
    history = read_history(json.dumps(LOCOMO), source="chats.json")
    assert [(asked.text, said.text) for asked, said in history][1:] == [
        ("Hello.\n\nHow are you?", "Fine."),
        ("Last?", "Yes."),
    ]


def test_a_list_of_messages_is_read() -> None:
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    assert [(asked.text, said.text) for asked, said in read_history(json.dumps(messages), source="x")] == [
        ("Hello", "Hi")
    ]


@pytest.mark.parametrize("text", ["{", "[]", '"text"', '[{"role": "user", "content": "alone"}]'])
def test_a_file_that_is_no_conversation_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="chats"):
        read_history(text, source="chats.json")


@pytest.mark.parametrize("tokens", [300, 1000, 6000])
async def test_a_history_has_the_length_that_is_asked_for_and_tells_of_others(tokens: int) -> None:
    asides = decoy_sayings(draw_facts(12, seed=0).facts)
    history = await cut_to(built_in(), tokens, count=words, asides=asides)
    size = sum([await words(message.text) + 5 for exchange in history for message in exchange])
    assert 0.75 * tokens <= size <= tokens
    replies = {said.text for _, said in built_in()}
    told = [aside for asked, _ in history for aside in asides if asked.text.startswith(aside)]
    assert told
    assert told == list(asides[: len(told)])
    assert {said.text for _, said in history} <= replies


async def test_a_history_of_no_tokens_is_empty() -> None:
    assert await cut_to(built_in(), 0, count=words, asides=("x",)) == ()


# Windows.


def encoded(name: str, window: Any) -> str:
    return canonical_text(dict(selected(name).encode(window)))


@pytest.mark.parametrize("name", MODELS)
async def test_every_place_can_be_sent_to_every_model_and_holds_all_facts_once(name: str) -> None:
    sheet = draw_facts(MOST_QUESTIONS, seed=1)
    history = await cut_to(built_in(), 1000, count=words, asides=())
    for place in placements_of(selected(name).profile):
        windows = await placed_windows(sheet, place, Wording.SECOND, history)
        assert len(windows) == MOST_QUESTIONS
        request = encoded(name, windows[0])
        for fact in sheet.of(Kind.MEMORY):
            assert request.count(fact.worded(Wording.SECOND)) == 1, place.name
        for fact in sheet.of(Kind.REMINDER):
            assert request.count(fact.subject.third) == 1, place.name
        for fact, window in zip(sheet.facts, windows, strict=True):
            assert fact.subject.question in encoded(name, window)


def test_every_framing_of_a_profile_is_compared() -> None:
    for name in MODELS:
        compared = {place.name for place in placements_of(selected(name).profile)}
        framings = {framing.value for model, framing in EVERY_WAY if model == name}
        assert compared == {Where.SYSTEM.value, Where.BEHIND.value, *framings}


async def places(sheet: FactSheet, history: tuple[Exchange, ...] = ()) -> dict[str, list[str]]:
    """The texts of the messages for the first question, system prompt first, by the name of the place."""
    selection = selected("local")
    found = {}
    for place in placements_of(selection.profile):
        window = (await placed_windows(sheet, place, Wording.THIRD, history))[0]
        request: Mapping[str, Any] = selection.encode(window)
        found[place.name] = [texts(message) for message in request["messages"]]
    return found


async def test_the_facts_stand_where_the_place_says() -> None:
    sheet = draw_facts(6, seed=2)
    fact = sheet.facts[0]
    sentence, question = fact.worded(Wording.THIRD), fact.subject.question
    found = await places(sheet)
    assert [sentence in text for text in found["system prompt"]] == [True, False]
    assert [sentence in text for text in found["assistant"]] == [False, False, True, False]
    assert found["user_text"][-1].index(sentence) < found["user_text"][-1].index(question)
    assert found["after the question"][-1].index(question) < found["after the question"][-1].index(sentence)
    assert sentence not in found["after the question"][0]


async def test_the_system_prompt_announces_the_section_where_it_stands() -> None:
    found = await places(draw_facts(6, seed=2))
    assert "notification center" in found["assistant"][0]
    assert "notification center" not in found["system prompt"][0].lower()


async def test_a_framing_that_keeps_its_sections_has_said_the_facts_earlier_and_says_only_the_time_again() -> None:
    sheet = draw_facts(12, seed=3)
    history = await cut_to(built_in(), 600, count=words, asides=())
    kept = (await places(sheet, history))["append"]
    memory, reminder = sheet.of(Kind.MEMORY)[0].worded(Wording.THIRD), sheet.of(Kind.REMINDER)[0].subject.third
    assert memory not in kept[-1]
    assert reminder not in kept[-1]
    assert f"{sheet.now:%H:%M}" in kept[-1]
    said = [number for number, text in enumerate(kept) if memory in text and reminder in text]
    assert said == [1 + 2 * (len(history) // 2)]


# Counting.


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"), [(8, 10, 0.490, 0.943), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0)]
)
def test_the_interval_of_a_share_is_wilsons(hits: int, count: int, low: float, high: float) -> None:
    interval = wilson(hits, count)
    assert interval.low == pytest.approx(low, abs=0.001)
    assert interval.high == pytest.approx(high, abs=0.001)


@pytest.mark.parametrize(("better", "worse", "p"), [(0, 0, 1.0), (1, 1, 1.0), (5, 0, 0.0625), (9, 1, 22 / 1024)])
def test_the_paired_test_is_mcnemars(better: int, worse: int, p: float) -> None:
    assert mcnemar(better, worse) == pytest.approx(p)
    assert mcnemar(worse, better) == pytest.approx(p)


def test_the_bootstrap_draws_whole_groups() -> None:
    even = bootstrap({str(number): [0.0, 1.0] for number in range(30)}, seed=0)
    uneven = bootstrap({str(number): [float(number % 2)] * 2 for number in range(30)}, seed=0)
    assert even.low == even.high == 0.5
    assert 0.2 < uneven.low < 0.4 < 0.6 < uneven.high < 0.8
    assert bootstrap({}, seed=0) == bootstrap({"a": []}, seed=1)


# Runs.


def reader(fact: Fact) -> Any:
    """A model that knows a memory only when the newest messages tell it."""

    def reply(request: Request) -> str:
        messages: Any = request["messages"]
        near = "\n".join(texts(message) for message in messages[-2:] if message["role"] != "system")
        knows = any(fact.worded(wording) in near for wording in Wording)
        return fact.value.text if knows else "The user did not say."

    return reply


async def run(model: ScriptedModel, sheet: FactSheet, lengths: tuple[int, ...] = (0,)) -> PlacementRun:
    histories = {length: await cut_to(built_in(), length, count=words, asides=()) for length in lengths}
    seconds = iter(range(10_000))
    told: list[Progress] = []
    found = await run_placement(model, sheet, histories, report=told.append, timer=lambda: float(next(seconds)))
    assert [progress.done for progress in told] == list(range(1, len(told) + 1))
    assert not told or told[-1].seconds_left == 0
    return found


async def test_answers_are_counted_for_each_place_wording_and_length() -> None:
    sheet = draw_facts(1, seed=0)
    found = await run(playing("local", reader(sheet.facts[0])), sheet, (0, 400))
    right = {tally.group: tally.right for tally in tallies(found.answers, lambda a: (a.placement, str(a.length)))}
    assert right == {
        ("system prompt", "0"): 0,
        ("assistant", "0"): 3,
        ("user_text", "0"): 3,
        ("append", "0"): 3,
        ("after the question", "0"): 3,
        ("system prompt", "400"): 0,
        ("assistant", "400"): 3,
        ("user_text", "400"): 3,
        ("append", "400"): 0,
        ("after the question", "400"): 3,
    }
    third = {tally.group: tally.third_person for tally in tallies(found.answers, lambda a: (a.placement,))}
    assert third["system prompt",] == 6
    assert third["assistant",] == 0


async def test_a_request_that_was_answered_is_not_sent_again() -> None:
    asked: list[str] = []

    def reply(request: Request) -> str:
        asked.append(canonical_text(dict(request)))
        return "No."

    sheet = draw_facts(2, seed=0)
    found = await run(playing("local", reply), sheet)
    assert len(asked) == len(set(asked))
    # `append` says in a first turn what `user_text` says.
    assert len(found.answers) - len(asked) == 2 * len(Wording)


async def test_a_failing_model_is_counted_apart_and_does_not_end_the_run() -> None:
    def reply(request: Request) -> str:
        if "dentist" in texts(request["messages"][-1]):  # type: ignore[index,arg-type]
            raise ModelError("the server is gone; try again", model="x", reason="the server is gone")
        return "No."

    sheet = draw_facts(MOST_QUESTIONS, seed=0)
    found = await run(playing("anthropic:claude-sonnet-4-5", reply), sheet)
    failed = [answer for answer in found.answers if answer.error]
    assert {answer.error for answer in failed} == {"the server is gone"}
    assert 0 < len(failed) < len(found.answers)
    counted = tallies(found.answers, lambda answer: ())[0]
    assert (counted.failed, counted.answered) == (len(failed), len(found.answers) - len(failed))


@pytest.mark.parametrize(("name", "greedy"), [("local", True), ("ollama:qwen3", True), ("openai:gpt-5.5", False)])
async def test_a_temperature_is_sent_only_where_it_is_known_to_be_taken(name: str, greedy: bool) -> None:
    temperatures: set[Any] = set()

    def reply(request: Request) -> str:
        temperatures.add(request.get("temperature", "none"))
        return "No."

    found = await run(playing(name, reply), draw_facts(1, seed=0))
    assert temperatures == ({0} if greedy else {"none"})
    assert found.greedy is greedy


async def test_a_length_that_does_not_fit_is_left_out_and_told() -> None:
    selection = selected("local")
    model = ScriptedModel(
        lambda request: "No.",
        context_limit=1500,
        max_output_tokens=32,
        profile=selection.profile,
        framing=selection.framing,
    )
    found = await run(model, draw_facts(2, seed=0), (0, 2000))
    assert found.too_long == (2000,)
    assert {answer.length for answer in found.answers} == {0}
    assert "Left out, because the model's context is too small: 2,000." in markdown(found, seed=0)


def answer(placement: str, question: str, right: bool, wording: Wording = Wording.THIRD) -> Answer:
    verdict = Verdict(right, third_person=not right, as_its_own=False, echo=False, invented=False)
    return Answer(placement, wording, 0, question, Kind.MEMORY, "said", verdict)


def test_places_are_compared_by_the_same_question() -> None:
    answers = [
        answer("system prompt", "a", False),
        answer("system prompt", "b", True),
        answer("system prompt", "c", False),
        answer("assistant", "a", True),
        answer("assistant", "b", False),
        answer("assistant", "c", True),
        answer("assistant", "d", True),
    ]
    (compared,) = compare_places(answers, seed=0)
    assert (compared.name, compared.pairs, compared.better, compared.worse) == ("assistant", 3, 2, 1)
    assert compared.difference == pytest.approx(1 / 3)
    assert compared.interval.low <= compared.difference <= compared.interval.high


def test_wordings_are_compared_at_the_same_place() -> None:
    answers = [
        answer("assistant", "a", False),
        answer("append", "a", True),
        answer("assistant", "a", True, Wording.SECOND),
        answer("append", "a", True, Wording.SECOND),
    ]
    second, recalled = compare_wordings(answers, seed=0)
    assert (second.name, second.pairs, second.better, second.worse) == ("you prefer", 2, 1, 0)
    assert recalled.pairs == 0


async def test_the_table_and_the_json_tell_the_same_counts() -> None:
    sheet = draw_facts(6, seed=0)
    found = await run(playing("local", reader(sheet.facts[0])), sheet)
    table, told = markdown(found, seed=0), json.loads(json.dumps(as_json(found, seed=0)))
    assert len(told["answers"]) == len(found.answers) == 5 * 3 * 6
    for tally in tallies(found.answers, lambda a: (a.placement,)):
        counts = [item for item in told["counts"] if item["placement"] == tally.group[0]]
        assert sum(item["right"]["count"] for item in counts) == tally.right
        assert f"| {tally.group[0]} | {tally.right} of {tally.answered} (" in table


async def test_replies_do_not_stand_in_the_table() -> None:
    sheet = draw_facts(2, seed=0)
    table = markdown(await run(playing("local", lambda request: "\x1b[31m| **evil**"), sheet), seed=0)
    assert "evil" not in table


def test_a_placement_is_called_by_its_framing() -> None:
    names_of = [place.name for place in placements_of(selected("deepseek:deepseek-chat").profile)]
    assert names_of[0] == "system prompt"
    assert isinstance(placements_of(selected("local").profile)[0], Placement)
    assert "append" in names_of
