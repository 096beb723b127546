"""The ``frontmind`` program: registers the commands, and turns errors into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from frontmind.cli.chat import EXIT_INTERRUPTED, chat
from frontmind.cli.check import check
from frontmind.cli.diff import diff
from frontmind.cli.explain import explain_window
from frontmind.cli.show import show
from frontmind.cli.terminal import note, on_one_line
from frontmind.errors import FrontmindError

EXIT_UNABLE = 2
_NOTHING = Path(os.devnull)

app = typer.Typer(
    name="frontmind",
    help="An assistant that remembers, with a notification center in front of its mind.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
window_app = typer.Typer(help="Look at the context window.", no_args_is_help=True)
app.add_typer(window_app, name="window")
app.command("chat")(chat)
window_app.command("show")(show)
window_app.command("explain")(explain_window)
window_app.command("diff")(diff)
window_app.command("check")(check)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"frontmind {version('frontmind')}")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    return None


def main() -> None:
    """Run the program. Exit codes: 0 fine, 1 a problem was found, 2 could not run, 130 interrupted."""
    _prepare_streams()
    try:
        app()
    except FrontmindError as error:
        note(f"frontmind: {on_one_line(str(error))}")
        _leave(EXIT_UNABLE)
    except (KeyboardInterrupt, BrokenPipeError):
        _leave(EXIT_INTERRUPTED)


def _prepare_streams() -> None:
    # A program may be started with any of its streams closed: Python then has None in their place.
    sys.stdin = sys.stdin or _NOTHING.open(encoding="utf-8")
    sys.stdout = sys.stdout or _NOTHING.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or _NOTHING.open("w", encoding="utf-8")
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # Whatever the locale: text is UTF-8, and a byte or character that does not fit never ends a chat.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _leave(code: int) -> NoReturn:
    # What standard output did not take, Python would try to write once more at exit, and complain.
    sys.stdout = _NOTHING.open("w", encoding="utf-8")
    sys.exit(code)
