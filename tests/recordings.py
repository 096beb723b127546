"""The sizes of recorded requests, from the figures that were recorded beside them.

A provider's count says what a prompt has in all, and how much of it stands behind the last marker; what it has read and
written is the exact size of the prefix up to there. What lies in between is divided by estimates. Of a request that is
to be predicted only the total and what stands behind its last marker are used, never what it has read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from frontmind.cachelab.prefixes import Prompt, prompt_of
from frontmind.cachelab.sizing import SizedRequest, size_request
from frontmind.providers.profiles.profile import Profile
from frontmind.values.usage import Usage
from frontmind.window.layout import Layout


class RecordedSizes:
    """What a series of recorded requests teaches about the sizes of their prefixes.

    Args:
        profile: the model's.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._known: dict[bytes, int] = {}
        self._entries: dict[str, int] = {}

    def size(self, layout: Layout, usage: Usage) -> SizedRequest:
        """A request with its sizes.

        Args:
            usage: as it was counted; only its total and what stands behind the last marker are used, and the size of
                an entry that it names and no request before has named.
        """
        prompt = prompt_of(size_request(layout))
        entry = self._entries.get(layout.entry, usage.cached) if layout.entry else 0
        points = {length: tokens for length, key in enumerate(prompt.keys) if (tokens := self._known.get(key))}
        whole, last = usage.input - entry, len(prompt.seen)
        end = self._marked_end(prompt)
        if end and usage.fresh < usage.input:
            points[end] = whole - usage.fresh
        if end < last or not points.get(end):
            points[last] = whole
        sizes = _sizes(prompt, _rising(points))
        return SizedRequest(layout, sizes, tail=max(0, whole - sum(sizes)), entry=entry)

    def learn(self, layout: Layout, usage: Usage) -> None:
        """Take in how a request was counted."""
        if layout.entry:
            self._entries[layout.entry] = usage.cached
            return
        prompt = prompt_of(size_request(layout))
        end = self._marked_end(prompt)
        if not end:
            self._known[prompt.keys[-1]] = usage.input
        elif usage.input > usage.fresh:
            self._known[prompt.keys[end]] = usage.input - usage.fresh

    def _marked_end(self, prompt: Prompt) -> int:
        ends = prompt.ends(self._profile)
        return ends[-1][0] if ends else 0


def _rising(points: Mapping[int, int]) -> dict[int, int]:
    """The figures without those that are smaller than that of a shorter prefix."""
    rising = {0: 0}
    for length, tokens in sorted(points.items()):
        if tokens >= max(rising.values()):
            rising[length] = tokens
    return rising


def _sizes(prompt: Prompt, points: Mapping[int, int]) -> tuple[int, ...]:
    sizes = [0] * len(prompt.layout.blocks)
    for (start, before), (end, tokens) in pairwise(sorted(points.items())):
        inside = prompt.seen[start:end]
        shares = [prompt.layout.blocks[index].tokens for index in inside]
        for index, size in zip(inside, _divided(tokens - before, shares), strict=True):
            sizes[index] = size
    return tuple(sizes)


def _divided(total: int, shares: Sequence[int]) -> list[int]:
    """The total in whole numbers, in proportion to the shares, of which at least one is more than 0."""
    whole, done, given = sum(shares), 0, 0
    sizes = []
    for share in shares:
        done += share
        upto = total * done // whole
        sizes.append(upto - given)
        given = upto
    return sizes
