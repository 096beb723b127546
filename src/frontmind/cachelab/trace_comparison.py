"""The table of a replay: recordings in every layout that one model can take, beside what was recorded.

Pure; prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from frontmind.cachelab.trace_layouts import (
    AS_RECORDED,
    Row,
    Trust,
    candidates,
    recorded_row,
    replay,
    resent,
    resent_row,
    summed,
    trust_in,
)
from frontmind.cachelab.traces import Recording, models_of
from frontmind.continuum.exports.value import Problem
from frontmind.errors import UsageError
from frontmind.providers.prices import PriceOf
from frontmind.providers.profiles.profile import Caching, Mark, Profile
from frontmind.providers.profiles.resolve import resolve_profile

CACHE_FACTS = (
    "caching",
    "markers",
    "max_markers",
    "look_back",
    "look_back_joins_tools",
    "ttls",
    "lifetime",
    "min_cached_tokens",
    "cache_step",
    "caches_output",
    "read_price",
    "write_price",
    "long_write_price",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about the model's cache that no primary source says, or that nobody knows.

    Attributes:
        mark: how sure it is; None where no source says anything and a default is taken.
        source: where it is known from; empty where nowhere.
    """

    name: str
    value: str
    mark: Mark | None
    source: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What recordings come to by the rules of one model.

    Attributes:
        profile: of the model.
        recorded: what was recorded: the figures as they were, and the same requests by the rules of the model.
        layouts: what was said, in each layout.
        by_recording: the same for each recording by itself.
        trust: how far the rules of the recorded models are from what their providers counted.
        replayed: the recordings that the rows are of.
        problems: recordings that this model cannot take.
    """

    profile: Profile
    recorded: tuple[Row, ...]
    layouts: tuple[Row, ...]
    by_recording: tuple[tuple[str, tuple[Row, ...]], ...]
    trust: Trust
    replayed: tuple[Recording, ...]
    problems: tuple[Problem, ...]

    @property
    def name(self) -> str:
        """The full name of the model."""
        return f"{self.profile.provider}:{self.profile.model}".rstrip(":")

    @property
    def has_prices(self) -> bool:
        """Whether anybody says what cached tokens cost."""
        return "read_price" in self.profile.sources


def work_of(recordings: Sequence[Recording], profile: Profile) -> int:
    """How many calls a comparison plays."""
    calls = sum(len(stretch.counted) for recording in recordings for stretch in recording.stretches)
    return calls * len(candidates(profile))


def compare(
    recordings: Sequence[Recording],
    profile: Profile,
    *,
    price_of: PriceOf,
    played: Callable[[], None] = lambda: None,
) -> Comparison:
    """Replay the recordings in every layout that the model can take.

    Args:
        price_of: what a call costs.
        played: called after each call that was played.
    """
    layouts = candidates(profile)
    rows: list[tuple[Row, ...]] = []
    replayed: list[Recording] = []
    problems: list[Problem] = []
    for recording in recordings:
        if not recording.stretches:
            continue
        try:
            rows.append(
                tuple(replay(recording, profile, layout, price_of=price_of, played=played) for layout in layouts)
            )
        except UsageError as error:
            problems.append(Problem(recording.name, f"it cannot be replayed: {error}"))
            continue
        replayed.append(recording)
    own: list[Row] = []
    if replayed:
        own.extend(_recorded(replayed, profile, price_of))
    return Comparison(
        profile=profile,
        recorded=tuple(own),
        layouts=tuple(summed(column) for column in zip(*rows, strict=True)),
        by_recording=tuple((one.name, listed) for one, listed in zip(replayed, rows, strict=True)),
        trust=_trust(replayed),
        replayed=tuple(replayed),
        problems=tuple(problems),
    )


def _recorded(recordings: Sequence[Recording], profile: Profile, price_of: PriceOf) -> list[Row]:
    rows = []
    calls = [call for recording in recordings for call in recording.calls]
    for provider, model in models_of(recordings):
        is_own = (provider, model) == (profile.provider, profile.model)
        known = profile if is_own else resolve_profile(provider, model)
        name = AS_RECORDED if is_own else f"{AS_RECORDED} ({provider}:{model})"
        own = [call for call in calls if (call.provider, call.model) == (provider, model) and call.usage is not None]
        if own:
            rows.append(recorded_row(name, own, known, price_of=price_of))
    same = resent(recordings, profile)
    return [*rows, resent_row(same, profile, price_of=price_of)] if same else rows


def _trust(recordings: Sequence[Recording]) -> Trust:
    """The rules of each recorded model against its provider's figures."""
    found = []
    for provider, model in models_of(recordings):
        found += resent(recordings, resolve_profile(provider, model), only=(provider, model))
    return trust_in(found)


def unsure_facts(profile: Profile) -> list[Fact]:
    """The facts about the model's cache that are not from a primary source."""
    facts = []
    by_itself = profile.caching is not Caching.NONE
    guessed = ("read_price", *(("lifetime",) if by_itself else ()), *(("caching",) if not profile.max_markers else ()))
    for name in CACHE_FACTS:
        source = profile.sources.get(name)
        value = str(getattr(profile, name))
        if source is None:
            if name in guessed:
                facts.append(Fact(name, value, None, ""))
        elif source.mark is not Mark.VERIFIED:
            facts.append(Fact(name, value, source.mark, source.text))
    return facts
