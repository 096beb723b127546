"""The sizes of a request's blocks, as far as a provider has counted them in requests that begin in the same way.

A provider never tells the size of a block. It tells what a prompt has in all, and, where it caches at marked ends, how
much was read and written up to the last of them: both are exact sizes of a prefix. What lies between two of them is
divided by the blocks' estimates, and what lies behind all of them is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from frontmind.cachelab.prefixes import Prefixes, Prompt, common_blocks, prompt_of
from frontmind.cachelab.sizing import SizedRequest, size_request
from frontmind.providers.estimate import Calibration, calibrate
from frontmind.providers.profiles.profile import MarkerKind, Profile, UsageMeaning
from frontmind.values.usage import Usage
from frontmind.window.layout import Layout


@dataclass(frozen=True, slots=True)
class Counted:
    """A request that was answered, and what the provider counted."""

    prefixes: Prefixes
    usage: Usage

    @property
    def layout(self) -> Layout:
        return self.prefixes.layout


@dataclass(frozen=True, slots=True)
class CountedSizes:
    """A request with its sizes, and where they are known from.

    Attributes:
        prompt: the request with its sizes.
        known: the prefixes, in blocks, whose tokens the provider has counted.
        calibration: what the estimates of all other sizes are multiplied with.
    """

    prompt: Prompt
    known: Mapping[int, int]
    calibration: Calibration

    @property
    def request(self) -> SizedRequest:
        return self.prompt.request

    def alike(self, other: Prefixes) -> Prompt:
        """Another request in the same sizes: what both have in common has as many tokens in one as in the other."""
        tokens = list(size_request(other.layout, factor=self.calibration.factor).tokens)
        common = self.prompt.prefixes.common_blocks(other)
        for ours, theirs in zip(self.prompt.seen[:common], other.seen[:common], strict=True):
            tokens[theirs] = self.request.tokens[ours]
        return prompt_of(SizedRequest(other.layout, tuple(tokens)), other)


def counted_sizes(prefixes: Prefixes, counted: Sequence[Counted], profile: Profile) -> CountedSizes:
    """The request with the sizes that these others teach, in the order in which they were sent: the newest counts."""
    usable = [item for item in counted if not item.usage.estimated]
    calibration = calibrate(
        (sum(block.tokens for block in item.layout.blocks if not block.deferred), item.usage.input) for item in usable
    )
    layout = prefixes.layout
    prompt = prompt_of(size_request(layout, factor=calibration.factor), prefixes)
    known: dict[int, int] = {}
    for item in usable:
        known |= _known(item, prompt, profile, calibration)
    rising = _rising(known)
    tokens = list(prompt.request.tokens)
    start, before = 0, 0
    for end, counted_tokens in rising.items():
        inside = prompt.seen[start:end]
        for index, size in zip(
            inside,
            divided(counted_tokens - before, [layout.blocks[index].tokens for index in inside]),
            strict=True,
        ):
            tokens[index] = size
        start, before = end, counted_tokens
    return CountedSizes(prompt_of(SizedRequest(layout, tuple(tokens)), prefixes), rising, calibration)


def _known(item: Counted, prompt: Prompt, profile: Profile, calibration: Calibration) -> dict[int, int]:
    """The prefixes of the prompt whose size a provider's count of this request tells."""
    other = prompt_of(size_request(item.layout, factor=calibration.factor), item.prefixes)
    common = common_blocks(other, prompt)
    usage = item.usage
    known: dict[int, int] = {}
    if common == len(other.seen):
        known[common] = usage.input - other.live
    # What is written behind the entry that was read is told by some servers only.
    told = profile.usage is UsageMeaning.UNMARKED or usage.written
    ends = [end for end, _ in other.ends(profile)] if profile.markers is not MarkerKind.NONE else []
    if ends and ends[-1] <= common and told and profile.cache_step == 1 and usage.cached + usage.written <= usage.input:
        known[ends[-1]] = usage.cached + usage.written
    return {length: tokens for length, tokens in known.items() if length and tokens > 0}


def _rising(known: Mapping[int, int]) -> dict[int, int]:
    """Of figures that contradict each other, those of the shorter prefixes."""
    rising: dict[int, int] = {}
    most = 0
    for length, tokens in sorted(known.items()):
        if tokens > most:
            rising[length] = most = tokens
    return rising


def divided(total: int, shares: Sequence[int]) -> list[int]:
    """The total in whole numbers, in proportion to the shares."""
    whole, done, given = sum(shares), 0, 0
    sizes = []
    for share in shares:
        done += share
        upto = total * done // whole if whole else 0
        sizes.append(upto - given)
        given = upto
    if sizes:
        sizes[-1] += total - given
    return sizes
