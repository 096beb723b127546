"""Token counts of one model call, in one meaning for every provider."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call.

    Attributes:
        input: all prompt tokens, those from the cache included.
        cached: prompt tokens that were read from the cache.
        written: prompt tokens that were newly written to the cache at a price (0 where writing is free).
        output: generated tokens.
        estimated: whether the figures are our estimate because the provider reported none.
    """

    input: int
    cached: int
    written: int
    output: int
    estimated: bool = False

    @property
    def evaluated(self) -> int:
        """Prompt tokens that the model had to process in this call."""
        return self.input - self.cached


_MOST_TOKENS = 2**53


def read_token_count(figure: object) -> int | None:
    """A token count as a server sent it, or None when it is none: not a whole number from 0 to 2**53.

    A figure beside a reply is never a reason to lose the reply.
    """
    if isinstance(figure, bool) or not isinstance(figure, int) or not 0 <= figure <= _MOST_TOKENS:
        return None
    return figure
