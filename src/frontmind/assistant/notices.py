"""What happens beside the turns and a person should know, a line each, until somebody takes it."""

from __future__ import annotations

from typing import Final

_KEPT: Final = 20


class Notices:
    """Lines in the order in which they came; one that waits already is not added again."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, line: str) -> None:
        """Keep the line until it is taken; of more than a few, the oldest are forgotten."""
        if line not in self._lines:
            self._lines.append(line)
            del self._lines[:-_KEPT]

    def take(self) -> list[str]:
        """The lines that wait; they wait no longer."""
        lines, self._lines = self._lines, []
        return lines
