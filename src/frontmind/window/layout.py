"""A `Layout`: the blocks of a request of any origin, in the order in which a prompt cache sees them.

Values, and how a text is taken apart into the sections that it is made of. Knows no provider's JSON: whoever reads a
request makes the blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final, TypeAlias

from frontmind.values.section import HEADER, RULE

CENTER: Final = "notification_center"
"""The name of what frames the sections of a notification center."""

TEXT: Final = "text"
THINKING: Final = "thinking"
TOOL: Final = "tool"
TOOL_CALL: Final = "tool_use"
TOOL_RESULT: Final = "tool_result"

BlockKey: TypeAlias = tuple[str, str, bytes]


class Area(StrEnum):
    """Where in a request a block stands; a cache sees the first two before the messages."""

    TOOLS = "tools"
    SYSTEM = "system"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Marker:
    """A cache marker.

    Attributes:
        kind: the key that it has in the request, such as ``cache_control``.
        ttl: how long the entry is asked to live, such as ``5m``; empty where the format leaves it to the provider.
        text: the text that it stands on, where that is a text inside of the block; None where it is the block.
    """

    kind: str
    ttl: str = ""
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a request, or one section of a block that is made of several.

    Attributes:
        place: where it stands, such as ``messages[3].content[1]``.
        role: whose it is: ``system``, ``user``, ``assistant`` and so on.
        kind: ``text``, ``thinking``, ``tool``, ``tool_use``, ``tool_result``, ``image`` and so on.
        data: its canonical JSON, cache markers left out.
        text: what it says in words; empty where that is nothing.
        message: the index of its message; -1 outside of the messages.
        name: what it is, where that is known: a section, a tool.
        in_center: whether it is part of a notification center.
        marker: the marker at its end.
        call_id: what joins a tool call and its result.
        tokens: about how many tokens it is, estimated.
        cleared: whether it stands in a turn-scoped message, which enters no cache.
        deferred: whether it is a tool that is loaded only when it is asked for.
    """

    area: Area
    place: str
    role: str
    kind: str
    data: bytes
    text: str = ""
    message: int = -1
    name: str = ""
    in_center: bool = False
    marker: Marker | None = None
    call_id: str = ""
    tokens: int = 1
    cleared: bool = False
    deferred: bool = False

    @property
    def key(self) -> BlockKey:
        """What makes two blocks the same to a cache."""
        return self.area.value, self.role, self.data

    @property
    def shown(self) -> str:
        """Its text, or its JSON where it has none."""
        return self.text or self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter of a request that is part of what a cache goes by.

    Attributes:
        name: its key in the request; ``images`` for whether there are any.
        value: its canonical JSON.
        area: from the beginning of this area on a change of it makes another prefix.
    """

    name: str
    value: bytes
    area: Area


@dataclass(frozen=True, slots=True)
class Layout:
    """A request as a cache sees it.

    Attributes:
        wire: the name of the format that it is written in.
        provider: whom it is for, as in the name of a model.
        model: the provider's name of the model; empty where the request does not say it.
        blocks: tools and system, then the messages.
        automatic: the marker that the body asks the provider to put at the end; None where it asks for none.
        implicit: whether the provider may cache by itself: the body does not switch that off.
        stateful: whether the request goes on from something that only the provider has.
        guessed: whether the provider is only guessed: other servers take the same body.
        settings: the parameters that a cache goes by, by name.
        entry: the name of an entry of the provider's cache that the request goes on from; empty for none.
    """

    wire: str
    provider: str
    model: str
    blocks: tuple[Block, ...]
    automatic: Marker | None = None
    implicit: bool = True
    stateful: bool = False
    guessed: bool = False
    settings: tuple[Setting, ...] = ()
    entry: str = ""

    @property
    def head(self) -> tuple[Block, ...]:
        """The blocks in front of the messages."""
        return tuple(block for block in self.blocks if block.area is not Area.MESSAGES)

    @property
    def conversation(self) -> tuple[Block, ...]:
        """The blocks of the messages."""
        return tuple(block for block in self.blocks if block.area is Area.MESSAGES)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text; joined again, the pieces are the text."""

    text: str
    name: str = ""
    in_center: bool = False


_CENTER: Final = re.compile(
    rf"(?P<top>(?:{RULE}\n)?{re.escape(HEADER)}\n{RULE}\n|{RULE}\n(?=<))(?P<body>.*?)(?P<end>\n{RULE}\n{{0,2}})",
    re.DOTALL,
)
_MOST_RULES: Final = 200
_MOST_ELEMENTS: Final = 2000
_OPENING: Final = re.compile(r"^<(?P<name>[A-Za-z_][\w.:-]*)(?: [^<>\n]*)?>", re.MULTILINE)


def take_apart(text: str, *, elements: bool) -> tuple[Piece, ...]:
    """The sections that a text is made of, at least one piece.

    Args:
        elements: whether elements outside of a notification center are pieces of their own too.
    """
    if text.count(RULE) > _MOST_RULES:
        # No prompt: taking it apart would take longer than anybody waits.
        return (Piece(text),)
    if text.strip() == RULE:
        return (Piece(text, CENTER, in_center=True),)
    pieces: list[Piece] = []
    position = 0
    for found in _CENTER.finditer(text):
        before = text[position : found.start()]
        kept = before.rstrip("\n")
        pieces += _outside(kept, elements)
        pieces.append(Piece(before[len(kept) :] + found["top"], CENTER, in_center=True))
        pieces += (Piece(piece.text, piece.name or CENTER, in_center=True) for piece in _elements(found["body"]))
        pieces.append(Piece(found["end"], CENTER, in_center=True))
        position = found.end()
    pieces += _outside(text[position:], elements)
    return _without_blank(pieces) or (Piece(text),)


def _without_blank(pieces: list[Piece]) -> tuple[Piece, ...]:
    """The pieces, white space between two of them joined to what follows and at the very end to what is in front."""
    joined: list[Piece] = []
    blank = ""
    for piece in pieces:
        if piece.text.strip():
            joined.append(replace(piece, text=blank + piece.text))
            blank = ""
        else:
            blank += piece.text
    if blank and joined:
        joined[-1] = replace(joined[-1], text=joined[-1].text + blank)
    return tuple(joined)


def _outside(text: str, elements: bool) -> list[Piece]:
    if not text:
        return []
    return list(_elements(text)) if elements else [Piece(text)]


def _elements(text: str) -> Iterator[Piece]:
    """The elements at the top of a text. Blank lines between belong to what follows, so that adding changes nothing."""
    position = 0
    unclosed: set[str] = set()
    for opening in islice(_OPENING.finditer(text), _MOST_ELEMENTS):
        closing = f"</{opening['name']}>"
        if opening.start() < position or closing in unclosed:
            continue
        end = text.find(closing, opening.end())
        if end < 0:
            unclosed.add(closing)
            continue
        before = text[position : opening.start()]
        kept = before.rstrip("\n")
        if kept:
            yield Piece(kept)
        position = end + len(closing)
        yield Piece(before[len(kept) :] + text[opening.start() : position], opening["name"])
    if position < len(text):
        yield Piece(text[position:])
