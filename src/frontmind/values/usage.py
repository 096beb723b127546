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
