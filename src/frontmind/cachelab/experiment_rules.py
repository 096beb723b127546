"""The rules that can be tried on a model, each with the requests that prove or disprove it, and how they are read.

Pure. Which rules matter, and what is expected, comes from the model's profile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import gcd
from typing import Final

from frontmind.cachelab.experiment_look_back import look_back_experiment
from frontmind.cachelab.experiment_windows import QUESTION, REPLY, Ground, next_turn, with_two_users
from frontmind.cachelab.experiments import (
    NO_FIGURES,
    READ_BACK,
    Experiment,
    Judged,
    Probe,
    Record,
    Seen,
    Verdict,
    cached_tokens,
    not_tried,
)
from frontmind.providers.profiles.profile import Caching, MarkerKind, OperatorMessages, Profile
from frontmind.values.message import assistant
from frontmind.values.parts import Voice
from frontmind.window.choice import Framing
from frontmind.window.window import Window

ALTERNATION: Final = "two users in a row"
MINIMUM: Final = "minimum"
MARKER: Final = "section changed"
SLIDE: Final = "next turn"
OUTPUT: Final = "reply held too"
STEP: Final = "step of the figures"
LIFETIME: Final = "lifetime"

_ABOVE, _BELOW, _FAR_ABOVE = 1.3, 0.75, 2.6
"""The sizes that are tried, in multiples of the minimum: far enough from it for a size that is only estimated."""
_LEAST_PREFIX: Final = 240
# Half of the prefix, or more, is what a rule that does not hold takes away.
_SHARE, _LEAST_DISTANCE = 0.15, 64
# Below these, so many figures share a divisor by chance.
_LEAST_STEPS: Final = {2: 32}
_LEAST_STEP: Final = 16
_COUNTING: Final = "Count from one to ten in words."
_BY_ITSELF: Final = frozenset({Caching.PREFIX, Caching.UNITS, Caching.CHECKPOINTS})


def framing_rule(framing: Framing) -> str:
    """The name of the rule that a framing is accepted."""
    return f"framing {framing.value}"


def acceptance(profile: Profile, ground: Ground) -> tuple[Experiment, ...]:
    """What is accepted at all: every framing that the profile allows, that of the ground first, and two messages of
    one role in a row. All of them are judged together.
    """
    framings = sorted(profile.framings, key=lambda framing: (framing is not ground.choice.framing, framing.value))
    tried = [
        Experiment(
            framing_rule(framing),
            (Probe(ground.framed(framing).small()),),
            partial(_judge_framing, framing, tuple(framings), profile),
        )
        for framing in framings
    ]
    pair = Probe(ground.pair(), edit=with_two_users)
    return (*tried, Experiment(ALTERNATION, (pair,), partial(_judge_alternation, profile)))


def accepted_framing(profile: Profile, own: Framing, record: Record) -> Framing | None:
    """The first framing that was accepted, ``own`` if it was; None when none was."""
    framings = sorted(profile.framings, key=lambda framing: (framing is not own, framing.value))
    return next((framing for framing in framings if _accepted(record, framing)), None)


def caching(profile: Profile, ground: Ground) -> tuple[Experiment, ...]:
    """What the cache does. Each experiment builds on the entries of those before; run them in this order."""
    if profile.markers is MarkerKind.NONE and profile.caching is Caching.NONE:
        why = "by its profile this model caches nothing; say otherwise with --profile caching=prefix"
        return (Experiment(READ_BACK, (), lambda record: not_tried(why)),)
    least = profile.min_cached_tokens
    tokens = max(round(_ABOVE * least), _LEAST_PREFIX)
    base = ground.window(tokens)
    tried = [_read_back(profile, ground, base)]
    if least:
        tried.append(_minimum(profile, ground, least))
    changed = Probe(ground.window(tokens, state="two"))
    if profile.markers is not MarkerKind.NONE or profile.caching in _BY_ITSELF:
        tried.append(
            Experiment(MARKER, (changed,), partial(_judge_read, MARKER, profile), partial(_nothing_read, profile))
        )
    following = Probe(next_turn(base, assistant(REPLY), QUESTION, state="three"))
    tried.append(
        Experiment(SLIDE, (following,), partial(_judge_slide, ground, profile), partial(_nothing_read, profile))
    )
    if profile.markers is not MarkerKind.NONE and profile.look_back is not None:
        tried.append(look_back_experiment(ground, tokens, profile.look_back, partial(_nothing_read, profile)))
    if profile.markers is MarkerKind.NONE:
        tried.append(_output(profile, ground, tokens))
        tried.append(Experiment(STEP, (), partial(_judge_step, profile), partial(_nothing_read, profile)))
    if profile.ttls or profile.lifetime:
        lasts = profile.ttls[0] if profile.ttls else f"{profile.lifetime} s"
        tried.append(Experiment(LIFETIME, (), lambda record: not_tried("it would have to pass", expected=lasts)))
    return tuple(tried)


def _accepted(record: Record, framing: Framing) -> bool:
    return any(seen.usage is not None for seen in record.get(framing_rule(framing), ()))


def _judge_framing(framing: Framing, order: Sequence[Framing], profile: Profile, record: Record) -> Judged:
    (seen,) = record[framing_rule(framing)]
    if seen.usage is not None:
        return Judged(Verdict.HOLDS, "accepted", "accepted")
    if not seen.refused:
        return not_tried(seen.error, expected="accepted")
    other = next((item for item in order if _accepted(record, item)), None)
    if other is None and all(one.usage is None for one in record.get(ALTERNATION, ())):
        return not_tried(f"nothing at all was accepted ({seen.error})", expected="accepted")
    facts: dict[str, object] = {}
    if other is not None and framing.has_operator_message:
        facts["operator_messages"] = OperatorMessages.NONE
    if other is not None and framing is profile.framing:
        lenient = next((item for item in order if _accepted(record, item) and not item.has_operator_message), None)
        if lenient is None:
            return Judged(Verdict.BROKEN, "accepted", "refused", seen.error)
        facts["framing"] = lenient if framing.has_operator_message else other
    return Judged(Verdict.BROKEN, "accepted", "refused", seen.error, facts)


def _judge_alternation(profile: Profile, record: Record) -> Judged:
    (seen,) = record[ALTERNATION]
    known = not profile.alternate_roles or "alternate_roles" in profile.sources
    expected = ("refused" if profile.alternate_roles else "accepted") if known else "not known"
    if seen.usage is None and not seen.refused:
        return not_tried(seen.error, expected=expected)
    if seen.refused and not any(_accepted(record, framing) for framing in profile.framings):
        return not_tried("nothing at all was accepted", expected=expected)
    shown = "refused" if seen.refused else "accepted"
    if not known:
        return Judged(Verdict.FOUND, expected, shown, facts={"alternate_roles": seen.refused})
    if seen.refused == profile.alternate_roles:
        return Judged(Verdict.HOLDS, expected, shown)
    return Judged(Verdict.BROKEN, expected, shown, seen.error, {"alternate_roles": seen.refused})


def _read_back(profile: Profile, ground: Ground, base: Window) -> Experiment:
    again = [Probe(base), Probe(base, when=_still_missing(2))][: _repeats(profile)]
    larger = []
    if profile.min_cached_tokens:
        window = ground.window(round(_FAR_ABOVE * profile.min_cached_tokens), name="large")
        larger = [Probe(window, when=_nothingcached_tokens(2)), Probe(window, when=_nothingcached_tokens(3))]
    return Experiment(READ_BACK, (Probe(base), *again, *larger), partial(_judge_read_back, profile))


def _still_missing(sent: int) -> Callable[[Record], bool]:
    def missing(record: Record) -> bool:
        seen = record.get(READ_BACK, ())
        return len(seen) >= sent and all(one.figures is not None and not one.figures.cached for one in seen[1:])

    return missing


def _nothingcached_tokens(sent: int) -> Callable[[Record], bool]:
    """Whether neither a read nor a write was seen of the prefix so far."""

    def nothing(record: Record) -> bool:
        seen = record.get(READ_BACK, ())
        return len(seen) >= sent and all(
            one.figures is not None and not one.figures.cached and not one.figures.written for one in seen
        )

    return nothing


def _judge_read_back(profile: Profile, record: Record) -> Judged:
    seen = record[READ_BACK]
    failed = next((one for one in seen if one.usage is None), None)
    if failed is not None:
        return not_tried(failed.error)
    first, *again = seen
    if first.figures is None or any(one.figures is None for one in again):
        return not_tried(NO_FIGURES)
    base, larger = again[: _repeats(profile)], again[_repeats(profile) :]
    best = max(base, key=cached_tokens)
    expected, shown = f"{best.expected:,} read", f"{cached_tokens(best):,} read"
    if agrees(best, profile):
        return Judged(Verdict.HOLDS, expected, shown)
    kept = [max(one.figures.cached, one.figures.written) for one in larger if one.figures is not None]
    if any(kept):
        size = first.figures.input
        why = f"a prompt of {size:,} tokens is not cached, a longer one is"
        return Judged(Verdict.BROKEN, expected, shown, why, {"min_cached_tokens": max(kept)})
    if cached_tokens(best):
        return Judged(Verdict.BROKEN, expected, shown, "another part of it is read than the rules say")
    if profile.markers is MarkerKind.NONE:
        return Judged(Verdict.BROKEN, expected, shown, "nothing is read", {"caching": Caching.NONE})
    written = first.figures.written
    what = "it is written, and not read" if written else "it is neither written nor read"
    return Judged(Verdict.BROKEN, expected, shown, what)


def _nothing_read(profile: Profile, record: Record) -> str:
    """Why nothing further about reading can be tried."""
    same = record.get(READ_BACK, ())[: 1 + _repeats(profile)]
    return "" if any(map(cached_tokens, same)) else "nothing was read back"


def _repeats(profile: Profile) -> int:
    """How often the same prefix is sent again: a cache that nobody asks for gives no guarantee, so that one miss proves
    nothing.
    """
    return 1 if profile.caching is Caching.NONE else 2


def _minimum(profile: Profile, ground: Ground, least: int) -> Experiment:
    window = ground.window(round(_BELOW * least), name="small")
    unwritten = _nothing_yet(MINIMUM)
    return Experiment(
        MINIMUM,
        (Probe(window), Probe(window, when=unwritten)),
        partial(_judge_minimum, least),
        partial(_nothing_read, profile),
    )


def _nothing_yet(rule: str) -> Callable[[Record], bool]:
    return lambda record: all(one.figures is not None and not one.figures.written for one in record.get(rule, ()))


def _judge_minimum(least: int, record: Record) -> Judged:
    seen = record[MINIMUM]
    expected = f"nothing below {least:,}"
    failed = next((one for one in seen if one.usage is None), None)
    if failed is not None:
        return not_tried(failed.error, expected=expected)
    figures = [one.figures for one in seen if one.figures is not None]
    if len(figures) < len(seen):
        return not_tried(NO_FIGURES, expected=expected)
    size = figures[-1].input
    kept = max(max(usage.cached, usage.written) for usage in figures)
    if size >= least:
        return not_tried(f"the prompt came out at {size:,} tokens; run it again", expected=expected)
    if not kept:
        return Judged(Verdict.HOLDS, expected, f"nothing of {size:,}")
    why = "what is smaller was not tried"
    return Judged(Verdict.BROKEN, expected, f"{kept:,} of {size:,}", why, {"min_cached_tokens": kept})


def _judge_read(rule: str, profile: Profile, record: Record) -> Judged:
    """Whether as much was read as the rules say."""
    seen = record[rule][-1]
    expected = f"{seen.expected:,} read"
    if seen.usage is None:
        return not_tried(seen.error, expected=expected)
    if seen.figures is None:
        return not_tried(NO_FIGURES, expected=expected)
    verdict = Verdict.HOLDS if agrees(seen, profile) else Verdict.BROKEN
    return Judged(verdict, expected, f"{cached_tokens(seen):,} read")


def _judge_slide(ground: Ground, profile: Profile, record: Record) -> Judged:
    judged = _judge_read(SLIDE, profile, record)
    (seen,) = record[SLIDE]
    if judged.verdict is not Verdict.BROKEN or cached_tokens(seen) >= seen.expected:
        return judged
    slides = not ground.choice.framing.keeps(Voice.USER)
    facts: dict[str, object] = {}
    if slides and _accepted(record, Framing.APPEND):
        facts["framing"] = Framing.APPEND
    why = "what stood in front of the section is another prefix without it" if slides else ""
    return Judged(Verdict.BROKEN, judged.expected, judged.seen, why, facts)


def _output(profile: Profile, ground: Ground, tokens: int) -> Experiment:
    counting = next_turn(ground.window(tokens, name="reply", state=""), assistant(REPLY), _COUNTING)
    probes = (Probe(counting), Probe(counting, follows=QUESTION))
    return Experiment(OUTPUT, probes, partial(_judge_output, profile), partial(_nothing_read, profile))


def _judge_output(profile: Profile, record: Record) -> Judged:
    known = "caches_output" in profile.sources
    expected = ("with the reply" if profile.caches_output else "without the reply") if known else "not known"
    seen = record[OUTPUT]
    failed = next((one for one in seen if one.usage is None), None)
    if failed is not None:
        return not_tried(failed.error, expected=expected)
    figures = [one.figures for one in seen if one.figures is not None]
    if len(figures) < 2:
        return not_tried(NO_FIGURES, expected=expected)
    prompt, reply, read = figures[0].input, figures[0].output, figures[1].cached
    step = max(profile.cache_step, _common_step(record))
    if reply < 2 * step or reply < 4:
        return not_tried(f"a reply of {reply} tokens is too short for figures in steps of {step}", expected=expected)
    if read < prompt - max(step, prompt // 10):
        return not_tried(f"{read:,} of the {prompt:,} tokens in front of the reply were read", expected=expected)
    held = read >= prompt + reply // 2
    shown = f"{read:,} read, {prompt:,} without it"
    if not known:
        return Judged(Verdict.FOUND, expected, shown, facts={"caches_output": held})
    if held == profile.caches_output:
        return Judged(Verdict.HOLDS, expected, shown)
    return Judged(Verdict.BROKEN, expected, shown, facts={"caches_output": held})


def _judge_step(profile: Profile, record: Record) -> Judged:
    step, reads, common = profile.cache_step, _reads(record), _common_step(record)
    expected = f"multiples of {step}" if step > 1 else "any figure"
    if len(reads) < 2:
        return not_tried("too few different figures were reported", expected=expected)
    shown = f"multiples of {common:,}" if common > 1 else "any figure"
    if gcd(*reads) % step == 0 and (step > 1 or common == 1):
        return Judged(Verdict.HOLDS, expected, expected)
    verdict = Verdict.BROKEN if "cache_step" in profile.sources else Verdict.FOUND
    return Judged(verdict, expected, shown, facts={"cache_step": common})


def _reads(record: Record) -> list[int]:
    return sorted({cached_tokens(one) for seen in record.values() for one in seen if cached_tokens(one)})


def _common_step(record: Record) -> int:
    """What all figures so far are multiples of; 1 where that may be by chance."""
    reads = _reads(record)
    common = gcd(*reads)
    return common if len(reads) > 1 and common >= _LEAST_STEPS.get(len(reads), _LEAST_STEP) else 1


def agrees(seen: Seen, profile: Profile) -> bool:
    """Whether as much was read as expected: to the token where an engine said so itself, otherwise as near as the
    sizes are known.
    """
    distance = abs(cached_tokens(seen) - seen.expected)
    return distance <= (0 if seen.exact else max(profile.cache_step, _LEAST_DISTANCE, round(_SHARE * seen.expected)))
