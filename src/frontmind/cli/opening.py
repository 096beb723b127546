"""Everything that an assistant needs, opened in its order and closed again: for the chat and for the server alike."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from frontmind.assistant.notices import Notices
from frontmind.assistant.recalling import RecallOptions
from frontmind.cli.memory_model import open_memory_model
from frontmind.cli.settings import Settings
from frontmind.cli.settings_file import read_settings_file, settings_file_path
from frontmind.cli.terminal import note
from frontmind.providers.opening import Selection, open_model
from frontmind.providers.protocol import Model
from frontmind.recall.embedder_source import ChosenEmbedder
from frontmind.recall.extraction import memory_model
from frontmind.recall.opening_embedder import parse_embedder_name
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.tools.mcp import open_mcp_tools
from frontmind.tools.tool import RunnableTool


@dataclass(frozen=True, slots=True)
class Opened:
    """What an assistant is made of.

    Attributes:
        recall: how is searched; its notices take what a person should know.
        loadable: tools of MCP servers.
        loading: whether there are such servers, also when none of them has come.
    """

    store: SqliteStore
    model: Model
    recall: RecallOptions
    loadable: Sequence[RunnableTool]
    loading: bool


@asynccontextmanager
async def open_assistant(
    selection: Selection,
    settings: Settings,
    *,
    db: str,
    notices: Notices,
    check: Callable[[SqliteStore], Awaitable[bool]] | None = None,
) -> AsyncIterator[Opened]:
    """Open the database, the model, the memory model and the MCP servers of the settings file.

    Args:
        notices: takes what goes on beside the turns.
        check: looks at the database before anything else is opened, and says whether MCP servers may be used; without
            it they may.

    Raises:
        UsageError: a name cannot be used.
        StoreError: the database cannot be.
        ModelUnavailable: the model cannot be.
    """
    # A wrong name before anything is opened.
    remembers = memory_model(settings.memory_model, selection.name)
    recall = RecallOptions(
        source=ChosenEmbedder(parse_embedder_name(settings.embedder), settings.cache, announce=notices.add),
        index_dir=None if db == IN_MEMORY else Path(f"{db}.indexes"),
        notices=notices,
    )
    async with AsyncExitStack() as stack:
        # The database first: it opens at once, and a wrong one should not cost the loading of a model.
        store = SqliteStore.open(db)
        stack.push_async_callback(store.close)
        with_tools = check is None or await check(store)
        model = await open_model(
            selection, cache_dir=settings.cache, local_context=settings.local_context, announce=note
        )
        stack.push_async_callback(model.close)
        if remembers is not None:
            memory = await open_memory_model(remembers, selection.name, model, settings, tell=notices.add)
            if memory is not None and memory is not model:
                stack.push_async_callback(memory.close)
            recall = replace(recall, memory_model=memory)
        servers = read_settings_file(settings_file_path(os.environ)).mcp if with_tools else ()
        tools = await stack.enter_async_context(open_mcp_tools(servers, announce=note))
        yield Opened(store, model, recall, tools, bool(servers))
