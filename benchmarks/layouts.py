"""What sliding saves: one conversation on the local model, once with a notification center, once without.

The same twelve messages, clock, reminder and memories; the second run keeps the replies of the first, so that both
windows hold the same words and only the place of the changing sections differs.

    python -m benchmarks.layouts
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from platformdirs import user_cache_path

from frontmind.assistant.report import TurnReport
from frontmind.assistant.wiring import build_mind, build_orchestrator
from frontmind.cli.slash import tool_descriptions
from frontmind.providers.local import LocalModel
from frontmind.providers.protocol import Finished, Request, StreamEvent, TokenCount
from frontmind.stores.sqlite import SqliteStore
from frontmind.trinkets import TrinketPlacement
from frontmind.values.memories import NewMemory
from frontmind.values.message import assistant
from frontmind.window.window import Window

MESSAGES = (
    "Hello! I am planning a week in Lisbon.",
    "What should I see on the first day?",
    "I do not like crowds. What else?",
    "How do I get from the airport to the old town?",
    "Which dish should I try?",
    "I am a vegetarian, remember.",
    "When is my call with Anna?",
    "What could I read on the plane?",
    "Something shorter, please.",
    "What do I have to pack?",
    "And for a rainy day?",
    "Thank you. Sum up the plan in one sentence.",
)
NOTES = {2: "You prefer quiet places and small museums.", 5: "You are a vegetarian.", 8: "You like short novels."}
START = datetime(2026, 11, 30, 9, 15, tzinfo=ZoneInfo("Europe/Berlin"))
REMINDER_DUE = START + timedelta(minutes=6)
MAX_OUTPUT_TOKENS = 48


TABLE_HEADER = (
    "| sections stand in | prompt tokens | from the cache | evaluated | evaluated a turn | first token, median |",
    "|---|--:|--:|--:|--:|--:|",
)


class MovingClock:
    """A clock that is moved by a minute after each turn."""

    zone = ZoneInfo("Europe/Berlin")

    def __init__(self) -> None:
        self._now = START

    def now(self) -> datetime:
        return self._now

    def tick(self) -> None:
        self._now += timedelta(minutes=1)


class Dubbed:
    """A `LocalModel` whose replies, after the engine has given them, are replaced by given ones."""

    def __init__(self, model: LocalModel, replies: Sequence[str]) -> None:
        self._model = model
        self._replies = iter(replies)
        self.name = model.name
        self.context_limit = model.context_limit
        self.max_output_tokens = model.max_output_tokens
        self.profile = model.profile
        self.framing = model.framing

    def encode(self, window: Window) -> Request:
        return self._model.encode(window)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        async for event in self._model.stream(request):
            if isinstance(event, Finished):
                yield Finished(assistant(next(self._replies)), event.usage, event.stop)
            else:
                yield event

    async def count_request(self, request: Request) -> TokenCount:
        return await self._model.count_request(request)

    async def count_text(self, text: str) -> TokenCount:
        return await self._model.count_text(text)

    async def expected_cached(self, request: Request) -> int | None:
        return await self._model.expected_cached(request)

    async def close(self) -> None:
        await self._model.close()


@dataclass(frozen=True)
class Played:
    """A conversation that was played: the report and the request of each turn."""

    reports: tuple[TurnReport, ...]
    requests: tuple[Request, ...]


async def play(
    model: LocalModel, *, placement: TrinketPlacement | None = None, replies: Sequence[str] | None = None
) -> Played:
    """Play the conversation once, from an empty store. The model should be fresh: its cache counts."""
    clock = MovingClock()
    store = SqliteStore.open(":memory:")
    mind = build_mind(store=store, clock=clock, descriptions=tool_descriptions(), volatile_placement=placement)
    asked = model if replies is None else Dubbed(model, replies)
    orchestrator = build_orchestrator(mind, store=store, model=asked, clock=clock)
    try:
        await store.add_reminder("Call Anna about the flights", REMINDER_DUE, zone="Europe/Berlin", at=clock.now())
        reports = []
        for number, message in enumerate(MESSAGES, start=1):
            if number in NOTES:
                await store.add_memories([NewMemory(NOTES[number], clock.now())], clock.now())
            reports.append(await orchestrator.run_turn(message))
            clock.tick()
        requests = [await store.load_request(report.request) for report in reports]
    finally:
        mind.close()
        await store.close()
    return Played(tuple(reports), tuple(requests))


def comparison(slide: Played, system: Played) -> str:
    """The two runs side by side, as a Markdown table; the first turn fills an empty cache and is left out."""
    lines = list(TABLE_HEADER)
    for name, played in (("the notification center", slide), ("the system prompt", system)):
        reports = played.reports[1:]
        total = sum(report.usage.input for report in reports)
        cached = sum(report.usage.cached for report in reports)
        first = statistics.median(report.first_token_seconds for report in reports)
        evaluated = total - cached
        lines.append(
            f"| {name} | {total:,} | {100 * cached / total:.1f} % | {evaluated:,} | "
            f"{evaluated / len(reports):.0f} | {first:.2f} s |"
        )
    return "\n".join(lines)


def turn_by_turn(slide: Played, system: Played) -> str:
    """Cached and evaluated tokens of every turn of both runs."""
    lines = ["turn   notification center      system prompt", "       cached  evaluated       cached  evaluated"]
    for one, other in zip(slide.reports, system.reports, strict=True):
        lines.append(
            f"{one.turn:>4}  {one.usage.cached:>7,}  {one.usage.evaluated:>9,}      "
            f"{other.usage.cached:>7,}  {other.usage.evaluated:>9,}"
        )
    return "\n".join(lines)


async def open_local() -> LocalModel:
    """A fresh local model, with an empty cache."""
    cache: Path = user_cache_path("frontmind")
    return await LocalModel.open("", cache_dir=cache, announce=print, max_output_tokens=MAX_OUTPUT_TOKENS)


async def play_both() -> tuple[Played, Played]:
    """The conversation with a notification center, and with the same sections in the system prompt."""
    model = await open_local()
    try:
        slide = await play(model)
    finally:
        await model.close()
    model = await open_local()
    try:
        replies = [report.reply for report in slide.reports]
        system = await play(model, placement=TrinketPlacement.SYSTEM, replies=replies)
    finally:
        await model.close()
    return slide, system


if __name__ == "__main__":
    both = asyncio.run(play_both())
    print(turn_by_turn(*both), end="\n\n")
    print(comparison(*both))
