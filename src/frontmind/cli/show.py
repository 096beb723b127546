"""``frontmind window show``: the window of the next turn, without sending anything."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from frontmind.assistant.window_builder import BuiltWindow
from frontmind.assistant.wiring import build_mind
from frontmind.cli.options import (
    DbOption,
    JsonOption,
    ModelOption,
    NowOption,
    TimezoneOption,
    named_path,
    read_text_file,
    resolve_clock,
    resolve_db,
)
from frontmind.cli.settings import load_settings
from frontmind.cli.slash import tool_descriptions
from frontmind.cli.terminal import emit, json_text, note, say
from frontmind.continuum.importing import import_conversation
from frontmind.errors import UsageError
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.names import Provider, choose_model
from frontmind.providers.opening import encoder_of
from frontmind.providers.protocol import Request
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.clock import Clock
from frontmind.values.message import user
from frontmind.window.blocks import message_text
from frontmind.window.framing import FramedMessage, Framing, Origin, frame
from frontmind.window.normalise import split_at_turn
from frontmind.window.window import Window

_CONVERSATION_LIMIT = 100_000_000
_PLACEHOLDER = "(your next message)"


def show(
    message: Annotated[
        str | None, typer.Option("--message", metavar="TEXT", help="The next user message.", show_default=False)
    ] = None,
    conversation: Annotated[
        Path | None,
        typer.Option(
            "--conversation",
            metavar="FILE",
            help="A JSON list of role/content messages in place of the stored conversation.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = None,
    request: Annotated[bool, typer.Option("--request", help="Print the exact request as JSON.")] = False,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the window of the next turn without sending anything, and without writing to the database."""
    settings = load_settings()
    clock = resolve_clock(now, timezone, settings)
    name = choose_model(model, os.environ)
    if message is not None and not message.strip():
        raise UsageError("the message is empty; write something behind --message")
    built = asyncio.run(_build(resolve_db(db, settings), clock, message, conversation))
    encoded = encoder_of(name, max_output_tokens=settings.max_output_tokens)(built.window)
    for failure in built.failures:
        note(f"{failure.section} is unavailable: {failure.reason}")
    limit = settings.local_context if name.provider is Provider.LOCAL else None
    if limit is not None and estimate_request(encoded) > limit:
        note(f"this is larger than the model's context of {limit:,} tokens: a turn would leave the oldest turns out")
    if request:
        emit(json_text(encoded) + "\n")
    elif as_json:
        emit(json_text(window_json(built.window, encoded, str(name))) + "\n")
    else:
        _print_window(built.window, encoded, str(name))


async def _build(db: str, clock: Clock, message: str | None, conversation: Path | None) -> BuiltWindow:
    store = _open_to_look(db)
    mind = build_mind(store=store, clock=clock, tools=tool_descriptions())
    try:
        if conversation is None:
            if message is None:
                note(f"no --message: {_PLACEHOLDER!r} stands for it")
            return await mind.builder.preview(message or _PLACEHOLDER)
        text = read_text_file(conversation, "the conversation", limit=_CONVERSATION_LIMIT)
        imported = import_conversation(text, source=str(conversation))
        for change in imported.changes:
            note(f"changed in {conversation.name}: {change}")
        history, turn = split_at_turn(imported.messages, None if message is None else user(message))
        if not turn:
            note(f"no --message: {_PLACEHOLDER!r} stands for it")
            turn = (user(_PLACEHOLDER),)
        return await mind.builder.preview_foreign(history, turn, system=imported.system)
    finally:
        mind.close()
        await store.close()


def _open_to_look(db: str) -> Store:
    """The store without a right to write; an empty one where there is none yet."""
    if db == ":memory:" or not named_path(db).exists():
        return SqliteStore.open(":memory:")
    return SqliteStore.open_existing_read_only(db)


def window_json(window: Window, encoded: Request, model: str) -> dict[str, object]:
    """The window as a JSON object, every section and message with its place and size."""
    return {
        "model": model,
        "framing": Framing.ASSISTANT.value,
        "tokens": {"total": estimate_request(encoded), "exact": False},
        "sections": [
            {
                "name": section.name,
                "placement": section.placement,
                "cache_policy": section.cache_policy,
                "tokens": estimate_tokens(section.content),
                "content": section.content,
            }
            for section in window.sections
        ],
        "system": {"cached": window.cached_system, "uncached": window.uncached_system},
        "notification_center": window.notification_center,
        "messages": [
            {"role": item.message.role.value, "origin": item.origin.value, "text": message_text(item.message)}
            for item in frame(window)
        ],
    }


_ORIGINS = {
    Origin.HISTORY: "conversation history",
    Origin.RULE: "the rule that opens the notification center",
    Origin.NOTIFICATION: "notification center",
    Origin.TURN: "current turn",
}


def _print_window(window: Window, encoded: Request, model: str) -> None:
    say(f"# The next window for {model}: ~{estimate_request(encoded):,} tokens, framing {Framing.ASSISTANT.value}")
    for text, what in ((window.cached_system, "cached"), (window.uncached_system, "not cached")):
        if text:
            say(f"\n## system · {what} · ~{estimate_tokens(text):,} tokens\n{text}")
    for item in frame(window):
        say(f"\n## {_heading(item)}\n{message_text(item.message)}")


def _heading(item: FramedMessage) -> str:
    tokens = estimate_tokens(message_text(item.message))
    return f"{item.message.role.value} · {_ORIGINS[item.origin]} · ~{tokens:,} tokens"
