"""Whether two memories say the same. Knows neither stores nor which memories are compared.

To take two facts for one loses one of them, and to keep one fact twice only costs a line: in doubt they are two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, Protocol

from frontmind.errors import ModelError
from frontmind.recall.embedding import Embedder
from frontmind.recall.minilm import MiniLM
from frontmind.recall.words import NEGATIONS

SAME_BY_WORDS: Final = 0.8
"""The share of words that two texts must have in common, in order, where the longer has all words of the shorter: one
word in five may be added, as in "You are learning to bake sourdough bread". One word replaced is another fact."""

SAME_BY_VECTORS: Final = 0.9
"""The cosine from which on two texts say the same, when `may_be_the_same` allows it. Measured with all-MiniLM-L6-v2 on
21 pairs of paraphrases and 27 pairs of like sentences that say different things: of those that `may_be_the_same` lets
through, the most alike that differ had 0.84, and of the paraphrases the upper half was above 0.9."""

_EDGES: Final = ".,;:!?…\"'“”„‘’()[]"
# Two sentences that say nearly the same differ by these as well; in a longer text they say little about the whole.
_NEGATIONS: Final = NEGATIONS | {"hardly", "barely", "rarely", "seldom", "almost", "longer"}
_PAST: Final = frozenset(["was", "were", "had", "used", "former", "formerly", "previously", "once"])
# What begins a sentence with a capital letter without being a name.
_BEGINNINGS: Final = frozenset(
    [
        "you",
        "your",
        "yours",
        "you're",
        "you've",
        "a",
        "an",
        "the",
        "at",
        "in",
        "on",
        "to",
        "for",
        "with",
        "every",
        "each",
        "since",
        "when",
    ]
)
_NUMBER: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")


class Sameness(Protocol):
    async def find_same(self, text: str, others: Sequence[str]) -> int | None:
        """The index of the one among the others that says the same as the text, the best one where there are several;
        None where none does.
        """
        ...


class SameByWords:
    """Compares words, their order included; for when there is no embedder."""

    async def find_same(self, text: str, others: Sequence[str]) -> int | None:
        return _best([word_overlap(text, other) for other in others], text, others, SAME_BY_WORDS)


class SameByVectors:
    """Compares the vectors of an embedder; while it fails, words.

    Args:
        least: the cosine from which on two texts say the same; it depends on the embedder.
    """

    def __init__(self, embedder: Embedder, *, least: float = SAME_BY_VECTORS) -> None:
        self._embedder = embedder
        self._least = least
        self._by_words = SameByWords()

    async def find_same(self, text: str, others: Sequence[str]) -> int | None:
        by_words = await self._by_words.find_same(text, others)
        if by_words is not None or not others:
            return by_words
        try:
            rows = await self._embedder.embed([text, *others])
        except ModelError:
            return None
        return _best([float(likeness) for likeness in rows[1:] @ rows[0]], text, others, self._least)


def sameness_by(embedder: Embedder | None) -> Sameness:
    """Compares what this embedder makes of the texts, where it was measured from which cosine on they say the same; of
    others words: the same number means something else with each.
    """
    return SameByVectors(embedder) if embedder is not None and embedder.name == MiniLM.name else SameByWords()


def _best(likenesses: Sequence[float], text: str, others: Sequence[str], least: float) -> int | None:
    by_likeness = sorted(range(len(others)), key=lambda index: (-likenesses[index], index))
    for index in by_likeness:
        if likenesses[index] < least:
            return None
        if may_be_the_same(text, others[index]):
            return index
    return None


def normalised(text: str) -> str:
    """The words of the text, such that texts which differ only in case, spacing and punctuation are equal; the text
    itself where it has no words.
    """
    return " ".join(words(text)) or text.strip()


def words(text: str) -> tuple[str, ...]:
    """Its words in order, folded, without the punctuation around them; "C++" stays what it is."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return tuple(word for piece in folded.split() if (word := piece.strip(_EDGES)))


def word_overlap(one: str, other: str) -> float:
    """The share of the longer text that the shorter one is, from 0 to 1; 0 where a word of it is missing there."""
    shorter, longer = sorted((words(one), words(other)), key=len)
    rest = iter(longer)
    if not shorter or not all(word in rest for word in shorter):
        return 0.0
    return len(shorter) / len(longer)


def may_be_the_same(one: str, other: str) -> bool:
    """Whether nothing in the words tells that these are two facts, which no vector shows: what `differ` sees, or one
    word in the place of another ("older", "younger").
    """
    return (
        bool(words(one) and words(other))
        and not differ(one, other)
        and not _has_one_word_replaced(words(one), words(other))
    )


def differ(one: str, other: str) -> bool:
    """Whether the two have other numbers, other names or the names in another order, or one is negated or in the past
    and the other is not.
    """
    return (
        sorted(_NUMBER.findall(one)) != sorted(_NUMBER.findall(other))
        or _names(one) != _names(other)
        or _is_negated(one) != _is_negated(other)
        or _PAST.isdisjoint(words(one)) != _PAST.isdisjoint(words(other))
    )


def _names(text: str) -> list[str]:
    pieces = [piece.strip(_EDGES) for piece in text.split()]
    return [piece for piece in pieces if piece[:1].isupper() and piece.replace("’", "'").lower() not in _BEGINNINGS]


def _is_negated(text: str) -> bool:
    return any(word in _NEGATIONS or word.endswith("n't") for word in words(text))


def _has_one_word_replaced(one: Sequence[str], other: Sequence[str]) -> bool:
    if len(one) != len(other):
        return False
    different = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return len(different) == 1 and not _are_forms_of_one_word(*different[0])


def _are_forms_of_one_word(one: str, other: str) -> bool:
    common = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    shared = min(len(one), len(other)) if common is None else common
    return shared >= max(3, min(len(one), len(other)) - 2)
