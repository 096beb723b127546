"""A running assistant as the command line holds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from platformdirs import user_state_path

from frontmind.assistant.orchestrator import Orchestrator
from frontmind.assistant.recalling import RecallOptions
from frontmind.assistant.report import TurnReport
from frontmind.assistant.wiring import Mind, build_keep_alive, build_mind, build_orchestrator
from frontmind.providers.protocol import Model
from frontmind.stores.protocols import Store
from frontmind.tools.tool import RunnableTool
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
    store: Store,
    model: Model,
    clock: Clock,
    descriptions: Sequence[ToolDescription],
    *,
    loadable: Sequence[RunnableTool] = (),
    loading: bool = False,
    recall: RecallOptions | None = None,
    chooses_layout: bool = False,
    keep_alive: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Session]:
    """Put the assistant together around a store and a model, which stay the caller's to close.

    Args:
        descriptions: what the model should know that the person can do.
        loadable: tools of which the model is told a line each.
        loading: whether there are servers of such tools, also when none of them has come.
        recall: how is searched; by words without.
        chooses_layout: whether the layout of windows follows from how the conversation runs.
        keep_alive: how often in a row the provider's cache is refreshed while nobody says anything.
        tell: told in one line when that failed.
    """
    mind = build_mind(
        store=store,
        clock=clock,
        descriptions=descriptions,
        loadable=loadable,
        loading=loading,
        # The person's own, and the same for all databases: two of them may have documents that follow one file.
        locks=user_state_path("frontmind"),
        recall=recall,
        chooses_layout=chooses_layout,
    )
    refreshes = build_keep_alive(mind, store=store, model=model, clock=clock, most=keep_alive, tell=tell)
    orchestrator = build_orchestrator(mind, store=store, model=model, clock=clock, keep_alive=refreshes)
    mind.start()
    try:
        yield Session(store, model, clock, mind, orchestrator)
    finally:
        await refreshes.aclose()
        await mind.aclose()
