"""The ``frontmind`` program: runs a command, and turns errors into one line and an exit code."""

from __future__ import annotations

import io
import logging
import os
import sys
from pathlib import Path
from typing import NoReturn

try:
    from frontmind.cli.chat import EXIT_INTERRUPTED
    from frontmind.cli.commands import app
    from frontmind.cli.terminal import note, on_one_line
    from frontmind.errors import FrontmindError
except KeyboardInterrupt:
    # Loading takes most of the first second, and whoever presses Ctrl-C in it has not asked for a traceback.
    sys.exit(130)

EXIT_UNABLE = 2
_NOTHING = Path(os.devnull)


def main() -> None:
    """Run the program. Exit codes: 0 fine, 1 a problem was found, 2 could not run, 130 interrupted."""
    _prepare_streams()
    # What happens is told in words of our own; whoever wants the log sets up handlers.
    logging.getLogger("frontmind").addHandler(logging.NullHandler())
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
