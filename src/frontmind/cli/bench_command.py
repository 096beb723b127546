"""``frontmind bench``: what the design promises, measured. Holds ``bench placement``; knows no window and no rule."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from frontmind.bench.facts import MOST_QUESTIONS, decoy_sayings, draw_facts
from frontmind.bench.histories import Exchange, built_in, cut_to, read_history
from frontmind.bench.placement import PlacementRun, Progress, run_placement
from frontmind.bench.placement_table import as_json, markdown
from frontmind.cli.bench_recall import recall
from frontmind.cli.options import JsonOption, ModelOption, ProfileOption, read_text_file, resolve_selection
from frontmind.cli.settings import Settings, load_settings
from frontmind.cli.terminal import emit, json_text, note, on_one_line, say
from frontmind.errors import RunError, UsageError
from frontmind.providers.names import Provider
from frontmind.providers.opening import Selection, open_model
from frontmind.providers.protocol import Model

EXIT_WRONG: Final = 1
_HISTORY_LIMIT: Final = 100_000_000
_MOST_TOKENS: Final = 1_000_000
# An answer is in the first sentence; a small model goes on until it is stopped.
_LOCAL_ANSWER_TOKENS: Final = 24

bench_app = typer.Typer(help="Measure what the design promises.", no_args_is_help=True)


bench_app.command("recall")(recall)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of ``bench placement``, read."""

    selection: Selection
    settings: Settings
    history: tuple[Exchange, ...]
    lengths: tuple[int, ...]
    questions: int
    seed: int


@bench_app.command("placement")
def placement(
    model: ModelOption = None,
    profile: ProfileOption = None,
    history: Annotated[
        list[Path] | None,
        typer.Option(
            "--history",
            metavar="FILE",
            help="A chat to fill the history with: role/content messages, or a file in LoCoMo's form. May be given "
            "more than once; without it a neutral filler is taken.",
            show_default=False,
        ),
    ] = None,
    lengths: Annotated[
        str, typer.Option("--lengths", metavar="N,N,...", help="The lengths of the history, in tokens.")
    ] = "0,2000,6000",
    questions: Annotated[
        int, typer.Option("--questions", min=1, max=MOST_QUESTIONS, help="How many questions are asked in each window.")
    ] = 12,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which facts are drawn.")] = 0,
    as_json_option: JsonOption = False,
) -> None:
    """Ask a model about the same facts at every place of the window, in every wording, at several history lengths.

    Counts right answers, answers that say "the user", facts that the model takes for its own, echoes of the section
    and invented values. Every question is one request: at a paid provider this costs. Exits with 1 when the model
    failed to answer some of them.
    """
    settings = load_settings()
    selection = resolve_selection(model, None, profile, settings)
    if selection.name.provider is Provider.LOCAL and settings.max_output_tokens is None:
        selection = replace(selection, max_output_tokens=_LOCAL_ANSWER_TOKENS)
    asked = _Asked(selection, settings, _read(history or ()), _lengths(lengths), questions, seed)
    run = asyncio.run(_run(asked))
    if as_json_option:
        emit(json_text(as_json(run, seed=seed)) + "\n")
    else:
        say(markdown(run, seed=seed))
    failed = [answer.error for answer in run.answers if answer.error]
    if failed:
        note(f"{len(failed)} of {len(run.answers)} questions were not answered; the first: {on_one_line(failed[0])}")
        raise typer.Exit(EXIT_WRONG)


def _read(files: Sequence[Path]) -> tuple[Exchange, ...]:
    if not files:
        return built_in()
    texts = [(read_text_file(file, "the history", limit=_HISTORY_LIMIT), str(file)) for file in files]
    return tuple(exchange for text, source in texts for exchange in read_history(text, source=source))


def _lengths(text: str) -> tuple[int, ...]:
    pieces = [piece.strip() for piece in text.split(",")]
    if not all(piece.isascii() and piece.isdecimal() and int(piece) <= _MOST_TOKENS for piece in pieces):
        raise UsageError(f"cannot read the lengths {text[:80]!r}; write numbers of tokens such as 0,2000,6000")
    return tuple(dict.fromkeys(int(piece) for piece in pieces))


async def _run(asked: _Asked) -> PlacementRun:
    model = await open_model(
        asked.selection,
        cache_dir=asked.settings.cache,
        local_context=asked.settings.local_context,
        announce=note,
    )
    try:
        return await _measure(model, asked)
    finally:
        await model.close()


async def _measure(model: Model, asked: _Asked) -> PlacementRun:
    async def count(text: str) -> int:
        return (await model.count_text(text)).tokens

    # All that is given, so that the same facts are drawn for every length.
    said = "\n".join(message.text for exchange in asked.history for message in exchange)
    sheet = draw_facts(asked.questions, asked.seed, avoiding=said)
    asides = decoy_sayings(sheet.facts)
    histories = {length: await cut_to(asked.history, length, count=count, asides=asides) for length in asked.lengths}
    run = await run_placement(model, sheet, histories, report=_tell, timer=time.perf_counter)
    if not run.answers:
        raise RunError(f"no history fits into the context of {model.name}; pass shorter --lengths")
    return run


def _tell(progress: Progress) -> None:
    note(
        f"[{progress.done} of {progress.of} · {progress.seconds:.0f} s, about {progress.seconds_left:.0f} s left] "
        f"{progress.placement}, {progress.wording.value!r}, history {progress.length:,}: "
        f"{progress.right} of {progress.asked} right"
    )
