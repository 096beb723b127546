"""The words of a query and where a text has them, and what of a passage a sentence-embedding model reads. Pure.

Words are compared as FTS5 does: without case and accents, by Porter's English stems; words of other languages are
found as they stand, and scripts without spaces by pairs of characters. Does not know how finds are ranked.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, TypeAlias

import snowballstemmer  # type: ignore[import-untyped]

# Only words that tell nothing about what a text is about; one that may ("will", "may", "us") stays. The pieces of
# "don't" and its like are words here.
_STOP_WORDS_LINES: Final = """
    a about all am an and any are aren as at be been but by can could couldn d did didn do does doesn don
    for from had has hasn have haven he her him his how i if in into is isn it its ll m me my not of on or
    our re s she should shouldn so t than that the their them then there these they this those to ve was
    wasn we were weren what when where which who why with would wouldn you your
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS_LINES.split())
"""Words that tell nothing about what an English text is about, folded."""

NEGATIONS: Final = frozenset(("no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot"))
"""Words whose sentence says the opposite without them, folded; beside them, what ends in "n't"."""

_WORD: Final = re.compile(r"[^\W_]+")

# Thai, Lao, Burmese, Khmer, Japanese, Chinese: written without spaces, so a run of them is no word.
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_PIECE: Final = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")

# A pasted text can have thousands of words, and each costs a look-up in the index. The question that belongs to
# it stands at its beginning or at its end.
_WORDS_AT_EACH_END: Final = 32

_PREFIX: Final = 3

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""The names that passages are dated with: whatever the machine's language, the same text is embedded."""


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word that tells what a query is about.

    Attributes:
        text: as it is written, without case and accents.
        stem: what its forms have in common; of a pair of characters the pair.
    """

    text: str
    stem: str


Occurrence: TypeAlias = tuple[int, int, int]
"""A place of a query's word in a text: where it starts and ends, and the word's index in the query."""


def index_words(query: str) -> tuple[str, ...]:
    """The query's words to ask a lexical index for, any of them; empty when there is none."""
    return tuple(dict.fromkeys(_telling(_WORD.findall(folded(query)))))


def query_words(query: str) -> tuple[QueryWord, ...]:
    """The words that tell what the query is about, in its order, each stem once."""
    found: dict[str, QueryWord] = {}
    for piece in _telling(_PIECE.findall(folded(query))):
        for text in _pairs(piece) if _IS_UNSPACED.match(piece) else (piece,):
            stem = stemmed(text)
            found.setdefault(stem, QueryWord(text, stem))
    return tuple(found.values())


def word_pieces(text: str) -> list[str]:
    """All words of the text, folded."""
    return _WORD.findall(folded(text))


class Finder:
    """Finds a query's words in texts, in any of their forms."""

    def __init__(self, words: tuple[QueryWord, ...]) -> None:
        """Args:
        words: as `query_words` gives them.
        """
        self._places: Final = {word.stem: place for place, word in enumerate(words)}
        # Stemming every word of every text would cost more than all the rest of a search: only a word that begins
        # like one of the query's can have its stem.
        beginnings = (word.text if _IS_UNSPACED.match(word.text) else _beginning(word) for word in words)
        distinct = dict.fromkeys(beginnings)
        self._unspaced: Final = tuple(beginning for beginning in distinct if _IS_UNSPACED.match(beginning))
        spaced = "|".join(re.escape(beginning) for beginning in distinct if not _IS_UNSPACED.match(beginning))
        self._words: Final = re.compile(rf"(?:{spaced})[^\W_]*") if spaced else None
        self._place_of: Final[dict[str, int | None]] = {}

    def occurrences(self, text: str) -> list[Occurrence]:
        """Where the text, which is already `folded`, has the words, in its order."""
        found: list[Occurrence] = []
        for match in self._words.finditer(text) if self._words else ():
            place = self._place(match[0])
            if place is not None:
                start, end = match.span()
                # Not the end of a longer word.
                if not start or not text[start - 1].isalnum():
                    found.append((start, end, place))
        if self._unspaced:
            found += self._of_unspaced(text)
            found.sort()
        return found

    def words(self, text: str) -> frozenset[int]:
        """Which of the words the text has, which is already `folded`: their indexes in the query."""
        return frozenset([place for _, _, place in self.occurrences(text)])

    def _of_unspaced(self, text: str) -> list[Occurrence]:
        found: list[Occurrence] = []
        for pair in self._unspaced:
            start = text.find(pair)
            while start >= 0:
                end = start + len(pair)
                if (place := self._place(pair)) is not None:
                    found.append((start, end, place))
                start = text.find(pair, start + 1)
        return found

    def _place(self, word: str) -> int | None:
        if word not in self._place_of:
            self._place_of[word] = self._places.get(stemmed(word))
        return self._place_of[word]


def folded(text: str) -> str:
    """The text without case and accents, the way words are compared."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", parts if parts.isascii() else parts.translate(_WITHOUT_MARKS)).lower()


class _Marks(dict[int, int | None]):
    """What becomes of a character when the marks are taken out; filled by the characters that come."""

    _MOST: Final = 20_000

    def __missing__(self, character: int) -> int | None:
        if len(self) >= self._MOST:
            self.clear()
        self[character] = None if unicodedata.combining(chr(character)) else character
        return self[character]


_WITHOUT_MARKS: Final = _Marks()

# In C where PyStemmer is installed, which the library looks for itself.
_OF_THREAD: Final = threading.local()


@lru_cache(maxsize=20_000)
def stemmed(word: str) -> str:
    """What the English forms of a folded word have in common; other words mostly stay as they are."""
    if not word.isascii():
        return word
    # A stemmer keeps the word that it works on, so one that threads share would mix them up.
    if (stemmer := getattr(_OF_THREAD, "stemmer", None)) is None:
        stemmer = _OF_THREAD.stemmer = snowballstemmer.stemmer("porter")
    return str(stemmer.stemWord(word))


def passage_for_model(text: str, context: str, at: datetime) -> str:
    """What a sentence-embedding model reads of a passage: the day, what was said right before, and the text.

    The query is read as it is.
    """
    day = f"{at.day} {MONTHS[at.month - 1]} {at.year}"
    return "\n".join(part for part in (day, context, text) if part)


def _telling(words: list[str]) -> list[str]:
    telling = [word for word in words if word not in STOP_WORDS] or words
    if len(telling) > 2 * _WORDS_AT_EACH_END:
        return telling[:_WORDS_AT_EACH_END] + telling[-_WORDS_AT_EACH_END:]
    return telling


def _pairs(run: str) -> tuple[str, ...]:
    return tuple(run[start : start + 2] for start in range(max(1, len(run) - 1)))


def _beginning(word: QueryWord) -> str:
    same = 0
    for left, right in zip(word.text[:_PREFIX], word.stem[:_PREFIX], strict=False):
        if left != right:
            break
        same += 1
    return word.text[: max(1, same)]
