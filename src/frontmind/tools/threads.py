"""The threads of a tool that is a plain function: only so many of its calls may hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from frontmind.errors import ToolError
from frontmind.trinkets.threads import start_in_thread

T = TypeVar("T")

HANGING_LIMIT: Final = 4
"""How many calls of one tool may still run after they were given up; with that many, it is not called again."""


class ToolThreads:
    """Runs the calls of one tool, each in a thread of its own."""

    def __init__(self) -> None:
        self._given_up: list[Callable[[], bool]] = []

    async def run(self, call: Callable[[], T], name: str) -> T:
        """The outcome of the call. Cancelling leaves the thread behind: a thread cannot be stopped.

        Args:
            call: runs in the context variables of the caller.
            name: what the tool is called.

        Raises:
            ToolError: `HANGING_LIMIT` earlier calls still run; this one was not started.
            RunError: the call raised what a thread must not end a program with, such as SystemExit.
            Exception: what the call raised.
        """
        self._given_up = [is_over for is_over in self._given_up if not is_over()]
        if len(self._given_up) >= HANGING_LIMIT:
            raise ToolError(
                f"{name} was not called: {len(self._given_up)} earlier calls of it hang and cannot be ended; "
                "do without it, and tell the person"
            )
        started = start_in_thread(call, name)
        try:
            return await started.outcome
        finally:
            if not started.is_over():
                self._given_up.append(started.is_over)
