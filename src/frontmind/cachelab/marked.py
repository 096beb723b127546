"""Caches with entries: written where a request says so (or at the last user message), read by walking back from there.

Anthropic, Amazon Bedrock, OpenRouter in front of Claude; GPT-5.6 and later, whose breakpoints are exact. The facts are
the profile's, with their sources; what no source says is marked D here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from frontmind.cachelab.prefixes import Prompt
from frontmind.providers.profiles.profile import TTL_SECONDS, Caching, Profile
from frontmind.values.calls import Cause
from frontmind.window.layout import TOOL_CALL, TOOL_RESULT, Block

_DEFAULT_TTL: Final = "5m"


@dataclass(frozen=True, slots=True)
class Found:
    """What a cache has of a prompt.

    Attributes:
        blocks: how many blocks are read whole.
        tokens: how many tokens are read.
        rule: the rule that decided it, in one line.
        cause: why nothing longer is read although the prefix is unchanged; NOTHING where that is not so.
        ttl: the lifetime of what is read; empty where it has none.
    """

    blocks: int
    tokens: int
    rule: str
    cause: Cause = Cause.NOTHING
    ttl: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the cache.

    Attributes:
        begun: when the reply of the request that wrote it began; it cannot be read before.
        expires: the last moment at which it can be.
    """

    ttl: str
    begun: datetime
    expires: datetime

    def holds(self, at: datetime) -> bool:
        return self.begun <= at <= self.expires


class MarkedCache:
    """The entries of one model, by the key of the prefix that each holds."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._entries: dict[bytes, _Entry] = {}

    def find(self, prompt: Prompt, at: datetime) -> Found:
        """The longest entry that is a prefix of the prompt, alive, and within reach of one of its marked ends."""
        ends = [end for end, _ in prompt.ends(self._profile)]
        there = [length for length in range(len(prompt.keys) - 1, 0, -1) if prompt.keys[length] in self._entries]
        if not there:
            return self._nothing(prompt, ends)
        reach = [(_farthest(prompt.blocks, end, self._profile), end) for end in ends]
        longest = next(
            (
                length
                for length in there
                if self._entry(prompt, length).holds(at) and any(first <= length <= end for first, end in reach)
            ),
            0,
        )
        cause, why = Cause.NOTHING, "the newest entry of the requests before that is still a prefix"
        if longest < there[0]:
            cause, why = self._missed(self._entry(prompt, there[0]), at, marked=bool(ends))
        if not longest:
            return Found(0, 0, why, cause)
        return Found(longest, prompt.sums[longest], why, cause, self._entry(prompt, longest).ttl)

    def _nothing(self, prompt: Prompt, ends: Sequence[int]) -> Found:
        if not ends:
            return Found(0, 0, "the request marks nothing, and without a marker nothing is cached")
        most = prompt.sums[ends[-1]]
        if most < self._profile.min_cached_tokens:
            return Found(0, 0, too_small(most, self._profile), Cause.MINIMUM)
        return Found(0, 0, "no entry of the requests before is a prefix of this one")

    def _missed(self, entry: _Entry, at: datetime, *, marked: bool) -> tuple[Cause, str]:
        if at < entry.begun:
            return Cause.FIRST, "the request that writes the newest entry is not answered yet"
        if at > entry.expires:
            return Cause.EXPIRED, f"the newest entry of the requests before is older than its lifetime of {entry.ttl}"
        if not marked:
            return Cause.LOOK_BACK, "the request has no marker from which an entry could be found"
        reach = self._profile.look_back
        if reach is None:
            return Cause.LOOK_BACK, "the newest entry stands behind the last marker"
        return Cause.LOOK_BACK, f"the newest entry is not within {reach} positions of a marker, the marked one included"

    def written(self, prompt: Prompt, found: Found) -> tuple[tuple[str, int], ...]:
        """The tokens that the request writes, by lifetime: those behind what is read, up to its last marked end.

        Each token belongs to the first marked end behind it.
        """
        by_ttl: dict[str, int] = {}
        start = found.tokens
        for end, ttl in self._to_write(prompt, found):
            if prompt.sums[end] > start:
                by_ttl[ttl] = by_ttl.get(ttl, 0) + prompt.sums[end] - start
                start = prompt.sums[end]
        return tuple(sorted(by_ttl.items()))

    def _to_write(self, prompt: Prompt, found: Found) -> list[tuple[int, str]]:
        ends = prompt.ends(self._profile)
        if self._profile.caching is Caching.LAST_USER:
            # The newest are written, the provider's own among them; the others can be read all the same.
            ends = ends[-self._profile.max_markers :]
        return [
            (end, ttl or _DEFAULT_TTL)
            for end, ttl in ends
            if end > found.blocks and prompt.sums[end] >= self._profile.min_cached_tokens
        ]

    def note(self, prompt: Prompt, found: Found, at: datetime, began: datetime) -> None:
        """Keep what the request has read or written alive from now on.

        What is behind an entry that was read lives no longer than that entry (D: nobody says that a longer lifetime at
        the end also holds for what stands in front of it).

        Args:
            at: when it was sent; lifetimes count from then (S).
            began: when its reply began: what it writes can be read from then on.
        """
        for length in range(1, found.blocks + 1):
            entry = self._entries.get(prompt.keys[length])
            if entry is not None and entry.holds(at):
                self._entries[prompt.keys[length]] = _Entry(entry.ttl, entry.begun, _end_of(entry.ttl, at))
        for end, asked in self._to_write(prompt, found):
            ttl = asked if not found.ttl or _seconds(asked) <= _seconds(found.ttl) else found.ttl
            self._entries[prompt.keys[end]] = _Entry(ttl, began, _end_of(ttl, at))

    def _entry(self, prompt: Prompt, length: int) -> _Entry:
        return self._entries[prompt.keys[length]]


def too_small(tokens: int, profile: Profile) -> str:
    """Says that a prefix is below the minimum."""
    return f"~{tokens:,} tokens are less than the {profile.min_cached_tokens:,} it caches"


def _end_of(ttl: str, at: datetime) -> datetime:
    return at + timedelta(seconds=_seconds(ttl))


def _seconds(ttl: str) -> int:
    return TTL_SECONDS.get(ttl, TTL_SECONDS[_DEFAULT_TTL])


def _farthest(blocks: Sequence[Block], end: int, profile: Profile) -> int:
    """The length of the shortest prefix that is found from a marked end: so many positions back, that one included."""
    if profile.look_back is None:
        return 1
    positions = 0
    for index in range(end - 1, -1, -1):
        if index == end - 1 or not _is_same_position(blocks[index], blocks[index + 1], profile):
            positions += 1
        if positions >= profile.look_back:
            return index + 1
    return 1


def _is_same_position(one: Block, next_one: Block, profile: Profile) -> bool:
    """Whether two neighbours count as one: sections of one block, and where it says so a run of calls or of results."""
    if one.place == next_one.place:
        return True
    return profile.look_back_joins_tools and one.kind == next_one.kind and one.kind in (TOOL_CALL, TOOL_RESULT)
