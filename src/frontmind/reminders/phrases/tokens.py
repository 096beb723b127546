"""A text as words, numbers and signs, and a cursor that reads along them.

Letters are ASCII or no keyword: "mınutes" with a dotless i is a word that stands for nothing. Knows no dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeVar

from frontmind.reminders.phrases.vocabulary import LARGER_TENS, ORDINAL_ENDINGS, ORDINALS, SMALL_NUMBERS, TENS

_T = TypeVar("_T")
_K = TypeVar("_K")

# "a.m." and "o'clock" are one word each; a possessive keeps its ending, so that "today's" is not "today".
_TOKEN = re.compile(r"[aApP]\.[mM](?:\.|\b)|[oO]['’]?[cC]lock|[^\W\d_]+(?:['’][sS](?![^\W_]))?|[0-9]+|[^\s]")
_DOTTED_HALVES = {"a.m.": "am", "a.m": "am", "p.m.": "pm", "p.m": "pm", "o'clock": "oclock", "o’clock": "oclock"}
# No number of a date or a duration is longer, and Python refuses to read very long ones.
_LONGEST_NUMBER = 8


@dataclass(frozen=True, slots=True)
class Token:
    """A word (lower case), a number or a sign.

    Attributes:
        start, end: where it stands in the text.
        spaced: there is white space, or the start of the text, in front of it.
    """

    text: str
    start: int
    end: int
    spaced: bool

    @property
    def number(self) -> int | None:
        """What it counts when it is digits, and not too many of them."""
        if not self.text.isascii() or not self.text.isdigit() or len(self.text) > _LONGEST_NUMBER:
            return None
        return int(self.text)


def tokenize(text: str) -> tuple[Token, ...]:
    """The text's tokens, in order."""
    tokens = []
    end = -1
    for found in _TOKEN.finditer(text):
        written = found[0].lower() if found[0].replace("’", "'").isascii() else found[0]
        word = _DOTTED_HALVES.get(written, written).replace("’", "'")
        tokens.append(Token(word, found.start(), found.end(), found.start() != end))
        end = found.end()
    return tuple(tokens)


_NOTHING = Token("", -1, -1, True)


class Cursor:
    """Reads along tokens. What is read from here on is relative to ``now``, which is aware."""

    def __init__(self, tokens: tuple[Token, ...], now: datetime, at: int = 0) -> None:
        self.tokens = tokens
        self.now = now
        self.at = at

    @property
    def today(self) -> date:
        return self.now.date()

    def peek(self, ahead: int = 0) -> Token:
        """A token from here; one without text beyond the end."""
        place = self.at + ahead
        return self.tokens[place] if 0 <= place < len(self.tokens) else _NOTHING

    def glued(self, ahead: int = 0) -> bool:
        """Whether that token follows the one in front of it without space."""
        token = self.peek(ahead)
        return token is not _NOTHING and not token.spaced

    def take(self, *words: str) -> str:
        """The next token when it is one of these, otherwise nothing."""
        text = self.peek().text
        if text and text in words:
            self.at += 1
            return text
        return ""

    def take_all(self, phrase: str) -> bool:
        """Whether these words follow; they are read then, otherwise nothing is."""
        words = phrase.split()
        if any(self.peek(ahead).text != word for ahead, word in enumerate(words)):
            return False
        self.at += len(words)
        return True

    def take_any(self, phrases: Collection[str]) -> str:
        """The first of the phrases that follows, read."""
        return next((phrase for phrase in phrases if self.take_all(phrase)), "")

    def take_from(self, table: Mapping[str, _K]) -> _K | None:
        """What the next token stands for in the table."""
        value = table.get(self.peek().text)
        if value is not None:
            self.at += 1
        return value

    def attempt(self, *readers: Callable[[Cursor], _T | None]) -> _T | None:
        """What the first reader gives that gives something. One that gives nothing has read nothing."""
        start = self.at
        for reader in readers:
            value = reader(self)
            if value is not None:
                return value
            self.at = start
        return None


def digits(cursor: Cursor, shortest: int = 1, longest: int = _LONGEST_NUMBER) -> int | None:
    """A number in digits."""
    token = cursor.peek()
    if token.number is None or not shortest <= len(token.text) <= longest:
        return None
    cursor.at += 1
    return token.number


def is_hour(cursor: Cursor) -> bool:
    """Whether the number that has just been read is the hour of a time of day."""
    following = cursor.peek().text
    if following == ":":
        return cursor.glued() and cursor.glued(1) and cursor.peek(1).number is not None
    return following in ("am", "pm", "oclock") or (cursor.glued() and following in ("a", "p", "h"))


def number_word(cursor: Cursor) -> int | None:
    """A number in words, up to fifty-nine."""
    tens = cursor.take_from(TENS)
    if tens is None:
        return cursor.take_from(SMALL_NUMBERS)
    start = cursor.at
    cursor.take("-")
    ones = cursor.take_from(SMALL_NUMBERS)
    if ones is not None and 1 <= ones <= 9:
        return tens + ones
    cursor.at = start
    return tens


def number(cursor: Cursor) -> int | None:
    """A number in digits or words."""
    return cursor.attempt(digits, number_word)


def count(cursor: Cursor) -> int | None:
    """A number, "a", or "a couple of"."""
    if cursor.take_all("a couple of"):
        return 2
    if cursor.take("a", "an"):
        return 1
    return number(cursor)


def ordinal(cursor: Cursor) -> int | None:
    """ "4th", "04th", "fourth", "twenty-fourth"."""
    token = cursor.peek()
    if token.number is not None:
        if len(token.text) <= 3 and cursor.glued(1) and cursor.peek(1).text in ORDINAL_ENDINGS:
            cursor.at += 2
            return token.number
        return None
    tens = cursor.take_from(TENS)
    if tens is not None:
        cursor.take("-")
        ones = cursor.take_from(ORDINALS)
        return tens + ones if ones is not None and ones <= 9 else None
    return cursor.take_from(ORDINALS)


def year_in_words(cursor: Cursor) -> int | None:
    """ "two thousand and thirty two", "nineteen hundred ninety three"."""
    first = number_word(cursor)
    if first == 2 and cursor.take("thousand"):
        century = 2000
    elif first is not None and 15 <= first <= 20 and cursor.take("hundred"):
        century = 100 * first
    else:
        return None
    start = cursor.at
    cursor.take("and")
    tens = cursor.take_from(LARGER_TENS)
    ones = cursor.attempt(lambda inner: (inner.take("-"), inner.take_from(SMALL_NUMBERS))[1])
    if tens is None and ones is None:
        cursor.at = start
    return century + (tens or 0) + (ones or 0)
