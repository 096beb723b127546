"""What a cache does with one request: tokens read, written and fresh, block by block, and why not more was read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from frontmind.providers.profiles.profile import Profile
from frontmind.values.calls import CacheVerdict
from frontmind.values.usage import Usage


class Expectation(StrEnum):
    """What becomes of a block in the cache.

    READ: it comes from the cache. WRITTEN: it is processed, and written at a price. FRESH: it is processed, and not
    written at a price. CLEARED: the model does not see it.
    """

    READ = "read"
    WRITTEN = "written"
    FRESH = "fresh"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the rules say of one request.

    Attributes:
        read, written, fresh: tokens; together the whole prompt.
        written_by_ttl: ``written`` by the lifetime that was asked for.
        blocks: one for each block of the layout; a block that is read in part counts as what becomes of its end.
        rule: the rule that decided how much is read, in one line.
        could: tokens that could have been read: what earlier requests had cached for good.
        verdict: why fewer are.
    """

    read: int
    written: int
    fresh: int
    written_by_ttl: tuple[tuple[str, int], ...]
    blocks: tuple[Expectation, ...]
    rule: str
    could: int
    verdict: CacheVerdict

    @property
    def usage(self) -> Usage:
        """As a provider would report it, without output."""
        return Usage(
            input=self.read + self.written + self.fresh,
            cached=self.read,
            written=self.written,
            output=0,
            estimated=True,
            written_by_ttl=self.written_by_ttl,
        )


def equivalents(usage: Usage, profile: Profile) -> float:
    """What the prompt of a call costs, in tokens at the price of an uncached input token.

    Args:
        usage: whose ``written_by_ttl`` may be empty: what it does not hold counts as the shortest lifetime.
    """
    told = sum(tokens for _, tokens in usage.written_by_ttl)
    written = sum(tokens * profile.write_price_of(ttl) for ttl, tokens in usage.written_by_ttl)
    return (
        usage.fresh + usage.cached * profile.read_price + written + max(0, usage.written - told) * profile.write_price
    )
