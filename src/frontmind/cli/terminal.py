"""Printing to a terminal: what others wrote cannot move the cursor, and what is measured has one form."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from frontmind.assistant.report import CacheLoss, ToolEnded, TurnEvent, TurnReport
from frontmind.assistant.turn_notes import turn_notes
from frontmind.cli.cache_words import loss_line, miss_lines
from frontmind.errors import RunError
from frontmind.providers.protocol import Retrying
from frontmind.tools.toolbox import LOAD_TOOL, USE_TOOL
from frontmind.values.harmless import one_line
from frontmind.values.parts import ToolCall
from frontmind.window.blocks import CacheState, CountedBlock
from frontmind.window.canonical import parse_json

# Controls but tab and line feed, and the characters that reorder text: in a terminal they can hide or forge output.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with controls replaced by U+FFFD, so that printing it does nothing but show it."""
    return _UNPRINTABLE.sub("\ufffd", text)


def on_one_line(text: str) -> str:
    """The text with its line ends spelled out: a file's name may hold what another program takes for a command."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def json_text(value: object) -> str:
    """The value as indented JSON that reads back exactly, and does nothing to a terminal but show itself."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class OutputError(RunError):
    """Standard output takes no more."""


def emit(text: str) -> None:
    """Text as it is, on standard output, at once.

    Raises:
        BrokenPipeError: the reader has gone.
        OutputError: it cannot be written for another reason.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"cannot write the output ({error.strerror}); free some space or send it elsewhere"
        ) from error


def say(text: str) -> None:
    """A line for the person, on standard output; raises what `emit` raises."""
    emit(printable(text) + "\n")


def note(text: str) -> None:
    """A line beside the output proper, on standard error. Where that takes nothing, nobody can be told."""
    with suppress(OSError):
        sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()


def cache_line(report: TurnReport) -> str:
    """The line under a reply: what the cache really gave, and what the turn took."""
    usage = report.usage
    about = "~" if usage.estimated else ""
    share = 100 * usage.cached / usage.input if usage.input else 0.0
    expected = "" if report.expected_cached is None else f", expected {report.expected_cached:,}"
    written = f" · {usage.written:,} written to the cache" if usage.written else ""
    return (
        f"[turn {report.turn} · cache: {about}{usage.cached:,} of {about}{usage.input:,} prompt tokens "
        f"({share:.0f} %){expected}{written} · {about}{usage.output:,} tokens out · "
        f"first after {report.first_token_seconds:.2f} s, all after {report.seconds:.2f} s]"
    )


_SHOWN_OF_A_RESULT = 120
_SHOWN_OF_A_NAME = 64


def event_line(event: TurnEvent) -> str:
    """What happened in a turn, on one line; empty where there is nothing to show yet."""
    match event:
        case ToolEnded(call, result):
            name = _name_of_the_tool(call)
            # The first line is the moment at which it was observed.
            said = " ".join(result.text.split("\n", 1)[-1].split()) if result.text.startswith("[observed") else ""
            said = said or " ".join(result.text.split())
            shown = said if len(said) <= _SHOWN_OF_A_RESULT else said[: _SHOWN_OF_A_RESULT - 1] + "…"
            return f"[{name}{' failed' if result.is_error else ''}: {shown}]"
        case Retrying(reason, seconds):
            return f"[{reason}; asking again in {seconds:.0f} s]"
        case CacheLoss(verdict):
            return loss_line(verdict)
        case _:
            return ""


def _name_of_the_tool(call: ToolCall) -> str:
    """What was called, for people: behind a call of ``use_tool`` stands another tool."""
    if call.name not in (LOAD_TOOL, USE_TOOL):
        return call.name
    try:
        arguments = parse_json(call.arguments)
    except ValueError:
        return call.name
    meant = arguments.get("name") if isinstance(arguments, dict) else None
    return f"{call.name} {one_line(meant, _SHOWN_OF_A_NAME)}" if isinstance(meant, str) else call.name


def report_lines(report: TurnReport) -> list[str]:
    """What else the person should know of a turn; usually nothing."""
    return [f"[{line}]" for line in turn_notes(report)] + miss_lines(report)


_COLOURS = {
    CacheState.CACHED: "green",
    CacheState.PARTLY: "yellow",
    CacheState.FRESH: "cyan",
    CacheState.UNKNOWN: "dim",
}
_WORDS = {state: state.value for state in CacheState} | {CacheState.UNKNOWN: ""}


def context_table(blocks: Sequence[CountedBlock]) -> Table:
    """The window as a table: section, placement, tokens, cached or fresh."""
    table = Table(show_footer=True)
    total = sum(block.tokens for block in blocks)
    table.add_column("section", footer="all")
    table.add_column("placement")
    exact = all(block.exact for block in blocks)
    table.add_column("tokens", justify="right", footer=f"{'' if exact else '~'}{total:,}")
    table.add_column("cache")
    for block in blocks:
        colour = _COLOURS[block.state]
        table.add_row(
            escape(printable(block.name)),
            block.placement,
            f"{'' if block.exact else '~'}{block.tokens:,}",
            f"[{colour}]{_WORDS[block.state]}[/{colour}]" if _WORDS[block.state] else "",
        )
    return table


def show_table(table: Table) -> None:
    """Print a table; colours only where standard output is a terminal."""
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 100)
    with console.capture() as captured:
        console.print(table)
    emit(captured.get())
