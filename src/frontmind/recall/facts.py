"""A person's memories in a store: extracted from closed segments, kept on request, edited, forgotten.

Duplicates are merged, and a newer fact supersedes an older one by the times at which they were said. Several processes
may work on one store. Knows neither turns that run, terminals nor how memories are searched for the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from frontmind.errors import Conflict, ModelError, ModelUnavailable, TurnsReplaced, UsageError
from frontmind.recall.extraction import Extracted, ExtractedMemory, Extractor
from frontmind.recall.extraction_prompt import said_by_person
from frontmind.recall.linking import FactPlan
from frontmind.recall.similarity import SameByWords, Sameness, differ
from frontmind.recall.words import index_words
from frontmind.stores.recall_protocols import MemoryStore, PassageStore
from frontmind.values.clock import Clock
from frontmind.values.harmless import one_line
from frontmind.values.memories import Extraction, LinkKind, Memory, MemoryOrigin, NewMemory
from frontmind.values.passages import PassageKind
from frontmind.values.records import Segment, Turn
from frontmind.values.usage import Usage

MOST_FAILURES: Final = 5
"""How often one model is asked about one segment: the fifth time is 15 hours after the first."""

RETRY_AFTER: Final = timedelta(hours=1)
"""How long after the first failure it is asked again; twice as long after each further one."""

LONGEST_MEMORY: Final = 4_000
"""The most characters of a memory that the person writes."""

MOST_SHOWN: Final = 40
"""How many kept memories a model is shown: about 800 tokens. Up to so many, it sees all of them."""

_NEAREST: Final = 10
# Each time somebody else was faster; more often than this something else is wrong.
_ATTEMPTS: Final = 10


class FactStore(MemoryStore, PassageStore, Protocol):
    """What a `FactKeeper` reads and writes."""


class Nearest(Protocol):
    async def __call__(self, text: str, limit: int) -> Sequence[int]:
        """The ids of the memories that are nearest to the text, best first."""
        ...


class NearestByWords:
    """Finds memories by the words that they share with a text."""

    def __init__(self, store: PassageStore) -> None:
        self._store = store

    async def __call__(self, text: str, limit: int) -> Sequence[int]:
        hits = await self._store.search_words(index_words(text), kind=PassageKind.MEMORY, limit=limit)
        return [passage.ref for passage in await self._store.passages([passage_id for passage_id, _ in hits])]


class Outcome(StrEnum):
    """What became of extracting a segment.

    EXTRACTED: its memories are stored, if there were any.
    ALREADY: they were before.
    NO_MODEL: no capable model is configured, so nothing was read.
    FAILED: the model failed; it is asked again when `FactKeeper.extract` is called later.
    WAITING: it failed not long ago, and was not asked.
    GIVEN_UP: it failed too often; only another model is asked again.
    REPLACED: turns of it were replaced while the model read them; nothing is stored, and it may be asked again.
    """

    EXTRACTED = "extracted"
    ALREADY = "already"
    NO_MODEL = "no_model"
    FAILED = "failed"
    WAITING = "waiting"
    GIVEN_UP = "given_up"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """What came of extracting a segment.

    Attributes:
        added: the new memories.
        merged: how many were known already.
        superseded: how many older memories no longer hold.
        dropped: why each thing that the model named was not kept, on one line each.
        dates_dropped: how many dates of kept ones were none.
        cut: whether the model's answer was cut off, so that something may be missing.
        problem: why it failed, on one line; empty where it did not.
        usage: what asking took; None where nothing was asked, or it failed.
    """

    outcome: Outcome
    added: tuple[Memory, ...] = ()
    merged: int = 0
    superseded: int = 0
    dropped: tuple[str, ...] = ()
    dates_dropped: int = 0
    cut: bool = False
    problem: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class FactStatistics:
    """The memories in figures.

    Attributes:
        model: the full name of the model that extracts; None where there is none.
        holding: how many memories hold.
        superseded: how many do not any more.
        extracted: how many memories a model has extracted.
        segments: how many segments were read.
        failed: the segments of which the last attempt failed.
    """

    model: str | None
    holding: int
    superseded: int
    extracted: int
    segments: int
    failed: tuple[Extraction, ...]


class FactKeeper:
    """The memories of one person.

    Args:
        store: where they are.
        clock: tells the time, and the person's zone.
        extractor: the capable model; without it nothing is extracted.
        nearest: finds the memories that a text may repeat or supersede; by words without it.
        sameness: tells whether two memories say the same; by words without it.

    Every method that is given an id raises `UsageError` where there is no memory with it.
    """

    def __init__(
        self,
        store: FactStore,
        clock: Clock,
        *,
        extractor: Extractor | None = None,
        nearest: Nearest | None = None,
        sameness: Sameness | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._extractor = extractor
        self._nearest = nearest or NearestByWords(store)
        self._sameness = sameness or SameByWords()

    async def extract(self, segment: Segment, turns: Sequence[Turn]) -> ExtractionReport:
        """Keep what a closed segment tells of the person. Called again, it does nothing twice: a segment is marked as
        read in the transaction that stores its memories. One that has grown is read from where the last reading ended.

        Args:
            turns: turns of the segment's conversation; those of other segments, and REFUSED and REPLACED ones, are
                passed over. An OPEN one is read: what the person said counts, although nobody answered.

        Returns:
            Also tells when the model failed; nothing is stored then but that it did.

        Raises:
            StoreError: the store cannot be read or written.
        """
        if self._extractor is None:
            return ExtractionReport(Outcome.NO_MODEL)
        now = self._clock.now()
        before = await self._progress(segment.conversation, segment.number)
        outcome, failures = _standing(before, segment, self._extractor.name, now)
        if outcome is not None:
            return ExtractionReport(outcome, problem=before.problem)
        read = [turn for turn in turns if _belongs(turn, segment) and turn.number > before.last]
        asked = replace(before, author=self._extractor.name, at=now, failures=0, problem="")
        try:
            kept = await self._shown(read)
            extracted = await self._extractor.extract(read, kept, self._clock.zone)
        except ModelUnavailable as error:
            # Something has to be set up first; that no attempt is left then would help nobody.
            return ExtractionReport(Outcome.FAILED, problem=one_line(str(error)))
        except ModelError as error:
            return await self._failed(replace(asked, failures=failures + 1, problem=one_line(str(error))))
        return await self._keep(extracted, replace(asked, last=segment.last), [turn.id for turn in read])

    async def due(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        """Those of the segments that `extract` would ask the model about now."""
        if self._extractor is None:
            return ()
        now, name = self._clock.now(), self._extractor.name
        known = {(item.conversation, item.segment): item for item in await self._store.extractions()}
        found = [(each, known.get((each.conversation, each.number))) for each in segments]
        return [each for each, before in found if before is None or _standing(before, each, name, now)[0] is None]

    async def remember(self, text: str) -> tuple[Memory, bool]:
        """Keep what the person asks to keep, in their words.

        Returns:
            The memory, and whether it is new; one that says the same already is confirmed instead.

        Raises:
            UsageError: the text is blank or too long.
        """
        _require_text(text)
        now = self._clock.now()
        for _ in range(_ATTEMPTS):
            plan = FactPlan(await self._store.memories())
            memory_id = await self._merged_or_added(plan, NewMemory(text.strip(), now), ())
            try:
                added = await self._store.change_memories(plan.changes(), now)
            except Conflict:
                continue
            return (added[0], True) if added else (await self._store.memory(memory_id), False)
        raise _changed_all_the_time(None)

    async def edit(self, memory_id: int, change: Callable[[Memory], Memory]) -> Memory:
        """Change a memory. Another text is the person's own, said now.

        Args:
            change: gives the memory as it is to be; called again when somebody else was faster.

        Raises:
            UsageError: the text is blank or too long.
        """
        for _ in range(_ATTEMPTS):
            memory = await self._store.memory(memory_id)
            changed = change(memory)
            _require_text(changed.text)
            if changed.text != memory.text:
                now = self._clock.now()
                changed = replace(changed, observed_at=now, origin=MemoryOrigin.PERSON, confidence=1.0)
            try:
                return await self._store.save_memory(changed)
            except Conflict:
                continue
        raise _changed_all_the_time(memory_id)

    async def forget(self, memory_id: int) -> Memory:
        """Delete a memory for good. Those that it had superseded stay superseded, and what was said in conversations
        stays there.
        """
        return await self._store.remove_memory(memory_id)

    async def list(self, *, everything: bool = False) -> Sequence[Memory]:
        """The memories that hold, or all of them, by id."""
        return [memory for memory in await self._store.memories() if everything or memory.superseded_by is None]

    async def statistics(self) -> FactStatistics:
        """The memories in figures."""
        memories = await self._store.memories()
        extractions = await self._store.extractions()
        return FactStatistics(
            model=None if self._extractor is None else self._extractor.name,
            holding=sum(memory.superseded_by is None for memory in memories),
            superseded=sum(memory.superseded_by is not None for memory in memories),
            extracted=sum(memory.origin is MemoryOrigin.EXTRACTED for memory in memories),
            segments=sum(extraction.last > 0 for extraction in extractions),
            failed=tuple(extraction for extraction in extractions if extraction.problem),
        )

    async def _progress(self, conversation: str, segment: int) -> Extraction:
        for extraction in await self._store.extractions():
            if (extraction.conversation, extraction.segment) == (conversation, segment):
                return extraction
        return Extraction(conversation, segment, 0, "", datetime.min.replace(tzinfo=UTC))

    async def _shown(self, turns: Sequence[Turn]) -> Sequence[Memory]:
        """The memories that the model is shown: all that hold, or those that are nearest to what was said."""
        holding = await self.list()
        if len(holding) <= MOST_SHOWN:
            return holding
        ids: dict[int, None] = {}
        for turn in turns:
            ids |= dict.fromkeys(await self._nearest(said_by_person(turn), _NEAREST))
        near = [memory for memory in holding if memory.id in ids]
        order = list(ids)
        return sorted(sorted(near, key=lambda memory: order.index(memory.id))[:MOST_SHOWN], key=lambda near: near.id)

    async def _failed(self, extraction: Extraction) -> ExtractionReport:
        try:
            await self._store.change_memories(FactPlan(()).changes(), extraction.at, extraction=extraction)
        except Conflict:
            return ExtractionReport(Outcome.ALREADY)
        gone = extraction.failures >= MOST_FAILURES
        return ExtractionReport(Outcome.GIVEN_UP if gone else Outcome.FAILED, problem=extraction.problem)

    async def _keep(self, extracted: Extracted, extraction: Extraction, read: Sequence[int]) -> ExtractionReport:
        noted = replace(
            extraction,
            kept=extraction.kept + len(extracted.candidates),
            dropped=extraction.dropped + len(extracted.dropped),
        )
        for _ in range(_ATTEMPTS):
            memories = await self._store.memories()
            plan = FactPlan(memories)
            merged = await self._planned(plan, extracted.candidates)
            changes = plan.changes()
            try:
                added = await self._store.change_memories(changes, noted.at, extraction=noted, told_by=read)
            except TurnsReplaced:
                problem = "turns were replaced while the model read them; nothing of it is kept"
                return ExtractionReport(Outcome.REPLACED, problem=problem, usage=extracted.usage)
            except Conflict:
                if (await self._progress(noted.conversation, noted.segment)).last >= noted.last:
                    return ExtractionReport(Outcome.ALREADY)
                continue
            held = {memory.id for memory in memories if memory.superseded_by is None}
            return ExtractionReport(
                Outcome.EXTRACTED,
                added=tuple(added),
                merged=merged,
                superseded=sum(memory.superseded_by is not None and memory.id in held for memory in changes.changed),
                dropped=extracted.dropped,
                dates_dropped=extracted.dates_dropped,
                cut=extracted.cut,
                usage=extracted.usage,
            )
        raise _changed_all_the_time(None)

    async def _planned(self, plan: FactPlan, candidates: Sequence[ExtractedMemory]) -> int:
        """Plan what becomes of the candidates; gives how many are merged."""
        merged = 0
        for candidate in candidates:
            before = len(plan.all())
            memory_id = await self._merged_or_added(plan, candidate.memory, candidate.same_as)
            merged += len(plan.all()) == before
            known = {memory.id for memory in plan.all()}
            for other in candidate.supersedes:
                if other in known:
                    plan.supersede(memory_id, other)
            for kind, others in (
                (LinkKind.CONFLICTS, candidate.conflicts),
                (LinkKind.SUPPORTS, candidate.supports),
                (LinkKind.RELATED, candidate.related),
            ):
                for other in others:
                    if other in known:
                        plan.link(memory_id, other, kind)
        return merged

    async def _merged_or_added(self, plan: FactPlan, new: NewMemory, same_as: Sequence[int]) -> int:
        """Merge the memory with the one that says the same, or add it; gives the id."""
        holding = {memory.id: memory for memory in plan.mergeable(new)}
        same = [memory.id for memory in plan.saying(new.text) if memory.id in holding]
        if not same:
            near = [memory_id for memory_id in await self._nearest(new.text, _NEAREST) if memory_id in holding]
            near += [memory_id for memory_id in holding if memory_id < 0]
            index = await self._sameness.find_same(new.text, [holding[memory_id].text for memory_id in near])
            same = [] if index is None else [near[index]]
        # The model knows synonyms, and is believed where nothing in the words contradicts it.
        same += [each for each in same_as if each in holding and not differ(holding[each].text, new.text)]
        if same:
            plan.merge(same[0], new)
            return same[0]
        # Said once, and superseded since: it was read before, and is not said again.
        for memory in plan.saying(new.text):
            if new.turn is not None and (memory.conversation, memory.turn) == (new.conversation, new.turn):
                return memory.id
        return plan.add(new)


def _standing(before: Extraction, segment: Segment, model: str, now: datetime) -> tuple[Outcome | None, int]:
    """Why the model is not asked about the segment now, None where it is; and how often it has failed there."""
    if before.last >= segment.last and not before.problem:
        return Outcome.ALREADY, 0
    # What one model could not read, another may.
    failures = before.failures if before.author == model else 0
    if failures >= MOST_FAILURES:
        return Outcome.GIVEN_UP, failures
    wait = RETRY_AFTER * 2 ** (failures - 1) if failures else timedelta()
    # A clock that was wrong when it failed must not let it wait until then.
    waited = now.astimezone(UTC) - before.at
    return Outcome.WAITING if timedelta() <= waited < wait else None, failures


def _belongs(turn: Turn, segment: Segment) -> bool:
    place = (turn.conversation, turn.segment)
    return place == (segment.conversation, segment.number) and turn.state.counts


def _require_text(text: str) -> None:
    if not text.strip():
        raise UsageError("what should be remembered? Write for example: You prefer tea")
    if len(text) > LONGEST_MEMORY:
        raise UsageError(f"a memory has at most {LONGEST_MEMORY:,} characters; keep longer texts as a document")


def _changed_all_the_time(memory_id: int | None) -> Conflict:
    which = "the memories are" if memory_id is None else f"m{memory_id} is"
    return Conflict(f"{which} being changed by somebody else all the time; try again later")
