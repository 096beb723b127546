"""Token counts of one model call, in one meaning for every provider."""

from __future__ import annotations

from collections.abc import Sequence
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
        written_by_ttl: ``written`` by the lifetime that was asked for, where the provider tells: ("5m", 100).
    """

    input: int
    cached: int
    written: int
    output: int
    estimated: bool = False
    written_by_ttl: tuple[tuple[str, int], ...] = ()

    @property
    def fresh(self) -> int:
        """Prompt tokens that were neither read from the cache nor written to it."""
        # Gemini, through OpenRouter, counts what one call wrote and read again under both.
        both = self.cached + self.written
        return self.input - (both if both <= self.input else max(self.cached, self.written))

    @property
    def evaluated(self) -> int:
        """Prompt tokens that the model had to process in this call."""
        return self.input - self.cached


def add_usages(usages: Sequence[Usage]) -> Usage:
    """The figures of several calls together; an estimate where one of them is."""
    by_ttl: dict[str, int] = {}
    for usage in usages:
        for ttl, tokens in usage.written_by_ttl:
            by_ttl[ttl] = by_ttl.get(ttl, 0) + tokens
    return Usage(
        input=sum(usage.input for usage in usages),
        cached=sum(usage.cached for usage in usages),
        written=sum(usage.written for usage in usages),
        output=sum(usage.output for usage in usages),
        estimated=any(usage.estimated for usage in usages),
        written_by_ttl=tuple(sorted(by_ttl.items())),
    )


_MOST_TOKENS = 2**53


def read_token_count(figure: object) -> int | None:
    """A token count as a server sent it, or None when it is none: not a whole number from 0 to 2**53.

    A figure beside a reply is never a reason to lose the reply.
    """
    if isinstance(figure, bool) or not isinstance(figure, int) or not 0 <= figure <= _MOST_TOKENS:
        return None
    return figure
