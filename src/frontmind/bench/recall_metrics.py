"""How well a ranking finds what is relevant. Pure.

Three metrics are easily mixed up and are named here as they are meant: *any@k* is the share of questions with at least
one relevant unit among the first k; *recall@k* is the mean share of the relevant units among the first k; *MRR* is
the mean of one over the place of the first relevant unit, and zero where none was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

OVERALL: Final = "overall"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question.

    Attributes:
        category: the question's category.
        places: the places of the relevant units that were found, counting from 1, in order.
        relevant: how many relevant units there are.
    """

    category: str
    places: tuple[int, ...]
    relevant: int


@dataclass(frozen=True, slots=True)
class Scores:
    """The metrics of a set of questions, each from 0 to 1."""

    questions: int
    any_at_5: float
    any_at_10: float
    recall_at_5: float
    recall_at_10: float
    mrr: float

    def named(self) -> dict[str, float]:
        """The metrics by the names that are printed."""
        return {
            "any@5": self.any_at_5,
            "any@10": self.any_at_10,
            "recall@5": self.recall_at_5,
            "recall@10": self.recall_at_10,
            "MRR": self.mrr,
        }


def outcome(ranked: Sequence[int], relevant: frozenset[int], category: str) -> Outcome:
    """What a ranking of unit numbers, best first, came to."""
    places = tuple(place for place, unit in enumerate(ranked, start=1) if unit in relevant)
    return Outcome(category, places, len(relevant))


def scores(outcomes: Sequence[Outcome]) -> Scores:
    """The metrics over these questions; there must be one at least."""
    return Scores(
        questions=len(outcomes),
        any_at_5=fmean(_found(one, 5) > 0 for one in outcomes),
        any_at_10=fmean(_found(one, 10) > 0 for one in outcomes),
        recall_at_5=fmean(_found(one, 5) / one.relevant for one in outcomes),
        recall_at_10=fmean(_found(one, 10) / one.relevant for one in outcomes),
        mrr=fmean(1 / one.places[0] if one.places else 0.0 for one in outcomes),
    )


def by_category(outcomes: Sequence[Outcome]) -> Mapping[str, Scores]:
    """The metrics of each category by name, and of all questions."""
    categories = sorted({one.category for one in outcomes})
    found = {name: scores([one for one in outcomes if one.category == name]) for name in categories}
    return {**found, OVERALL: scores(outcomes)}


def _found(one: Outcome, limit: int) -> int:
    return sum(place <= limit for place in one.places)
