"""What one run of the placement bench asks about: facts drawn by a seed, and wrong values that are said nearby.

Knows no window, no model, and not how an answer is judged.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from frontmind.bench.subjects import MEMORIES, REMINDERS, Kind, Subject, Value, plain_values, times
from frontmind.errors import UsageError

_FIRST_MOMENT: Final = datetime(2026, 11, 30, 9, 15, tzinfo=ZoneInfo("UTC"))
_DAYS, _MINUTES = 7, 50
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DECOYS: Final = 2
"""How many people beside the person a value is told of in the history, for each fact."""


class Wording(StrEnum):
    """How a memory is put into words; the value is how its sentence begins."""

    THIRD = "the user prefers"
    SECOND = "you prefer"
    RECALLED = "I remember that you prefer"


@dataclass(frozen=True, slots=True)
class Fact:
    """A subject with the value that holds.

    Attributes:
        distractors: the other values of the subject.
        decoys: those of them that the history tells of somebody else.
    """

    subject: Subject
    value: Value
    distractors: tuple[Value, ...]
    decoys: tuple[Value, ...] = ()

    def worded(self, wording: Wording) -> str:
        """The memory as a sentence."""
        sentence = self.subject.third if wording is Wording.THIRD else self.subject.second
        if wording is Wording.RECALLED:
            sentence = f"I remember that {sentence}"
        return f"{sentence[0].upper()}{sentence[1:]}.".replace("{}", self.value.text)


@dataclass(frozen=True, slots=True)
class FactSheet:
    """The facts of one run, and the moment at which the questions are asked."""

    facts: tuple[Fact, ...]
    now: datetime

    def of(self, kind: Kind) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.facts if fact.subject.kind is kind)


_CLOCK_QUESTIONS: Final = ("Which day of the week is it today?", "What time is it now?", "What is the date today?")
MOST_QUESTIONS: Final = len(MEMORIES) + len(REMINDERS) + len(_CLOCK_QUESTIONS)


def draw_facts(questions: int, seed: int, *, avoiding: str = "") -> FactSheet:
    """A set of facts: about a sixth reminders, a sixth of the clock, the rest memories.

    Args:
        questions: how many facts; each is asked about once.
        seed: the same seed draws the same set.
        avoiding: a text whose words are avoided as values, as far as others are left: the history that is given.

    Raises:
        UsageError: there are not so many.
    """
    if not 1 <= questions <= MOST_QUESTIONS:
        raise UsageError(f"cannot ask {questions} questions; use a number from 1 to {MOST_QUESTIONS}")
    # Not for secrets: the same seed has to draw the same facts.
    chance = random.Random(seed)
    now = _FIRST_MOMENT + timedelta(days=chance.randrange(_DAYS), minutes=chance.randrange(_MINUTES))
    clock = min(round(questions / 6), len(_CLOCK_QUESTIONS))
    reminders = min(round(questions / 6), len(REMINDERS))
    memories = min(questions - clock - reminders, len(MEMORIES))
    clock = questions - memories - reminders
    subjects = [*chance.sample(MEMORIES, memories), *chance.sample(REMINDERS, reminders)]
    taken: set[str] = set()
    facts = []
    for subject in subjects:
        facts.append(_draw(subject, chance, taken, avoiding.casefold()))
        taken.add(facts[-1].value.text)
    facts += [_clock_fact(question, now) for question in chance.sample(_CLOCK_QUESTIONS, clock)]
    return FactSheet(tuple(facts), now)


def _draw(subject: Subject, chance: random.Random, taken: set[str], avoiding: str) -> Fact:
    # Whatever the history holds, chance is asked the same number of times: another history changes few facts.
    order = chance.sample(subject.values, len(subject.values))
    free = [value for value in order if value.text not in taken]
    value = next((value for value in free if not _occurs(value, avoiding)), free[0])
    distractors = tuple(other for other in subject.values if other != value)
    decoys = [other for other in free if other != value][:_DECOYS]
    return Fact(subject, value, distractors, tuple(decoys) if subject.aside else ())


def _occurs(value: Value, text: str) -> bool:
    return any(re.search(rf"\b{re.escape(form.casefold())}s?\b", text) for form in value.forms)


def _clock_fact(question: str, now: datetime) -> Fact:
    if question == _CLOCK_QUESTIONS[0]:
        values = plain_values(*_WEEKDAYS)
        held = values[now.weekday()]
    elif question == _CLOCK_QUESTIONS[1]:
        held = times(f"{now:%H:%M}")[0]
        values = (held, *times("08:05", "10:40", "13:25", "16:10", "20:20"))
    else:
        held, *others = (_date(now + timedelta(days=days)) for days in (0, -9, -2, 3, 12))
        values = (held, *others)
    return Fact(Subject(Kind.TIME, question, values), held, tuple(value for value in values if value != held))


def _date(day: datetime) -> Value:
    number, month = day.day, f"{day:%B}"
    ordinal = f"{number}{'th' if number in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
    spelled = (f"{number} {month}", f"{month} {number}", f"{ordinal} of {month}", f"{ordinal} {month}")
    short = (f"{number} {day:%b}", f"{day:%b} {number}", f"{month} {ordinal}", f"{day:%Y-%m-%d}")
    return Value(spelled[0], (*spelled, *short))


def decoy_sayings(facts: Sequence[Fact]) -> tuple[str, ...]:
    """What the person says of others in the history: first one wrong value of each fact, then a second one."""
    return tuple(
        fact.subject.aside.replace("{}", fact.decoys[number].text)
        for number in range(_DECOYS)
        for fact in facts
        if len(fact.decoys) > number
    )
