"""``frontmind import``: histories of other programs become conversations that are searched like one's own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Final, Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from frontmind.cli.options import (
    DbOption,
    JsonOption,
    NowOption,
    TimezoneOption,
    named_path,
    resolve_clock,
    resolve_db,
)
from frontmind.cli.settings import load_settings
from frontmind.cli.terminal import emit, json_text, note, on_one_line, say
from frontmind.continuum.exports import Entry, Export, ExportKind, Problem
from frontmind.errors import UsageError
from frontmind.stores.protocols import ConversationStore
from frontmind.stores.sqlite import SqliteStore

EXIT_BROKEN: Final = 1
_SHOWN_PROBLEMS: Final = 20
# Below this, a file is read before anybody could look at how far it is.
_WORTH_TELLING: Final = 10_000_000


def import_history(
    kind: Annotated[ExportKind, typer.Argument(metavar="KIND", help="Whose export it is.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The export: the .zip as it was downloaded, .json or .jsonl.")
    ],
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import the conversations of another program.

    Importing again adds only what is new. Exits with 1 when something in the file was broken and the rest was
    imported, 2 when nothing could be read.
    """
    settings = load_settings()
    clock = resolve_clock(now, timezone, settings)
    path = named_path(file)
    with _opened(path) as opened:
        export = Export(opened, path.name, kind, at=clock.now())
        summary = asyncio.run(_import(export, kind, resolve_db(db, settings), path.name))
    if as_json:
        emit(json_text(summary.as_json(kind)) + "\n")
    else:
        _tell(summary)
    if summary.problems and not summary.conversations:
        raise UsageError(f"nothing in {path} could be read as an export of {kind.value}; pass another file or kind")
    if summary.problems:
        raise typer.Exit(EXIT_BROKEN)


@dataclass(slots=True)
class _Summary:
    """What became of an export."""

    conversations: int = 0
    empty: int = 0
    changed: list[tuple[str, int]] = field(default_factory=list)
    exchanges: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def added(self) -> int:
        return sum(count for _, count in self.changed)

    def as_json(self, kind: ExportKind) -> dict[str, object]:
        return {
            "kind": kind.value,
            "conversations": self.conversations,
            "empty": self.empty,
            "added": self.added,
            "known": self.exchanges - self.added,
            "changed": [{"conversation": name, "added": count} for name, count in self.changed],
            "problems": [{"place": problem.place, "why": problem.why} for problem in self.problems],
        }


async def _import(export: Export, kind: ExportKind, db: str, name: str) -> _Summary:
    store = SqliteStore.open(db)
    try:
        summary = _Summary()
        with _progress(name, export.size) as progress:
            for entry in export.entries():
                await _keep(entry, kind, store, summary)
                progress.reached(entry.position, summary.conversations)
        return summary
    finally:
        await store.close()


async def _keep(entry: Entry, kind: ExportKind, store: ConversationStore, summary: _Summary) -> None:
    summary.problems += entry.problems
    conversation = entry.conversation
    if conversation is None:
        return
    summary.conversations += 1
    if not conversation.turns:
        summary.empty += 1
        return
    name = conversation.name(kind)
    added = await store.import_turns(name, conversation.turns, source=kind.value)
    summary.exchanges += len(conversation.turns)
    if added:
        summary.changed.append((name, added))


class _Telling(Protocol):
    def reached(self, position: int, conversations: int) -> None:
        """So many bytes and conversations have been read."""
        ...


@contextmanager
def _progress(name: str, size: int) -> Iterator[_Telling]:
    """On standard error: a bar where that is a terminal, otherwise a line now and then."""
    if not sys.stderr.isatty():
        yield _Lines(size)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[told]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, on_one_line(name), size)


class _Bar:
    def __init__(self, progress: Progress, name: str, size: int) -> None:
        self._progress = progress
        self._task = progress.add_task(f"reading {name}", total=size, told="")

    def reached(self, position: int, conversations: int) -> None:
        self._progress.update(self._task, completed=position, told=f"{conversations:,} conversations")


class _Lines:
    def __init__(self, size: int) -> None:
        self._size = size
        self._tenths = 0

    def reached(self, position: int, conversations: int) -> None:
        tenths = 10 * position // self._size if self._size >= _WORTH_TELLING else 0
        if tenths > self._tenths:
            self._tenths = tenths
            note(f"{10 * tenths} % read, {conversations:,} conversations")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if path.exists() and not path.is_file():
        # A pipe or a device might never end, and is read twice.
        raise UsageError(f"{path} is not a regular file; pass the export as it was downloaded")
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}); check the path") from error


def _tell(summary: _Summary) -> None:
    for name, count in summary.changed:
        say(f"{on_one_line(name)}  {count:,} {'exchange' if count == 1 else 'exchanges'}")
    counts = (
        (summary.added, "added"),
        (summary.exchanges - summary.added, "there already"),
    )
    told = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    said = f"exchanges: {told}" if told else "exchanges: none"
    broken = f"; broken places: {len(summary.problems):,}" if summary.problems else ""
    say(f"conversations: {summary.conversations:,}; {said}{broken}")
    for problem in summary.problems[:_SHOWN_PROBLEMS]:
        note(f"{problem.place}: {problem.why}")
    if len(summary.problems) > _SHOWN_PROBLEMS:
        note(f"and {len(summary.problems) - _SHOWN_PROBLEMS:,} more; --json lists all")
