"""The parts of recall put together for one conversation: searching, surfacing, embedding in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from frontmind.assistant.notices import Notices
from frontmind.assistant.segment_keeper import SegmentKeeper
from frontmind.assistant.segment_writing import told_usage
from frontmind.assistant.steadiness import SEGMENT_PAUSE
from frontmind.events import ComposeSystemPromptEvent, EventBus, TurnCompletedEvent, Unsubscribe
from frontmind.events.background import Background
from frontmind.providers.protocol import Model
from frontmind.recall.context_searches import ContextSearches
from frontmind.recall.embedder_source import EmbedderSource, GivenEmbedder
from frontmind.recall.embedding import Embedder
from frontmind.recall.extraction import Extractor
from frontmind.recall.facts import FactKeeper
from frontmind.recall.indexing import Indexer
from frontmind.recall.search import Recall
from frontmind.recall.search_indexes import SearchIndexes
from frontmind.recall.similarity import sameness_by
from frontmind.recall.surfacing import Surfacing
from frontmind.stores.protocols import Store
from frontmind.trinkets import EventAwareTrinket, GetContextTrinket, ProactiveMemoryTrinket
from frontmind.values.clock import Clock
from frontmind.values.passages import PassageKind
from frontmind.values.records import Segment, Turn


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How a mind recalls.

    Attributes:
        embedder: makes vectors of texts, so that they are found by what they mean, as soon as `Mind.start` was called;
            it stays its owner's to close. Without, searches go by words.
        source: opens the embedder later, in its place.
        index_dir: a folder for search indexes of this database, which large stores get; they are made anew when it is
            deleted. None where nothing may be written.
        notices: takes what a person should know of what goes on beside the turns.
        memory_model: a capable model that sums up closed segments and extracts memories from them; it stays its owner's
            to close, and is not the engine that holds the conversation's own cache. Without, titles and summaries are
            extracts, and nothing is extracted.
    """

    embedder: Embedder | None = None
    source: EmbedderSource | None = None
    index_dir: Path | None = None
    notices: Notices | None = None
    memory_model: Model | None = None


@dataclass(frozen=True, slots=True)
class Recalling:
    """What recalls for one conversation.

    Attributes:
        recall: what was said and kept earlier.
        searches: searches on purpose, shown to the model.
        indexer: embeds what was stored.
        segments: keeps what closed segments were about.
        background: what goes on beside the turns.
        notices: what went on beside the turns and a person should know.
        trinkets: the sections that show what was found.
        detach: each ends a subscription.
    """

    recall: Recall
    searches: ContextSearches
    indexer: Indexer
    segments: SegmentKeeper
    background: Background
    notices: Notices
    trinkets: Sequence[EventAwareTrinket]
    detach: tuple[Unsubscribe, ...]


@dataclass(frozen=True, slots=True)
class NearestMemories:
    """The memories that are nearest to a text."""

    recall: Recall
    clock: Clock

    async def __call__(self, text: str, limit: int) -> Sequence[int]:
        found = await self.recall.search(text, now=self.clock.now(), limit=limit, kinds=[PassageKind.MEMORY])
        return [find.memory.id for find in found if find.memory is not None]


@dataclass(frozen=True, slots=True)
class SameAsServed:
    """Which memories say the same, by the meaning that the embedder sees which serves at that moment."""

    indexes: SearchIndexes

    async def find_same(self, text: str, others: Sequence[str]) -> int | None:
        serving = self.indexes.serving
        return await sameness_by(None if serving is None else serving.embedder).find_same(text, others)


@dataclass(frozen=True, slots=True)
class Extracting:
    """Extracts memories of closed segments; what came of it is told, and what is new is embedded."""

    facts: FactKeeper
    notices: Notices
    indexer: Indexer

    async def due(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        return await self.facts.due(segments)

    async def extract(self, segment: Segment, turns: Sequence[Turn]) -> None:
        report = await self.facts.extract(segment, turns)
        if report.problem:
            self.notices.add(f"the memories of segment {segment.number}: {report.problem}")
        if report.usage is not None:
            kept = f"{len(report.added)} new, {report.merged} known"
            self.notices.add(f"the memories of segment {segment.number}: {kept}, {told_usage(report.usage)}")
        self.indexer.wake()


def build_recalling(
    bus: EventBus, options: RecallOptions, *, store: Store, clock: Clock, conversation: str
) -> Recalling:
    """Put the parts together and let them hear of the turns on the bus."""
    notices = options.notices or Notices()
    background = Background(notices.add)
    indexes = SearchIndexes(store, root=options.index_dir, tell=notices.add)
    indexer = Indexer(store, indexes, options.source or GivenEmbedder(options.embedder), tell=notices.add)
    recall, shown = Recall(store, indexes), GetContextTrinket(pause=SEGMENT_PAUSE)
    surfacing = Surfacing(store, recall, pause=SEGMENT_PAUSE, tell=notices.add)
    searches = ContextSearches(store, recall, shown, background, clock=clock, conversation=conversation)
    facts = FactKeeper(
        store,
        clock,
        extractor=None if options.memory_model is None else Extractor(options.memory_model),
        nearest=NearestMemories(recall, clock),
        sameness=SameAsServed(indexes),
    )
    segments = SegmentKeeper(
        store=store,
        bus=bus,
        clock=clock,
        conversation=conversation,
        background=background,
        tell=notices.add,
        model=options.memory_model,
        facts=None if options.memory_model is None else Extracting(facts, notices, indexer),
    )
    detach = (
        segments.detach,
        bus.subscribe(ComposeSystemPromptEvent, searches.note_window),
        bus.subscribe(TurnCompletedEvent, surfacing.note_uses),
        bus.subscribe(TurnCompletedEvent, lambda _: indexer.wake()),
    )
    trinkets = (shown, ProactiveMemoryTrinket(surfacing))
    return Recalling(recall, searches, indexer, segments, background, notices, trinkets, detach)
