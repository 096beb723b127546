"""``frontmind replay``: what a recorded conversation would have taken in each layout, at each provider asked for."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Final

import typer

from frontmind.cachelab.trace_comparison import compare, work_of
from frontmind.cachelab.traces import Recording, models_of
from frontmind.cli.options import JsonOption, ProfileOption, resolve_selection
from frontmind.cli.replay_output import as_json as comparison_json
from frontmind.cli.replay_output import tell_comparison, tell_trace
from frontmind.cli.settings import load_settings
from frontmind.cli.terminal import emit, json_text, note, on_one_line
from frontmind.cli.trace_files import Trace, read_trace, told_progress
from frontmind.continuum.exports.value import Problem
from frontmind.errors import UsageError
from frontmind.providers.prices import list_price
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.values.usage import Usage

EXIT_BROKEN: Final = 1
_SHOWN_PROBLEMS: Final = 40
_WORTH_TELLING: Final = 2_000


def replay(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="TRACE", help="A Frontmind database, a request log (JSON lines), or sessions of Claude Code."
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Whose rules and prices to take; may be given several times. Without it, the recorded models'.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = None,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="NAME",
            help="Only this one; of a database, the one that is read (main).",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a recorded conversation would have taken in each layout of the window. Nothing is sent to anybody.

    Exits with 1 when something of the recording could not be used and the rest was, 2 when nothing could.
    """
    settings = load_settings()
    asked = [resolve_selection(name, None, profile, settings).profile for name in model or ()]
    read = read_trace(trace, conversation=conversation)
    if not any(recording.stretches for recording in read.recordings):
        _tell_problems(read.problems)
        raise UsageError(f"nothing in {trace} can be replayed; {_what(read)}")
    prices = _Prices()
    groups = _groups(read.recordings, asked)
    total = sum(work_of(recordings, own) for own, recordings in groups)
    with told_progress("replaying", total, least=_WORTH_TELLING) as reached:
        comparisons = [
            compare(recordings, own, price_of=prices.of, played=lambda: reached(1)) for own, recordings in groups
        ]
    problems = (*read.problems, *(problem for one in comparisons for problem in one.problems))
    if as_json:
        emit(json_text(comparison_json(trace, read, comparisons, problems)) + "\n")
    else:
        tell_trace(trace, read)
        for comparison in comparisons:
            tell_comparison(comparison)
        if prices.missing:
            note(prices.missing)
        _tell_problems(problems)
    if not any(comparison.layouts for comparison in comparisons):
        raise UsageError(f"nothing in {trace} can be replayed for this model; pass another --model")
    if problems:
        raise typer.Exit(EXIT_BROKEN)


def _what(read: Trace) -> str:
    if read.left_out:
        return "its rows are no calls of a model with their messages"
    return "pass a Frontmind database, a log of {provider, model, request, usage, time}, or sessions of Claude Code"


def _groups(recordings: Sequence[Recording], asked: Sequence[Profile]) -> list[tuple[Profile, list[Recording]]]:
    """The profiles to replay for, each with its recordings: all of them, or those that it was recorded with."""
    if asked:
        return [(profile, list(recordings)) for profile in asked]
    groups = []
    for provider, model in models_of(recordings):
        own = [
            one for one in recordings if one.calls and (one.calls[0].provider, one.calls[0].model) == (provider, model)
        ]
        if own:
            groups.append((resolve_profile(provider, model), own))
    return groups


class _Prices:
    """The price lists, where they are installed.

    Attributes:
        missing: what to do to have them; empty where they are there.
    """

    def __init__(self) -> None:
        self.missing = ""

    def of(self, provider: str, model: str, usage: Usage) -> Decimal | None:
        """The price of a call; None where it is not known."""
        if self.missing:
            return None
        try:
            return list_price(provider, model, usage)
        except UsageError as error:
            self.missing = str(error)
            return None


def _tell_problems(problems: Sequence[Problem]) -> None:
    for problem in problems[:_SHOWN_PROBLEMS]:
        note(on_one_line(f"{problem.place}: {problem.why}"))
    if len(problems) > _SHOWN_PROBLEMS:
        note(f"and {len(problems) - _SHOWN_PROBLEMS:,} more; --json lists all")
