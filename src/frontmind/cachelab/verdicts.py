"""Why a prompt is not read as far as it could be: against the request before it, by what differs first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from frontmind.cachelab.marked import Found
from frontmind.cachelab.prefixes import AREAS, Prompt, common_blocks
from frontmind.cachelab.unmarked import last_user_start, whole_steps
from frontmind.providers.profiles.profile import Caching, MarkerKind, Profile
from frontmind.values.calls import CacheVerdict, Cause
from frontmind.window.difference import Kind, compare, excerpts, named, open_turn
from frontmind.window.layout import TOOL, Area, Block, Setting

_NOT_READ: Final = CacheVerdict(Cause.NOTHING)


@dataclass(frozen=True, slots=True)
class Before:
    """The request before, and what the cache had of it."""

    prompt: Prompt
    found: Found


@dataclass(frozen=True, slots=True)
class Kept:
    """What the request before has left in the cache for good: a prefix of its blocks, and its tokens."""

    blocks: int
    tokens: int


def kept_of(before: Before | None, prompt: Prompt, found: Found, profile: Profile) -> Kept:
    """What could be read of the request before: not what passes by nature, such as a section that slides away."""
    if before is None:
        return Kept(0, 0)
    last = before.prompt
    if _cached(before, len(last.seen), profile) <= found.blocks:
        return Kept(found.blocks, found.tokens)
    blocks = _cached(before, _durable(last, prompt), profile)
    tokens = (prompt if blocks <= common_blocks(last, prompt) else last).sums[blocks]
    if profile.caching in (Caching.PREFIX, Caching.UNITS, Caching.CHECKPOINTS):
        tokens = whole_steps(tokens, prompt, profile)
    tokens = min(tokens, prompt.sums[-1])
    return Kept(blocks, tokens) if blocks and tokens >= profile.min_cached_tokens else Kept(0, 0)


def _cached(before: Before, durable: int, profile: Profile) -> int:
    """How many of the blocks that last the cache holds in a form that can be read again."""
    last = before.prompt
    ends: list[int] = []
    if profile.markers is not MarkerKind.NONE or profile.caching is Caching.LAST_USER:
        ends = [end for end, _ in last.ends(profile)]
    if profile.caching is Caching.PREFIX and not ends:
        return durable
    if profile.caching is Caching.UNITS:
        ends = [before.found.blocks, len(last.seen)]
    if profile.caching is Caching.CHECKPOINTS:
        ends = [before.found.blocks, last_user_start(last), len(last.seen)]
    return max((end for end in ends if end <= durable), default=0)


def _durable(last: Prompt, prompt: Prompt) -> int:
    """The length in blocks of what this request should have as it was."""
    old, new = open_turn(last.blocks), open_turn(prompt.blocks)
    if new.in_loop and old.start == new.start:
        # Within a turn nothing moves, whatever passes when it ends.
        return len(last.seen)
    difference = compare(last.prefixes.cacheable, prompt.prefixes.cacheable)
    if difference.kind is Kind.EXTENDED:
        return difference.kept
    return min((index for index in old.passing if last.blocks[index].in_center), default=len(last.seen))


def verdict(before: Before | None, prompt: Prompt, found: Found, kept: Kept, profile: Profile) -> CacheVerdict:
    """Why less is read than could be.

    Args:
        before: the request before; None where there was none.
        found: what is read.
        kept: what could be.
    """
    if before is None:
        if found.tokens or not _caches(profile):
            return _NOT_READ
        if found.cause is Cause.MINIMUM:
            return CacheVerdict(Cause.MINIMUM, 0, found.rule)
        return CacheVerdict(Cause.FIRST, 0, "nothing of this conversation was sent to this model before")
    lost = kept.tokens - found.tokens
    if lost <= 0:
        return CacheVerdict(Cause.MINIMUM, 0, found.rule) if found.cause is Cause.MINIMUM else _NOT_READ
    last = before.prompt
    if last.layout.model != prompt.layout.model:
        reason = f"the model is another one: {prompt.layout.model} after {last.layout.model}"
        return CacheVerdict(Cause.MODEL, lost, reason, before=last.layout.model, after=prompt.layout.model)
    common = common_blocks(last, prompt)
    if kept.blocks <= common:
        # The prefix is as it was: it is the cache that no longer has it, or cannot reach it.
        return CacheVerdict(found.cause, lost, found.rule) if found.cause is not Cause.NOTHING else _NOT_READ
    if found.cause is Cause.EXPIRED and not found.tokens:
        # What has not moved is too old as well, so all would be gone in any case.
        return CacheVerdict(Cause.EXPIRED, lost, found.rule)
    changed = _changed_settings(last, prompt, common)
    if changed:
        return _settings_verdict(changed, lost)
    return _moved(last, prompt, common, lost)


def _caches(profile: Profile) -> bool:
    return profile.caching is not Caching.NONE or profile.markers is not MarkerKind.NONE


def _changed_settings(last: Prompt, prompt: Prompt, common: int) -> list[tuple[str, bytes, bytes]]:
    """The settings that differ, where they and not the first different block begin the difference."""
    old, new = _at(last, common), _at(prompt, common)
    if old is None or new is None or old.key != new.key:
        return []
    told = AREAS[: AREAS.index(new.area) + 1]
    before, after = _settings(last.layout.settings, told), _settings(prompt.layout.settings, told)
    names = sorted({*before, *after})
    return [
        (name, before.get(name, b""), after.get(name, b"")) for name in names if before.get(name) != after.get(name)
    ]


def _settings(settings: tuple[Setting, ...], areas: tuple[Area, ...]) -> dict[str, bytes]:
    return {setting.name: setting.value for setting in settings if setting.area in areas}


def _settings_verdict(changed: list[tuple[str, bytes, bytes]], lost: int) -> CacheVerdict:
    names = ", ".join(name for name, _, _ in changed)
    name, before, after = changed[0]
    if names == "images":
        reason = "there are images now, and none before" if after else "there are no images any more"
        return CacheVerdict(Cause.IMAGES, lost, reason, name)
    shown = excerpts(before.decode("utf-8", "replace"), after.decode("utf-8", "replace"))
    return CacheVerdict(Cause.PARAMETERS, lost, f"another {names} than in the request before", name, *shown)


def _moved(last: Prompt, prompt: Prompt, common: int, lost: int) -> CacheVerdict:
    old, new = _at(last, common), _at(prompt, common)
    block = new or old
    assert block is not None
    if TOOL in {item.kind for item in (old, new) if item is not None}:
        return _tools_verdict(old, new, lost)
    before, after = excerpts(old.shown if old else "", new.shown if new else "")
    where = named(block)
    if old is not None and (new is None or new.key in {item.key for item in last.blocks[common + 1 :]}):
        where, reason = named(old), f"{named(old)} is gone"
    elif old is not None and old.key in {item.key for item in prompt.blocks[common + 1 :]}:
        reason = f"{where} was put in front of what was cached"
    else:
        reason = f"{where} is another one"
    return CacheVerdict(Cause.MOVED, lost, reason, where, before, after)


def _tools_verdict(old: Block | None, new: Block | None, lost: int) -> CacheVerdict:
    before, after = (item if item is not None and item.kind == TOOL else None for item in (old, new))
    block = after or before
    assert block is not None
    shown = excerpts(*(item.data.decode("utf-8", "replace") if item else "" for item in (before, after)))
    return CacheVerdict(Cause.TOOLS, lost, f"the tools changed at {named(block)}", named(block), *shown)


def _at(prompt: Prompt, index: int) -> Block | None:
    return prompt.blocks[index] if index < len(prompt.blocks) else None
