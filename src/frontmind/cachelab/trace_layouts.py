"""What recordings took as they were made, and what they would have taken in each layout, by the rules of one model.

Pure. Layouts are made by the real encoder from what was said; prices come from whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Final

from frontmind.cachelab.baselines import IN_SYSTEM, sliding
from frontmind.cachelab.choosing import AutoLayout
from frontmind.cachelab.outcome import equivalents
from frontmind.cachelab.session import Chooser, Fixed, Plan, PlayedCall, Session, SessionTurn, Spelling, play
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.cachelab.traces import RecordedCall, Recording, Stretch
from frontmind.providers.prices import PriceOf
from frontmind.providers.profiles.profile import MarkerKind, Profile
from frontmind.values.message import Message
from frontmind.values.parts import Document, Image, Part, ProviderBlock, Text, ToolResult
from frontmind.values.tool import AnyTool, ProviderTool, Tool
from frontmind.values.usage import Usage, add_usages
from frontmind.window.choice import Framing
from frontmind.window.history import History
from frontmind.window.layout import Layout, Marker
from frontmind.window.window import Window

AUTO: Final = "Frontmind auto"
AS_RECORDED: Final = "as recorded"
SAME_REQUESTS: Final = "the same requests, simulated"

_NAMES: Final = {
    Framing.ASSISTANT: "slide (assistant)",
    Framing.USER_TEXT: "slide (user_text)",
    Framing.SYSTEM_CLEAR_AT: "clear_at",
    Framing.APPEND: "append",
    Framing.DEVELOPER: "developer",
}
_KINDS: Final = {
    MarkerKind.CACHE_CONTROL: "cache_control",
    MarkerKind.CACHE_POINT: "cachePoint",
    MarkerKind.BREAKPOINT: "prompt_cache_breakpoint",
}
_NEAR: Final = 0.05


@dataclass(frozen=True, slots=True)
class Candidate:
    """A layout that conversations can be replayed in.

    Attributes:
        name: for people.
        ttl: the lifetime that it asks for; empty where there is no choice.
        spelling: how a baseline's requests differ.
    """

    name: str
    ttl: str
    chooser: Callable[[], Chooser]
    spelling: Spelling = field(default_factory=Spelling)


@dataclass(frozen=True, slots=True)
class Row:
    """What the calls of a recording come to in one layout.

    Attributes:
        equivalents: what their prompts cost, in tokens at the price of an uncached input token.
        dollars: what their prompts cost; None where a price is not known.
        changes: how often the layout was changed.
    """

    name: str
    ttl: str
    calls: int
    usage: Usage
    equivalents: float
    dollars: Decimal | None
    changes: int = 0

    @property
    def hit_share(self) -> float:
        """The share of the prompt tokens that is read from the cache, from 0 to 1."""
        return self.usage.cached / self.usage.input if self.usage.input else 0.0


@dataclass(frozen=True, slots=True)
class Trust:
    """How far the rules are from what the provider really counted, for the requests as they were sent.

    Attributes:
        calls: those that the recording has both the request and the figures of.
        near: of these how many are read as far as expected, within 5 % of their prompt.
        expected, actual: tokens read, together.
        prompt: tokens of their prompts, together.
    """

    calls: int
    near: int
    expected: int
    actual: int
    prompt: int


def candidates(profile: Profile) -> tuple[Candidate, ...]:
    """The layouts that the model can take, the baseline first."""
    ttls = profile.ttls or ("",)
    fixed = [Candidate(IN_SYSTEM.name, ttl, _fixed(sliding(profile), ttl), IN_SYSTEM.spelling) for ttl in ttls]
    fixed += [
        Candidate(name, ttl, _fixed(framing, ttl))
        for framing, name in _NAMES.items()
        if framing in profile.framings
        for ttl in ttls
    ]
    return (*fixed, Candidate(AUTO, "", partial(AutoLayout, profile)))


def _fixed(framing: Framing, ttl: str) -> Callable[[], Chooser]:
    return lambda: Fixed(Plan(framing, ttl))


def replayed_calls(recording: Recording, profile: Profile, candidate: Candidate) -> Iterator[PlayedCall]:
    """The calls that the recording has, in this layout.

    Raises:
        UsageError: the model cannot take what was said.
    """
    cache = CacheSimulator(profile)
    for stretch in recording.stretches:
        fitted = _fitted(stretch, profile)
        open_profile = replace(profile, inputs=profile.inputs | _media_types(fitted))
        calls = play(
            fitted.session,
            open_profile,
            candidate.chooser(),
            spelling=_behind(fitted.given, candidate.spelling),
            factor=recording.factor,
            cache=cache,
        )
        for call in calls:
            if (call.turn, call.step) in stretch.counted:
                yield call


def replay(
    recording: Recording,
    profile: Profile,
    candidate: Candidate,
    *,
    price_of: PriceOf,
    played: Callable[[], None] = lambda: None,
) -> Row:
    """What the calls of the recording come to in this layout.

    Args:
        played: called after each call.

    Raises:
        UsageError: the model cannot take what was said.
    """
    usages: list[Usage] = []
    changes = 0
    last: Plan | None = None
    for call in replayed_calls(recording, profile, candidate):
        usages.append(call.outcome.usage)
        changes += last not in (None, call.decision.plan)
        last = call.decision.plan
        played()
    return _row(candidate.name, candidate.ttl, usages, profile, price_of, changes)


def recorded_row(name: str, calls: Sequence[RecordedCall], profile: Profile, *, price_of: PriceOf) -> Row:
    """What these calls really took; those without figures are not among them."""
    usages = [replace(call.usage, output=0) for call in calls if call.usage is not None]
    return _row(name, "", usages, profile, price_of)


def resent(
    recordings: Sequence[Recording], profile: Profile, *, only: tuple[str, str] | None = None
) -> list[tuple[RecordedCall, Usage]]:
    """The recorded requests as they are, and what one cache with the rules of this model does with them.

    Calls whose request the recording does not have are not among them.

    Args:
        only: provider and model of the calls; None for all of them.
    """
    cache = CacheSimulator(profile)
    timed = [(call, recording.factor) for recording in recordings for call in recording.calls if call.layout]
    if only is not None:
        timed = [(call, factor) for call, factor in timed if (call.provider, call.model) == only]
    found = []
    for call, factor in sorted(timed, key=lambda item: item[0].at):
        assert call.layout is not None
        estimate = sum(block.tokens for block in call.layout.blocks)
        counted = call.counted.input if call.counted is not None else 0
        own = counted / estimate if counted and estimate else factor
        sized = size_request(_marked_as(call.layout, profile), factor=own)
        found.append((call, cache.send(sized, call.at).usage))
    return found


def resent_row(calls: Sequence[tuple[RecordedCall, Usage]], profile: Profile, *, price_of: PriceOf) -> Row:
    """What the recorded requests come to by the rules of the model."""
    return _row(SAME_REQUESTS, "", [usage for _, usage in calls], profile, price_of)


def trust_in(calls: Sequence[tuple[RecordedCall, Usage]]) -> Trust:
    """How far the rules are from the provider's own figures."""
    known = [(call.counted, usage) for call, usage in calls if call.counted is not None]
    return Trust(
        calls=len(known),
        near=sum(abs(usage.cached - actual.cached) <= _NEAR * actual.input for actual, usage in known),
        expected=sum(usage.cached for _, usage in known),
        actual=sum(actual.cached for actual, _ in known),
        prompt=sum(actual.input for actual, _ in known),
    )


def summed(rows: Sequence[Row]) -> Row:
    """Rows of one layout together; at least one."""
    prices = [row.dollars for row in rows]
    return Row(
        rows[0].name,
        rows[0].ttl,
        sum(row.calls for row in rows),
        add_usages([row.usage for row in rows]),
        sum(row.equivalents for row in rows),
        None if None in prices else sum((price for price in prices if price is not None), Decimal(0)),
        sum(row.changes for row in rows),
    )


def _row(name: str, ttl: str, usages: Sequence[Usage], profile: Profile, price_of: PriceOf, changes: int = 0) -> Row:
    prices = [price_of(profile.provider, profile.model, usage) for usage in usages]
    known = [price for price in prices if price is not None]
    return Row(
        name,
        ttl,
        len(usages),
        add_usages(usages),
        sum(equivalents(usage, profile) for usage in usages),
        sum(known, Decimal(0)) if known and len(known) == len(prices) else None,
        changes,
    )


def _marked_as(layout: Layout, profile: Profile) -> Layout:
    """The layout as the model would take it: markers of another format say nothing to it."""
    kind = _KINDS.get(profile.markers, "")

    def own(marker: Marker | None) -> Marker | None:
        return marker if marker is not None and marker.kind == kind else None

    blocks = tuple(
        block if own(block.marker) is block.marker else replace(block, marker=None) for block in layout.blocks
    )
    return replace(
        layout, provider=profile.provider, model=profile.model, blocks=blocks, automatic=own(layout.automatic)
    )


def _behind(given: tuple[Message, ...], spelling: Spelling) -> Spelling:
    """The spelling for windows behind what stood in front when the recording began."""

    def respell(window: Window) -> Window:
        return spelling.window(replace(window, history=History((*given, *window.history))))

    return replace(spelling, window=respell) if given else spelling


def _fitted(stretch: Stretch, profile: Profile) -> Stretch:
    """The stretch without what only another format has; texts of the same size stand in its place."""
    turns = tuple(_fitted_turn(turn, profile) for turn in stretch.session.turns)
    given = tuple(_fitted_message(message, profile) for message in stretch.given)
    return replace(stretch, session=Session(stretch.session.name, turns), given=given)


def _fitted_turn(turn: SessionTurn, profile: Profile) -> SessionTurn:
    steps = tuple(
        replace(step, said=_fitted_message(step.said, profile), results=_fitted_message(step.results, profile))
        for step in turn.steps
    )
    return replace(
        turn,
        user=tuple(_fitted_part(part, profile) for part in turn.user),
        steps=steps,
        reply=None if turn.reply is None else _fitted_message(turn.reply, profile),
        tools=tuple(_fitted_tool(tool, profile) for tool in turn.tools),
    )


def _fitted_message(message: Message, profile: Profile) -> Message:
    return Message(message.role, tuple(_fitted_part(part, profile) for part in message.parts))


def _fitted_part(part: Part, profile: Profile) -> Part:
    return Text(part.text or part.data) if isinstance(part, ProviderBlock) and part.wire != profile.wire else part


def _fitted_tool(tool: AnyTool, profile: Profile) -> AnyTool:
    return (
        Tool(tool.name, description=tool.data) if isinstance(tool, ProviderTool) and tool.wire != profile.wire else tool
    )


def _media_types(stretch: Stretch) -> frozenset[str]:
    """The media types of its files: what counts is their size, not whether the model looks at them."""
    messages = [*stretch.given]
    for turn in stretch.session.turns:
        messages += [message for step in turn.steps for message in (step.said, step.results)]
    parts = [part for message in messages for part in message.parts]
    parts += [part for turn in stretch.session.turns for part in turn.user]
    parts += [item for part in parts if isinstance(part, ToolResult) for item in part.attachments]
    return frozenset(part.media_type for part in parts if isinstance(part, Image | Document))
