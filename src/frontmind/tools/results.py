"""Making a tool's result fit and harmless: pure functions on text.

A result is text that others wrote. It keeps its line ends and its words; what could draw a notification center,
open or end one of its sections, or break an encoding is replaced. This module does not know where the text of an
oversized result is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from frontmind.values.harmless import harmless

# Room for the line of the moment and the line that says how much is left out.
_FRAME = 160
_REFERENCE = re.compile("[0-9A-Za-z_.-]{1,40}")


@dataclass(frozen=True, slots=True)
class PreparedResult:
    """A result as the model gets it.

    Attributes:
        text: the line of the moment, and what is shown of the result.
        shown: how many characters of the original stand in ``text``: where reading goes on.
        omitted: how many characters of the original do not.
    """

    text: str
    shown: int
    omitted: int


def prepare(text: str, observed: datetime, limit: int, *, guarded: frozenset[str] = frozenset()) -> PreparedResult:
    """The result under the moment it was observed at, cut to its first whole lines where it is too long.

    Args:
        text: the result as the tool gave it.
        observed: when it was; said to the minute, in its own zone.
        limit: the most characters of the whole, the line that `close` adds included.
        guarded: the names of elements whose tags no result may have.
    """
    moment = f"[observed {observed:%Y-%m-%d %H:%M}]\n"
    if measure(text, limit, guarded=guarded) <= limit:
        return PreparedResult(moment + clean(text, guarded), len(text), 0)
    room = max(0, limit - _FRAME)
    head = text[:room]
    cleaned = clean(head, guarded)
    while len(cleaned) > room:
        # References are longer than what they stand for: take that much less, and at least one character less.
        head = head[: min(len(head) - 1, len(head) * room // len(cleaned))]
        cleaned = clean(head, guarded)
    head = _whole_lines(head)
    return PreparedResult(moment + clean(head, guarded), len(head), len(text) - len(head))


def close(prepared: PreparedResult, reference: str | None) -> str:
    """The text of the result; where something was left out, with a line that says how to read on.

    Args:
        reference: by which ``read_result`` finds the whole; None where it is not kept.

    Raises:
        ValueError: the reference has anything but letters, digits and ``_ . -``, or more than 40 of them.
    """
    if not prepared.omitted:
        return prepared.text
    if reference is not None and not _REFERENCE.fullmatch(reference):
        raise ValueError(f"{reference!r} cannot refer to a result")
    how = "they are left out"
    if reference is not None:
        how = f'read on with read_result(result="{reference}", offset={prepared.shown})'
    separator = "" if prepared.text.endswith("\n") else "\n"
    return f"{prepared.text}{separator}[{prepared.omitted:,} more characters; {how}]"


def clean(text: str, guarded: frozenset[str] = frozenset()) -> str:
    """The text with everything replaced that could be taken for the window's own markup or break an encoding."""
    text = harmless(text)
    return _tags(guarded).sub("&lt;", text) if guarded else text


@lru_cache(maxsize=8)
def _tags(guarded: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in sorted(guarded))
    # A model reads `< / NAME` as a tag, too. The spaces are bounded so that no text makes the search slow.
    return re.compile(rf"<(?=\s{{0,8}}/?\s{{0,8}}(?:{names})(?![\w.-]))", re.IGNORECASE)


def _whole_lines(head: str) -> str:
    """Without its last, unfinished line, unless that is more than half of it."""
    end = head.rfind("\n") + 1
    return head[:end] if end > len(head) // 2 else head


def measure(text: str, limit: int, *, guarded: frozenset[str] = frozenset()) -> int:
    """How many characters the result takes under the line of its moment; of one far above ``limit``, some more
    than that."""
    # Cleaning at most halves a text (a line end of two characters): beyond that, reading it all is not needed.
    some = text[: 2 * limit + 2]
    return len(clean(some, guarded)) + len("[observed 2026-11-30 10:57]\n")


def share(sizes: Sequence[int], *, each: int, total: int) -> int:
    """The most characters that each result of one step may have, so that all of them stay within the total.

    Small results keep what they need; only the largest are cut, all to the same length.

    Args:
        sizes: what each result needs, in characters.
        each: the most that any of them may have.
        total: the most that all of them may have.
    """
    left = total
    for number, size in enumerate(sorted(sizes)):
        fair = left // (len(sizes) - number)
        if min(size, each) > fair:
            return fair
        left -= min(size, each)
    return each
