"""What the cache should do with the next call of a conversation, from the calls before it as they were counted.

Only this conversation's calls are known: what other conversations of the same account have left in the cache is more
than is expected here, and never less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from frontmind.cachelab.counted import Counted, CountedSizes, counted_sizes
from frontmind.cachelab.outcome import Expectation, Outcome
from frontmind.cachelab.prefixes import Prefixes
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.providers.estimate import Calibration
from frontmind.providers.profiles.profile import MarkerKind, Profile, UsageMeaning
from frontmind.values.calls import CacheVerdict, Cause
from frontmind.values.usage import Usage
from frontmind.window.difference import open_turn
from frontmind.window.layout import Layout


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that was answered.

    Attributes:
        model: the model's full name.
        step: how many steps with tools its turn had made before it.
        replaced: whether the conversation goes on from before its turn: what it has left in the cache is there, but
            what only it had is not asked for any more.
    """

    model: str
    prefixes: Prefixes
    sent_at: datetime
    usage: Usage
    step: int = 0
    replaced: bool = False

    @property
    def layout(self) -> Layout:
        return self.prefixes.layout


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the cache should do with a call.

    Attributes:
        expected: tokens, without output.
        could: how many tokens earlier calls have left in the cache for good.
        verdict: why fewer are expected to be read.
        exact: whether the tokens to be read are known to the token, and not from estimated sizes.
        rule: the rule that decides, in one line.
        blocks: what becomes of each block of the request; empty where an engine's own figure stands.
        tokens: the size of each of them.
        calibration: what the sizes that nobody has counted are multiplied with.
    """

    expected: Usage
    could: int
    verdict: CacheVerdict
    exact: bool
    rule: str = ""
    blocks: tuple[Expectation, ...] = ()
    tokens: tuple[int, ...] = ()
    calibration: Calibration = field(default_factory=Calibration)


def predict(model: str, prefixes: Prefixes, past: Sequence[PastCall], profile: Profile, at: datetime) -> Prediction:
    """What the cache should do with a request that is sent now.

    Args:
        model: the full name of the model that is asked.
        prefixes: those of the request.
        past: the conversation's newest calls, of every model, in the order in which they were sent.
        profile: the model's.
    """
    same = [call for call in past if call.model == model]
    sizes = counted_sizes(prefixes, [Counted(call.prefixes, call.usage) for call in same], profile)
    wrote = [call for call in same if not _left_nothing(call.usage, profile)]
    simulator = CacheSimulator(profile)
    for call in wrote:
        simulator.note(sizes.alike(call.prefixes), call.sent_at)
    outcome = simulator.expect(sizes.prompt, at)
    verdict, could = outcome.verdict, outcome.could
    line = [call for call in past if not call.replaced]
    if len(line) < len(past):
        verdict, could = _without_replaced([call for call in wrote if not call.replaced], sizes, profile, at, outcome)
    another = _other_model(model, line[-1], sizes, outcome.read) if line and line[-1].model != model else None
    if another is not None:
        # The other model's cache had it: the same sum is missing from this one once it has answered.
        verdict, could = another, max(could, outcome.read + another.tokens)
    elif same and not wrote and verdict.cause is Cause.FIRST:
        verdict = _nothing_cached(max(call.usage.input for call in same), profile)
    exact = not outcome.read or outcome.read in sizes.known.values()
    sized = (outcome.blocks, sizes.request.tokens, sizes.calibration)
    return Prediction(outcome.usage, could, verdict, exact, outcome.rule, *sized)


def _without_replaced(
    wrote: Sequence[PastCall], sizes: CountedSizes, profile: Profile, at: datetime, outcome: Outcome
) -> tuple[CacheVerdict, int]:
    """Why less is read than could be, and how much could, where only the calls of turns that still count are missed."""
    simulator = CacheSimulator(profile)
    for call in wrote:
        simulator.note(sizes.alike(call.prefixes), call.sent_at)
    alone = simulator.expect(sizes.prompt, at)
    if alone.could <= outcome.read:
        return CacheVerdict(Cause.NOTHING), outcome.read
    return replace(alone.verdict, tokens=min(alone.verdict.tokens, alone.could - outcome.read)), alone.could


def _nothing_cached(largest: int, profile: Profile) -> CacheVerdict:
    """Why there is nothing to read although there were calls before, the largest of so many prompt tokens."""
    if largest < profile.min_cached_tokens:
        reason = "nothing was read or written in the calls before: their prompts were below the minimum"
        return CacheVerdict(Cause.MINIMUM, 0, f"{reason} of {profile.min_cached_tokens:,} tokens")
    reason = "the provider says that it has cached nothing of the calls before, though they were large enough"
    return CacheVerdict(Cause.EVICTED, 0, reason)


def told_by_engine(prediction: Prediction, tokens: int, *, prompt: int, exact: bool, before: int) -> Prediction:
    """The prediction with the figure of an engine that knows what it holds.

    Args:
        tokens: how many it says that it will take from its cache.
        prompt: the tokens of the whole prompt.
        exact: whether both are to the token.
        before: how many it took from it in the newest call that opened a turn; 0 where there was none. What later
            steps take holds a section that slides away.
    """
    expected = Usage(prompt, tokens, 0, 0, estimated=not exact)
    verdict, rules = prediction.verdict, prediction.expected.cached
    if verdict.tokens:
        lost = prediction.could - tokens
        verdict = replace(verdict, tokens=lost) if lost > 0 else CacheVerdict(Cause.NOTHING)
    elif verdict.cause is Cause.NOTHING and (tokens < before or tokens * 10 < rules - _tolerance(prompt)):
        # Sizes of blocks are no measure here: some chat templates leave tools out. What was held before is one.
        reason = "the engine no longer holds it: it was started anew, or was asked something else meanwhile"
        verdict = CacheVerdict(Cause.EVICTED, (before if tokens < before else rules) - tokens, reason)
    return Prediction(expected, max(prediction.could, tokens), verdict, exact, "the engine's own figure")


def _tolerance(prompt: int) -> int:
    """How far an estimate may be off before anything follows from it."""
    return max(prompt // 20, 64)


def _left_nothing(usage: Usage, profile: Profile) -> bool:
    """Whether the provider's own figures say that a call has put nothing into the cache."""
    told = profile.usage is UsageMeaning.UNMARKED and profile.markers is not MarkerKind.NONE
    return told and not usage.estimated and usage.cached + usage.written == 0


def _other_model(model: str, last: PastCall, sizes: CountedSizes, read: int) -> CacheVerdict | None:
    """What is lost because the call before went to another model; None where it had cached nothing."""
    if last.usage.estimated:
        return None
    kept = last.layout.blocks[: open_turn(last.layout.blocks).start]
    lost = sizes.calibration.corrected(sum(block.tokens for block in kept)) - read
    if lost <= 0:
        return None
    reason = f"the model is another one: {model} after {last.model}"
    return CacheVerdict(Cause.MODEL, lost, reason, before=last.model, after=model)


def judged(prediction: Prediction, actual: Usage, profile: Profile) -> CacheVerdict:
    """The verdict once the provider has counted. What it read less than the rules say has no cause that we can see;
    an estimate that is a little off is none.

    Args:
        actual: as the provider counted.
        profile: the model's.
    """
    before, expected = prediction.verdict, prediction.expected
    if actual.estimated:
        # The provider tells nothing.
        return before
    tolerance = 0 if prediction.exact else _tolerance(actual.input) + profile.cache_step - 1
    missing = expected.cached - actual.cached
    # What could have been read is an estimate, and never more than there was to process.
    lost = min(max(prediction.could, expected.cached) - actual.cached, actual.evaluated)
    if missing <= tolerance:
        if not before.tokens:
            return before
        return replace(before, tokens=lost) if lost > _tolerance(actual.input) else CacheVerdict(Cause.NOTHING)
    if not prediction.exact and not actual.cached and expected.cached <= profile.min_cached_tokens * 3 // 2:
        if before.tokens:
            # What was lost before is lost all the same, and the little that is missing beside it has no cause.
            return replace(before, tokens=lost)
        reason = f"about as many tokens as the least that is cached, which are {profile.min_cached_tokens:,}"
        return CacheVerdict(Cause.MINIMUM, 0, reason)
    reason = "nothing in the request explains it: another machine answered, or the provider dropped the entry"
    if before.tokens:
        reason += f"; beside that, {before.reason}"
    return CacheVerdict(Cause.EVICTED, lost, reason, before.place, before.before, before.after)
