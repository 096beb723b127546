"""The only place where the parts are put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from frontmind.assistant.orchestrator import Orchestrator
from frontmind.assistant.window_builder import WindowBuilder
from frontmind.events import EventBus
from frontmind.providers.protocol import Model
from frontmind.stores.protocols import Store
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
from frontmind.working_memory.base_prompt import DEFAULT_PERSONA
from frontmind.working_memory.core import WorkingMemory

DEFAULT_CONVERSATION = "main"


@dataclass(frozen=True, slots=True)
class Mind:
    """The window engine of one conversation, with the built-in trinkets, before any model.

    Attributes:
        memory: register further trinkets here.
        searches: give finds to the next turn here.
        builder: makes windows.
    """

    bus: EventBus
    memory: WorkingMemory
    searches: GetContextTrinket
    builder: WindowBuilder

    def close(self) -> None:
        """Detach everything from the bus."""
        self.builder.close()
        self.memory.close()


def build_mind(
    *,
    store: Store,
    clock: Clock,
    tools: Sequence[ToolDescription] = (),
    conversation: str = DEFAULT_CONVERSATION,
    persona: str = DEFAULT_PERSONA,
    volatile_placement: TrinketPlacement | None = None,
) -> Mind:
    """Put the window engine together.

    Args:
        store: what the trinkets read.
        clock: what tells the time of previews.
        tools: what the model should know that can be done.
        conversation: the conversation's name.
        persona: who the assistant is; begins the system prompt.
        volatile_placement: where the sections stand that change every turn; None leaves it to the trinkets. Given
            `TrinketPlacement.SYSTEM`, the window is the one that Frontmind exists to avoid, for comparison.
    """
    bus = EventBus()
    memory = WorkingMemory(bus)
    searches = GetContextTrinket()
    for steady in (DomaindocTrinket(store), ToolGuidanceTrinket(tools), ToolHintsTrinket(tools)):
        memory.register_trinket(steady)
    for volatile in (
        TimeManager(),
        ManifestTrinket(store),
        ReminderManager(store),
        searches,
        ProactiveMemoryTrinket(store),
    ):
        memory.register_trinket(volatile, placement=volatile_placement)
    builder = WindowBuilder(store=store, bus=bus, clock=clock, conversation=conversation, persona=persona)
    return Mind(bus, memory, searches, builder)


def build_orchestrator(
    mind: Mind,
    *,
    store: Store,
    model: Model,
    clock: Clock,
    conversation: str = DEFAULT_CONVERSATION,
    timer: Callable[[], float] = time.perf_counter,
) -> Orchestrator:
    """Put a model under a mind of the same store, clock and conversation."""
    return Orchestrator(
        store=store,
        model=model,
        bus=mind.bus,
        builder=mind.builder,
        clock=clock,
        conversation=conversation,
        timer=timer,
    )
