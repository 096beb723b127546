"""The window of the next turn as `window show` and `window explain` look at it: nothing is sent, nothing is written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from frontmind.assistant.explanation import Background
from frontmind.assistant.recalling import RecallOptions
from frontmind.assistant.window_builder import BuiltWindow
from frontmind.assistant.window_opening import Reader
from frontmind.assistant.wiring import DEFAULT_CONVERSATION, Mind, build_mind
from frontmind.cachelab.past_calls import past_calls
from frontmind.cachelab.prediction import PastCall, Prediction, predict
from frontmind.cachelab.prefixes import Prefixes
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
from frontmind.continuum.fit import window_start_to_fit
from frontmind.continuum.importing import import_conversation
from frontmind.errors import UsageError
from frontmind.providers.names import Provider
from frontmind.providers.opening import Selection
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.recall.embedder_source import EmbedderSource, SavedEmbedder
from frontmind.recall.opening_embedder import EmbedderKind, parse_embedder_name
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.clock import Clock
from frontmind.values.message import user
from frontmind.values.records import Turn, TurnState
from frontmind.window.choice import Framing, FramingChoice, LayoutName
from frontmind.window.layout import Layout
from frontmind.window.normalise import split_at_turn

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
class Preview:
    """A window that would be sent, the request that it would be, and what is known beside it.

    Attributes:
        layout: the request as a cache sees it.
        prediction: what the cache should do with it, as a turn that is sent now would expect.
    """

    built: BuiltWindow
    request: Request
    layout: Layout
    prediction: Prediction
    known: Background


@dataclass(frozen=True, slots=True)
class _SelectedReader:
    """A `Reader` that is not opened."""

    name: str
    framing: FramingChoice
    profile: Profile
    context_limit: int | None


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
        selection,
        clock,
        db=db,
        message=asked.message,
        conversation=asked.conversation,
        context_limit=limit,
        chooses_layout=resolve_layout(asked.layout, asked.framing, settings) is LayoutName.AUTO,
        # To look sends nothing, so no server is asked for vectors, and fetches nothing.
        embedder_source=SavedEmbedder(settings.cache) if chosen.kind is EmbedderKind.MINILM else None,
    )
    preview = asyncio.run(found)
    return replace(selection, framing=preview.built.window.framing or selection.framing), preview


async def _preview(
    selection: Selection,
    clock: Clock,
    *,
    db: str,
    message: str | None,
    conversation: Path | None,
    context_limit: int | None,
    chooses_layout: bool,
    embedder_source: EmbedderSource | None,
) -> Preview:
    if message is not None and not message.strip():
        raise UsageError("the message is empty; write something behind --message")
    reader = _SelectedReader(str(selection.name), selection.framing, selection.profile, context_limit)
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
            built = await _of_file(mind, reader, conversation, message)
            known = Background(trinkets=mind.memory.trinkets, failures=built.failures)
            preview = _expected(built, selection, (), clock, known)
            _start_that_fits((), 1, preview.prediction.expected.input, selection, context_limit)
            return preview
        if message is None:
            note(f"no --message: {_PLACEHOLDER!r} stands for it")
        return await _of_store(mind, store, selection, reader, clock, message or _PLACEHOLDER)
    finally:
        await mind.aclose()
        await store.close()


async def _of_file(mind: Mind, reader: Reader, conversation: Path, message: str | None) -> BuiltWindow:
    text = read_text_file(conversation, "the conversation", limit=_CONVERSATION_LIMIT)
    imported = import_conversation(text, source=str(conversation))
    for change in imported.changes:
        note(f"changed in {conversation.name}: {change}")
    history, turn = split_at_turn(imported.messages, None if message is None else user(message))
    if not turn:
        note(f"no --message: {_PLACEHOLDER!r} stands for it")
        turn = (user(_PLACEHOLDER),)
    return await mind.builder.preview_foreign(
        history, turn, system=imported.system, tools=imported.tools, reader=reader
    )


async def _of_store(
    mind: Mind,
    store: Store,
    selection: Selection,
    reader: Reader,
    clock: Clock,
    message: str,
) -> Preview:
    turns = await store.turns(DEFAULT_CONVERSATION)
    answered = [turn for turn in turns if turn.state is TurnState.DONE]
    past = await _past(store, str(selection.name))
    turn, before, stored = await mind.builder.next_turn(message)
    opening = await mind.builder.opening(turn, before, stored, reader=reader)
    while True:
        built = await mind.builder.for_turn(turn, before, opening=opening, reader=reader)
        known = Background(
            turns=[turn for turn in answered if turn.number >= opening.start],
            left_out=sum(turn.number < opening.start for turn in answered),
            trinkets=mind.memory.trinkets,
            failures=built.failures,
        )
        preview = _expected(built, selection, past, clock, known)
        tokens = preview.prediction.expected.input
        following = _start_that_fits(answered, opening.start, tokens, selection, reader.context_limit)
        if following is None:
            return preview
        opening = await mind.builder.moved(turn, before, following, reader=reader)


async def _past(store: Store, model: str) -> Sequence[PastCall]:
    try:
        return await past_calls(store, DEFAULT_CONVERSATION, model)
    except UsageError as error:
        # A request that is gone costs a turn no reply either.
        note(f"what the cache holds of the conversation cannot be read: {error}")
        return ()


def _expected(
    built: BuiltWindow, selection: Selection, past: Sequence[PastCall], clock: Clock, known: Background
) -> Preview:
    request = selection.encode(built.window)
    prefixes = Prefixes(read_request(request))
    prediction = predict(str(selection.name), prefixes, past, selection.profile, clock.now())
    return Preview(built, request, prefixes.layout, prediction, known)


def _start_that_fits(
    turns: Sequence[Turn],
    start: int,
    tokens: int,
    selection: Selection,
    limit: int | None,
) -> int | None:
    """As a turn would leave old turns out, by estimate; None when the request fits or nothing can be left out."""
    if limit is None:
        return None
    room = limit - min(selection.max_output_tokens, limit // 4)
    if tokens <= room:
        return None
    following = window_start_to_fit(turns, start=start, tokens=tokens, room=room)
    if following is None:
        note(f"this is larger than the model's context of {limit:,} tokens, and nothing is left to leave out")
    return following


def _open_to_look(db: str) -> Store:
    """The store without a right to write; an empty one where there is none yet."""
    if db == ":memory:" or not named_path(db).exists():
        return SqliteStore.open(":memory:")
    return SqliteStore.open_existing_read_only(db)
