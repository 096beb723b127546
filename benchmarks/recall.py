"""How well the search finds what answers LoCoMo's questions. Run with ``make bench``; the data set is read from the
folder beside the repository, and where it is not there that is said.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from benchmarks.locomo import read_locomo
from frontmind.bench.recall import RecallResult, measure_recall
from frontmind.bench.recall_data import Item, Question
from frontmind.bench.recall_table import markdown
from frontmind.cli.settings import load_settings
from frontmind.recall.opening_embedder import open_embedder, parse_embedder_name

LOCOMO = Path(__file__).resolve().parents[2] / "shared" / "data" / "locomo"


async def measure(items: tuple[Item, ...], questions: tuple[Question, ...]) -> tuple[RecallResult, ...]:
    settings = load_settings()
    embedder = await open_embedder(parse_embedder_name(""), cache_dir=settings.cache, announce=_tell)
    assert embedder is not None
    try:
        return await measure_recall(items, questions, embedder=embedder, report=_tell)
    finally:
        await embedder.close()


def main() -> None:
    if not LOCOMO.exists():
        print("LoCoMo is not beside the repository (shared/data/locomo): recall was not measured.")
        return
    items, questions, corrected = read_locomo(LOCOMO)
    print("\n## Recall on LoCoMo\n")
    print(f"{len(items)} turns, {len(questions)} questions of categories 1 to 4, {corrected} citations corrected.\n")
    print(markdown(asyncio.run(measure(items, questions))))


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
