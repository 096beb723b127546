"""What the placement bench can ask about: questions, the values that an answer can have, and how each is spelled.

Data only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """Which trinket tells a fact."""

    MEMORY = "memory"
    REMINDER = "reminder"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it is told, and the spellings by which an answer names it."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that is asked about, with the values that it can have.

    Attributes:
        third: the fact about "the user"; ``{}`` stands for the value. Of a reminder, what it is about.
        second: the same fact, worded to the person; empty where the wording does not matter.
        aside: what the person says of somebody else in the history, with another value; empty for nothing.
    """

    kind: Kind
    question: str
    values: tuple[Value, ...]
    third: str = ""
    second: str = ""
    aside: str = ""


def clock_forms(text: str) -> tuple[str, ...]:
    """The spellings of a time of day, from ``14:30``: also ``14.30``, ``2:30 pm``, ``half past two``."""
    hour, minute = (int(part) for part in text.split(":"))
    short, half = hour % 12 or 12, "pm" if hour >= 12 else "am"
    forms = {text, text.replace(":", ".")}
    for spelled in (
        f"{hour:02}:{minute:02}",
        f"{short}:{minute:02}",
        f"{short}.{minute:02}",
        f"{short:02}:{minute:02}",
    ):
        dotted = f"{half[0]}.m."
        forms |= {spelled, f"{spelled} {half}", f"{spelled}{half}", f"{spelled} {dotted}", f"{spelled}{dotted}"}
    hours = ("twelve", *_HOURS)
    said = {15: f"quarter past {hours[hour % 12]}", 30: f"half past {hours[hour % 12]}"}
    said[45] = f"quarter to {hours[(hour + 1) % 12]}"
    return tuple(sorted({*forms, said[minute]} if minute in said else forms))


_HOURS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")


def plain_values(*texts: str) -> tuple[Value, ...]:
    """Values that are named as they are told."""
    return tuple(Value(text, (text,)) for text in texts)


def _named(**forms: str) -> tuple[Value, ...]:
    """Values told as ``the text`` and named by a word: ``word="the text"``."""
    return tuple(Value(text, (word.replace("_", " "),)) for word, text in forms.items())


def _numbers(**words: str) -> tuple[Value, ...]:
    """Numbers, in digits by their words: ``forty_one="41"``."""
    return tuple(
        Value(digits, (digits, word.replace("_", "-"), word.replace("_", " "))) for word, digits in words.items()
    )


def times(*texts: str) -> tuple[Value, ...]:
    """Times of day, with all their spellings."""
    return tuple(Value(text, clock_forms(text)) for text in texts)


MEMORIES: Final = (
    Subject(
        Kind.MEMORY,
        "Which seat do I like on trains?",
        _named(window="a window seat", aisle="an aisle seat", table="a table seat", quiet="a seat in the quiet coach"),
        "the user prefers {} on trains",
        "you prefer {} on trains",
        "My brother always takes {} on trains.",
    ),
    Subject(
        Kind.MEMORY,
        "What do I like to drink in the morning?",
        plain_values("green tea", "black coffee", "cocoa", "orange juice", "peppermint tea", "buttermilk"),
        "the user prefers {} in the morning",
        "you prefer {} in the morning",
        "A friend of mine only drinks {} in the morning.",
    ),
    Subject(
        Kind.MEMORY,
        "Which flower do I like best?",
        plain_values("dahlia", "peony", "cornflower", "foxglove", "hyacinth", "marigold"),
        "the user's favourite flower is the {}",
        "your favourite flower is the {}",
        "My grandmother's favourite flower was the {}.",
    ),
    Subject(
        Kind.MEMORY,
        "Where do I like to spend my holidays?",
        _named(mountain="in the mountains", sea="by the sea", lake="by a lake", farm="on a farm", desert="in a desert"),
        "the user prefers holidays {}",
        "you prefer holidays {}",
        "My neighbours spend every holiday {}.",
    ),
    Subject(
        Kind.MEMORY,
        "What is the name of my dentist?",
        _named(
            Okafor="Dr. Okafor",
            Lindqvist="Dr. Lindqvist",
            Marchetti="Dr. Marchetti",
            Tanaka="Dr. Tanaka",
            Novak="Dr. Novak",
            Brandt="Dr. Brandt",
        ),
        "the user's dentist is {}",
        "your dentist is {}",
        "My uncle sees {} about his back.",
    ),
    Subject(
        Kind.MEMORY,
        "What is my sister's name?",
        plain_values("Mireille", "Tamsin", "Ingrid", "Paloma", "Odette", "Sanne"),
        "the user's sister is called {}",
        "your sister is called {}",
        "A colleague of mine has a sister called {}.",
    ),
    Subject(
        Kind.MEMORY,
        "What is my cat called?",
        plain_values("Biscuit", "Pepper", "Mango", "Domino", "Truffle", "Pickle"),
        "the user's cat is called {}",
        "your cat is called {}",
        "The cat of our neighbours is called {}.",
    ),
    Subject(
        Kind.MEMORY,
        "What am I allergic to?",
        plain_values("peanut", "shellfish", "kiwi", "celery", "sesame", "buckwheat"),
        "the user is allergic to {}",
        "you are allergic to {}",
        "My cousin is allergic to {}.",
    ),
    Subject(
        Kind.MEMORY,
        "Which instrument am I learning?",
        plain_values("cello", "accordion", "clarinet", "harp", "banjo", "trombone"),
        "the user is learning the {}",
        "you are learning the {}",
        "My nephew is learning the {}.",
    ),
    Subject(
        Kind.MEMORY,
        "In which town was I born?",
        plain_values("Ghent", "Turin", "Bergen", "Seville", "Gdansk", "Leeds"),
        "the user was born in {}",
        "you were born in {}",
        "My father grew up in {}.",
    ),
    Subject(
        Kind.MEMORY,
        "Which colour does my bicycle have?",
        plain_values("turquoise", "orange", "purple", "silver", "yellow", "brown"),
        "the user's bicycle is {}",
        "your bicycle is {}",
        "My daughter has a bicycle that is {}.",
    ),
    Subject(
        Kind.MEMORY,
        "Which language am I learning?",
        plain_values("Portuguese", "Finnish", "Korean", "Dutch", "Arabic", "Greek"),
        "the user is learning {}",
        "you are learning {}",
        "My flatmate is learning {}.",
    ),
    Subject(
        Kind.MEMORY,
        "What is my job?",
        _named(
            translator="a translator",
            surveyor="a surveyor",
            florist="a florist",
            bookbinder="a bookbinder",
            optician="an optician",
            welder="a welder",
        ),
        "the user works as {}",
        "you work as {}",
        "My old classmate works as {}.",
    ),
    Subject(
        Kind.MEMORY,
        "What is my shoe size?",
        _numbers(thirty_nine="39", forty="40", forty_one="41", forty_two="42", forty_three="43", forty_four="44"),
        "the user's shoe size is {}",
        "your shoe size is {}",
        "My son's shoe size is {} already.",
    ),
    Subject(
        Kind.MEMORY,
        "How many minutes may a meeting with me take at most?",
        _numbers(twenty="20", twenty_five="25", thirty_five="35", forty_five="45", fifty="50"),
        "the user wants meetings of {} minutes at most",
        "you want meetings of {} minutes at most",
        "My boss ends every meeting after {} minutes.",
    ),
    Subject(
        Kind.MEMORY,
        "What is the code of my garden gate?",
        plain_values("4172", "8305", "2961", "7748", "5093", "6620"),
        "the code of the user's garden gate is {}",
        "the code of your garden gate is {}",
        "The code of my office door used to be {}.",
    ),
    Subject(
        Kind.MEMORY,
        "At what time do I get up?",
        times("5:50", "6:20", "6:35", "6:55", "7:10", "7:40"),
        "the user gets up at {}",
        "you get up at {}",
        "My husband gets up at {}.",
    ),
    Subject(
        Kind.MEMORY,
        "On which day of the week do I have off?",
        plain_values("Tuesday", "Wednesday", "Thursday", "Friday"),
        "the user's day off is {}",
        "your day off is {}",
        "My doctor is away on every {}.",
    ),
)
_SLOTS: Final = times("11:20", "12:40", "13:35", "14:30", "15:10", "16:45", "18:25", "19:50")
REMINDERS: Final = (
    Subject(
        Kind.REMINDER,
        "At what time do I have to call Anna today?",
        _SLOTS,
        "Call Anna about the flights",
        aside="My colleague has to call his bank at {}.",
    ),
    Subject(
        Kind.REMINDER,
        "At what time do I have to pick up the parcel today?",
        _SLOTS,
        "Pick up the parcel",
        aside="My flatmate picks up her parcels at {} on most days.",
    ),
    Subject(
        Kind.REMINDER,
        "At what time is the plumber coming today?",
        _SLOTS,
        "The plumber is coming",
        aside="The chimney sweep came to our neighbours at {}.",
    ),
    Subject(
        Kind.REMINDER,
        "At what time do I have to water the tomatoes today?",
        _SLOTS,
        "Water the tomatoes",
        aside="My aunt waters her garden at {}.",
    ),
)
