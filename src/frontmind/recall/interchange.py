"""Memories as files: JSON lines, which lose nothing, and Markdown, which people read and write. Pure but for
`export_memories` and `import_memories`; knows no files.

A line of the JSON is an object with the fields of `MemoryRecord`. In Markdown each item of a list is a memory; what is
known of it stands in a line in parentheses below. What cannot be read is reported with its line, and the rest goes on.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any, Final

from pydantic import ValidationError

from frontmind.errors import Conflict
from frontmind.providers.encoding.text import wire_text
from frontmind.recall.linking import FactPlan
from frontmind.recall.memory_records import LONGEST_TEXT, LinkRecord, MemoryRecord, what_is_wrong
from frontmind.recall.similarity import normalised
from frontmind.stores.recall_protocols import MemoryStore
from frontmind.values.clock import Clock
from frontmind.values.harmless import one_line
from frontmind.values.memories import Memory, NewMemory
from frontmind.window.canonical import parse_json

LARGEST_FILE: Final = 50_000_000
"""The most bytes of a file."""

MOST_RECORDS: Final = 100_000
"""The most memories of a file."""

_ATTEMPTS: Final = 10
_HEADING: Final = "# Memories"
_OLD_HEADING: Final = "## Superseded"
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,6}[.)])[ \t]+(?P<text>\S.*)")
_FACT: Final = re.compile(r'(?P<key>[a-z_]+): (?P<value>"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^;"\[]*?)(?:; |$)')


_MINUTE: Final = timedelta(minutes=1)
_NUMBERS: Final = {"turn": int, "confidence": float}
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
# Controls, and what reorders or ends lines on a screen: a file may be printed.
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class FileFormat(StrEnum):
    """How memories are written in a file."""

    JSON_LINES = "jsonl"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class FileContents:
    """What was read of a file.

    Attributes:
        records: in the order of the file.
        skipped: what cannot be read, on one line each: its place and why.
    """

    records: tuple[MemoryRecord, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedMemories:
    """What became of the records of a file.

    Attributes:
        added: those that are new.
        known: how many were there already.
    """

    added: tuple[Memory, ...]
    known: int


async def export_memories(store: MemoryStore, zone: tzinfo) -> Sequence[MemoryRecord]:
    """All memories with their links and uses, by id; moments in the zone."""
    memories = await store.memories()
    ids = [memory.id for memory in memories]
    links: dict[int, list[LinkRecord]] = {memory_id: [] for memory_id in ids}
    for link in await store.memory_links(ids):
        links[link.source].append(LinkRecord(kind=link.kind, to=f"m{link.target}"))
    used: dict[int, list[date]] = {memory_id: [] for memory_id in ids}
    for use in await store.memory_uses(ids):
        used[use.memory].append(use.day)
    return [_record(memory, links, used[memory.id], zone) for memory in memories]


async def import_memories(store: MemoryStore, records: Sequence[MemoryRecord], clock: Clock) -> ImportedMemories:
    """Keep the memories of a file, all at once.

    One that is there already is left as it is: one with the same words, observed at the same moment, or one that holds
    and says the same. Links, uses and what superseded it are added to it.

    Raises:
        Conflict: others keep changing the memories meanwhile.
    """
    now = clock.now()
    for _ in range(_ATTEMPTS):
        plan = FactPlan(await store.memories())
        known = _plan_import(plan, records, now)
        try:
            return ImportedMemories(tuple(await store.change_memories(plan.changes(), now)), known)
        except Conflict:
            continue
    raise Conflict("the memories are being changed by somebody else all the time; try again later")


def write_records(records: Sequence[MemoryRecord], form: FileFormat) -> str:
    """The records as the text of a file."""
    if form is FileFormat.JSON_LINES:
        return "".join(f"{_json(record)}\n" for record in records)
    holding = [record for record in records if record.superseded_at is None]
    old = [record for record in records if record.superseded_at is not None]
    lines = [_HEADING, "", *(line for record in holding for line in _markdown(record))]
    if old:
        lines += ["", _OLD_HEADING, "", *(line for record in old for line in _markdown(record))]
    return "\n".join(lines) + "\n"


def read_records(text: str, form: FileFormat) -> FileContents:
    """What stands in the text of a file. Of Markdown, lines that belong to no item of a list are passed over."""
    found = _json_lines(text) if form is FileFormat.JSON_LINES else _markdown_items(text)
    records: list[MemoryRecord] = []
    skipped: list[str] = []
    for number, item in found:
        if len(records) == MOST_RECORDS:
            skipped.append(f"line {number} and what follows: a file may have {MOST_RECORDS:,} memories; split it")
            break
        if isinstance(item, str):
            skipped.append(f"line {number}: {item}")
            continue
        try:
            records.append(MemoryRecord.model_validate(item))
        except ValidationError as error:
            skipped.append(f"line {number}: {what_is_wrong(error)}")
    return FileContents(tuple(records), tuple(skipped))


def _record(
    memory: Memory, links: Mapping[int, Sequence[LinkRecord]], used: Sequence[date], zone: tzinfo
) -> MemoryRecord:
    # Not validated: what a store holds is written, whatever a file may hold.
    return MemoryRecord.model_construct(
        id=f"m{memory.id}",
        text=wire_text(memory.text),
        observed_at=_in_zone(memory.observed_at, zone),
        recorded_at=_in_zone(memory.recorded_at, zone),
        origin=memory.origin,
        conversation=wire_text(memory.conversation),
        turn=memory.turn,
        confidence=memory.confidence,
        happens_at=_in_zone(memory.happens_at, zone),
        valid_until=_in_zone(memory.valid_until, zone),
        # One that is gone has no name in the file; the moment tells that it was there.
        superseded_by=f"m{memory.superseded_by}" if memory.superseded_by in links else None,
        superseded_at=_in_zone(memory.superseded_at, zone),
        links=tuple(links[memory.id]),
        used_on=tuple(used),
    )


def _in_zone(slot: datetime | date | None, zone: tzinfo) -> datetime | date | None:
    if not isinstance(slot, datetime):
        return slot
    try:
        moment = slot.astimezone(zone)
    except OverflowError:
        # In the zone it would lie in the year 10000.
        return slot
    # Long ago the offsets of zones had seconds, which ISO 8601 cannot say.
    return slot if (moment.utcoffset() or _MINUTE) % _MINUTE else moment


def _plan_import(plan: FactPlan, records: Sequence[MemoryRecord], now: datetime) -> int:
    """Plan what becomes of the records; gives how many are known."""
    # As either format spells it; where two memories are spelled alike, the one that has these very words.
    observed: dict[tuple[str, datetime], int] = {}
    for spelled in (_on_one_line, wire_text):
        observed |= {(spelled(memory.text), memory.observed_at): memory.id for memory in plan.all()}
    # Only what was there before: one file may say the same at two times.
    said = {(normalised(memory.text), memory.happens_at): memory.id for memory in plan.holding()}
    ids: list[int] = []
    for record in records:
        there = observed.get((record.text, record.observed_at or now))
        if there is None and record.superseded_at is None:
            there = said.get((normalised(record.text), record.happens_at))
        if there is None:
            there = observed[record.text, record.observed_at or now] = plan.add(_new(record, now))
        ids.append(there)
    named = {record.id: memory_id for record, memory_id in zip(records, ids, strict=True) if record.id is not None}
    for record, memory_id in zip(records, ids, strict=True):
        newer = named.get(record.superseded_by or "", 0)
        if newer and memory_id > 0:
            plan.supersede(newer, memory_id)
        elif record.superseded_at is not None and memory_id < 0:
            plan.end(memory_id, newer, record.superseded_at)
        for link in record.links:
            if (target := named.get(link.to)) is not None:
                plan.link(memory_id, target, link.kind)
        for day in record.used_on:
            plan.use(memory_id, day)
    return len(records) - len({memory_id for memory_id in ids if memory_id < 0})


def _new(record: MemoryRecord, now: datetime) -> NewMemory:
    return NewMemory(
        text=record.text,
        observed_at=record.observed_at or now,
        origin=record.origin,
        conversation=record.conversation,
        turn=record.turn,
        confidence=record.confidence,
        happens_at=record.happens_at,
        valid_until=record.valid_until,
        recorded_at=record.recorded_at,
    )


def _fields(record: MemoryRecord) -> dict[str, Any]:
    """The fields that are not as they are without being said."""
    fields: dict[str, Any] = record.model_dump(exclude_defaults=True, mode="json")
    return fields


def _json(record: MemoryRecord) -> str:
    return _json_text(_fields(record))


def _json_text(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _NamedTwice(ValueError):
    """An object has two members of one name."""


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        times = Counter(name for name, _ in members)
        raise _NamedTwice(times.most_common(1)[0][0])
    return value


def _json_lines(text: str) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    # Not splitlines: a text may hold characters that it takes for line ends.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = parse_json(line, object_of=_object)
        except json.JSONDecodeError as error:
            yield number, f"it is not JSON ({one_line(str(error))})"
            continue
        except _NamedTwice as error:
            yield number, f"it has {one_line(str(error), 40)!r} twice"
            continue
        except ValueError:
            yield number, "it is not JSON that can be read (a number is none or too long, or it is nested too deeply)"
            continue
        yield number, value if isinstance(value, dict) else "it is no JSON object"


def _markdown(record: MemoryRecord) -> Iterator[str]:
    fields = _fields(record)
    yield f"- {_on_one_line(fields.pop('text'))}"
    fields["links"] = [f"{link.kind} {link.to}" for link in record.links]
    facts = []
    for key, value in fields.items():
        if isinstance(value, list):
            if value:
                facts.append(f"{key}: [{', '.join(value)}]")
        else:
            facts.append(f"{key}: {_json_text(value) if key == 'conversation' else value}")
    yield f"  ({'; '.join(facts)})"


def _on_one_line(text: str) -> str:
    """The text as an item of a list."""
    return _CONTROL.sub("\ufffd", " ".join(wire_text(text).split()))


@dataclass(slots=True)
class _Item:
    """An item of a list while it is read: the line where it begins, its text in pieces, and what is known of it."""

    number: int
    pieces: list[str]
    facts: dict[str, Any]
    length: int = 0

    def add(self, piece: str) -> None:
        # One that is too long is refused; more of it is of no use.
        if self.length <= LONGEST_TEXT:
            self.pieces.append(piece)
            self.length += len(piece) + 1

    def whole(self) -> tuple[int, Mapping[str, Any]]:
        return self.number, {"text": " ".join(self.pieces), **self.facts}


def _markdown_items(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The items of lists, each with the number of its line."""
    item: _Item | None = None
    for number, line in enumerate(text.split("\n"), 1):
        begun = _ITEM.fullmatch(line.rstrip())
        if begun is not None or not line[:1].isspace():
            if item is not None:
                yield item.whole()
            item = None if begun is None else _Item(number, [begun["text"]], {}, len(begun["text"]))
        elif item is not None and line.strip():
            facts = _facts(line.strip())
            if facts is None:
                item.add(line.strip())
            else:
                item.facts |= facts
    if item is not None:
        yield item.whole()


def _facts(line: str) -> dict[str, Any] | None:
    """What a line in parentheses tells of a memory; None where it is a part of its text."""
    inner = line[1:-1] if line.startswith("(") and line.endswith(")") else ""
    found: dict[str, Any] = {}
    position = 0
    while position < len(inner):
        fact = _FACT.match(inner, position)
        if fact is None or fact["key"] not in MemoryRecord.model_fields or fact["key"] == "text":
            return None
        found[fact["key"]] = _value(fact["key"], fact["value"])
        position = fact.end()
    return found or None


def _value(key: str, written: str) -> Any:
    if written.startswith('"'):
        try:
            return json.loads(written)
        except ValueError:
            return written
    if written.startswith("["):
        items = [item.strip() for item in written[1:-1].split(",") if item.strip()]
        return [dict(zip(("kind", "to"), item.split(), strict=False)) for item in items] if key == "links" else items
    if key in _NUMBERS:
        try:
            return _NUMBERS[key](written)
        except ValueError:
            return written
    return written
