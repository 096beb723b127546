"""The window of the next turn as `window show` and `window explain` look at it: nothing is sent, nothing is written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from frontmind.assistant.explanation import Background
from frontmind.assistant.recalling import RecallOptions
from frontmind.assistant.window_builder import BuiltWindow
from frontmind.assistant.window_opening import Reader
from frontmind.assistant.wiring import DEFAULT_CONVERSATION, Mind, build_mind
from frontmind.cli.options import named_path, read_text_file, resolve_clock, resolve_db, resolve_selection
from frontmind.cli.settings import load_settings
from frontmind.cli.settings_file import read_settings_file, settings_file_path
from frontmind.cli.slash import tool_descriptions
from frontmind.cli.terminal import note
from frontmind.continuum.fit import window_start_to_fit
from frontmind.continuum.importing import import_conversation
from frontmind.errors import UsageError
from frontmind.providers.estimate import Calibration, calibrate, estimate_request
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
from frontmind.values.records import Turn, TurnState
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.normalise import split_at_turn

_CONVERSATION_LIMIT = 100_000_000
_PLACEHOLDER = "(your next message)"
_REPLIES_TO_LEARN_FROM = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a command that looks at the next window, as they were given."""

    message: str | None
    conversation: Path | None
    model: str | None
    framing: Framing | None
    profile: str | None
    db: str | None
    now: str | None
    timezone: str | None


@dataclass(frozen=True, slots=True)
class Preview:
    """A window that would be sent, the request that it would be, and what is known beside it."""

    built: BuiltWindow
    request: Request
    known: Background


@dataclass(frozen=True, slots=True)
class _SelectedReader:
    """A `Reader` that is not opened."""

    name: str
    framing: FramingChoice
    profile: Profile
    context_limit: int | None


def look_ahead(asked: Asked) -> tuple[Selection, Preview]:
    """The model of this run and the window of its next turn.

    Raises:
        UsageError: an option cannot be used, the message is blank, or the file is no conversation.
        StoreError: the database cannot be read.
    """
    settings = load_settings()
    clock = resolve_clock(asked.now, asked.timezone, settings)
    selection = resolve_selection(asked.model, asked.framing, asked.profile, settings)
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
        # To look sends nothing, so no server is asked for vectors, and fetches nothing.
        embedder_source=SavedEmbedder(settings.cache) if chosen.kind is EmbedderKind.MINILM else None,
    )
    return selection, asyncio.run(found)


async def _preview(
    selection: Selection,
    clock: Clock,
    *,
    db: str,
    message: str | None,
    conversation: Path | None,
    context_limit: int | None,
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
    )
    try:
        await mind.recalling.indexer.open()
        if conversation is not None:
            built = await _of_file(mind, reader, conversation, message)
            known = Background(clock.now(), trinkets=mind.memory.trinkets, failures=built.failures)
            request = selection.encode(built.window)
            _start_that_fits((), 1, request, known.calibration, selection, context_limit)
            return Preview(built, request, known)
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
    earlier, calibration = await _learn(store, answered, reader.name)
    turn, before, stored = await mind.builder.next_turn(message)
    opening = await mind.builder.opening(turn, before, stored, reader=reader)
    while True:
        built = await mind.builder.for_turn(turn, before, opening=opening, reader=reader)
        request = selection.encode(built.window)
        following = _start_that_fits(answered, opening.start, request, calibration, selection, reader.context_limit)
        if following is None:
            break
        opening = await mind.builder.moved(turn, before, following, reader=reader)
    known = Background(
        now=clock.now(),
        turns=[turn for turn in answered if turn.number >= opening.start],
        left_out=sum(turn.number < opening.start for turn in answered),
        trinkets=mind.memory.trinkets,
        failures=built.failures,
        earlier=earlier,
        calibration=calibration,
    )
    return Preview(built, request, known)


async def _learn(
    store: Store, answered: Sequence[Turn], model: str
) -> tuple[list[tuple[Request, datetime]], Calibration]:
    """The newest requests to this model, and how far estimates of them are off."""
    earlier, counts = [], []
    for turn in reversed([turn for turn in answered if turn.model == model][-_REPLIES_TO_LEARN_FROM:]):
        if turn.request is None or turn.answered_at is None:
            continue
        request = await store.load_request(turn.request)
        earlier.append((request, turn.answered_at))
        if turn.usage is not None and not turn.usage.estimated:
            counts.append((estimate_request(request), turn.usage.input))
    return earlier, calibrate(counts)


def _start_that_fits(
    turns: Sequence[Turn],
    start: int,
    request: Request,
    calibration: Calibration,
    selection: Selection,
    limit: int | None,
) -> int | None:
    """As a turn would leave old turns out, by estimate; None when the request fits or nothing can be left out."""
    if limit is None:
        return None
    tokens = calibration.corrected(estimate_request(request))
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
