"""``frontmind memory``: the memories outside of a chat, and as files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar

import typer

from frontmind.cli.memory_command import (
    Memories,
    describe,
    exported,
    forget,
    format_of,
    import_summary,
    line_of,
    parse_memory_id,
    read_memories,
    status_lines,
    write_new,
)
from frontmind.cli.memory_model import loses_cache
from frontmind.cli.options import (
    DbOption,
    JsonOption,
    NowOption,
    TimezoneOption,
    named_path,
    resolve_clock,
    resolve_db,
    spare_database,
)
from frontmind.cli.settings import load_settings
from frontmind.cli.terminal import emit, json_text, note, on_one_line, printable, say
from frontmind.errors import UsageError
from frontmind.providers.names import choose_model
from frontmind.recall.extraction import memory_model
from frontmind.recall.facts import FactKeeper
from frontmind.recall.importance import importances
from frontmind.recall.interchange import FileFormat, export_memories, import_memories
from frontmind.reminders.in_words import NEVER, parse_slot
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.clock import Clock
from frontmind.values.memories import Memory

T = TypeVar("T")

EXIT_SKIPPED = 1
_IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Such as m3.")]

memory_app = typer.Typer(help="What is remembered of you, outside of a chat.", no_args_is_help=True)


@memory_app.command("list")
def list_memories(
    everything: Annotated[bool, typer.Option("--all", help="Those that are superseded as well.")] = False,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the memories. Nothing is written to the database."""

    async def run(memories: Memories) -> None:
        found = await memories.keeper.list(everything=everything)
        if as_json:
            emit(json_text(await _as_json(memories, found)) + "\n")
            return
        for kept in found:
            say(line_of(kept, memories.clock.now()))
        if not found:
            say("No memories.")

    _with_memories(db, now, timezone, run, writes=False)


@memory_app.command("show")
def show_memory(
    memory: _IdArgument,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show all that is known of a memory, with what it is linked to."""

    async def run(memories: Memories) -> None:
        kept = await memories.store.memory(parse_memory_id(memory))
        if as_json:
            emit(json_text((await _as_json(memories, [kept]))[0]) + "\n")
        else:
            say(await describe(memories, kept))

    _with_memories(db, now, timezone, run, writes=False)


@memory_app.command("add")
def add_memory(
    text: Annotated[str, typer.Argument(metavar="TEXT", help='Said to you, such as "You prefer tea".')],
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep a memory. One that says the same already is confirmed instead."""

    async def run(memories: Memories) -> None:
        kept, is_new = await memories.keeper.remember(text)
        await _tell(memories, kept, as_json=as_json, before="" if is_new else "Known already: ")

    _with_memories(db, now, timezone, run, writes=True)


@memory_app.command("edit")
def edit_memory(
    memory: _IdArgument,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="Another text.")] = None,
    happens: Annotated[
        str | None,
        typer.Option("--happens", metavar="DATE", help=f"When it takes place: ISO 8601, tomorrow at 9am, or {NEVER}."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DATE", help=f"Up to when it holds, or {NEVER}.")
    ] = None,
    restore: Annotated[bool, typer.Option("--restore", help="Let it hold again, although superseded.")] = False,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a memory."""
    if text is None and happens is None and until is None and not restore:
        raise UsageError("what should change? Pass --text, --happens, --until or --restore")

    async def run(memories: Memories) -> None:
        moment = memories.clock.now()
        happens_at = None if happens is None else parse_slot(happens, moment)
        valid_until = None if until is None else parse_slot(until, moment)

        def change(kept: Memory) -> Memory:
            kept = kept if text is None else replace(kept, text=text.strip())
            kept = kept if happens is None else replace(kept, happens_at=happens_at)
            kept = kept if until is None else replace(kept, valid_until=valid_until)
            return replace(kept, superseded_by=None, superseded_at=None) if restore else kept

        await _tell(memories, await memories.keeper.edit(parse_memory_id(memory), change), as_json=as_json)

    _with_memories(db, now, timezone, run, writes=True)


@memory_app.command("forget")
def forget_memory(
    memory: _IdArgument,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Delete a memory for good."""

    async def run(memories: Memories) -> None:
        say(await forget(memories, memory))

    _with_memories(db, now, timezone, run, writes=True)


@memory_app.command("export")
def export_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Markdown when it ends in .md; - for standard output.")],
    form: Annotated[FileFormat | None, typer.Option("--format", help="In place of what the name says.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file when it is there already.")] = False,
    db: DbOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Write all memories to a file: JSON lines, which lose nothing, or Markdown."""
    path = None if file == "-" else named_path(file)
    if path is not None and path.exists() and not (force and path.is_file()):
        raise UsageError(f"{path} is there already; name another file, or pass --force to replace it")
    if path is not None:
        spare_database(path, resolve_db(db, load_settings()))
    written_as = form or (FileFormat.JSON_LINES if path is None else format_of(path))

    async def run(memories: Memories) -> tuple[str, int]:
        return await exported(memories.store, memories.clock, written_as)

    text, count = _with_memories(db, None, timezone, run, writes=False)
    if path is None:
        emit(printable(text))
        return
    write_new(path, text, force=force)
    note(f"{count:,} {'memory' if count == 1 else 'memories'} written to {on_one_line(str(path))}")


@memory_app.command("import")
def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines, or Markdown when it ends in .md.")],
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the memories of a file. Importing it again adds only what is new in it.

    Exits with 1 when something was left out, 2 when the file cannot be read.
    """
    contents = read_memories(named_path(file))

    async def run(memories: Memories) -> None:
        imported = await import_memories(memories.store, contents.records, memories.clock)
        if as_json:
            added = await _as_json(memories, imported.added)
            value = {"added": added, "known": imported.known, "skipped": list(contents.skipped)}
            emit(json_text(value) + "\n")
        else:
            say(import_summary(imported, contents))

    _with_memories(db, now, timezone, run, writes=True)
    for line in contents.skipped:
        note(f"left out: {on_one_line(line)}")
    if contents.skipped:
        raise typer.Exit(EXIT_SKIPPED)


@memory_app.command("status")
def status(db: DbOption = None, as_json: JsonOption = False) -> None:
    """Tell how many memories there are, which model extracts them, and what failed."""
    settings = load_settings()
    chat = choose_model(None, os.environ)
    chosen = memory_model(settings.memory_model, chat)
    model = None if chosen is None or loses_cache(chosen, chat) else str(chosen)

    async def run(memories: Memories) -> None:
        found = replace(await memories.keeper.statistics(), model=model)
        if as_json:
            failed = [
                {"conversation": each.conversation, "segment": each.segment, "problem": each.problem}
                for each in found.failed
            ]
            figures = {"holding": found.holding, "superseded": found.superseded, "extracted": found.extracted}
            value = {"model": model, **figures, "segments": found.segments, "failed": failed}
            emit(json_text(value) + "\n")
            return
        for line in status_lines(found):
            say(line)
        say(
            "No model extracts memories; FRONTMIND_MEMORY_MODEL names one."
            if model is None
            else f"Memories are extracted by {model}."
        )

    _with_memories(db, None, None, run, writes=False)


def _with_memories(
    db: str | None,
    now: str | None,
    timezone: str | None,
    run: Callable[[Memories], Awaitable[T]],
    *,
    writes: bool,
) -> T:
    settings = load_settings()
    clock = resolve_clock(now, timezone, settings)
    return asyncio.run(_run(resolve_db(db, settings), clock, run, writes=writes))


async def _run(db: str, clock: Clock, run: Callable[[Memories], Awaitable[T]], *, writes: bool) -> T:
    store = _open(db, writes=writes)
    try:
        return await run(Memories(store, clock, FactKeeper(store, clock)))
    finally:
        await store.close()


def _open(db: str, *, writes: bool) -> SqliteStore:
    """The store; who only looks makes no database where there is none."""
    if writes or db == IN_MEMORY:
        return SqliteStore.open(db)
    return SqliteStore.open_existing_read_only(db) if named_path(db).exists() else SqliteStore.open(IN_MEMORY)


async def _tell(memories: Memories, kept: Memory, *, as_json: bool, before: str = "") -> None:
    if as_json:
        emit(json_text((await _as_json(memories, [kept]))[0]) + "\n")
    else:
        say(f"{before}{line_of(kept, memories.clock.now())}")


async def _as_json(memories: Memories, found: Sequence[Memory]) -> list[dict[str, object]]:
    records = {record.id: record for record in await export_memories(memories.store, memories.clock.zone)}
    importance = await importances(memories.store, found, memories.clock.now())
    return [
        {
            **records[f"m{kept.id}"].model_dump(mode="json"),
            "version": kept.version,
            "importance": round(importance[kept.id], 4),
        }
        for kept in found
    ]
