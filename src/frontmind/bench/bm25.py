"""Plain stemmed BM25, the baseline that everybody can repeat: k1 1.5, b 0.75, Porter's stems, nothing else.

The formula is the one of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
the idf ``log(1 + (N - n + 0.5) / (n + 0.5))``, which is never negative. Words are cut and stemmed by SQLite's FTS5.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from typing import Final

K1: Final = 1.5
B: Final = 0.75


class PlainBm25:
    """BM25 over texts, which are known by their places in the sequence."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [Counter(words) for words in stems(texts)]
        self._lengths = [sum(counts.values()) for counts in counted]
        self._mean = sum(self._lengths) / max(1, len(texts))
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, counts in enumerate(counted):
            for stem, count in counts.items():
                self._postings[stem].append((place, count))

    def search(self, query: Sequence[str], limit: int) -> list[int]:
        """The places of the best texts for these stems, best first, ties by place."""
        found = self.scores(query)
        return sorted(found, key=lambda place: (-found[place], place))[:limit]

    def scores(self, query: Sequence[str]) -> dict[int, float]:
        """The scores of the texts that have any of these stems, by place."""
        totals: dict[int, float] = defaultdict(float)
        for stem in query:
            postings = self._postings.get(stem, [])
            idf = math.log(1 + (len(self._lengths) - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, count in postings:
                length = 1 - B + B * self._lengths[place] / self._mean
                totals[place] += idf * count * (K1 + 1) / (count + K1 * length)
        return totals


def stems(texts: Sequence[str]) -> list[list[str]]:
    """The stems of the words of each text, in order."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
        connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab (texts, 'instance')")
        connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
        found: list[list[str]] = [[] for _ in texts]
        for place, stem in connection.execute("SELECT doc, term FROM stems ORDER BY doc, offset"):
            found[place].append(stem)
        return found
