"""The figures of a recall measurement as Markdown and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from frontmind.bench.recall import RecallResult
from frontmind.bench.recall_metrics import OVERALL
from frontmind.window.canonical import JsonObject


def markdown(results: Sequence[RecallResult]) -> str:
    """A table for each size of unit: a row for each way of searching and category, the overall figures first."""
    return "\n\n".join(_table([one for one in results if one.unit == unit]) for unit in _units(results))


def as_json(results: Sequence[RecallResult]) -> JsonObject:
    """The same figures, unrounded."""
    return {
        "results": [
            {
                "unit": one.unit,
                "retriever": one.retriever,
                "search_ms": one.milliseconds,
                "categories": {
                    name: {"questions": scores.questions, **scores.named()} for name, scores in one.categories.items()
                },
            }
            for one in results
        ]
    }


def _units(results: Sequence[RecallResult]) -> list[int]:
    return list(dict.fromkeys(one.unit for one in results))


def _table(results: Sequence[RecallResult]) -> str:
    names = list(results[0].categories[OVERALL].named())
    what = "single items" if results[0].unit == 1 else f"chunks of {results[0].unit} items"
    rows = [
        f"Found as a whole: {what}",
        "",
        f"| questions | | retriever | {' | '.join(names)} | ms |",
        f"|---|---|---|{'---|' * (len(names) + 1)}",
    ]
    for category in sorted(results[0].categories, key=lambda name: (name != OVERALL, name)):
        for one in results:
            scores = one.categories[category]
            figures = " | ".join(f"{figure:.3f}" for figure in scores.named().values())
            time = f"{one.milliseconds:.1f}" if category == OVERALL else ""
            rows.append(f"| {category} | {scores.questions} | {one.retriever} | {figures} | {time} |")
    return "\n".join(rows)
