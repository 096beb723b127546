"""The only place where the parts are put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from frontmind.assistant.cache_watch import CacheWatch
from frontmind.assistant.keep_alive import KeepAlive
from frontmind.assistant.layout_chooser import LayoutChooser
from frontmind.assistant.orchestrator import STEP_LIMIT, Orchestrator
from frontmind.assistant.recalling import Recalling, RecallOptions, build_recalling
from frontmind.assistant.segment_titles import TitledSegments
from frontmind.assistant.steadiness import CHANGES_SECTION
from frontmind.assistant.window_builder import WindowBuilder
from frontmind.continuum.collapse import EARLIER_SEGMENTS
from frontmind.domaindocs.library import DocumentLibrary
from frontmind.errors import UsageError
from frontmind.events import EventBus
from frontmind.providers.prices import PriceOf, list_price
from frontmind.providers.protocol import Model
from frontmind.reminders.book import ReminderBook
from frontmind.stores.protocols import Store
from frontmind.tools.document_tools import document_tools
from frontmind.tools.reminder_tools import reminder_tools
from frontmind.tools.result_tools import result_tools
from frontmind.tools.runner import ToolRunner
from frontmind.tools.search_tools import search_tools
from frontmind.tools.tool import RunnableTool
from frontmind.tools.toolbox import Toolbox
from frontmind.trinkets import (
    DomaindocTrinket,
    EventAwareTrinket,
    ManifestTrinket,
    ReminderManager,
    TimeManager,
    ToolDescription,
    ToolGuidanceTrinket,
    ToolHintsTrinket,
    TrinketPlacement,
)
from frontmind.values.clock import Clock
from frontmind.values.records import Document
from frontmind.values.usage import Usage
from frontmind.working_memory.base_prompt import DEFAULT_PERSONA
from frontmind.working_memory.composer import BASE_PROMPT_SECTION
from frontmind.working_memory.core import WorkingMemory

DEFAULT_CONVERSATION = "main"
_RESULT_LIMIT = 16_000
"""The most characters of one tool's result; with a small context as many as it has tokens, about a quarter of it."""
_GUARDED_ELEMENTS = (BASE_PROMPT_SECTION, CHANGES_SECTION, EARLIER_SEGMENTS)
"""Elements of the prompt that no trinket writes; no result of a tool may have their tags."""


@dataclass(frozen=True, slots=True)
class Mind:
    """The window engine of one conversation, with the built-in trinkets and tools, before any model.

    Attributes:
        memory: register further trinkets here.
        reminders: the person's reminders.
        documents: the documents in the system prompt.
        recalling: searches what was said and kept earlier.
        toolbox: what the model may call.
        builder: makes windows.
    """

    bus: EventBus
    memory: WorkingMemory
    reminders: ReminderBook
    documents: DocumentLibrary
    recalling: Recalling
    toolbox: Toolbox
    builder: WindowBuilder

    def start(self) -> None:
        """Begin what goes on in the background until this is closed: opening the embedder, embedding what was stored,
        summing up the segments that are closed. Without it, searches go by words and by the vectors that are there.
        """
        self.recalling.start()

    async def aclose(self) -> None:
        """End what goes on in the background, and detach everything from the bus."""
        await self.recalling.aclose()
        self.close()

    def close(self) -> None:
        """Detach everything from the bus; what goes on in the background is asked to end."""
        self.recalling.background.cancel()
        for detach in self.recalling.detach:
            detach()
        self.builder.close()
        self.memory.close()


@dataclass(frozen=True, slots=True)
class _FollowedFiles:
    """The documents, their files read again before."""

    library: DocumentLibrary

    async def documents(self) -> Sequence[Document]:
        await self.library.refresh_files()
        return await self.library.documents()


def build_mind(
    *,
    store: Store,
    clock: Clock,
    descriptions: Sequence[ToolDescription] = (),
    tools: Sequence[RunnableTool] = (),
    loadable: Sequence[RunnableTool] = (),
    loading: bool = False,
    conversation: str = DEFAULT_CONVERSATION,
    persona: str = DEFAULT_PERSONA,
    volatile_placement: TrinketPlacement | None = None,
    locks: Path | None = None,
    looks_only: bool = False,
    recall: RecallOptions | None = None,
    chooses_layout: bool = False,
) -> Mind:
    """Put the window engine together.

    Args:
        store: what the trinkets and tools read and write.
        clock: what tells the time of previews and to tools.
        descriptions: what the model should know that the person can do.
        tools: tools of your own beside the built-in ones, told of in every request.
        loadable: tools of which a line is told; the model loads them when it needs them.
        loading: whether loadable tools may come, also when there is none yet.
        conversation: the conversation's name.
        persona: who the assistant is; begins the system prompt.
        volatile_placement: where the sections stand that change every turn; None leaves it to the trinkets. Given
            `TrinketPlacement.SYSTEM`, the window is the one that Frontmind exists to avoid, for comparison.
        locks: a folder of the person where processes see that one of them writes a document's file; None where no
            other process does.
        looks_only: whether the store must stay as it is: documents do not follow their files, and where loadable tools
            may come, but are not open here, their hints stand as they were sent last.
        recall: how is searched; by words without.
        chooses_layout: whether the layout of windows follows from how the conversation runs, and not from the model
            alone.
    """
    bus, options = EventBus(), recall or RecallOptions()
    options = replace(options, index_dir=None) if looks_only else options
    recalling = build_recalling(bus, options, store=store, clock=clock, conversation=conversation)
    reminders, documents = ReminderBook(store, clock), DocumentLibrary(store, clock, locks=locks)
    built_in = _tools(store, clock, reminders, documents, recalling)
    toolbox = Toolbox((*built_in, *tools), loadable, loading=loading or bool(loadable))
    shown = DomaindocTrinket(store if looks_only else _FollowedFiles(documents))
    steady = (shown, ToolGuidanceTrinket(descriptions), ToolHintsTrinket(descriptions, toolbox))
    volatile = (TimeManager(), ManifestTrinket(TitledSegments(store)), ReminderManager(store), *recalling.trinkets)
    memory = _registered(bus, steady, volatile, volatile_placement)
    builder = WindowBuilder(
        store=store,
        bus=bus,
        clock=clock,
        conversation=conversation,
        persona=persona,
        tools=toolbox.definitions,
        unopened=frozenset({ToolHintsTrinket.section_name} if looks_only and loading else ()),
        holds=volatile_placement is not TrinketPlacement.SYSTEM,
        chooser=LayoutChooser(store, conversation) if chooses_layout else None,
    )
    return Mind(bus, memory, reminders, documents, recalling, toolbox, builder)


def _tools(
    store: Store, clock: Clock, reminders: ReminderBook, documents: DocumentLibrary, recalling: Recalling
) -> list[RunnableTool]:
    return [
        *reminder_tools(reminders),
        *document_tools(documents),
        *result_tools(store),
        *search_tools(recalling.searches, clock),
    ]


def _registered(
    bus: EventBus,
    steady: Sequence[EventAwareTrinket],
    volatile: Sequence[EventAwareTrinket],
    placement: TrinketPlacement | None,
) -> WorkingMemory:
    memory = WorkingMemory(bus)
    for trinket in steady:
        memory.register_trinket(trinket)
    for trinket in volatile:
        memory.register_trinket(trinket, placement=placement)
    return memory


def _listed_price(provider: str, model: str, usage: Usage) -> Decimal | None:
    try:
        return list_price(provider, model, usage)
    except UsageError:
        # Without the package with the lists nothing is known of prices, and the turn goes on.
        return None


def build_orchestrator(
    mind: Mind,
    *,
    store: Store,
    model: Model,
    clock: Clock,
    conversation: str = DEFAULT_CONVERSATION,
    step_limit: int = STEP_LIMIT,
    timer: Callable[[], float] = time.perf_counter,
    price_of: PriceOf | None = None,
    keep_alive: KeepAlive | None = None,
) -> Orchestrator:
    """Put a model under a mind of the same store, clock and conversation.

    Args:
        step_limit: how often in one turn the model may call tools.
        timer: seconds from an arbitrary start, for durations.
        price_of: what a call costs; the public price lists where None is given and their package is installed.
        keep_alive: rests while a turn runs.
    """

    async def save(text: str) -> str:
        return (await store.save_texts([text]))[0]

    limit = _RESULT_LIMIT if model.context_limit is None else min(max(model.context_limit, 1000), _RESULT_LIMIT)
    runner = ToolRunner(
        mind.toolbox,
        clock=clock,
        save=save,
        result_limit=limit,
        step_limit_characters=2 * limit,
        guarded=lambda: frozenset({*mind.memory.trinkets, *_GUARDED_ELEMENTS}),
        inputs=model.profile.inputs,
    )
    return Orchestrator(
        store=store,
        model=model,
        bus=mind.bus,
        builder=mind.builder,
        clock=clock,
        conversation=conversation,
        watch=CacheWatch(
            store=store,
            model=model,
            clock=clock,
            conversation=conversation,
            price_of=price_of or _listed_price,
            trinkets=lambda: mind.memory.trinkets,
        ),
        tools=runner,
        sees=mind.toolbox.see,
        begins=keep_alive.rest if keep_alive is not None else lambda: None,
        step_limit=step_limit,
        timer=timer,
    )


def build_keep_alive(
    mind: Mind,
    *,
    store: Store,
    model: Model,
    clock: Clock,
    most: int,
    conversation: str = DEFAULT_CONVERSATION,
    price_of: PriceOf | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> KeepAlive:
    """What refreshes the cached prompt between the turns; close it before the store.

    Args:
        most: how many refreshes there may be in a row; 0 for none.
        price_of: what a call costs; the public price lists where None is given and their package is installed.
        tell: told in one line when a refresh failed.
    """
    return KeepAlive(
        store=store,
        model=model,
        bus=mind.bus,
        clock=clock,
        conversation=conversation,
        most=most,
        price_of=price_of or _listed_price,
        tell=tell,
    )
