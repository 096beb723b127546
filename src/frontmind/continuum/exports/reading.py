"""Goes through an export: its files, their entries, and what each format's reader makes of them.

What is broken is told with its place, and the rest is read. A file is never held at once, only the entry that is read;
of Claude Code's sessions, what was said in them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import IO, Any, Final, TypeAlias
from zipfile import BadZipFile

from frontmind.continuum.exports import chatgpt, claude, openai_messages
from frontmind.continuum.exports.claude_code import SessionReader
from frontmind.continuum.exports.json_stream import elements, is_by_lines, lines, value_of
from frontmind.continuum.exports.members import Member, members_of
from frontmind.continuum.exports.pairing import conversation_of, key_by_content, text_digest
from frontmind.continuum.exports.value import (
    BrokenEntry,
    Entry,
    ExportKind,
    Found,
    ImportedConversation,
    Problems,
    shown_key,
)
from frontmind.errors import UsageError
from frontmind.values.imports import ImportedTurn
from frontmind.window.canonical import digest

_Reader: TypeAlias = Callable[[Mapping[str, Any], Problems], Found]
_READERS: Final[Mapping[ExportKind, tuple[_Reader, Callable[[Mapping[str, Any]], str]]]] = {
    ExportKind.CHATGPT: (chatgpt.read_chatgpt, chatgpt.key_of),
    ExportKind.CLAUDE: (claude.read_claude, claude.key_of),
    ExportKind.OPENAI_MESSAGES: (openai_messages.read_openai_messages, openai_messages.key_of),
}
# What an entry of each kind has and one of the others has not.
_MARKS: Final = {
    "mapping": ExportKind.CHATGPT,
    "chat_messages": ExportKind.CLAUDE,
    "messages": ExportKind.OPENAI_MESSAGES,
    "sessionId": ExportKind.CLAUDE_CODE,
}
_LINES: Final = (".jsonl", ".ndjson")
_JSON: Final = (b"[", b"{")
_HEAD: Final = 1 << 20


class Export:
    """An export that was opened.

    Attributes:
        size: how many bytes there are to read.
    """

    def __init__(self, file: IO[bytes], name: str, kind: ExportKind, *, at: datetime) -> None:
        """Look at the file, which stays the caller's to close.

        Args:
            file: can be sought in; at its beginning.
            name: what it is called, for the errors.
            at: the moment of what has none in the export; aware.

        Raises:
            UsageError: it is neither JSON nor a .zip with such files.
        """
        self._kind = kind
        self._at = at
        self._members = members_of(file, name, kind)
        self.size = sum(member.size for member in self._members)
        self._once = _Once()
        if not self._members[0].place and not _head(self._members[0]).startswith(_JSON):
            raise UsageError(f"{name} is neither JSON nor a .zip; pass the export as it was downloaded")

    def entries(self) -> Iterator[Entry]:
        """The entries in the order of the export. Each may be read once."""
        before = 0
        for member in self._members:
            try:
                for entry in self._of_member(member):
                    yield replace(entry, position=min(before + entry.position, self.size))
            except (BadZipFile, zlib.error, EOFError, RuntimeError) as error:
                problems = Problems(member.name)
                problems.add(f"it cannot be unpacked ({error})")
                yield Entry(None, tuple(problems.found), before + member.size)
            before += member.size

    def _of_member(self, member: Member) -> Iterator[Entry]:
        if self._kind is ExportKind.CLAUDE_CODE:
            yield from self._sessions(member)
            return
        read, key_of = _READERS[self._kind]
        loose: list[Any] = []
        number = 0
        for value, fault, position in _values(member):
            if not fault and self._kind is ExportKind.OPENAI_MESSAGES and _is_message(value):
                loose.append(value)
                continue
            for item in _unwrapped(value):
                number += 1
                key = key_of(item) if isinstance(item, Mapping) else ""
                problems = Problems(f"{member.place}conversation {number}{f' ({shown_key(key)})' if key else ''}")
                yield self._entry(read, item, problems, position, fault)
        if loose:
            problems = Problems(f"{member.place}the conversation")
            yield self._entry(read, {"messages": loose}, problems, member.size)

    def _entry(self, read: _Reader, item: object, problems: Problems, position: int, fault: str = "") -> Entry:
        conversation = None
        try:
            if fault:
                raise BrokenEntry(fault)
            if self._kind is ExportKind.OPENAI_MESSAGES and isinstance(item, list):
                item = {"messages": item}
            if not isinstance(item, Mapping):
                raise BrokenEntry("it is not an object")
            conversation = self._conversation(read(item, problems))
        except BrokenEntry as error:
            problems.add(f"{error}{_other_kind(item, self._kind)}")
        return Entry(conversation, tuple(problems.found), position)

    def _sessions(self, member: Member) -> Iterator[Entry]:
        reader = SessionReader()
        position = 0
        for element in lines(member.open()):
            problems = Problems(f"{member.place}line {element.number}")
            value, fault = value_of(element)
            if isinstance(value, Mapping) and "type" in value:
                reader.read(element.number, value, problems)
            else:
                problems.add(fault or f"it is no entry of a session{_other_kind(value, self._kind)}")
            position += len(element.data)
            if problems.found:
                yield Entry(None, tuple(problems.found), position)
        problems = Problems(f"{member.place}the sessions")
        for found in reader.sessions(problems):
            yield Entry(self._conversation(found), (), member.size)
        if problems.found:
            yield Entry(None, tuple(problems.found), member.size)

    def _conversation(self, found: Found) -> ImportedConversation:
        key = found.key or self._once.unnamed(key_by_content(found))
        return self._once.only(conversation_of(found, key=key, began=self._at))


class _Once:
    """Keeps apart what has the same name in one export, and knows what was there already."""

    def __init__(self) -> None:
        self._unnamed: dict[str, int] = {}
        self._texts: dict[str, str] = {}

    def unnamed(self, key: str) -> str:
        """The name of a conversation without one: that of its content, counted where several begin alike."""
        count = self._unnamed[key] = self._unnamed.get(key, 0) + 1
        return key if count == 1 else f"{key} {count}"

    def only(self, conversation: ImportedConversation) -> ImportedConversation:
        """The conversation with a key of its own for each exchange, and none twice."""
        turns = []
        own: set[str] = set()
        for turn in conversation.turns:
            kept = self._with_own_key(turn)
            if kept.key not in own:
                turns.append(kept)
                own.add(kept.key)
        return replace(conversation, turns=tuple(turns))

    def _with_own_key(self, turn: ImportedTurn) -> ImportedTurn:
        text = text_digest(turn)
        if self._texts.setdefault(turn.key, text) == text:
            return turn
        return replace(turn, key=digest(f"{turn.key} {text}".encode())[: len(turn.key)])


def _values(member: Member) -> Iterator[tuple[Any, str, int]]:
    """Each value, or why it cannot be read, and how far the file has been read."""
    head = _head(member)
    if not head.startswith(_JSON):
        yield None, "it is not JSON" if head else "the file is empty", member.size
        return
    by_lines = member.name.lower().endswith(_LINES) or is_by_lines(head)
    position = 0
    for element in lines(member.open()) if by_lines else elements(member.open()):
        position += len(element.data)
        yield (*value_of(element), position)


def _head(member: Member) -> bytes:
    return member.open().read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()


def _unwrapped(value: Any) -> list[Any]:
    """The entries of a value: itself, or those of a list that stands in an object under its name."""
    inner = value.get("conversations") if isinstance(value, Mapping) else None
    return inner if isinstance(inner, list) else [value]


def _is_message(value: object) -> bool:
    return isinstance(value, Mapping) and "role" in value and "messages" not in value


def _other_kind(item: object, kind: ExportKind) -> str:
    keys = item if isinstance(item, Mapping) else ()
    other = next((mark for key, mark in _MARKS.items() if key in keys), kind)
    return "" if other is kind else f"; it looks like one of {other.value}: frontmind import {other.value}"
