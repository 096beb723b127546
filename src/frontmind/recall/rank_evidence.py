"""What speaks for each of the passages that might bear on a query: numbers, none of them weighed yet. Pure.

Every number compares a passage with the query or with the other candidates, so no index is asked here and it does
not matter which engine found them. Does not know how much each number counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from frontmind.recall.rank_times import asked_periods, asks_when, tells_when
from frontmind.recall.words import Finder, QueryWord, folded, query_words, word_pieces
from frontmind.values.passages import Passage

SITTING_PAUSE: Final = timedelta(hours=3)
"""Passages of a conversation with no longer pause between them belong to one sitting: what was said around a passage
bears on it. Longer than the pause that closes a segment, since not every exchange is a candidate."""

_SPEAKER_LENGTH: Final = 40
# How near two words are that stand next to each other in the query: a short word may stand between.
_NEAR: Final = 8
_SATURATION: Final = 1.2


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that might bear on a query, in one wording.

    Attributes:
        bm25: the lexical index's score, larger is better; None when it did not find the passage.
        cosine: the similarity of the dense model's vectors; None when the passage has none.
    """

    passage: Passage
    bm25: float | None
    cosine: float | None


class Numbers(NamedTuple):
    """What speaks for a candidate, in numbers; shares are from 0 to 1.

    Attributes:
        lexical: its BM25 score, as a share of the best one.
        words_around: how much of the query it has, with what was said right before: the share of the words' rarity.
        pairs: the share of neighbouring words of the query that stand together in it.
        speaker: the share of its lines that somebody says whom the query names; 0.5 when it names nobody who speaks in
            a candidate, and in a passage without speakers.
        cosine: similar meaning.
        standing: how far the cosine stands out among the candidates, in standard deviations.
        sitting_words: how much of the query its whole sitting has.
        sitting_standing: the best standing in its sitting.
        before_standing: the standing of the passage right before it; -1 when that is no candidate.
        tells_when: 1 when the query asks for a time and the passage tells one.
        period: 0.75 in a period that the query asks about, -0.25 outside; 0 when it asks about none.
        length: the logarithm of its characters.
        asking: the share of its lines with a question.
    """

    lexical: float = 0.0
    words_around: float = 0.0
    pairs: float = 0.0
    speaker: float = 0.0
    cosine: float = 0.0
    standing: float = 0.0
    sitting_words: float = 0.0
    sitting_standing: float = 0.0
    before_standing: float = 0.0
    tells_when: float = 0.0
    period: float = 0.0
    length: float = 0.0
    asking: float = 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a candidate.

    Attributes:
        words: those of the query that the passage has, as they are written in the query.
        speaker: who is named in the query and speaks in the passage, as it is written there; empty for nobody.
        in_period: whether it is of a period that the query asks about.
    """

    numbers: Numbers
    words: tuple[str, ...]
    speaker: str
    in_period: bool


_folded: Final = lru_cache(maxsize=4096)(folded)
"""Of passages: the same ones are candidates again and again, and a passage never changes."""


class _Reading(NamedTuple):
    # What a candidate has of the query: indices of words, and lines.
    found: frozenset[int]
    around: frozenset[int]
    pairs: frozenset[int]
    speaker: str
    said: int
    spoken: bool
    lines: int
    asking: int
    tells_when: bool


def gather(query: str, candidates: Sequence[Candidate], *, now: datetime) -> Sequence[Evidence]:
    """The evidence for each candidate, in their order."""
    words = query_words(query)
    readings = _readings(query, words, candidates)
    weights = _rarity(len(words), [reading.found for reading in readings])
    total = sum(weights) or 1.0
    neighbours = max(1, len(words) - 1)
    cosines = _filled([candidate.cosine for candidate in candidates])
    standing = _standing(cosines)
    sittings = _sittings(candidates)
    sitting_words = _sitting_words(len(words), sittings, readings)
    sitting_standing = _best_of(sittings, standing)
    before = _before(candidates, sittings)
    best_bm25 = max((candidate.bm25 or 0.0 for candidate in candidates), default=0.0) or 1.0
    named = any(reading.said for reading in readings)
    periods = asked_periods(query, now.date())

    found: list[Evidence] = []
    for place, (candidate, reading) in enumerate(zip(candidates, readings, strict=True)):
        told = candidate.passage.at.date() if periods else None
        near = max((period.nearness(told) for period in periods), default=0.0) if told else 0.0
        numbers = Numbers(
            (candidate.bm25 or 0.0) / best_bm25,
            sum(weights[word] for word in reading.found | reading.around) / total,
            len(reading.pairs) / neighbours,
            reading.said / reading.lines if named and reading.spoken else 0.5,
            cosines[place],
            standing[place],
            sitting_words[place],
            sitting_standing[place],
            max([standing[other] for other in before[place]], default=-1.0),
            float(reading.tells_when),
            near - 0.25 if periods else 0.0,
            math.log(1 + len(candidate.passage.text)),
            reading.asking / reading.lines,
        )
        having = tuple([words[word].text for word in sorted(reading.found)])
        found.append(Evidence(numbers, having, reading.speaker, near == 1.0))
    return found


def _readings(query: str, words: tuple[QueryWord, ...], candidates: Sequence[Candidate]) -> Sequence[_Reading]:
    finder = Finder(words)
    asked = frozenset(word_pieces(query))
    when = asks_when(query)
    return [_reading(finder, asked, when, candidate.passage) for candidate in candidates]


def _reading(finder: Finder, asked: frozenset[str], when: bool, passage: Passage) -> _Reading:
    text = _folded(passage.text)
    occurrences = finder.occurrences(text)
    pairs = [
        word
        for (_, end, word), (start, _, following) in pairwise(occurrences)
        if following == word + 1 and start - end <= _NEAR
    ]
    lines = text.split("\n")
    speaker, said, spoken = "", 0, False
    for place, line in enumerate(lines):
        end = line.find(": ", 1, _SPEAKER_LENGTH)
        if end > 0:
            spoken = True
            if not asked.isdisjoint(line[:end].split(None, 1)[:1]):
                speaker = speaker or passage.text.split("\n")[place].partition(":")[0]
                said += 1
    return _Reading(
        found=frozenset([word for _, _, word in occurrences]),
        around=finder.words(_folded(passage.context)),
        pairs=frozenset(pairs),
        speaker=speaker,
        said=said,
        spoken=spoken,
        lines=len(lines),
        asking=sum(["?" in line for line in lines]) if "?" in text else 0,
        tells_when=when and tells_when(text),
    )


def _rarity(count: int, found: Sequence[Iterable[int]]) -> Sequence[float]:
    # BM25's weight of a word, among the candidates: a word that all of them have tells none of them apart.
    having = [0] * count
    for words in found:
        for word in words:
            having[word] += 1
    return [math.log(1 + (len(found) - number + 0.5) / (number + 0.5)) for number in having]


def _filled(cosines: Sequence[float | None]) -> Sequence[float]:
    # Without a vector nothing is known of the meaning; the least similar candidate is the careful guess.
    known = [cosine for cosine in cosines if cosine is not None]
    least = min(known, default=0.0)
    return [least if cosine is None else cosine for cosine in cosines]


def _standing(values: Sequence[float]) -> Sequence[float]:
    # How far a value stands out among all, in standard deviations.
    if not values:
        return ()
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / deviation if deviation > 1e-6 else 0.0 for value in values]


def _sittings(candidates: Sequence[Candidate]) -> Sequence[Sequence[int]]:
    # For each candidate the places of those of its sitting, itself included, in their order.
    passages = [candidate.passage for candidate in candidates]
    sittings: list[list[int]] = [[place] for place in range(len(candidates))]
    ordered = sorted(
        (place for place, passage in enumerate(passages) if passage.conversation),
        key=lambda place: (passages[place].conversation, passages[place].at, passages[place].id),
    )
    group: list[int] = []
    for place in ordered:
        if group:
            last = passages[group[-1]]
            near = passages[place].at - last.at <= SITTING_PAUSE
            if passages[place].conversation != last.conversation or not near:
                group = []
        group.append(place)
        sittings[place] = group
    return sittings


def _sitting_words(count: int, sittings: Sequence[Sequence[int]], readings: Sequence[_Reading]) -> Sequence[float]:
    # How much of the query the sittings have: BM25 without lengths, a sitting being the text.
    distinct = {id(sitting): sitting for sitting in sittings}
    times = {
        key: Counter([word for place in sitting for word in readings[place].found]) for key, sitting in distinct.items()
    }
    weights = _rarity(count, list(times.values()))
    total = sum(weights) or 1.0
    # Sums of floats depend on their order.
    score = {
        key: sum([weights[word] * number / (number + _SATURATION) for word, number in sorted(row.items())]) / total
        for key, row in times.items()
    }
    return [score[id(sitting)] for sitting in sittings]


def _best_of(sittings: Sequence[Sequence[int]], standing: Sequence[float]) -> Sequence[float]:
    distinct = {id(sitting): sitting for sitting in sittings}
    best = {key: max([standing[place] for place in sitting]) for key, sitting in distinct.items()}
    return [best[id(sitting)] for sitting in sittings]


def _before(candidates: Sequence[Candidate], sittings: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    # For each candidate the place of the one right before it, if that is a candidate too.
    before: list[list[int]] = [[] for _ in candidates]
    for sitting in {id(sitting): sitting for sitting in sittings}.values():
        for first, second in pairwise(sitting):
            if candidates[second].passage.number - candidates[first].passage.number in (0, 1):
                before[second].append(first)
    return before
