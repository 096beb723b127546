"""Confidence intervals and a paired test for counts of answers. Pure; knows nothing of what was counted."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist, fmean
from typing import Final

_LEVEL: Final = 0.95
_RESAMPLES: Final = 2000


@dataclass(frozen=True, slots=True)
class Interval:
    """The two ends of a 95 % confidence interval."""

    low: float
    high: float


def wilson(hits: int, count: int) -> Interval:
    """The Wilson score interval of a share, each observation taken as independent; of none it is (0, 1)."""
    if count == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def mcnemar(better: int, worse: int) -> float:
    """The exact two-sided p-value that the discordant pairs of a comparison differ by chance alone."""
    count = better + worse
    tail = sum(comb(count, number) for number in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / float(2**count))


def bootstrap(differences: Mapping[str, Sequence[float]], *, seed: int) -> Interval:
    """The percentile interval of a mean difference; whole groups are drawn, because the pairs in one hang together.

    Args:
        differences: for each group (a question) the differences of its pairs.
        seed: the same seed gives the same interval.
    """
    groups = [list(values) for _, values in sorted(differences.items()) if values]
    if not groups:
        return Interval(0.0, 0.0)
    chance = random.Random(seed)
    means = sorted(
        fmean(value for group in chance.choices(groups, k=len(groups)) for value in group) for _ in range(_RESAMPLES)
    )
    tail = round((1 - _LEVEL) / 2 * _RESAMPLES)
    return Interval(means[tail], means[-1 - tail])
