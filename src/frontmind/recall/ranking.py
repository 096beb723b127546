"""Ranks what a search found by how likely it bears on the query. Pure.

The score is a logistic of a weighted sum of the evidence, so it can be read as a probability. The weights were fitted
to public conversations whose questions name the passages that answer them, and to questions and chatter that have
nothing to do with the passages searched; what they reach was measured on conversations that they were not fitted to.

Of a short history there are few candidates, and what compares them with each other says little: there, what an
exchange has by itself counts as well. That was fitted to stretches of the same conversations, reworded to "I" and two
lines long each. Of the questions whose answer is among 3, 12 and 40 of them, it is shown from `RELEVANT` on for .77,
.69 and .56 (by the rest of the evidence alone .21, .37 and .49), by words alone for .73, .63 and .47; of messages that
nothing bears on, something is shown for .03, .03 and .02, by words alone for .08, .03 and .04.
Does not know indexes, owners, or memories, which `frontmind.recall.rank_memories` ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import mul
from typing import Final

from frontmind.recall.rank_evidence import Candidate, Evidence, Numbers, gather
from frontmind.recall.telling import telling_words
from frontmind.recall.words import MONTHS, query_words

RELEVANT: Final = 0.15
"""From this score on it is worth showing a passage that nobody asked for."""

_LARGEST_EXPONENT: Final = 700.0
_SHOWN_WORDS: Final = 4
_SIMILAR: Final = 2.0
"""So many standard deviations above the other candidates is a meaning that stands out."""

_ALIKE: Final = 0.5
"""A cosine that says by itself that two texts are about the same."""


@dataclass(frozen=True, slots=True)
class _Weights:
    bias: float
    each: Numbers

    def odds(self, numbers: Numbers) -> float:
        odds: float = self.bias + sum(map(mul, self.each, numbers))
        return odds


@dataclass(frozen=True, slots=True)
class _WeightsAmongFew:
    bias: float
    others: float
    cosine: float
    covered: float
    crowd: float

    def odds(self, others: float, numbers: Numbers, covered: float, count: float) -> float:
        by_itself = self.cosine * max(0.0, numbers.cosine) + self.covered * covered
        return self.bias + self.others * others + by_itself + self.crowd * math.log(count)


_SAID: Final = _Weights(
    -14.36,
    Numbers(
        lexical=2.27,
        words_around=0.89,
        pairs=1.45,
        speaker=2.36,
        cosine=2.57,
        standing=0.17,
        sitting_words=3.64,
        sitting_standing=0.26,
        before_standing=0.12,
        tells_when=1.78,
        period=3.39,
        length=0.78,
        asking=-0.26,
    ),
)
# Without vectors all that is known is the words, and they count more.
_SAID_WORDS_ALONE: Final = _Weights(
    -11.82,
    Numbers(
        lexical=3.06,
        words_around=0.85,
        pairs=1.29,
        speaker=2.10,
        sitting_words=4.87,
        tells_when=1.76,
        period=3.69,
        length=0.53,
        asking=-0.36,
    ),
)
# What nobody said in a conversation has no sitting, and its meaning counts more. Fitted to single sentences.
_WRITTEN: Final = _Weights(
    -8.54,
    Numbers(
        lexical=1.56,
        words_around=1.86,
        pairs=1.22,
        cosine=5.86,
        standing=0.43,
        period=3.57,
    ),
)
_WRITTEN_WORDS_ALONE: Final = _Weights(
    -6.25,
    Numbers(
        lexical=2.60,
        words_around=3.30,
        pairs=2.28,
        period=4.08,
    ),
)
_AMONG_FEW: Final = _WeightsAmongFew(bias=-0.18, others=0.51, cosine=3.45, covered=2.16, crowd=-0.82)
_AMONG_FEW_WORDS_ALONE: Final = _WeightsAmongFew(bias=0.69, others=0.57, cosine=0.0, covered=2.99, crowd=-0.73)

_FEWEST: Final = 3
_FEW: Final = 40
_MANY: Final = 200
"""From so many exchanges on the candidates tell by comparison what they are worth; up to `_FEW` they do not, and in
between both ways of weighing have a share."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranked passage.

    Attributes:
        id: the passage's.
        score: how likely it bears on the query, from 0 to 1.
        reasons: what speaks for it, in a few words each; they have words of the query and names out of the passage.
    """

    id: int
    score: float
    reasons: tuple[str, ...]


def rank(query: str, candidates: Sequence[Candidate], *, now: datetime, exchanges: int | None = None) -> list[Ranked]:
    """All candidates, the likeliest first, ties by id. The order in which they are given does not matter.

    Args:
        candidates: each id once, what the lexical and the dense index found best; fifty of each were measured.
        now: the moment of asking, in the person's zone.
        exchanges: how many passages of conversations there are in all; many when it is not said.
    """
    # Sums of floats depend on their order.
    ordered = sorted(candidates, key=lambda candidate: candidate.passage.id)
    dense = any(candidate.cosine is not None for candidate in ordered)
    telling = _telling(query)
    ranked: list[Ranked] = []
    for candidate, evidence in zip(ordered, gather(query, ordered, now=now), strict=True):
        odds = _weights(candidate, dense).odds(evidence.numbers)
        if candidate.passage.conversation and exchanges is not None and exchanges < _MANY:
            odds = _odds_among_few(odds, evidence, telling, exchanges, dense)
        score = 1 / (1 + math.exp(min(_LARGEST_EXPONENT, -odds)))
        ranked.append(Ranked(candidate.passage.id, score, _reasons(candidate, evidence)))
    return sorted(ranked, key=lambda one: (-one.score, one.id))


def _weights(candidate: Candidate, dense: bool) -> _Weights:
    if candidate.passage.conversation:
        return _SAID if dense else _SAID_WORDS_ALONE
    return _WRITTEN if dense else _WRITTEN_WORDS_ALONE


def _telling(query: str) -> frozenset[str]:
    """The query's words that tell something, as they are written; of other scripts all."""
    stems = telling_words(query)
    return frozenset(word.text for word in query_words(query) if word.stem in stems or not word.stem.isascii())


def _odds_among_few(odds: float, evidence: Evidence, telling: frozenset[str], exchanges: int, dense: bool) -> float:
    weights = _AMONG_FEW if dense else _AMONG_FEW_WORDS_ALONE
    covered = len(telling.intersection(evidence.words)) / max(1, len(telling))
    by_itself = weights.odds(odds, evidence.numbers, covered, max(exchanges, _FEWEST))
    share = min(1.0, math.log(_MANY / max(exchanges, _FEWEST)) / math.log(_MANY / _FEW))
    return share * by_itself + (1 - share) * odds


def _reasons(candidate: Candidate, evidence: Evidence) -> tuple[str, ...]:
    reasons: list[str] = []
    if evidence.words:
        reasons.append(f"words: {', '.join(evidence.words[:_SHOWN_WORDS])}")
    if candidate.cosine is not None and (evidence.numbers.standing >= _SIMILAR or candidate.cosine >= _ALIKE):
        reasons.append("similar meaning")
    if evidence.in_period:
        reasons.append(f"time: {MONTHS[candidate.passage.at.month - 1]} {candidate.passage.at.year}")
    if evidence.speaker:
        reasons.append(f"about {evidence.speaker}")
    return tuple(reasons)
