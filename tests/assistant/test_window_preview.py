"""A look at the next window expects of the cache what the turn expects that is sent at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from frontmind.assistant.explanation import Explanation, explain
from frontmind.assistant.report import TurnReport
from frontmind.assistant.wiring import build_mind, build_orchestrator
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.cli.preview import Asked, look_ahead
from frontmind.cli.slash import tool_descriptions
from frontmind.providers.protocol import Finished, Request, StreamEvent
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.calls import Cause
from frontmind.values.message import Message
from support import HandClock, calling, selected

CLAUDE = "anthropic:claude-sonnet-4-5"
LONG = "tell me about tea and mountains and what to pack for a long walk " * 60
LOOK = calling(("list_reminders", {}), said="One moment. " * 60)


class SlowModel(ScriptedModel):
    """Counts with sizes of its own, caches by the rules of its profile, and takes its time to answer."""

    def __init__(self, script: list[str | Message], clock: HandClock, *, minutes: float) -> None:
        selection = selected(CLAUDE)
        super().__init__(
            script, name=CLAUDE, profile=selection.profile, framing=selection.framing, max_output_tokens=99
        )
        self._cache = CacheSimulator(self.profile)
        self._clock = clock
        self._minutes = minutes

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        usage = self._cache.send(size_request(read_request(request), factor=1.3), self._clock.now()).usage
        async for event in super().stream(request):
            if isinstance(event, Finished):
                self._clock.advance(minutes=self._minutes)
                yield replace(event, usage=replace(usage, output=9, estimated=False))
            else:
                yield event

    async def expected_cached(self, request: Request) -> int | None:
        return None


def looked_at(db: str, clock: HandClock, message: str) -> Explanation:
    now = clock.now().isoformat()
    selection, found = look_ahead(Asked(message, None, CLAUDE, None, None, None, db, now, "Europe/Berlin"))
    return explain(
        found.built.window, found.layout, found.prediction, selection.framing, selection.profile, found.known
    )


@pytest.mark.parametrize(
    ("minutes", "steps", "cause"),
    [(0.0, 0, Cause.NOTHING), (4.0, 0, Cause.EXPIRED), (0.0, 3, Cause.NOTHING)],
    ids=["at once", "slow", "tool loop"],
)
def test_a_look_expects_of_the_cache_what_the_turn_does(
    tmp_path: Path, minutes: float, steps: int, cause: Cause, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRONTMIND_EMBEDDER", "none")
    db, clock = str(tmp_path / "mind.db"), HandClock()
    model = SlowModel(["done " * 50] * 4 + [LOOK] * steps + ["done " * 50] * 2, clock, minutes=minutes)

    async def turns(*messages: str) -> list[TurnReport]:
        store = SqliteStore.open(db)
        mind = build_mind(store=store, clock=clock, descriptions=tool_descriptions())
        orchestrator = build_orchestrator(mind, store=store, model=model, clock=clock)
        reports = []
        for message in messages:
            reports.append(await orchestrator.run_turn(message))
            clock.advance(minutes=2)
        await mind.aclose()
        await store.close()
        return reports

    asyncio.run(turns(*(f"{number} {LONG}" for number in range(5))))
    explained = looked_at(db, clock, f"5 {LONG}")
    (report,) = asyncio.run(turns(f"5 {LONG}"))
    first = report.calls[0]
    assert first.new.expected is not None
    assert first.end is not None
    assert explained.usage == first.new.expected
    assert explained.usage.cached == first.end.usage.cached > 1_000
    assert first.end.verdict.cause is cause
    # Block by block it comes to the same.
    assert explained.total == explained.usage.input == sum(block.tokens for block in explained.blocks)
    assert sum(block.tokens for block in explained.blocks if block.expected == "read") == explained.usage.cached
