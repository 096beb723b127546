"""Caches that need no marker: by the longest prefix, by whole units, or by checkpoints of a running state.

OpenAI up to GPT-5.5, Gemini, DeepSeek, llama.cpp, vLLM and SGLang. The facts are the profile's, with their sources;
what no source says is marked D here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

from frontmind.cachelab.marked import Found, too_small
from frontmind.cachelab.prefixes import Prompt, common_blocks
from frontmind.providers.profiles.profile import Caching, Profile
from frontmind.values.calls import Cause

# Where nobody says how many prompts are kept.
_MOST_KEPT: Final = 64


@dataclass(slots=True)
class _Sent:
    """A prompt that was sent.

    Attributes:
        ids: its tokens and those of the reply, where they are known.
        used: when it was sent, or read again.
        begun: when it can be read.
    """

    prompt: Prompt
    ids: tuple[int, ...]
    used: datetime
    begun: datetime


@dataclass(frozen=True, slots=True)
class _Held:
    """What is there at a moment: prompts that were sent, and the keys of whole units or checkpoints."""

    sent: Sequence[_Sent]
    ends: frozenset[bytes]


class UnmarkedCache:
    """The prompts that one model was sent last, and what of them can be read again."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._sent: deque[_Sent] = deque(maxlen=profile.slots or _MOST_KEPT)
        # The keys of units or of checkpoints, with the moment of the last use and that from which they can be read.
        self._ends: dict[bytes, tuple[datetime, datetime]] = {}

    def find(self, prompt: Prompt, at: datetime) -> Found:
        """The longest stretch of an earlier prompt, and its reply, that can be read again."""
        tokens, rule = self._longest(self._held(at, self._profile.lifetime), prompt)
        before, _ = self._longest(self._held(at, 0), prompt)
        if before > tokens:
            seconds = self._profile.lifetime
            return self._found(prompt, tokens, f"what nobody uses for {seconds:,} seconds is dropped", Cause.EXPIRED)
        return self._found(prompt, tokens, rule)

    def note(self, prompt: Prompt, found: Found, at: datetime, began: datetime, produced: tuple[int, ...] = ()) -> None:
        """Keep the prompt, and what it has in common with those before.

        Args:
            at: when it was sent.
            began: when its reply began.
            produced: the tokens of the reply, where they are known.
        """
        new: list[bytes] = []
        for sent in self._sent:
            shared = common_blocks(sent.prompt, prompt)
            if shared:
                new.append(prompt.keys[shared])
                if prompt.sums[shared] >= found.tokens > 0:
                    sent.used = max(sent.used, at)
        match self._profile.caching:
            case Caching.UNITS:
                new.append(prompt.keys[-1])
            case Caching.CHECKPOINTS:
                new = [prompt.keys[start] for start in (last_user_start(prompt),) if start]
                if self._profile.slots == 1:
                    # A state that is cut back loses the checkpoints behind the cut.
                    there = set(prompt.keys)
                    self._ends = {key: moments for key, moments in self._ends.items() if key in there}
            case _:
                new = []
        read = prompt.keys[found.blocks]
        if read in self._ends:
            self._ends[read] = (at, self._ends[read][1])
        for key in new:
            _, begun = self._ends.get(key, (at, began))
            self._ends[key] = (at, begun)
        self._sent.append(_Sent(prompt, prompt.request.ids + produced, at, began))

    def _held(self, at: datetime, lifetime: int) -> _Held:
        def holds(used: datetime, begun: datetime) -> bool:
            return begun <= at and (not lifetime or at - used <= timedelta(seconds=lifetime))

        sent = [sent for sent in self._sent if holds(sent.used, sent.begun)]
        return _Held(sent, frozenset(key for key, moments in self._ends.items() if holds(*moments)))

    def _found(self, prompt: Prompt, tokens: int, rule: str, cause: Cause = Cause.NOTHING) -> Found:
        if prompt.total < self._profile.min_cached_tokens:
            return Found(0, 0, too_small(prompt.total, self._profile), Cause.MINIMUM)
        tokens = whole_steps(tokens, prompt, self._profile)
        if 0 < tokens < self._profile.min_cached_tokens:
            return Found(0, 0, too_small(tokens, self._profile), Cause.MINIMUM)
        blocks = sum(1 for _ in takewhile(lambda end: end <= tokens, prompt.sums[1:])) if tokens else 0
        return Found(blocks, tokens, rule, cause)

    def _longest(self, held: _Held, prompt: Prompt) -> tuple[int, str]:
        if not held.sent:
            return 0, "nothing that was sent before is still there"
        whole = max((prompt.sums[length] for length in _lengths(held.ends, prompt)), default=0)
        match self._profile.caching:
            case Caching.UNITS:
                tokens = max(whole, *(self._whole(sent, prompt) for sent in held.sent))
                if not tokens:
                    return 0, "no whole unit of the requests before is a prefix of this one"
                return tokens, "the longest whole unit of the requests before that is a prefix"
            case Caching.CHECKPOINTS:
                tokens = max(whole, *(self._whole(sent, prompt) for sent in held.sent))
                if not tokens:
                    return 0, "no checkpoint of the requests before is a prefix of this one"
                return tokens, "the newest checkpoint of the requests before that is a prefix"
            case _:
                tokens = max(self._prefix(sent, prompt) for sent in held.sent)
                return tokens, "the longest prefix that was sent before"

    def _prefix(self, sent: _Sent, prompt: Prompt) -> int:
        if sent.ids and prompt.request.ids:
            return _common_tokens(sent.ids, prompt.request.ids)
        common = common_blocks(sent.prompt, prompt)
        if common == len(sent.prompt.seen):
            return self._whole(sent, prompt)
        return prompt.sums[common] + _in_part(sent.prompt, prompt, common)

    def _whole(self, sent: _Sent, prompt: Prompt) -> int:
        """The tokens of an earlier prompt that is there as a whole, and of its reply where the cache holds that too."""
        end = len(sent.prompt.seen)
        if common_blocks(sent.prompt, prompt) < end:
            return 0
        if self._profile.caches_output:
            behind = prompt.blocks[end:]
            end += sum(1 for _ in takewhile(lambda block: block.role == "assistant" and not block.in_center, behind))
        return prompt.sums[end]


def last_user_start(prompt: Prompt) -> int:
    """How many blocks stand in front of the last user message; 0 for none."""
    blocks = prompt.blocks
    starts = [
        index
        for index, block in enumerate(blocks)
        if block.role == "user" and (not index or blocks[index - 1].message != block.message)
    ]
    return starts[-1] if starts else 0


def whole_steps(tokens: int, prompt: Prompt, profile: Profile) -> int:
    """How many of these tokens a cache gives back: whole steps, and never the last token of a prompt, out of which the
    reply begins.
    """
    tokens = min(tokens, max(0, prompt.total - 1))
    return tokens - tokens % profile.cache_step


def _lengths(ends: frozenset[bytes], prompt: Prompt) -> Iterable[int]:
    return (length for length in range(1, len(prompt.keys)) if prompt.keys[length] in ends) if ends else ()


def _in_part(one: Prompt, prompt: Prompt, index: int) -> int:
    """About how many tokens the first different blocks have in common at their beginning (D: by their characters)."""
    if index >= len(one.blocks) or index >= len(prompt.blocks):
        return 0
    left, right = one.blocks[index], prompt.blocks[index]
    # The same block behind another setting begins with that setting.
    if left.key == right.key or not left.text or not right.text:
        return 0
    if (left.area, left.role, left.kind) != (right.area, right.role, right.kind):
        return 0
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left.text, right.text, strict=False)))
    return (prompt.sums[index + 1] - prompt.sums[index]) * same // len(right.text)


def _common_tokens(one: Sequence[int], two: Sequence[int]) -> int:
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        # What is known to be equal is not compared again.
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
