"""What a month costs: Frontmind, everything kept, and a window that rolls by one turn.

The same scripted month, played through the assistant three times with a clock that is moved. The cache is worked out
from the requests by the rules of the model's profile; nothing is sent.

    python -m benchmarks.month
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from benchmarks.month_scenario import START, Fact, Said, month
from frontmind.assistant.report import TurnReport
from frontmind.assistant.segment_keeper import SegmentKeeper
from frontmind.assistant.window_builder import WindowBuilder
from frontmind.assistant.window_opening import Opener, Reader
from frontmind.assistant.wiring import DEFAULT_CONVERSATION, Mind, build_mind, build_orchestrator
from frontmind.cachelab.outcome import Expectation
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.providers.estimate import estimate_tokens
from frontmind.providers.names import parse_model_name
from frontmind.providers.opening import select_model
from frontmind.providers.prices import list_price
from frontmind.providers.profiles.profile import TTL_SECONDS, Profile
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.clock import Clock
from frontmind.values.memories import Memory, NewMemory
from frontmind.values.records import Segment, Turn, WindowOpening
from frontmind.values.usage import Usage
from frontmind.window.layout import Area
from frontmind.working_memory.base_prompt import DEFAULT_PERSONA

MODEL: Final = "anthropic:claude-sonnet-4-5"
ROLLING_TURNS: Final = 20

TABLE_HEADER: Final = (
    "| layout | requests | cold | input tokens | cached | written | fresh | a request, at most | cost |",
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
)


class HandClock:
    """A clock that stands still until it is set."""

    zone = ZoneInfo("Europe/Berlin")

    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        return self.moment


class KeepsAll:
    """An opener that lets nothing leave."""

    async def opening(
        self, turn: Turn, before: Sequence[Turn], stored: WindowOpening, *, reader: Reader | None
    ) -> WindowOpening:
        return stored

    async def moved(
        self, turn: Turn, before: Sequence[Turn], start: int, *, reader: Reader | None, room: int | None = None
    ) -> WindowOpening:
        return WindowOpening(start)


class Rolls(KeepsAll):
    """An opener that lets the oldest turn leave with each new one, as many programs do."""

    async def opening(
        self, turn: Turn, before: Sequence[Turn], stored: WindowOpening, *, reader: Reader | None
    ) -> WindowOpening:
        return WindowOpening(max(stored.start, turn.number - ROLLING_TURNS))


@dataclass(frozen=True)
class Metered:
    """What the cache does with one request.

    Attributes:
        idle: seconds since the request before; None for the first.
        is_cold: whether nothing of its history comes from the cache, although the request before had one.
    """

    usage: Usage
    idle: float | None
    is_cold: bool


@dataclass
class CacheMeter:
    """Counts what a provider's cache does with the requests of one conversation, by the rules of its profile."""

    profile: Profile
    _cache: CacheSimulator = field(init=False)
    _last: datetime | None = None
    _has_history: bool = False

    def __post_init__(self) -> None:
        self._cache = CacheSimulator(self.profile)

    def add(self, request: Request, at: datetime, output: int) -> Metered:
        """The next request, answered at once."""
        layout = read_request(request)
        outcome = self._cache.send(size_request(layout), at)
        said = [
            (block, state) for block, state in zip(layout.blocks, outcome.blocks, strict=True) if _is_said(block.area)
        ]
        had_history, self._has_history = (
            self._has_history,
            any(block.role == "assistant" and not block.in_center for block, _ in said),
        )
        idle = None if self._last is None else (at - self._last).total_seconds()
        self._last = at
        return Metered(
            usage=replace(outcome.usage, output=output),
            idle=idle,
            is_cold=had_history and not any(state is Expectation.READ for _, state in said),
        )


def _is_said(area: Area) -> bool:
    return area is Area.MESSAGES


@dataclass(frozen=True)
class Played:
    """A month that was played.

    Attributes:
        said: what the person said, a message for each report.
        segments: those of the conversation at the end.
    """

    said: tuple[Said, ...]
    reports: tuple[TurnReport, ...]
    metered: tuple[Metered, ...]
    segments: tuple[Segment, ...]
    memories: tuple[Memory, ...]
    openings: tuple[WindowOpening, ...]

    @property
    def lifetime(self) -> float:
        """How long an entry of the history lives, in seconds."""
        profile = select_model(parse_model_name(MODEL)).profile
        return float(TTL_SECONDS[profile.ttls[0]])

    @property
    def pauses(self) -> int:
        """How often nothing was said for longer than that."""
        return sum(item.idle is not None and item.idle > self.lifetime for item in self.metered)

    @property
    def cost(self) -> Decimal:
        """In US dollars by the public price lists."""
        provider, _, model = MODEL.partition(":")
        prices = [list_price(provider, model, item.usage) for item in self.metered]
        return sum((price for price in prices if price is not None), Decimal(0))


async def play(said: Sequence[Said], *, opener: Opener | None = None) -> Played:
    """Play the month from an empty store.

    Args:
        opener: decides where windows begin; None for Frontmind's own.
    """
    clock = HandClock()
    store = SqliteStore.open(":memory:")
    selection = select_model(parse_model_name(MODEL))
    replies: Iterator[str] = iter([item.reply for item in said])
    model = ScriptedModel(
        lambda request: next(replies), name=MODEL, profile=selection.profile, framing=selection.framing
    )
    mind = _with_opener(build_mind(store=store, clock=clock), store, clock, opener)
    orchestrator = build_orchestrator(mind, store=store, model=model, clock=clock)
    keeper = SegmentKeeper(
        store=store,
        bus=mind.bus,
        clock=clock,
        conversation=DEFAULT_CONVERSATION,
        background=mind.recalling.background,
    )
    meter = CacheMeter(selection.profile)
    reports, metered, openings = [], [], []
    known: dict[str, Memory] = {}
    try:
        for item in said:
            clock.moment = item.at
            keeper.start()
            await keeper.idle()
            reports.append(await orchestrator.run_turn(item.text))
            request = await store.load_request(reports[-1].request)
            metered.append(meter.add(request, item.at, estimate_tokens(item.reply)))
            openings.append(await store.window_opening(DEFAULT_CONVERSATION))
            if item.fact is not None:
                known[item.fact.subject] = await _remember(store, item.fact, item.at, known.get(item.fact.subject))
        segments, memories = await store.segments(DEFAULT_CONVERSATION), await store.memories()
    finally:
        keeper.detach()
        await mind.aclose()
        await store.close()
    return Played(tuple(said), tuple(reports), tuple(metered), tuple(segments), tuple(memories), tuple(openings))


def _with_opener(mind: Mind, store: Store, clock: Clock, opener: Opener | None) -> Mind:
    if opener is None:
        return mind
    mind.builder.close()
    builder = WindowBuilder(
        store=store,
        bus=mind.bus,
        clock=clock,
        conversation=DEFAULT_CONVERSATION,
        persona=DEFAULT_PERSONA,
        tools=mind.toolbox.definitions,
        opener=opener,
    )
    return replace(mind, builder=builder)


async def _remember(store: Store, fact: Fact, at: datetime, before: Memory | None) -> Memory:
    (kept,) = await store.add_memories([NewMemory(fact.memory, at)], at)
    if before is not None:
        await store.save_memory(replace(before, superseded_by=kept.id, superseded_at=at))
    return kept


def comparison(played: Sequence[tuple[str, Played]]) -> str:
    """The layouts side by side, as a Markdown table."""
    lines = list(TABLE_HEADER)
    for name, one in played:
        usages = [item.usage for item in one.metered]
        total, cached, written = (
            sum(usage.input for usage in usages),
            sum(usage.cached for usage in usages),
            sum(usage.written for usage in usages),
        )
        lines.append(
            f"| {name} | {len(usages):,} | {sum(item.is_cold for item in one.metered):,} | {total:,} | "
            f"{100 * cached / total:.1f} % | {written:,} | {total - cached - written:,} | "
            f"{max(usage.input for usage in usages):,} | ${one.cost:.2f} |"
        )
    return "\n".join(lines)


async def play_all(days: int) -> list[tuple[str, Played]]:
    """The month in the three layouts."""
    said = month(days)
    return [
        ("Frontmind: closed segments leave as summaries", await play(said)),
        ("everything is kept", await play(said, opener=KeepsAll())),
        (f"the last {ROLLING_TURNS} turns, the oldest leaves with each new one", await play(said, opener=Rolls())),
    ]


def main() -> None:
    """Print the comparison."""
    played = asyncio.run(play_all(30))
    one = played[0][1]
    moved = sum(report.left_out > 0 for report in one.reports)
    print(f"30 days, {one.said[-1].session} sessions, {one.pauses} pauses longer than the cache of the history lives;")
    print(f"segments left the window {moved} times. {MODEL}, prices of the public lists.\n")
    print(comparison(played))


if __name__ == "__main__":
    main()
