"""What a provider's cache does with a series of requests, by the documented rules of its profile.

A model of the rules, nothing more: one client's entries, no eviction, no other machine. The clock comes with each
request. Where an engine tells exactly, its answer is better (`Model.expected_cached`).
"""

from __future__ import annotations

from datetime import datetime

from frontmind.cachelab.marked import Found, MarkedCache
from frontmind.cachelab.outcome import Expectation, Outcome
from frontmind.cachelab.prefixes import Prompt, prompt_of
from frontmind.cachelab.sizing import SizedRequest
from frontmind.cachelab.unmarked import UnmarkedCache
from frontmind.cachelab.verdicts import Before, kept_of, verdict
from frontmind.providers.profiles.profile import Caching, MarkerKind, Profile


class CacheSimulator:
    """The cache of one model.

    Args:
        profile: its rules.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._marked = MarkedCache(profile) if _has_entries(profile) else None
        self._unmarked = UnmarkedCache(profile) if profile.caching in _WITHOUT_MARKERS else None
        self._before: Before | None = None

    def expect(self, request: SizedRequest | Prompt, at: datetime) -> Outcome:
        """What the cache would do with this request at this moment. Changes nothing."""
        prompt = _as_prompt(request)
        return self._outcome(prompt, self._find(prompt, at))

    def note(self, request: SizedRequest | Prompt, at: datetime) -> None:
        """Know that this request was sent at that moment: `send`, where nobody asks what comes of it."""
        prompt = _as_prompt(request)
        self._keep(prompt, self._find(prompt, at), at, at)

    def send(
        self, request: SizedRequest, at: datetime, *, began: datetime | None = None, produced: tuple[int, ...] = ()
    ) -> Outcome:
        """What the cache does with this request, which is sent now: what it reads and writes lives on from then.

        Args:
            began: when its reply began, from which on it can be read; None for at once.
            produced: the tokens of its reply, for caches that hold them and where they are known.
        """
        prompt = prompt_of(request)
        found = self._find(prompt, at)
        outcome = self._outcome(prompt, found)
        self._keep(prompt, found, at, began or at, produced)
        return outcome

    def _keep(
        self, prompt: Prompt, found: Found, at: datetime, began: datetime, produced: tuple[int, ...] = ()
    ) -> None:
        if self._marked is not None:
            self._marked.note(prompt, found, at, began)
        if self._unmarked is not None:
            self._unmarked.note(prompt, found, at, began, produced)
        self._before = Before(prompt, found)

    def _find(self, prompt: Prompt, at: datetime) -> Found:
        if prompt.request.entry:
            return Found(0, prompt.request.entry, "the entry that the request names")
        marked = None if self._marked is None else self._marked.find(prompt, at)
        if self._unmarked is None:
            return marked or Found(0, 0, "this model caches nothing")
        # D: a request that says where it is cached is not read beyond that by what the provider caches by itself.
        if marked is not None and marked.tokens and prompt.ends(self._profile):
            return marked
        return self._unmarked.find(prompt, at)

    def _outcome(self, prompt: Prompt, found: Found) -> Outcome:
        by_ttl = self._marked.written(prompt, found) if self._marked is not None else ()
        written = sum(tokens for _, tokens in by_ttl)
        kept = kept_of(self._before, prompt, found, self._profile)
        return Outcome(
            read=found.tokens,
            written=written,
            fresh=prompt.total - found.tokens - written,
            written_by_ttl=by_ttl,
            blocks=_states(prompt, found.tokens, found.tokens + written),
            rule=found.rule,
            could=max(found.tokens, kept.tokens),
            verdict=verdict(self._before, prompt, found, kept, self._profile),
        )


def _as_prompt(request: SizedRequest | Prompt) -> Prompt:
    return request if isinstance(request, Prompt) else prompt_of(request)


_WITHOUT_MARKERS = frozenset({Caching.PREFIX, Caching.UNITS, Caching.CHECKPOINTS})


def _has_entries(profile: Profile) -> bool:
    return profile.markers is not MarkerKind.NONE or profile.caching is Caching.LAST_USER


def _states(prompt: Prompt, read: int, written: int) -> tuple[Expectation, ...]:
    blocks = prompt.layout.blocks
    last = max((block.message for block in blocks), default=-1)
    states: list[Expectation] = [
        Expectation.FRESH if block.cleared and block.message == last else Expectation.CLEARED for block in blocks
    ]
    for index, end in zip(prompt.seen, prompt.sums[1:], strict=True):
        states[index] = _state(end, read, written)
    return tuple(states)


def _state(end: int, read: int, written: int) -> Expectation:
    if end <= read:
        return Expectation.READ
    return Expectation.WRITTEN if end <= written else Expectation.FRESH
