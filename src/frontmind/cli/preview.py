"""The options of `window show` and `window explain`, the files that they read, and what they note beside the window."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from pathlib import Path

from frontmind.assistant import looking_ahead
from frontmind.assistant.looking_ahead import ForeignConversation, Preview
from frontmind.assistant.recalling import RecallOptions
from frontmind.assistant.wiring import DEFAULT_CONVERSATION, build_mind
from frontmind.cli.options import (
    named_path,
    read_text_file,
    resolve_clock,
    resolve_db,
    resolve_layout,
    resolve_selection,
)
from frontmind.cli.settings import load_settings
from frontmind.cli.settings_file import read_settings_file, settings_file_path
from frontmind.cli.slash import tool_descriptions
from frontmind.cli.terminal import note
from frontmind.continuum.importing import import_conversation
from frontmind.errors import UsageError
from frontmind.providers.names import Provider
from frontmind.providers.opening import Selection
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.protocol import Request
from frontmind.recall.embedder_source import EmbedderSource, SavedEmbedder
from frontmind.recall.opening_embedder import EmbedderKind, parse_embedder_name
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.clock import Clock
from frontmind.values.message import user
from frontmind.window.choice import Framing, FramingChoice, LayoutName
from frontmind.window.normalise import split_at_turn
from frontmind.window.window import Window

_CONVERSATION_LIMIT = 100_000_000
_PLACEHOLDER = "(your next message)"


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a command that looks at the next window, as they were given."""

    message: str | None
    conversation: Path | None
    model: str | None
    framing: Framing | None
    layout: LayoutName | None
    profile: str | None
    db: str | None
    now: str | None
    timezone: str | None


@dataclass(frozen=True, slots=True)
class _SelectedModel:
    """A model that is not opened."""

    selection: Selection
    context_limit: int | None

    @property
    def name(self) -> str:
        return str(self.selection.name)

    @property
    def framing(self) -> FramingChoice:
        return self.selection.framing

    @property
    def profile(self) -> Profile:
        return self.selection.profile

    @property
    def max_output_tokens(self) -> int:
        return self.selection.max_output_tokens

    def encode(self, window: Window) -> Request:
        return self.selection.encode(window)


def look_ahead(asked: Asked) -> tuple[Selection, Preview]:
    """The model of this run, with the framing that is taken, and the window of its next turn.

    Raises:
        UsageError: an option cannot be used, the message is blank, or the file is no conversation.
        StoreError: the database cannot be read.
    """
    settings = load_settings()
    clock = resolve_clock(asked.now, asked.timezone, settings)
    selection = resolve_selection(asked.model, asked.framing, asked.profile, settings, layout=asked.layout)
    limit = settings.local_context if selection.name.provider is Provider.LOCAL else None
    db = resolve_db(asked.db, settings)
    chosen = parse_embedder_name(settings.embedder)
    found = _preview(
        _SelectedModel(selection, limit),
        clock,
        db=db,
        message=asked.message,
        conversation=asked.conversation,
        chooses_layout=resolve_layout(asked.layout, asked.framing, settings) is LayoutName.AUTO,
        # To look sends nothing, so no server is asked for vectors, and fetches nothing.
        embedder_source=SavedEmbedder(settings.cache) if chosen.kind is EmbedderKind.MINILM else None,
    )
    preview = asyncio.run(found)
    return replace(selection, framing=preview.built.window.framing or selection.framing), preview


async def _preview(
    model: _SelectedModel,
    clock: Clock,
    *,
    db: str,
    message: str | None,
    conversation: Path | None,
    chooses_layout: bool,
    embedder_source: EmbedderSource | None,
) -> Preview:
    if message is not None and not message.strip():
        raise UsageError("the message is empty; write something behind --message")
    store = _open_to_look(db)
    servers = read_settings_file(settings_file_path(os.environ)).mcp
    if servers:
        note("the MCP servers of the settings file are not started to look: the hints of their tools are missing here")
    mind = build_mind(
        store=store,
        clock=clock,
        descriptions=tool_descriptions(),
        loading=bool(servers),
        looks_only=True,
        recall=RecallOptions(source=embedder_source),
        chooses_layout=chooses_layout,
    )
    try:
        await mind.recalling.indexer.open()
        if conversation is not None:
            preview = await looking_ahead.look_at_foreign(mind, model, clock, _of_file(conversation, message))
        else:
            if message is None:
                note(f"no --message: {_PLACEHOLDER!r} stands for it")
            preview = await looking_ahead.look_ahead(
                mind, store, model, clock, conversation=DEFAULT_CONVERSATION, message=message or _PLACEHOLDER
            )
    finally:
        await mind.aclose()
        await store.close()
    for line in preview.notes:
        note(line)
    return preview


def _of_file(conversation: Path, message: str | None) -> ForeignConversation:
    text = read_text_file(conversation, "the conversation", limit=_CONVERSATION_LIMIT)
    imported = import_conversation(text, source=str(conversation))
    for change in imported.changes:
        note(f"changed in {conversation.name}: {change}")
    history, turn = split_at_turn(imported.messages, None if message is None else user(message))
    if not turn:
        note(f"no --message: {_PLACEHOLDER!r} stands for it")
        turn = (user(_PLACEHOLDER),)
    return ForeignConversation(history, turn, imported.system, imported.tools)


def _open_to_look(db: str) -> Store:
    """The store without a right to write; an empty one where there is none yet."""
    if db == ":memory:" or not named_path(db).exists():
        return SqliteStore.open(":memory:")
    return SqliteStore.open_existing_read_only(db)
