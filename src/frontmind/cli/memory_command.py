"""What ``/memory``, ``/remember`` and ``/forget`` do: the person's memories, in text. Knows no session, prints nothing.

What is returned holds texts of others: make it `printable`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Final, TypeAlias

from frontmind.cli.options import named_path, read_text_file
from frontmind.errors import UsageError
from frontmind.recall.facts import FactKeeper, FactStatistics
from frontmind.recall.importance import importances
from frontmind.recall.interchange import (
    LARGEST_FILE,
    FileContents,
    FileFormat,
    ImportedMemories,
    export_memories,
    import_memories,
    read_records,
    write_records,
)
from frontmind.recall.linking import neighbours
from frontmind.reminders.in_words import parse_slot
from frontmind.stores.protocols import Store
from frontmind.values.clock import Clock
from frontmind.values.due import describe_slot
from frontmind.values.memories import LinkKind, Memory

USAGE: Final = (
    "[list [all] | show ID | edit ID TEXT | until ID DATE | happens ID DATE | restore ID | forget ID | export FILE | "
    "import FILE | status]"
)
_ID: Final = re.compile(r"m?([1-9]\d{0,14})", re.ASCII | re.IGNORECASE)
_LINKS_SHOWN: Final = 20
_SHOWN_SKIPPED: Final = 10
# From the memory that links to the one that it links to, and the other way round.
_OUTGOING: Final[Mapping[LinkKind, str]] = {
    LinkKind.SUPPORTS: "supports",
    LinkKind.CONFLICTS: "conflicts with",
    LinkKind.SUPERSEDES: "supersedes",
    LinkKind.RELATED: "is related to",
}
_INCOMING: Final[Mapping[LinkKind, str]] = {
    **_OUTGOING,
    LinkKind.SUPPORTS: "is supported by",
    LinkKind.SUPERSEDES: "is superseded by",
}


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories as the command line holds them."""

    store: Store
    clock: Clock
    keeper: FactKeeper


_Action: TypeAlias = Callable[[Memories, str], Awaitable[str]]


async def memory(memories: Memories, arguments: str) -> str:
    """Carry out ``/memory`` with what stands behind it, and say what came of it.

    Raises:
        UsageError: the arguments cannot be read, or name no memory or file.
    """
    verb, *rest = arguments.split(maxsplit=1) or ["list"]
    action = _ACTIONS.get(verb.lower())
    if action is None:
        raise UsageError(f"cannot read {arguments[:80]!r}; write /memory {USAGE}; the ids are such as m1")
    return await action(memories, rest[0].strip() if rest else "")


async def remember(memories: Memories, text: str) -> str:
    """Carry out ``/remember``.

    Raises:
        UsageError: there is no text, or too much.
    """
    if not text.strip():
        raise UsageError("what should be remembered? Write for example: /remember You prefer tea")
    kept, is_new = await memories.keeper.remember(text)
    return f"Remembered as m{kept.id}: {kept.text}" if is_new else f"Known already as m{kept.id}: {kept.text}"


async def forget(memories: Memories, arguments: str) -> str:
    """Carry out ``/forget``.

    Raises:
        UsageError: there is no such memory.
    """
    if not arguments:
        raise UsageError("which memory? Write for example: /forget m1; /memory lists them with their ids")
    forgotten = await memories.keeper.forget(parse_memory_id(arguments))
    older = [each for each in await memories.keeper.list(everything=True) if each.superseded_by == forgotten.id]
    kept = f" {_named(older)} it had superseded; /memory restore lets one hold again." if older else ""
    return f"Forgot m{forgotten.id}: {forgotten.text}{kept}"


def parse_memory_id(text: str) -> int:
    """The id that ``m3`` stands for.

    Raises:
        UsageError: it is none.
    """
    found = _ID.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text[:40]!r} is no id of a memory; pass one such as m3")
    return int(found[1])


def line_of(kept: Memory, now: datetime) -> str:
    """A memory on one line: its id, the day on which it was observed, its text, and what limits it."""
    text = " ".join(kept.text.split())
    return f"m{kept.id}  {kept.observed_at.astimezone(now.tzinfo):%Y-%m-%d}  {text}{_limits(kept, now)}"


async def describe(memories: Memories, kept: Memory) -> str:
    """All that is known of a memory, a line each."""
    now = memories.clock.now()
    importance = (await importances(memories.store, [kept], now))[kept.id]
    uses = len(await memories.store.memory_uses([kept.id]))
    source = f", from turn {kept.turn} of {kept.conversation}" if kept.turn is not None else ""
    lines = [
        f"m{kept.id}  {' '.join(kept.text.split())}",
        f"  {kept.origin.value}, observed {_told(kept.observed_at, now)}{source}",
        f"  confidence {kept.confidence:.2f}, importance {importance:.2f}, used on {uses} "
        f"{'day' if uses == 1 else 'days'}",
    ]
    if kept.happens_at is not None:
        lines.append(f"  happens {_told(kept.happens_at, now)}")
    if kept.valid_until is not None:
        lines.append(f"  valid until {_told(kept.valid_until, now)}")
    if kept.superseded_at is not None:
        by = f" by m{kept.superseded_by}" if kept.superseded_by else ""
        lines.append(f"  superseded{by} since {_told(kept.superseded_at, now)}")
    for near in await neighbours(memories.store, [kept.id], 1, _LINKS_SHOWN):
        words = (_OUTGOING if near.outgoing else _INCOMING)[near.kind]
        lines.append(f"  {words} {line_of(near.memory, now)}")
    return "\n".join(lines)


def status_lines(statistics: FactStatistics) -> list[str]:
    """The memories in figures, a line each."""
    lines = [
        f"{statistics.holding:,} hold, {statistics.superseded:,} superseded; {statistics.extracted:,} of them "
        f"extracted by a model from {statistics.segments:,} {'segment' if statistics.segments == 1 else 'segments'}."
    ]
    for failed in statistics.failed:
        lines.append(
            f"Segment {failed.segment} of {failed.conversation} was not read ({failed.failures} "
            f"{'attempt' if failed.failures == 1 else 'attempts'} with {failed.author}): {failed.problem}"
        )
    return lines


def format_of(path: Path) -> FileFormat:
    """How memories are written in a file of this name: Markdown where it says so, JSON lines otherwise."""
    return FileFormat.MARKDOWN if path.suffix.lower() in (".md", ".markdown") else FileFormat.JSON_LINES


async def exported(store: Store, clock: Clock, form: FileFormat) -> tuple[str, int]:
    """The text of a file with all memories, and how many they are."""
    records = await export_memories(store, clock.zone)
    return write_records(records, form), len(records)


def write_new(path: Path, text: str, *, force: bool = False) -> None:
    """Write a file that is not there yet.

    Raises:
        UsageError: it is there, and ``force`` is not given, or it cannot be written.
    """
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already; name another file") from None
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}); pass another file") from error


def read_memories(path: Path) -> FileContents:
    """What stands in a file of memories.

    Raises:
        UsageError: it cannot be read, or is no text.
    """
    if path.exists() and not path.is_file():
        # A pipe or a device might never end.
        raise UsageError(f"{path} is not a regular file; pass a file of memories (.jsonl or .md)")
    return read_records(read_text_file(path, "the file of memories", limit=LARGEST_FILE), format_of(path))


def import_summary(imported: ImportedMemories, contents: FileContents) -> str:
    """What became of a file, in figures."""
    counts = (
        (len(imported.added), "added"),
        (imported.known, "there already"),
        (len(contents.skipped), "left out"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in counts if count) or "The file has no memories."


async def _list(memories: Memories, rest: str) -> str:
    if rest.lower() not in ("", "all"):
        raise UsageError("write /memory list, or /memory list all for those that are superseded as well")
    now = memories.clock.now()
    lines = [line_of(kept, now) for kept in await memories.keeper.list(everything=bool(rest))]
    return "\n".join(lines) or "No memories. Add one: /remember You prefer tea"


async def _show(memories: Memories, rest: str) -> str:
    return await describe(memories, await memories.store.memory(parse_memory_id(rest)))


async def _edit(memories: Memories, rest: str) -> str:
    number, text = _id_and_rest(rest, "edit", "You prefer green tea")
    changed = await memories.keeper.edit(number, lambda kept: replace(kept, text=text))
    return f"Changed: {line_of(changed, memories.clock.now())}"


async def _until(memories: Memories, rest: str) -> str:
    number, when = _id_and_rest(rest, "until", "2027-03-14")
    slot = parse_slot(when, memories.clock.now())
    changed = await memories.keeper.edit(number, lambda kept: replace(kept, valid_until=slot))
    return f"Changed: {line_of(changed, memories.clock.now())}"


async def _happens(memories: Memories, rest: str) -> str:
    number, when = _id_and_rest(rest, "happens", "2027-03-14")
    slot = parse_slot(when, memories.clock.now())
    changed = await memories.keeper.edit(number, lambda kept: replace(kept, happens_at=slot))
    return f"Changed: {line_of(changed, memories.clock.now())}"


async def _restore(memories: Memories, rest: str) -> str:
    number, now = parse_memory_id(rest), memories.clock.now()
    kept = await memories.store.memory(number)
    if kept.superseded_at is None:
        return f"Holds already: {line_of(kept, now)}"
    changed = await memories.keeper.edit(number, lambda kept: replace(kept, superseded_by=None, superseded_at=None))
    return f"Holds again: {line_of(changed, now)}"


async def _export(memories: Memories, rest: str) -> str:
    if not rest:
        raise UsageError("which file? Write /memory export FILE.jsonl or FILE.md")
    path = named_path(rest)
    text, count = await exported(memories.store, memories.clock, format_of(path))
    write_new(path, text)
    return f"{count:,} {'memory' if count == 1 else 'memories'} written to {path}"


async def _import(memories: Memories, rest: str) -> str:
    if not rest:
        raise UsageError("which file? Write /memory import FILE.jsonl or FILE.md")
    contents = read_memories(named_path(rest))
    imported = await import_memories(memories.store, contents.records, memories.clock)
    left_out = [f"left out: {line}" for line in contents.skipped[:_SHOWN_SKIPPED]]
    if len(contents.skipped) > _SHOWN_SKIPPED:
        left_out.append(f"and {len(contents.skipped) - _SHOWN_SKIPPED:,} more")
    return "\n".join((import_summary(imported, contents), *left_out))


async def _status(memories: Memories, rest: str) -> str:
    return "\n".join(status_lines(await memories.keeper.statistics()))


def _id_and_rest(rest: str, verb: str, example: str) -> tuple[int, str]:
    number, *more = rest.split(maxsplit=1) or [""]
    if not more:
        raise UsageError(f"which memory, and what? Write for example: /memory {verb} m1 {example}")
    return parse_memory_id(number), more[0]


def _limits(kept: Memory, now: datetime) -> str:
    limits = []
    if kept.happens_at is not None:
        limits.append(f"on {_told(kept.happens_at, now)}")
    if kept.valid_until is not None:
        limits.append(f"until {_told(kept.valid_until, now)}")
    if kept.superseded_at is not None:
        by = f" by m{kept.superseded_by}" if kept.superseded_by else ""
        limits.append(f"superseded{by} since {kept.superseded_at.astimezone(now.tzinfo):%Y-%m-%d}")
    return f"  ({'; '.join(limits)})" if limits else ""


def _told(slot: datetime | date, now: datetime) -> str:
    return describe_slot(slot, "", now)


def _named(older: list[Memory]) -> str:
    return " and ".join(f"m{each.id}" for each in older)


_ACTIONS: Final[dict[str, _Action]] = {
    "list": _list,
    "show": _show,
    "edit": _edit,
    "until": _until,
    "happens": _happens,
    "restore": _restore,
    "forget": forget,
    "export": _export,
    "import": _import,
    "status": _status,
}
