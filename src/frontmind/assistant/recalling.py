"""The parts of recall put together: searching and embedding for one owner, surfacing and summing up for one
conversation. Several conversations of an owner may share what is the owner's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
class OwnerRecalling:
    """What recalls for one owner, whatever the conversation.

    Attributes:
        recall: what was said and kept earlier.
        indexes: what it searches in.
        indexer: embeds what was stored, as long as it runs.
        notices: what went on beside the turns and the person should know.
        changed: called when memories were extracted: those that are shown are to be read again.
    """

    recall: Recall
    indexes: SearchIndexes
    indexer: Indexer
    notices: Notices
    changed: Callable[[], None] = lambda: None

    def start(self, background: Background) -> None:
        """Let the background open the embedder, and embed what was stored and will be."""
        background.start(self.indexer.run(), "searching by meaning")


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
        shared: what recalls for the owner already, in the place of all that is said above but the memory model; it
            stays its owner's to start and to close.
    """

    embedder: Embedder | None = None
    source: EmbedderSource | None = None
    index_dir: Path | None = None
    notices: Notices | None = None
    memory_model: Model | None = None
    shared: OwnerRecalling | None = None


@dataclass(frozen=True, slots=True)
class Recalling:
    """What recalls for one conversation.

    Attributes:
        owned: what recalls for the owner.
        is_shared: whether that belongs to somebody else, who starts and closes it.
        searches: searches on purpose, shown to the model.
        segments: keeps what closed segments were about.
        background: what goes on beside the turns.
        trinkets: the sections that show what was found.
        detach: each ends a subscription.
    """

    owned: OwnerRecalling
    is_shared: bool
    searches: ContextSearches
    segments: SegmentKeeper
    background: Background
    trinkets: Sequence[EventAwareTrinket]
    detach: tuple[Unsubscribe, ...]

    @property
    def recall(self) -> Recall:
        """What was said and kept earlier."""
        return self.owned.recall

    @property
    def indexer(self) -> Indexer:
        """Embeds what was stored."""
        return self.owned.indexer

    @property
    def notices(self) -> Notices:
        """What went on beside the turns and a person should know."""
        return self.owned.notices

    def start(self) -> None:
        """Begin what goes on in the background: embedding what was stored, summing up the segments that are closed."""
        if not self.is_shared:
            self.owned.start(self.background)
        self.segments.start()

    async def aclose(self) -> None:
        """End what goes on in the background."""
        await self.background.close()
        if not self.is_shared:
            await self.indexer.close()


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
    changed: Callable[[], None]

    async def due(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        return await self.facts.due(segments)

    async def extract(self, segment: Segment, turns: Sequence[Turn]) -> None:
        report = await self.facts.extract(segment, turns)
        if report.problem:
            self.notices.add(f"the memories of segment {segment.number}: {report.problem}")
        if report.usage is not None:
            kept = f"{len(report.added)} new, {report.merged} known"
            self.notices.add(f"the memories of segment {segment.number}: {kept}, {told_usage(report.usage)}")
        if report.added or report.merged or report.superseded:
            self.changed()
        self.indexer.wake()


def build_owner_recalling(
    options: RecallOptions, *, store: Store, changed: Callable[[], None] = lambda: None
) -> OwnerRecalling:
    """What recalls for the owner of this store; nothing of it runs yet.

    Args:
        changed: called when memories were extracted.
    """
    notices = options.notices or Notices()
    indexes = SearchIndexes(store, root=options.index_dir, tell=notices.add)
    indexer = Indexer(store, indexes, options.source or GivenEmbedder(options.embedder), tell=notices.add)
    return OwnerRecalling(Recall(store, indexes), indexes, indexer, notices, changed)


def build_recalling(
    bus: EventBus, options: RecallOptions, *, store: Store, clock: Clock, conversation: str
) -> Recalling:
    """Put the parts together and let them hear of the turns on the bus."""
    owned = options.shared or build_owner_recalling(options, store=store)
    recall, indexer, notices = owned.recall, owned.indexer, owned.notices
    background, shown = Background(notices.add), GetContextTrinket(pause=SEGMENT_PAUSE)
    surfacing = Surfacing(store, recall, pause=SEGMENT_PAUSE, tell=notices.add)
    searches = ContextSearches(store, recall, shown, background, clock=clock, conversation=conversation)
    facts = FactKeeper(
        store,
        clock,
        extractor=None if options.memory_model is None else Extractor(options.memory_model),
        nearest=NearestMemories(recall, clock),
        sameness=SameAsServed(owned.indexes),
    )
    segments = SegmentKeeper(
        store=store,
        bus=bus,
        clock=clock,
        conversation=conversation,
        background=background,
        tell=notices.add,
        model=options.memory_model,
        facts=None if options.memory_model is None else Extracting(facts, notices, indexer, owned.changed),
    )
    detach = (
        segments.detach,
        bus.subscribe(ComposeSystemPromptEvent, searches.note_window),
        bus.subscribe(TurnCompletedEvent, surfacing.note_uses),
        bus.subscribe(TurnCompletedEvent, lambda _: indexer.wake()),
    )
    trinkets = (shown, ProactiveMemoryTrinket(surfacing))
    return Recalling(owned, options.shared is not None, searches, segments, background, trinkets, detach)
