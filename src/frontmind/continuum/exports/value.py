"""What comes out of an export, as frozen values, and how what is broken in it is told. Knows no format."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from frontmind.values.harmless import one_line
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Role
from frontmind.window.canonical import digest

_SHOWN_OF_A_TITLE: Final = 60
_SHOWN_OF_A_KEY: Final = 64


class ExportKind(StrEnum):
    """Whose export it is."""

    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    CLAUDE_CODE = "claude-code"
    OPENAI_MESSAGES = "openai-messages"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an export that could not be read.

    Attributes:
        place: such as ``conversation 3 (c-2), message 4``.
        why: what is wrong there, on one line.
    """

    place: str
    why: str


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation of another program, as the person saw it last: of its branches, the one that was open.

    Attributes:
        key: what the program calls it, the same in every export.
        title: on one line; the beginning of what was said where it has none.
        turns: its exchanges in order; empty for a chat in which nothing was said.
    """

    key: str
    title: str
    turns: tuple[ImportedTurn, ...]

    def name(self, kind: ExportKind) -> str:
        """What to call it here: readable, and no other conversation's name even where titles are the same."""
        return f"{kind.value}/{self.title or 'untitled'} ({digest(self.key.encode('utf-8', 'backslashreplace'))[:8]})"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an export, read.

    Attributes:
        conversation: None where the entry cannot be read.
        problems: what is broken in it.
        position: how many bytes of the export have been read, of `Export.size`.
    """

    conversation: ImportedConversation | None
    problems: tuple[Problem, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Said:
    """A message that is kept.

    Attributes:
        texts: none of them blank.
        at: None where the export does not tell.
        key: what the program calls the message; empty where it has no name.
    """

    role: Role
    texts: tuple[str, ...]
    at: datetime | None
    key: str


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation as a format's reader found it.

    Attributes:
        key: what the program calls it; empty where it has no name.
        title: as it stands there.
        said: in order; roles need not alternate.
        began: None where the export does not tell.
    """

    key: str
    title: str
    said: tuple[Said, ...]
    began: datetime | None


class BrokenEntry(Exception):
    """The entry cannot be read; the text says why, and is told with its place."""


@dataclass(slots=True)
class Problems:
    """Collects the problems of one entry."""

    place: str
    found: list[Problem] = field(default_factory=list)

    def add(self, why: str, *, message: int | None = None) -> None:
        """Note what is wrong with the entry, or with one of its messages, counting from 1."""
        place = self.place if message is None else f"{self.place}, message {message}"
        self.found.append(Problem(place, one_line(why)))


def shown_key(key: str) -> str:
    """The name of a conversation as a place tells it."""
    return one_line(key, _SHOWN_OF_A_KEY)


def shown_title(title: str) -> str:
    """A title, or the beginning of a text, as a title is told."""
    return one_line(title, _SHOWN_OF_A_TITLE)


def name_of(value: object) -> str:
    """An identifier as text; empty where there is none."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
