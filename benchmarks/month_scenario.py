"""A month of talking to an assistant: several sessions a day, long and short pauses, and facts that change.

Scripted, and the same for whoever plays it: what the person says, what the assistant answers, and when.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

START: Final = datetime(2026, 11, 2, 0, 0, tzinfo=ZoneInfo("Europe/Berlin"))
_SESSIONS: Final = ((8, 30), (12, 45), (19, 20))
_LONG_BREAK: Final = timedelta(minutes=9)
"""A pause inside of a session that is longer than the cache entry of the history lives, and ends no segment."""

_TOPICS: Final = (
    ("the garden", "the roses along the fence", "cut them back before the frost"),
    ("the choir", "the second concert in the town hall", "learn the alto part by heart"),
    ("the bicycle", "the worn chain and the brake pads", "replace both in one go"),
    ("the accounts", "the receipts of the third quarter", "sort them by supplier first"),
    ("the novel", "the chapter in the lighthouse", "let the keeper speak less"),
    ("the kitchen", "the shelf above the stove", "measure the wall twice"),
    ("the holiday", "the night train through the mountains", "book the couchette early"),
    ("the course", "the statistics exercise about variance", "draw the distribution first"),
)


@dataclass(frozen=True)
class Fact:
    """Something that is so from a day on, in the place of what was so before.

    Attributes:
        subject: what it is about.
        share: how much of the month has passed when it becomes so, from 0 to 1.
        said: how the person says it.
        memory: how it is remembered.
    """

    subject: str
    share: float
    said: str
    memory: str


FACTS: Final = (
    Fact("city", 0.0, "By the way, I live in Hamburg.", "The city where you live is Hamburg."),
    Fact("job", 0.0, "I work as a nurse.", "You work as a nurse."),
    Fact("drink", 0.1, "I prefer coffee in the morning.", "You prefer coffee in the morning."),
    Fact("phone", 0.1, "My phone is an old Nokia.", "The phone that you use is an old Nokia."),
    Fact("city", 0.35, "I have moved: I live in Lisbon now.", "The city where you live is Lisbon."),
    Fact("drink", 0.5, "I gave that up, I prefer tea in the morning.", "You prefer tea in the morning."),
    Fact("job", 0.6, "I changed jobs, I work as a beekeeper now.", "You work as a beekeeper."),
    Fact("phone", 0.7, "My phone is a Fairphone now.", "The phone that you use is a Fairphone."),
    Fact("city", 0.8, "We moved once more, I live in Porto now.", "The city where you live is Porto."),
)
QUESTIONS: Final = {
    "city": "What is the city where I live now?",
    "job": "What do I work as?",
    "drink": "What do I prefer in the morning?",
    "phone": "What is the phone that I use now?",
}


@dataclass(frozen=True)
class Said:
    """A message of the person.

    Attributes:
        at: when it is sent.
        session: counts from 1.
        fact: what it tells, to be remembered.
        asks: the subject that it asks about; empty for none.
    """

    at: datetime
    session: int
    text: str
    reply: str
    fact: Fact | None = None
    asks: str = ""


def month(days: int = 30, *, seed: int = 5) -> list[Said]:
    """The messages of so many days, in order. The last session asks for every fact."""
    chance = random.Random(seed)
    waiting = list(FACTS)
    said: list[Said] = []
    session = 0
    for day in range(days):
        for hour, minute in _SESSIONS:
            session += 1
            at = START + timedelta(days=day, hours=hour, minutes=minute + chance.randrange(10))
            topic = chance.choice(_TOPICS)
            turns = chance.randrange(3, 8)
            broken = chance.randrange(1, turns) if chance.random() < 0.4 else 0
            for turn in range(turns):
                at += _LONG_BREAK if broken and turn == broken else timedelta(seconds=chance.randrange(40, 150))
                fact = waiting.pop(0) if waiting and waiting[0].share * days <= day and turn == 1 else None
                said.append(Said(at, session, *_words(topic, day, turn, fact), fact))
    return [*said, *_questions(said[-1], session + 1)]


def _questions(last: Said, session: int) -> Iterator[Said]:
    for number, (subject, question) in enumerate(QUESTIONS.items()):
        at = last.at + timedelta(hours=9, minutes=2 * number)
        yield Said(at, session, question, "Let me say it: you told me so.", asks=subject)


def _words(topic: tuple[str, str, str], day: int, turn: int, fact: Fact | None) -> tuple[str, str]:
    what, detail, advice = topic
    told = "" if fact is None else f" {fact.said}"
    asked = (
        f"Let us go on with {what} on day {day + 1}, step {turn + 1}. I looked at {detail} again, and I am not sure "
        f"whether the plan of last time still holds, because the weather and the time have changed.{told}"
    )
    reply = (
        f"For {what} I would stay with the plan. With {detail}, the first thing is to {advice}. "
        + f"Step {turn + 1} then takes about half an hour, and you can stop at any point without losing what you have. "
        * 2
        + "If something looks different from what you expected, write it down, and we look at it together. "
        f"Shall we note for day {day + 2} what is left over?"
    )
    return asked, reply
