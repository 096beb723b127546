"""What a provider's cache should do with a request, by the rules of its profile and the request before it.

Pure, and only as good as the profile: whole blocks, one conversation, nobody else's entries. What an engine tells
exactly is better asked of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from frontmind.providers.profiles.profile import TTL_SECONDS, Caching, MarkerKind, Profile
from frontmind.window.layout import TOOL_CALL, TOOL_RESULT, Area, Block, Layout

_DEFAULT_TTL = "5m"


class Expectation(StrEnum):
    """What becomes of a block in the cache.

    READ: it comes from the cache. WRITTEN: it is processed, and written at a price. FRESH: it is processed, and not
    written at a price. CLEARED: the model no longer sees it.
    """

    READ = "read"
    WRITTEN = "written"
    FRESH = "fresh"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What should happen to each block of a request.

    Attributes:
        expected: one for each block of the layout.
        reason: one line that says why so.
    """

    expected: tuple[Expectation, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """A request of the same conversation that was sent before.

    Attributes:
        seconds: the time since it was answered; None when it is not known.
    """

    layout: Layout
    seconds: float | None = None


def forecast(current: Layout, earlier: Sequence[Earlier], profile: Profile) -> Forecast:
    """What the cache should do with a request.

    Args:
        current: the request.
        earlier: the newest requests of the same conversation to the same model, the newest first.
        profile: the model's.
    """
    seen = [index for index, block in enumerate(current.blocks) if not block.cleared]
    blocks = [current.blocks[index] for index in seen]
    ends = _ends(blocks, current, profile)
    same = [item for item in earlier if (item.layout.wire, item.layout.model) == (current.wire, current.model)]
    read, reason = _read(blocks, ends, same, profile)
    write = max(ends, default=0) if profile.markers is not MarkerKind.NONE else 0
    if write and _tokens(blocks[:write]) < profile.min_cached_tokens:
        write, reason = 0, f"~{_tokens(blocks[:write])} tokens are less than the {profile.min_cached_tokens} it caches"
    expected = [_state(index, read, write) for index in range(len(blocks))]
    states = dict(zip(seen, expected, strict=True))
    last_message = max((block.message for block in current.blocks), default=-1)
    return Forecast(
        tuple(
            states.get(index) or (Expectation.FRESH if block.message == last_message else Expectation.CLEARED)
            for index, block in enumerate(current.blocks)
        ),
        reason,
    )


def _state(index: int, read: int, write: int) -> Expectation:
    if index < read:
        return Expectation.READ
    return Expectation.WRITTEN if index < write else Expectation.FRESH


def _ends(blocks: Sequence[Block], layout: Layout, profile: Profile) -> list[int]:
    """The lengths of the prefixes that this request asks, or leaves the provider, to write."""
    ends = [index + 1 for index, block in enumerate(blocks) if block.marker is not None]
    if layout.automatic is not None:
        ends.append(len(blocks))
    if profile.caching is Caching.LAST_USER and layout.implicit:
        users = [index + 1 for index, block in enumerate(blocks) if _ends_a_turn(block)]
        ends += users[-1:]
    return sorted(set(ends))


def _ends_a_turn(block: Block) -> bool:
    return block.area is Area.MESSAGES and (block.role == "user" or block.kind == TOOL_RESULT)


def _read(
    blocks: Sequence[Block], ends: Sequence[int], earlier: Sequence[Earlier], profile: Profile
) -> tuple[int, str]:
    if not earlier:
        return 0, "nothing of this conversation was sent to this model before"
    sent = [[block for block in item.layout.blocks if not block.cleared] for item in earlier]
    if profile.caching is Caching.PREFIX:
        longest = max(_common(one, blocks) for one in sent)
        return _enough(blocks, longest, profile, "the longest prefix that was sent before")
    if profile.caching is Caching.UNITS:
        # A unit is a whole input, or what two requests were found to have in common.
        units = [len(one) for one in sent if _common(one, blocks) == len(one)]
        units += [_common(one, two) for one, two in pairwise(sent)]
        whole = max((unit for unit in units if _common(sent[0], blocks) >= unit), default=0)
        if not whole:
            return 0, "no whole unit of the requests before is a prefix of this one"
        return _enough(blocks, whole, profile, "the longest unit of the requests before that is still a prefix")
    entries: list[tuple[int, bool]] = []
    for one, item in zip(sent, earlier, strict=True):
        common = _common(one, blocks)
        for end in _ends(one, item.layout, profile):
            if end <= common:
                alive = item.seconds is None or item.seconds <= _lifetime(one, end, profile)
                entries.append((end, alive))
    if not entries:
        if profile.markers is MarkerKind.NONE:
            return 0, "this model caches nothing"
        return 0, "no entry of the requests before is a prefix of this one"
    if not any(alive for _, alive in entries):
        return 0, "the entries of the requests before are older than their lifetime"
    reach = [entry for entry, alive in entries if alive and any(_in_reach(blocks, entry, end, profile) for end in ends)]
    if not reach:
        return 0, "no entry of the requests before is within reach of a marker"
    return _enough(blocks, max(reach), profile, "the newest entry of the requests before that is still a prefix")


def _enough(blocks: Sequence[Block], length: int, profile: Profile, reason: str) -> tuple[int, str]:
    tokens = _tokens(blocks[:length])
    if 0 < tokens < profile.min_cached_tokens:
        return 0, f"~{tokens} tokens are less than the {profile.min_cached_tokens} it caches"
    return length, reason


def _common(one: Sequence[Block], two: Sequence[Block]) -> int:
    for index, (left, right) in enumerate(zip(one, two, strict=False)):
        if left.key != right.key:
            return index
    return min(len(one), len(two))


def _lifetime(blocks: Sequence[Block], end: int, profile: Profile) -> float:
    marker = blocks[end - 1].marker
    named = marker.ttl if marker is not None else ""
    default = profile.ttls[0] if profile.ttls else _DEFAULT_TTL
    return TTL_SECONDS.get(named or default, TTL_SECONDS[_DEFAULT_TTL])


def _in_reach(blocks: Sequence[Block], entry: int, end: int, profile: Profile) -> bool:
    if entry > end:
        return False
    if profile.look_back is None:
        return True
    positions, run, place = 0, "", blocks[entry - 1].place
    for block in blocks[entry:end]:
        if block.place == place:
            # A further section of the same block.
            continue
        place = block.place
        kind = block.kind if block.kind in (TOOL_CALL, TOOL_RESULT) else ""
        if not (profile.look_back_joins_tools and kind and kind == run):
            positions += 1
        run = kind
    return positions < profile.look_back


def _tokens(blocks: Sequence[Block]) -> int:
    return sum(block.tokens for block in blocks)
