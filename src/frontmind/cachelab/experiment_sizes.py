"""The sizes of requests of one series: by estimate at first, and by what the provider counted as soon as it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from frontmind.cachelab.prefixes import Prompt, prompt_of
from frontmind.cachelab.sizing import SizedRequest
from frontmind.providers.profiles.profile import MarkerKind, Profile
from frontmind.values.usage import Usage
from frontmind.window.layout import Layout

# A count outside of these is of something else than what was estimated.
_LEAST, _MOST = 0.6, 1.6
# No tokenizer is further from the estimate: what is said then is no count of this prompt.
_LEAST_FACTOR, _MOST_FACTOR = 0.25, 4.0


class KnownSizes:
    """What is known of the sizes of prefixes.

    Args:
        profile: the model's.

    Attributes:
        factor: how many tokens the provider counts for one of our estimate.
    """

    def __init__(self, profile: Profile) -> None:
        self.factor = 1.0
        self._profile = profile
        self._known: dict[bytes, int] = {}
        self._counts = [0, 0]

    def size(self, layout: Layout) -> SizedRequest:
        """The request with the sizes of its blocks: prefixes that were counted have exactly what was counted."""
        sized = _estimated(layout, self.factor)
        prompt = prompt_of(sized)
        tokens = list(sized.tokens)
        total, since = 0, 0
        for place in range(1, len(prompt.seen) + 1):
            known = self._known.get(prompt.keys[place])
            if known is not None and known >= total:
                _spread(tokens, prompt.seen[since:place], known - total)
                total, since = known, place
        return replace(sized, tokens=tuple(tokens))

    def learn(self, layout: Layout, usage: Usage) -> None:
        """Remember what the provider counted for a request, and for its prefix up to its last marked end."""
        prompt = prompt_of(_estimated(layout))
        if usage.estimated or not _LEAST_FACTOR <= usage.input / max(1, prompt.total) <= _MOST_FACTOR:
            return
        self._counts = [self._counts[0] + usage.input, self._counts[1] + prompt.total]
        self.factor = self._counts[0] / self._counts[1]
        if not any(block.cleared for block in layout.blocks):
            self._note(prompt, len(prompt.seen), usage.input)
        ends = [end for end, _ in prompt.ends(self._profile)]
        if ends and self._profile.markers is not MarkerKind.NONE:
            self._note(prompt, ends[-1], usage.cached + usage.written)

    def _note(self, prompt: Prompt, blocks: int, tokens: int) -> None:
        if _LEAST <= tokens / max(1.0, prompt.sums[blocks] * self.factor) <= _MOST:
            self._known[prompt.keys[blocks]] = tokens


def _estimated(layout: Layout, factor: float = 1.0) -> SizedRequest:
    """By estimate, with a notification center as plain text: how a rule of sixty characters is counted differs so much
    between tokenizers that it would spoil the factor.
    """
    plain = [
        min(block.tokens, len(block.text) // 4 + 1) if block.in_center else block.tokens for block in layout.blocks
    ]
    return SizedRequest(layout, tuple(round(tokens * factor) for tokens in plain))


def _spread(tokens: list[int], places: Sequence[int], total: int) -> None:
    """Make these sizes add up to what was counted, each by the same factor."""
    estimated = sum(tokens[place] for place in places)
    for place in places:
        tokens[place] = tokens[place] * total // max(1, estimated)
    tokens[places[-1]] += total - sum(tokens[place] for place in places)
