"""A text as a title. Pure."""

from __future__ import annotations

from typing import Final

TITLE_LENGTH: Final = 60
"""The most characters of a title."""

_ELLIPSIS: Final = "…"
_NO_TITLE: Final = "(no text)"


def title(text: str) -> str:
    """The beginning of the text on one line, of whole words where there are any."""
    # A line needs no more of it; a message of megabytes is cut anyway.
    line = " ".join(text.lstrip()[: 20 * TITLE_LENGTH].split())
    if len(line) <= TITLE_LENGTH:
        return line or _NO_TITLE
    room = TITLE_LENGTH - len(_ELLIPSIS)
    # One more character than there is room for: a word may end exactly there.
    whole_words, _, _ = line[: room + 1].rpartition(" ")
    return (whole_words or line[:room]) + _ELLIPSIS
