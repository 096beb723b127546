"""The ``frontmind`` program: registers the commands, and turns errors into one line and an exit code."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from frontmind.cli.chat import EXIT_INTERRUPTED, chat
from frontmind.cli.show import show
from frontmind.cli.terminal import note
from frontmind.errors import FrontmindError

EXIT_UNABLE = 2

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
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # Whatever the locale: text is UTF-8, and a byte or character that does not fit never ends a chat.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        app()
    except FrontmindError as error:
        note(f"frontmind: {error}")
        sys.exit(EXIT_UNABLE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output is gone; Python would complain once more when it flushes at exit.
        sys.stderr.close()
        sys.exit(EXIT_INTERRUPTED)
