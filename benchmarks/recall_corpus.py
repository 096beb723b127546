"""Texts and vectors by the million that nobody wrote, with the frequencies and the spread of real ones.

The words have Zipf's frequencies. The vectors stand about subjects of unequal size; how their spread falls off over the
directions, and how far from zero their mean is, was measured on MiniLM's vectors of the 5,882 turns of LoCoMo: two of
them have a cosine of .24 on average, these of .26; the nearest neighbour of a turn has .78 in the median, of these .67,
so that they are rather harder to find than real ones.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = npt.NDArray[np.float32]

DIMENSIONS: Final = 384
_VOCABULARY: Final = 60_000
_COMMON: Final = 60
"""The most frequent words stand for those that a query leaves out."""

_SUBJECTS: Final = 5_000
QUESTIONS: Final = (
    "When did Caroline go to the support group?",
    "What did we decide about the kitchen shelves last spring?",
    "Which restaurant did Anna like so much in Lisbon?",
    "how long do I have to wait before the second coat of paint",
)


class Corpus:
    """Texts, vectors and queries; the same for the same numbers."""

    def __init__(self) -> None:
        source = np.random.default_rng(1)
        syllables = [first + second for first in "bdfgklmnprstvz" for second in ("a", "e", "i", "o", "u", "an", "el")]
        lengths = source.integers(1, 5, _VOCABULARY)
        self._words = np.array(
            ["".join(source.choice(syllables, length)) + str(number % 7) for number, length in enumerate(lengths)]
        )
        weights = 1 / (np.arange(_VOCABULARY) + 2.7)
        self._steps = np.cumsum(weights / weights.sum())
        self._mean = source.standard_normal(DIMENSIONS).astype(np.float32)
        self._mean *= np.float32(0.5) / np.linalg.norm(self._mean)
        spread = (1 + np.arange(DIMENSIONS) / 12) ** -0.775
        spread *= math.sqrt(0.75) / np.linalg.norm(spread)
        turned = np.linalg.qr(source.standard_normal((DIMENSIONS, DIMENSIONS)))[0]
        self._axes = (spread[:, None] * turned).astype(np.float32)
        self._subjects = source.standard_normal((_SUBJECTS, DIMENSIONS)).astype(np.float32)
        sizes = 1 / (np.arange(_SUBJECTS) + 20)
        self._subject_steps = np.cumsum(sizes / sizes.sum())

    def texts(self, first: int, count: int) -> list[tuple[str, str]]:
        """Texts and contexts of the passages from ``first`` on."""
        source = np.random.default_rng([2, first])
        lengths = np.clip(source.lognormal(3.6, 0.5, count), 3, 180).astype(int)
        shorter = np.clip(source.lognormal(2.9, 0.5, count), 3, 70).astype(int)
        words = self._words[np.searchsorted(self._steps, source.random(int(lengths.sum() + shorter.sum())))]
        ends = np.cumsum(np.stack([lengths, shorter], axis=1).ravel())
        pieces = [" ".join(piece) for piece in np.split(words, ends[:-1])]
        return list(zip(pieces[::2], pieces[1::2], strict=True))

    def vectors(self, first: int, count: int, *, own: float = 0.7) -> Vectors:
        """Vectors of the passages from ``first`` on, of shape (count, dimensions).

        Args:
            own: how far each stands from its subject.
        """
        source = np.random.default_rng([3, first])
        subjects = self._subjects[np.searchsorted(self._subject_steps, source.random(count))]
        rows = 0.7 * subjects + own * source.standard_normal((count, DIMENSIONS), dtype=np.float32)
        rows = rows @ self._axes + self._mean
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def queries(self, count: int) -> tuple[list[list[str]], Vectors]:
        """For each query eight words of one passage that are not among the most frequent, and a vector."""
        common = set(self._words[:_COMMON].tolist())
        chosen = []
        for text, _ in self.texts(0, 3 * count):
            telling = [word for word in dict.fromkeys(text.split()) if word not in common]
            if len(telling) >= 8:
                chosen.append(telling[:8])
        return chosen[:count], self.vectors(-1 % 2**31, count, own=0.9)
