"""Keeps what closed segments were about, in the background: first an extract, then what a capable model writes.

What it stores is in no window before the next collapse: the text that stands for earlier segments never changes in
between. Nothing here waits for a turn or is waited for by one. What fails for one segment is told, and stops neither
the others nor the assistant.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from frontmind.assistant.segment_titles import segment_turns
from frontmind.assistant.segment_writing import read_written, told_usage, writing_window
from frontmind.assistant.steadiness import SEGMENT_PAUSE
from frontmind.continuum.extract import extract
from frontmind.continuum.history import last_said
from frontmind.errors import ModelError
from frontmind.events import EventBus, TurnCompletedEvent
from frontmind.events.background import Background
from frontmind.providers.protocol import Finished, Model
from frontmind.recall.facts import MOST_FAILURES, RETRY_AFTER
from frontmind.stores.protocols import Store
from frontmind.values.clock import Clock
from frontmind.values.records import Segment, SegmentSummary, Turn

MODEL_READS: Final = 5
"""How many closed segments, the newest, a model is asked about: those that are next to leave the window. What was said
long ago is not sent to a provider, and paid for, because a model was configured today.
"""


class FactSource(Protocol):
    """Takes memories out of segments that are closed."""

    async def due(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        """Those of the segments that are to be read now: not read before, and not waiting because that failed."""
        ...

    async def extract(self, segment: Segment, turns: Sequence[Turn]) -> None:
        """Read the segment, and note in the store how far that came.

        Args:
            turns: its turns, by number.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Asked:
    """How often in this process a model was asked for one thing, and when last."""

    times: int
    at: datetime

    def may_again(self, now: datetime) -> bool:
        return self.times < MOST_FAILURES and now - self.at >= RETRY_AFTER * 2 ** (self.times - 1)


class SegmentKeeper:
    """Writes titles and summaries of closed segments of one conversation.

    Args:
        store: the conversation, and where summaries are kept.
        bus: tells when a turn was completed.
        clock: tells whether the newest segment is closed by now.
        conversation: the conversation's name.
        background: what the work runs in, which its owner ends; what fails is told there.
        model: who writes about the newest closed segments; None for extracts alone. It should not be an engine that
            holds the cache of the conversation itself: it would lose that.
        facts: is given the newest segments as they close; None for nobody.
        tell: told in one line what a model wrote, and what it took.
        pause: how long nothing is said before a segment is closed.
    """

    def __init__(
        self,
        *,
        store: Store,
        bus: EventBus,
        clock: Clock,
        conversation: str,
        background: Background,
        model: Model | None = None,
        facts: FactSource | None = None,
        tell: Callable[[str], None] = lambda _: None,
        pause: timedelta = SEGMENT_PAUSE,
    ) -> None:
        self._store = store
        self._clock = clock
        self._conversation = conversation
        self._background = background
        self._model = model
        self._facts = facts
        self._tell = tell
        self._pause = pause
        self._asked: dict[tuple[str, int, int], _Asked] = {}
        self._foreign: set[tuple[int, int]] = set()
        self._running: asyncio.Task[None] | None = None
        self._again = self._started = self._finishing = self._detached = False
        self._unsubscribe = bus.subscribe(TurnCompletedEvent, self._completed)

    def start(self) -> None:
        """Look for closed segments in the background, now and after each turn from now on."""
        self._started = True
        if self._detached:
            return
        if self._running is not None and not self._running.done():
            self._again = True
            return
        self._running = self._background.start(self._look(), "summing up closed segments")

    async def idle(self) -> None:
        """Wait until there is nothing left to do. Cancelling this stops nothing else."""
        while self._running is not None and not self._running.done():
            await asyncio.wait({self._running})

    async def finish(self, within: timedelta) -> bool:
        """Ask no model for anything new, and wait until what it was asked for is stored.

        Args:
            within: how long to wait at most.

        Returns:
            Whether nothing runs any more; what does is begun anew by the next process.
        """
        self._finishing = True
        if self._running is None or self._running.done():
            return True
        await asyncio.wait({self._running}, timeout=within.total_seconds())
        return self._running.done()

    def detach(self) -> None:
        """Look for nothing any more. What runs ends with the background that it runs in."""
        self._detached = True
        self._unsubscribe()

    def _completed(self, event: TurnCompletedEvent) -> None:
        if self._started and event.context.conversation == self._conversation:
            self.start()

    async def _look(self) -> None:
        while True:
            self._again = False
            newest = list(await self._store.segments(self._conversation, newest=MODEL_READS + 1))
            present = newest[-1].number if newest and await self._is_open(newest[-1]) else None
            await self._extract_all(present)
            closed = [segment for segment in newest if segment.number != present][-MODEL_READS:]
            # The newest first: they are the next to leave the window.
            await self._write_all(closed[::-1])
            await self._read_all(closed)
            if not self._again:
                return

    async def _is_open(self, segment: Segment) -> bool:
        now, said = self._clock.now(), segment.ended_at
        if said > now:
            # A clock was wrong: what it told says nothing of the pause.
            said = last_said(await segment_turns(self._store, segment), now) or now
        return now - said < self._pause

    async def _extract_all(self, present: int | None) -> None:
        for segment in await self._store.segments_without_summary(self._conversation):
            if segment.number == present:
                continue
            made = extract(await segment_turns(self._store, segment))
            if made is not None:
                await self._save(segment, SegmentSummary(made.title, made.text, "", self._clock.now()))

    async def _write_all(self, segments: Sequence[Segment]) -> None:
        if self._model is None:
            return
        for segment in segments:
            if segment.summary is None or not segment.summary.author:
                turns = await self._to_be_read("the summary", segment)
                if turns:
                    await self._ask(self._write(segment, turns, self._model), "the summary", segment)

    async def _write(self, segment: Segment, turns: Sequence[Turn], model: Model) -> None:
        window = writing_window(turns, self._clock.zone, limit=model.context_limit)
        stream = model.stream(model.encode(window))
        finished: Finished | None = None
        try:
            async for event in stream:
                finished = event if isinstance(event, Finished) else finished
        finally:
            # Ends the call at the provider now, and not when the garbage collector comes by.
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        written = None if finished is None else read_written(finished.message.text)
        took = "" if finished is None else f", {told_usage(finished.usage)}"
        if written is None:
            raise ModelError(f"{model.name} wrote no title and summary; the extract stays{took}", model=model.name)
        if await segment_turns(self._store, segment) != list(turns):
            # A turn was replaced while the model wrote, and what it wrote tells of it.
            self._tell(f"the summary of segment {segment.number}: not kept, its turns have changed{took}")
            return
        await self._save(segment, SegmentSummary(written.title, written.text, model.name, self._clock.now()))
        self._tell(f"the summary of segment {segment.number}: written by {model.name}{took}")

    async def _read_all(self, segments: Sequence[Segment]) -> None:
        if self._facts is None or not segments:
            return
        for segment in await self._facts.due(segments):
            turns = await self._to_be_read("the memories", segment)
            if turns:
                await self._ask(self._facts.extract(segment, turns), "the memories", segment)

    async def _to_be_read(self, what: str, segment: Segment) -> Sequence[Turn]:
        """The turns of a segment that a model may be asked about now; none where it may not."""
        place = (segment.number, segment.last)
        asked = self._asked.get((what, *place))
        waits = asked is not None and not asked.may_again(self._clock.now())
        if self._finishing or waits or place in self._foreign:
            return ()
        turns = await segment_turns(self._store, segment)
        # An imported history may be long, and nobody asked to have it read by a model that is paid for.
        if not any(turn.model for turn in turns):
            self._foreign.add(place)
            return ()
        return turns

    async def _ask(self, work: Coroutine[object, object, None], what: str, segment: Segment) -> None:
        """Wait for the work. What it raises is told by the background, and stops nothing else."""
        key = (what, segment.number, segment.last)
        times = self._asked[key].times if key in self._asked else 0
        self._asked[key] = _Asked(times + 1, self._clock.now())
        await asyncio.wait({self._background.start(work, f"{what} of segment {segment.number}")})

    async def _save(self, segment: Segment, summary: SegmentSummary) -> None:
        await self._store.save_summary(self._conversation, segment.number, summary)
