"""A running assistant as the command line holds it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from frontmind.assistant.orchestrator import Orchestrator
from frontmind.assistant.report import TurnReport
from frontmind.assistant.wiring import Mind, build_mind, build_orchestrator
from frontmind.providers.protocol import Model
from frontmind.stores.protocols import Store
from frontmind.trinkets import ToolDescription
from frontmind.values.clock import Clock


@dataclass(slots=True)
class Session:
    """One person, one conversation, one model.

    Attributes:
        last: the report of the newest turn of this run.
    """

    store: Store
    model: Model
    clock: Clock
    mind: Mind
    orchestrator: Orchestrator
    last: TurnReport | None = None


@asynccontextmanager
async def open_session(
    store: Store, model: Model, clock: Clock, tools: tuple[ToolDescription, ...]
) -> AsyncIterator[Session]:
    """Put the assistant together around a store and a model, which stay the caller's to close."""
    mind = build_mind(store=store, clock=clock, tools=tools)
    try:
        yield Session(store, model, clock, mind, build_orchestrator(mind, store=store, model=model, clock=clock))
    finally:
        mind.close()
