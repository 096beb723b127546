"""The prefixes of a request, each under a key: two requests have a prefix in common where their keys are equal.

Keys do not depend on sizes: of the same layout they are worked out once, in whichever sizes it is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from typing import Final

from frontmind.cachelab.sizing import SizedRequest
from frontmind.providers.profiles.profile import Caching, MarkerKind, Profile
from frontmind.window.layout import THINKING, TOOL_RESULT, Area, Block, Layout

AREAS: Final = (Area.TOOLS, Area.SYSTEM, Area.MESSAGES)
"""The areas of a request in the order in which a cache sees them."""

# OpenAI, prompt caching: the provider's own breakpoint stands on no instructions, which are no message.
_NO_MESSAGE: Final = "instructions"


@dataclass(frozen=True)
class Prefixes:
    """What a request can have in common with others, whatever its tokens are. Kept, it is worked out once."""

    layout: Layout

    @cached_property
    def seen(self) -> tuple[int, ...]:
        """The indices, in the layout, of the blocks that can be part of a prefix: a turn-scoped message never is, nor a
        tool that is loaded later.
        """
        blocks = self.layout.blocks
        return tuple(index for index, block in enumerate(blocks) if not (block.cleared or block.deferred))

    @cached_property
    def blocks(self) -> Sequence[Block]:
        """The blocks that can be part of a prefix."""
        return [self.layout.blocks[index] for index in self.seen]

    @cached_property
    def cacheable(self) -> Layout:
        """The layout with these blocks alone."""
        return replace(self.layout, blocks=tuple(self.blocks))

    @cached_property
    def keys(self) -> Sequence[bytes]:
        """A key for the prefix of each length in blocks, from 0 on: model, entry, settings and blocks up to there."""
        state = blake2b(digest_size=16)

        def add(*pieces: str | bytes) -> None:
            for piece in pieces:
                data = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
                state.update(len(data).to_bytes(8))
                state.update(data)

        add(self.layout.model, self.layout.entry)
        keys = [state.digest()]
        area = 0
        for block in self.blocks:
            while area <= AREAS.index(block.area):
                for setting in self.layout.settings:
                    if setting.area is AREAS[area]:
                        add(setting.name, setting.value)
                area += 1
            add(*block.key)
            keys.append(state.digest())
        return keys

    def ends(self, profile: Profile) -> list[tuple[int, str]]:
        """The prefixes, in blocks, that end where the request has a marker, or where the provider puts one by itself:
        each with the lifetime that is asked for, the shortest prefix first.
        """
        default = profile.ttls[0] if profile.ttls else ""
        marked = profile.markers is not MarkerKind.NONE
        ends: dict[int, str] = {}
        if marked:
            ends = {index + 1: block.marker.ttl or default for index, block in enumerate(self.blocks) if block.marker}
        automatic = self.layout.automatic
        if automatic is not None and marked:
            places = [index + 1 for index, block in enumerate(self.blocks) if block.kind != THINKING]
            for end in places[-1:]:
                ends.setdefault(end, automatic.ttl or default)
        if profile.caching is Caching.LAST_USER and self.layout.implicit:
            for end in self._own_breakpoint():
                ends.setdefault(end, default)
        return sorted(ends.items())

    def _own_breakpoint(self) -> Sequence[int]:
        """Where the provider's own breakpoint stands: the last user message or result of a tool, else the last message
        of the application in front of them all. None where there is neither.
        """
        spoken = [index + 1 for index, block in enumerate(self.blocks) if _ends_a_turn(block)]
        initial = [
            index + 1
            for index, block in enumerate(self.blocks)
            if block.area is Area.SYSTEM and not block.place.startswith(_NO_MESSAGE)
        ]
        return (spoken or initial)[-1:]

    def common_blocks(self, other: Prefixes) -> int:
        """The length in blocks of the longest prefix that two requests have in common, settings included."""
        low, high = 0, min(len(self.keys), len(other.keys)) - 1
        if self.keys[0] != other.keys[0]:
            return 0
        while low < high:
            middle = (low + high + 1) // 2
            if self.keys[middle] == other.keys[middle]:
                low = middle
            else:
                high = middle - 1
        return low


@dataclass(frozen=True)
class Prompt:
    """What a cache sees of a request, in tokens. Made by `prompt_of`."""

    request: SizedRequest
    prefixes: Prefixes

    @property
    def layout(self) -> Layout:
        return self.request.layout

    @property
    def seen(self) -> tuple[int, ...]:
        """The indices, in the layout, of the blocks that can be part of a prefix."""
        return self.prefixes.seen

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks that can be part of a prefix."""
        return self.prefixes.blocks

    @property
    def keys(self) -> Sequence[bytes]:
        """A key for the prefix of each length in blocks, from 0 on."""
        return self.prefixes.keys

    @cached_property
    def sums(self) -> Sequence[int]:
        """The tokens of the prefix of each length in blocks, from 0 on; a named entry stands in front."""
        return list(accumulate((self.request.tokens[index] for index in self.seen), initial=self.request.entry))

    @cached_property
    def live(self) -> int:
        """The tokens that the model sees behind all that can be a prefix: a turn-scoped message, and the tail."""
        last = max((block.message for block in self.layout.blocks), default=-1)
        return self.request.tail + sum(
            tokens
            for block, tokens in zip(self.layout.blocks, self.request.tokens, strict=True)
            if block.cleared and block.message == last
        )

    @property
    def total(self) -> int:
        """All tokens of the prompt."""
        return self.sums[-1] + self.live

    def ends(self, profile: Profile) -> list[tuple[int, str]]:
        """The prefixes, in blocks, that end at a marker, as `Prefixes.ends` has them."""
        return self.prefixes.ends(profile)


def prompt_of(request: SizedRequest, prefixes: Prefixes | None = None) -> Prompt:
    """The request as a cache sees it. Where its tokens themselves are known, the sizes are made to add up to them.

    Args:
        prefixes: those of the request's layout, where somebody has them already.
    """
    prefixes = prefixes or Prefixes(request.layout)
    return Prompt(_scaled(request, prefixes.seen) if request.ids else request, prefixes)


def _scaled(request: SizedRequest, seen: Sequence[int]) -> SizedRequest:
    whole, exact = sum(request.tokens[index] for index in seen) + request.tail, len(request.ids)
    sizes = [0] * len(request.tokens)
    done = given = 0
    for index in seen:
        done += request.tokens[index]
        upto = exact * done // whole if whole else 0
        sizes[index], given = upto - given, upto
    return replace(request, tokens=tuple(sizes), tail=exact - given, entry=0)


def common_blocks(one: Prompt, two: Prompt) -> int:
    """The length in blocks of the longest prefix that two requests have in common, settings included."""
    return one.prefixes.common_blocks(two.prefixes)


def _ends_a_turn(block: Block) -> bool:
    return block.area is Area.MESSAGES and (block.role == "user" or block.kind == TOOL_RESULT)
