"""Data sets for measuring recall: items that were said, and questions with the items that answer them.

Both are JSON lines: ``{"id", "conversation", "time", "speaker", "text"}`` and ``{"id", "conversation", "time", "text",
"relevant": [ids]}``; a question may have a ``category`` as well. ``time`` is ISO 8601 with an offset. A question is
asked of the items of its own conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from frontmind.errors import UsageError
from frontmind.values.harmless import one_line

SESSION_PAUSE: Final = timedelta(minutes=60)
"""How long nothing was said before a new session begins; no chunk goes across."""

_ALL: Final = "all"


class _Row(BaseModel):
    model_config = ConfigDict(strict=False, extra="ignore", frozen=True)


class _ItemRow(_Row):
    id: str
    conversation: str
    time: AwareDatetime
    speaker: str
    text: str


class _QuestionRow(_Row):
    id: str
    conversation: str
    time: AwareDatetime | None = None
    text: str
    relevant: list[str]
    category: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that was said.

    Attributes:
        id: unique in its corpus.
        conversation: whose memory it belongs to.
    """

    id: str
    conversation: str
    time: datetime
    speaker: str
    text: str

    @property
    def line(self) -> str:
        """It as one line of a passage."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the items that answer it.

    Attributes:
        time: when it is asked; None for right after the last item of its conversation.
    """

    id: str
    conversation: str
    time: datetime | None
    text: str
    relevant: frozenset[str]
    category: str = ""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is found as a whole: items that follow each other in one session.

    Attributes:
        before: the item in front of it in its session; None where it is the first.
    """

    items: tuple[Item, ...]
    before: Item | None

    @property
    def text(self) -> str:
        """A line for each item."""
        return "\n".join(item.line for item in self.items)

    @property
    def context(self) -> str:
        """The line in front of it."""
        return "" if self.before is None else self.before.line


def read_corpus(path: Path) -> tuple[Item, ...]:
    """The items of a file of JSON lines, in its order.

    Raises:
        UsageError: a line cannot be used, or an id is there twice.
    """
    items = tuple(Item(row.id, row.conversation, row.time, row.speaker, row.text) for row in _rows(path, _ItemRow))
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise UsageError(f"{path} has the id {one_line(item.id)!r} twice; give each item an id of its own")
        seen.add(item.id)
    if not items:
        raise UsageError(f"{path} has no items; write a JSON object a line")
    return items


def read_questions(path: Path, items: Sequence[Item]) -> tuple[Question, ...]:
    """The questions of a file of JSON lines, in its order.

    Raises:
        UsageError: a line cannot be used, or names an item that is not of the question's conversation.
    """
    homes = {item.id: item.conversation for item in items}
    questions = []
    for row in _rows(path, _QuestionRow):
        for wanted in row.relevant:
            if homes.get(wanted) != row.conversation:
                raise UsageError(
                    f"{path}: the question {one_line(row.id)!r} names {one_line(wanted)!r}, and the conversation "
                    f"{one_line(row.conversation)!r} has no such item; mend one of the two files"
                )
        if row.relevant:
            questions.append(
                Question(row.id, row.conversation, row.time, row.text, frozenset(row.relevant), row.category or _ALL)
            )
    if not questions:
        raise UsageError(f"{path} has no question with a relevant item; there is nothing to measure")
    return tuple(questions)


def units(items: Sequence[Item], size: int) -> tuple[Unit, ...]:
    """The items of one conversation in units of ``size`` that do not overlap; the last of a session may be shorter."""
    made: list[Unit] = []
    for session in _sessions(items):
        for start in range(0, len(session), size):
            made.append(Unit(tuple(session[start : start + size]), session[start - 1] if start else None))
    return tuple(made)


def _sessions(items: Sequence[Item]) -> Iterator[list[Item]]:
    session: list[Item] = []
    for item in items:
        if session and item.time - session[-1].time >= SESSION_PAUSE:
            yield session
            session = []
        session.append(item)
    if session:
        yield session


_R = TypeVar("_R", bound=_Row)


def _rows(path: Path, kind: type[_R]) -> Iterator[_R]:
    if path.exists() and not path.is_file():
        # A pipe or a device might never end.
        raise UsageError(f"{path} is not a regular file; pass a file of JSON lines")
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _row(path, number, line, kind)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8; write JSON lines in UTF-8") from error


def _row(path: Path, number: int, line: str, kind: type[_R]) -> _R:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise UsageError(f"line {number} of {path} cannot be used: {one_line(reason)}") from error
