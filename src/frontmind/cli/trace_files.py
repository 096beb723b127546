"""Reads a recording that the person named: a database, a request log, or sessions of Claude Code.

Which of them it is, its content says. Lines are read one after the other; of a conversation what was said is held once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from frontmind.cachelab.trace_claude_code import ClaudeCodeLog
from frontmind.cachelab.trace_log import RequestLog
from frontmind.cachelab.trace_store import stored_recording
from frontmind.cachelab.traces import Recording
from frontmind.cli.options import named_path
from frontmind.cli.terminal import note, on_one_line
from frontmind.continuum.exports.json_stream import elements, is_by_lines, lines, value_of
from frontmind.continuum.exports.value import Problem
from frontmind.errors import UsageError
from frontmind.providers.reading import is_request
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.harmless import one_line

DATABASE: Final = "Frontmind database"
REQUEST_LOG: Final = "request log"
CLAUDE_CODE: Final = "Claude Code sessions"
MAIN: Final = "main"

# A request that has no time comes a minute after the one before; when the first came changes nothing.
_BEGIN: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MAGIC: Final = b"SQLite format 3\0"
_HEAD: Final = 1 << 20
_ENTRY_KEYS: Final = frozenset({"sessionId", "uuid", "leafUuid", "snapshot"})
_LOG_KEYS: Final = frozenset({"request", "body"})
_WORTH_TELLING: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Trace:
    """What was read of a file.

    Attributes:
        kind: which kind of recording it is.
        problems: what in it cannot be read, with its place.
        left_out: for each reason how many rows are no calls that can be replayed.
    """

    kind: str
    recordings: tuple[Recording, ...]
    problems: tuple[Problem, ...]
    left_out: tuple[tuple[str, int], ...] = ()


def read_trace(file: str, *, conversation: str | None) -> Trace:
    """Read a recording.

    Args:
        conversation: only this one; None for all, of a database for the one that the chat goes on with.

    Raises:
        UsageError: there is no such file, or nothing in it is a recording.
        StoreError: the database cannot be read.
    """
    path = named_path(file)
    if file == IN_MEMORY or not path.exists():
        raise UsageError(f"there is no file {path}; pass a recording, or the database of your conversations")
    if not path.is_file():
        raise UsageError(f"{path} is not a regular file; save the recording into one")
    try:
        with path.open("rb") as opened:
            if opened.read(len(_MAGIC)) == _MAGIC:
                return asyncio.run(_read_database(path, conversation or MAIN))
            opened.seek(0)
            return _read_lines(path, opened, conversation)
    except OSError as error:
        raise UsageError(f"cannot read {path} ({error.strerror}); check the path") from error


async def _read_database(path: Path, conversation: str) -> Trace:
    store = SqliteStore.open_existing_read_only(path)
    try:
        recording, problems = await stored_recording(store, conversation)
    finally:
        await store.close()
    if not recording.calls:
        raise UsageError(
            f"the conversation {conversation!r} of {path} has no call of a model; name another with --conversation"
        )
    return Trace(DATABASE, (recording,), tuple(problems))


def _read_lines(path: Path, file: IO[bytes], conversation: str | None) -> Trace:
    head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    file.seek(0)
    by_lines = is_by_lines(head)
    problems: list[Problem] = []
    log = RequestLog(problems, begin=_BEGIN)
    sessions = ClaudeCodeLog(problems, begin=_BEGIN)
    kind = ""
    where = "line" if by_lines else "value"
    with told_progress(f"reading {on_one_line(path.name)}", path.stat().st_size, least=_WORTH_TELLING) as reached:
        for element in lines(file) if by_lines else elements(file):
            place = f"{path.name}:{element.number}" if by_lines else f"{path.name}, {where} {element.number}"
            reached(len(element.data))
            value, fault = value_of(element)
            if fault:
                problems.append(Problem(place, f"{fault}; the rest is read without it"))
                continue
            kind = kind or (CLAUDE_CODE if _is_entry(value) else REQUEST_LOG)
            if kind == REQUEST_LOG:
                log.read(place, value)
            elif isinstance(value, dict) and "type" in value:
                sessions.read(place, value)
            else:
                problems.append(Problem(place, "it is no entry of a session; the rest is read without it"))
    found = list(log.recordings() if kind == REQUEST_LOG else sessions.recordings())
    recordings = tuple(one for one in found if conversation in (None, one.name))
    if found and not recordings:
        names = ", ".join(one_line(one.name, 60) for one in found[:5])
        raise UsageError(f"{path} has no conversation {conversation!r}; it has {len(found)}, such as {names}")
    return Trace(kind, recordings, tuple(problems), tuple(log.left_out.items()))


def _is_entry(value: Any) -> bool:
    if not isinstance(value, dict) or "type" not in value or is_request(value):
        return False
    return bool(value.keys() & _ENTRY_KEYS) and not value.keys() & _LOG_KEYS


@contextmanager
def told_progress(name: str, total: int, *, least: int) -> Iterator[Callable[[int], None]]:
    """Tells on standard error how far something is: a bar where that is a terminal, otherwise a line now and then.

    Args:
        total: how much there is to do.
        least: below this nothing is told.

    Yields:
        What takes in how much more has been done.
    """
    if total < least:
        yield lambda step: None
    elif sys.stderr.isatty():
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(name, total=total)
            yield lambda step: progress.advance(task, step)
    else:
        yield _Lines(name, total).reached


class _Lines:
    def __init__(self, name: str, total: int) -> None:
        self._name = name
        self._total = total
        self._done = 0
        self._tenths = 0

    def reached(self, step: int) -> None:
        self._done += step
        tenths = 10 * self._done // self._total
        if tenths > self._tenths:
            self._tenths = tenths
            note(f"{self._name}: {10 * tenths} %")
