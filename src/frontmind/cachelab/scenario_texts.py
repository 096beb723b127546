"""What is said in the scripted conversations: sentences about a few subjects, made from a seed.

Knows no conversation and no section. The same seed always gives the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeVar

from frontmind.values.tokens import estimate_tokens

T = TypeVar("T")


class Chance:
    """Choices that a name decides: the same ones in every process and with every version of Python.

    Args:
        name: whatever is to differ from other series of choices, the seed included.
    """

    def __init__(self, *name: object) -> None:
        self._name = "/".join(map(str, name))
        self._taken = 0

    def below(self, count: int) -> int:
        """A whole number from 0 to ``count - 1``."""
        self._taken += 1
        state = blake2b(f"{self._name}#{self._taken}".encode(), digest_size=8)
        return int.from_bytes(state.digest()) % count

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[self.below(len(options))]


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that people talk about for a while.

    Attributes:
        name: as it stands in a sentence.
        things: what belongs to it.
        people: who has to do with it.
    """

    name: str
    things: tuple[str, ...]
    people: tuple[str, ...]


SUBJECTS: Final = (
    Subject(
        "the garden",
        ("the roses along the fence", "the rain barrel", "the old apple tree", "the compost behind the shed"),
        ("Anna from next door", "the man with the digger"),
    ),
    Subject(
        "the choir",
        ("the second concert in the town hall", "the alto part", "the programme leaflet", "the rehearsal room"),
        ("the conductor", "Bert, who has the key"),
    ),
    Subject(
        "the move",
        ("the removal van", "the boxes in the cellar", "the deposit for the old flat", "the new kitchen"),
        ("the landlord", "your cousin with the trailer"),
    ),
    Subject(
        "the accounts",
        (
            "the receipts of the third quarter",
            "the invoice of the printer",
            "the travel expenses",
            "the bank statement",
        ),
        ("the tax adviser", "Mr Okafor at the bank"),
    ),
    Subject(
        "the journey to Lisbon",
        ("the night train", "the flat near the river", "the tickets for the museum", "the walk along the coast"),
        ("Clara, who lives there", "the host of the flat"),
    ),
    Subject(
        "the statistics course",
        ("the exercise about variance", "the data set of the bridges", "the oral exam", "the reading list"),
        ("the tutor", "Jun from your group"),
    ),
    Subject(
        "the bicycle",
        ("the worn chain", "the brake pads", "the lamp that flickers", "the rear wheel"),
        ("the workshop at the station", "your brother"),
    ),
    Subject(
        "the newsletter",
        (
            "the interview with the beekeeper",
            "the list of readers",
            "the picture on the front page",
            "the printer's slot",
        ),
        ("the editor", "Mina, who draws"),
    ),
)

_QUESTIONS: Final = (
    "Let us go on with {name}: what do I do about {thing} first?",
    "{person} called about {thing}. What should I answer, and by when?",
    "I looked at {thing} again and I am not sure whether the plan of {day} still holds. What do you think?",
    "How long will {thing} take if I only have the evenings, and what can wait until after {day}?",
    "Can you put together what we know about {thing} and {other}, so that I can tell {person}?",
    "Something has changed with {thing}: it will be {day} at the earliest. Does that touch {other}?",
    "Which of the two is more urgent, {thing} or {other}?",
    "Remind me what I had decided about {thing}, please, and why.",
)
_ANSWERS: Final = (
    "For {name} I would stay with what you planned and take {thing} first, because {other} depends on it.",
    "With {thing}, about {number} minutes are enough on {day}, and you can stop at any point without losing anything.",
    "{person} should hear of it before {day}; a short message is enough, and it leaves the decision with you.",
    "What you noted about {other} still holds, so nothing there has to be done twice.",
    "If it rains on {day}, move it by {number} days and keep the rest of the order as it is.",
    "The only thing that cannot wait is {thing}: there is one slot left, and it goes to whoever asks first.",
    "I would write down the measurements of {thing} while you stand in front of it, not afterwards.",
    "Should {person} disagree, the cheaper way is to leave {other} out this year and look at it again in spring.",
    "Of the {number} points on your list, two are done, and {thing} is the next one that others wait for.",
    "That leaves {day} free, which you wanted for {other} anyway.",
)
_MEMORIES: Final = (
    "You agreed with {person} that {thing} is looked after by {day} at the latest.",
    "You prefer to deal with {thing} in the morning, before the phone begins to ring.",
    "You paid {number} euros for {thing} and keep the receipt in the blue folder.",
    "You would rather leave {other} alone until {person} has answered.",
    "You asked {person} for help with {thing} and owe them an answer since {day}.",
    "You decided against a loan for {thing}, because {other} has cost {number} euros already.",
    "You do not want to be called about {name} after eight in the evening.",
    "You measured {thing} twice: it is {number} centimetres, not what the plan says.",
)
_REMINDERS: Final = (
    "call {person} about {thing}",
    "take {thing} along to {person}",
    "pay for {thing} before the reminder fee",
    "ask {person} whether {other} can wait",
    "look at {thing} before it gets dark",
)
_LINES: Final = (
    "{day}: {thing}, {number} minutes, done by {person}; follow-up open",
    "{thing} | status: waiting | owner: {person} | next step: {other}",
    "note {number}: {person} says that {thing} can be had earlier, if {other} is dropped",
    "total for {name}: {number} entries, of which {thing} is the oldest",
    "warning: {thing} and {other} are planned for the same hour of {day}",
    'result {number}: "{thing}" was changed on {day}, see the history for what stood there before',
)
_RULES: Final = (
    "When {thing} comes up, say first what is settled with {person}, and only then what is open.",
    "Never promise anything about {other} in the person's name; offer a wording that they can send themselves.",
    "Figures about {name} are given with their date, because they are out of date after {number} days.",
    "If {thing} and {other} contradict each other, name both and ask which one holds.",
    "What {person} wrote is reported as theirs, in one sentence, with the day on which it came.",
    "A list about {name} has at most {number} points; what is left over is offered, not appended.",
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Words:
    """Texts, one after the other.

    Args:
        name: names the series, as of a `Chance`.
    """

    def __init__(self, *name: object) -> None:
        self.chance = Chance(*name)

    def question(self, subject: Subject) -> str:
        """What the person asks: one or two sentences."""
        asked = [self._say(_QUESTIONS, subject) for _ in range(self.chance.between(1, 2))]
        return " ".join(asked)

    def answer(self, subject: Subject, *, tokens: int) -> str:
        """A reply of about so many tokens, in paragraphs."""
        return self._fill(_ANSWERS, subject, tokens, lambda number: "\n\n" if number % 4 == 3 else " ")

    def aside(self, subject: Subject) -> str:
        """What the assistant says before it calls a tool."""
        return f"I look at {self.chance.pick(subject.things)} first."

    def memory(self, subject: Subject) -> str:
        """A fact about the person, worded to them."""
        return self._say(_MEMORIES, subject)

    def reminder(self, subject: Subject) -> str:
        """What somebody wants to be reminded of."""
        return self._say(_REMINDERS, subject)

    def result(self, subject: Subject, *, tokens: int) -> str:
        """What a tool gives back: lines of about so many tokens together."""
        return self._fill(_LINES, subject, tokens, lambda number: "\n")

    def rules(self, subject: Subject, *, tokens: int) -> str:
        """How the assistant is to behave, of about so many tokens."""
        return self._fill(_RULES, subject, tokens, lambda number: "\n" if number % 2 else " ")

    def query(self, subject: Subject) -> str:
        """What is searched for."""
        return f"{self.chance.pick(subject.things).removeprefix('the ')} {self.chance.pick(_DAYS)}"

    def _say(self, sentences: Sequence[str], subject: Subject) -> str:
        thing = self.chance.pick(subject.things)
        said = self.chance.pick(sentences).format(
            name=subject.name,
            thing=thing,
            other=self.chance.pick([other for other in subject.things if other != thing]),
            person=self.chance.pick(subject.people),
            day=self.chance.pick(_DAYS),
            number=self.chance.between(3, 95),
        )
        return said[0].upper() + said[1:]

    def _fill(self, sentences: Sequence[str], subject: Subject, tokens: int, gap_behind: Callable[[int], str]) -> str:
        text = self._say(sentences, subject)
        number = 0
        while estimate_tokens(text) < tokens:
            text += gap_behind(number) + self._say(sentences, subject)
            number += 1
        return text
