"""``frontmind bench recall``: how well the search finds what answers a question, on any data set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from frontmind.bench.recall import RecallResult, measure_recall
from frontmind.bench.recall_data import Item, Question, read_corpus, read_questions
from frontmind.bench.recall_table import as_json, markdown
from frontmind.cli.options import JsonOption
from frontmind.cli.settings import Settings, load_settings
from frontmind.cli.terminal import emit, json_text, note, say
from frontmind.errors import UsageError
from frontmind.recall.opening_embedder import EMBEDDER_FORMS, EmbedderName, open_embedder, parse_embedder_name

_SIZES: Final = "1,3"
_LARGEST: Final = 50


def recall(
    corpus: Annotated[
        Path,
        typer.Option(
            "--corpus", metavar="FILE", help="What was said: JSON lines of {id, conversation, time, speaker, text}."
        ),
    ],
    queries: Annotated[
        Path,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="What is asked: JSON lines of {id, conversation, time, text, relevant: [ids], category}.",
        ),
    ],
    sizes: Annotated[
        str, typer.Option("--sizes", metavar="N,N,...", help="How many items are found as a whole.")
    ] = _SIZES,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder", metavar="NAME", help=f"{EMBEDDER_FORMS}; also FRONTMIND_EMBEDDER.", show_default=False
        ),
    ] = None,
    as_json_option: JsonOption = False,
) -> None:
    """Measure the search on a data set of your own: by words, by meaning, both, and plain BM25 beside them.

    Prints any@k, recall@k and MRR for each category of questions. Nothing of it is kept.
    """
    settings = load_settings()
    items = read_corpus(corpus)
    questions = read_questions(queries, items)
    chosen = parse_embedder_name(settings.embedder if embedder is None else embedder)
    results = asyncio.run(_measure(items, questions, _sizes(sizes), chosen, settings))
    if as_json_option:
        emit(json_text(as_json(results)) + "\n")
    else:
        say(markdown(results))


def _sizes(text: str) -> tuple[int, ...]:
    pieces = [piece.strip() for piece in text.split(",")]
    if not all(piece.isascii() and piece.isdecimal() and 1 <= int(piece[:9]) <= _LARGEST for piece in pieces):
        raise UsageError(f"cannot read the sizes {text[:80]!r}; write numbers from 1 to {_LARGEST}, such as {_SIZES}")
    return tuple(dict.fromkeys(int(piece) for piece in pieces))


async def _measure(
    items: Sequence[Item],
    questions: Sequence[Question],
    sizes: Sequence[int],
    chosen: EmbedderName,
    settings: Settings,
) -> tuple[RecallResult, ...]:
    embedder = await open_embedder(chosen, cache_dir=settings.cache, announce=note)
    try:
        return await measure_recall(
            items, questions, embedder=embedder, sizes=sizes, report=note, timer=time.perf_counter
        )
    finally:
        if embedder is not None:
            await embedder.close()
