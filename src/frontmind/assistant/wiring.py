"""The only place where the parts are put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from frontmind.assistant.orchestrator import STEP_LIMIT, Orchestrator
from frontmind.assistant.steadiness import CHANGES_SECTION
from frontmind.assistant.window_builder import WindowBuilder
from frontmind.domaindocs.library import DocumentLibrary
from frontmind.events import EventBus
from frontmind.providers.protocol import Model
from frontmind.reminders.book import ReminderBook
from frontmind.stores.protocols import Store
from frontmind.tools.document_tools import document_tools
from frontmind.tools.reminder_tools import reminder_tools
from frontmind.tools.result_tools import result_tools
from frontmind.tools.runner import ToolRunner
from frontmind.tools.tool import RunnableTool
from frontmind.tools.toolbox import Toolbox
from frontmind.trinkets import (
    DomaindocTrinket,
    GetContextTrinket,
    ManifestTrinket,
    ProactiveMemoryTrinket,
    ReminderManager,
    TimeManager,
    ToolDescription,
    ToolGuidanceTrinket,
    ToolHintsTrinket,
    TrinketPlacement,
)
from frontmind.values.clock import Clock
from frontmind.values.records import Document
from frontmind.working_memory.base_prompt import DEFAULT_PERSONA
from frontmind.working_memory.composer import BASE_PROMPT_SECTION
from frontmind.working_memory.core import WorkingMemory

DEFAULT_CONVERSATION = "main"
_RESULT_LIMIT = 16_000
"""The most characters of one tool's result; with a small context as many as it has tokens, about a quarter of it."""
_GUARDED_ELEMENTS = (BASE_PROMPT_SECTION, CHANGES_SECTION)
"""Elements of the prompt that no trinket writes; no result of a tool may have their tags."""


@dataclass(frozen=True, slots=True)
class Mind:
    """The window engine of one conversation, with the built-in trinkets and tools, before any model.

    Attributes:
        memory: register further trinkets here.
        searches: give finds to the next turn here.
        reminders: the person's reminders.
        documents: the documents in the system prompt.
        toolbox: what the model may call.
        builder: makes windows.
    """

    bus: EventBus
    memory: WorkingMemory
    searches: GetContextTrinket
    reminders: ReminderBook
    documents: DocumentLibrary
    toolbox: Toolbox
    builder: WindowBuilder

    def close(self) -> None:
        """Detach everything from the bus."""
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
    """
    bus = EventBus()
    memory = WorkingMemory(bus)
    searches = GetContextTrinket()
    reminders, documents = ReminderBook(store, clock), DocumentLibrary(store, clock, locks=locks)
    built_in = (*reminder_tools(reminders), *document_tools(documents), *result_tools(store))
    toolbox = Toolbox((*built_in, *tools), loadable, loading=loading or bool(loadable))
    documents_shown = DomaindocTrinket(store if looks_only else _FollowedFiles(documents))
    for steady in (documents_shown, ToolGuidanceTrinket(descriptions), ToolHintsTrinket(descriptions, toolbox)):
        memory.register_trinket(steady)
    reading = (ManifestTrinket(store), ReminderManager(store), ProactiveMemoryTrinket(store))
    for volatile in (TimeManager(), searches, *reading):
        memory.register_trinket(volatile, placement=volatile_placement)
    builder = WindowBuilder(
        store=store,
        bus=bus,
        clock=clock,
        conversation=conversation,
        persona=persona,
        tools=toolbox.definitions,
        unopened=frozenset({ToolHintsTrinket.section_name} if looks_only and loading else ()),
        holds=volatile_placement is not TrinketPlacement.SYSTEM,
    )
    return Mind(bus, memory, searches, reminders, documents, toolbox, builder)


def build_orchestrator(
    mind: Mind,
    *,
    store: Store,
    model: Model,
    clock: Clock,
    conversation: str = DEFAULT_CONVERSATION,
    step_limit: int = STEP_LIMIT,
    timer: Callable[[], float] = time.perf_counter,
) -> Orchestrator:
    """Put a model under a mind of the same store, clock and conversation."""

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
        tools=runner,
        sees=mind.toolbox.see,
        step_limit=step_limit,
        timer=timer,
    )
