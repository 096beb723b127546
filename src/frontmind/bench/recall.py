"""Measures how well the assistant's search finds what answers a question, beside its two halves and plain BM25.

The product is what the assistant searches with: the store's passages, the indexes and the ranking, unchanged. Each
conversation of the data set has an owner of its own, since nothing is searched across owners.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from frontmind.bench.bm25 import PlainBm25, stems
from frontmind.bench.recall_data import Item, Question, Unit, units
from frontmind.bench.recall_metrics import Outcome, Scores, by_category, outcome
from frontmind.recall.embedder_source import GivenEmbedder
from frontmind.recall.embedding import Embedder
from frontmind.recall.indexing import Indexer
from frontmind.recall.search import Recall
from frontmind.recall.search_indexes import SearchIndexes
from frontmind.recall.words import STOP_WORDS, index_words, word_pieces
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.passages import NewPassage, PassageKind

PLAIN: Final = "plain stemmed BM25"
LEXICAL: Final = "lexical alone"
DENSE: Final = "dense alone"
PRODUCT: Final = "product"

_DEPTH: Final = 50
"""How many finds are looked at: MRR is the only metric that sees more than ten."""

_PATIENCE: Final = 600.0
"""Seconds that a search waits for its query's vectors: here nobody waits for the answer."""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The metrics of one way of searching units of one size.

    Attributes:
        unit: how many items are found as a whole.
        retriever: the way of searching.
        categories: the metrics of each category, and overall.
        milliseconds: the median time of a search, with the vectors of its query.
    """

    unit: int
    retriever: str
    categories: Mapping[str, Scores]
    milliseconds: float


async def measure_recall(
    items: Sequence[Item],
    questions: Sequence[Question],
    *,
    embedder: Embedder | None,
    sizes: Sequence[int] = (1, 3),
    report: Callable[[str], None] = lambda line: None,
    timer: Callable[[], float] = time.perf_counter,
) -> tuple[RecallResult, ...]:
    """Measure every way of searching on units of every size.

    Args:
        embedder: what makes the vectors; without it there is no dense half, and the product goes by words.
        sizes: how many items are found as a whole.
        report: told in a line what is done.
        timer: seconds from an arbitrary start.
    """
    results: list[RecallResult] = []
    for size in sizes:
        outcomes: dict[str, list[Outcome]] = {}
        seconds: dict[str, list[float]] = {}
        for name in dict.fromkeys(item.conversation for item in items):
            own = units([item for item in items if item.conversation == name], size)
            asked = [question for question in questions if question.conversation == name]
            if not asked:
                continue
            report(f"{name}: {len(own)} units of {size}, {len(asked)} questions")
            # Not in memory: a store there is on no disk, and its figures would be nobody's.
            with TemporaryDirectory(prefix="frontmind-bench-") as folder:
                await _of_conversation(_Run(own, asked, embedder, timer, outcomes, seconds), Path(folder))
        results += [
            RecallResult(size, retriever, by_category(found), 1000 * median(seconds[retriever]))
            for retriever, found in outcomes.items()
        ]
    return tuple(results)


@dataclass(frozen=True, slots=True)
class _Run:
    """The questions of one conversation, and where their outcomes are gathered by the way of searching."""

    units: Sequence[Unit]
    questions: Sequence[Question]
    embedder: Embedder | None
    timer: Callable[[], float]
    outcomes: dict[str, list[Outcome]]
    seconds: dict[str, list[float]]

    def note(self, retriever: str, question: Question, ranked: Sequence[int], seconds: float) -> None:
        relevant = frozenset(
            place for place, unit in enumerate(self.units) if any(item.id in question.relevant for item in unit.items)
        )
        self.outcomes.setdefault(retriever, []).append(outcome(ranked, relevant, question.category))
        self.seconds.setdefault(retriever, []).append(seconds)


async def _of_conversation(run: _Run, folder: Path) -> None:
    _plain(run)
    store = SqliteStore.open(folder / "bench.db")
    try:
        indexes = SearchIndexes(store, root=folder / "indexes", patience=_PATIENCE)
        indexer = Indexer(store, indexes, GivenEmbedder(run.embedder))
        ids = await store.add_passages(
            "bench", [(unit.items[0].time, NewPassage(unit.text, unit.context)) for unit in run.units]
        )
        await indexer.catch_up()
        await _searches(run, store, indexes, {passage_id: place for place, passage_id in enumerate(ids)})
        await indexer.close()
    finally:
        await store.close()


def _plain(run: _Run) -> None:
    index = PlainBm25([_telling(unit.text) for unit in run.units])
    for question in run.questions:
        started = run.timer()
        (query,) = stems([_telling(question.text)])
        ranked = index.search(query, _DEPTH)
        run.note(PLAIN, question, ranked, run.timer() - started)


def _telling(text: str) -> str:
    """The text without the words that tell nothing: the baseline is better so."""
    return " ".join(word for word in word_pieces(text) if word not in STOP_WORDS)


async def _searches(run: _Run, store: Store, indexes: SearchIndexes, places: Mapping[int, int]) -> None:
    recall = Recall(store, indexes)
    kind = PassageKind.EXCHANGE
    last = run.units[-1].items[-1].time
    for question in run.questions:
        # A day later: right after its last word nothing of a conversation would be searched for.
        now = question.time or last + timedelta(days=1)
        started = run.timer()
        by_words = await indexes.by_words(index_words(question.text), kind, _DEPTH, ())
        run.note(LEXICAL, question, [places[passage_id] for passage_id, _ in by_words], run.timer() - started)
        if run.embedder is not None:
            started = run.timer()
            vectors = await run.embedder.embed([question.text], query=True)
            asked = indexes.ask_with(vectors)
            by_meaning = [] if asked is None else await indexes.by_meaning(asked, 0, kind, _DEPTH, ())
            run.note(DENSE, question, [places[passage_id] for passage_id, _ in by_meaning], run.timer() - started)
            started = run.timer()
        found = await recall.search(question.text, now=now, limit=_DEPTH, kinds=[kind])
        run.note(
            PRODUCT, question, [places[recollection.hit.passage.id] for recollection in found], run.timer() - started
        )
