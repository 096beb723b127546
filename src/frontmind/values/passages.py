"""What can be searched for: passages, and how a text is cut into them. Pure.

A passage never changes: an edited text is made of new ones. So an index beside the store, which knows a passage by
its id, can be behind the store but never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from frontmind.values.memories import LinkKind, Memory

PASSAGE_LENGTH: Final = 1200
"""The most characters of a passage: about the 256 tokens that small sentence-embedding models read."""

CONTEXT_LENGTH: Final = 400
"""The most characters of what was said right before."""

_BOUNDARIES: Final = (re.compile(r"\n\s*\n"), re.compile(r"(?<=[.!?…。！？])\s+|\n"), re.compile(r"\s+"))


class PassageKind(StrEnum):
    """What a passage was made of: an exchange of a conversation, a memory, or a section of a document."""

    EXCHANGE = "exchange"
    MEMORY = "memory"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class NewPassage:
    """A passage that is not stored yet.

    Attributes:
        text: what is found and shown; of an exchange, a line ``Speaker: text`` for each message.
        context: what was said right before; it helps to find the passage and is not shown.
    """

    text: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A stored passage.

    Attributes:
        id: given by the store, growing, never given again.
        ref: the id of the turn, memory or document that it was made of.
        part: tells the passages of one ref apart.
        conversation: the conversation's name; of a document its name; empty for a memory.
        number: the number of the turn in its conversation; 0 for what is no turn.
        at: when it was said, observed or written.
        text, context: as in `NewPassage`, without NULs and lone surrogates.
    """

    id: int
    kind: PassageKind
    ref: int
    part: int
    conversation: str
    number: int
    at: datetime
    text: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A find.

    Attributes:
        score: how likely it bears on the query, from 0 to 1.
        why: what it was found by, in a few words each, such as ``words: tea, Anna``.
    """

    passage: Passage
    score: float
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recollection:
    """A find with what is known of it.

    Attributes:
        memory: the memory that it is; None for a piece of a conversation or a document.
        linked: what the memory's links lead to, each with the kind of its link.
    """

    hit: Hit
    memory: Memory | None = None
    linked: tuple[tuple[LinkKind, Memory], ...] = ()


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The vectors that one embedding model made.

    Attributes:
        name: names the model and its version.
        embedded_to: the passages with ids up to this one have their vector, or cannot have one.
    """

    name: str
    dimensions: int
    embedded_to: int = 0


def exchange_passages(user: str, replies: Sequence[str], *, before: str = "") -> tuple[NewPassage, ...]:
    """The passages of an exchange: one, or several when it is long.

    Args:
        user: what the person said.
        replies: what the assistant said, in order: also in front of calls of tools.
        before: the reply before this exchange.
    """
    said = [("User", user), *(("Assistant", reply) for reply in replies)]
    lines = [f"{speaker}: {text.strip()}" for speaker, text in said if text.strip()]
    return text_passages("\n".join(lines), before=before)


def text_passages(text: str, *, before: str = "") -> tuple[NewPassage, ...]:
    """The text as passages of at most `PASSAGE_LENGTH` characters, each with the end of what stands before it."""
    pieces = cut(text, PASSAGE_LENGTH)
    return tuple(
        NewPassage(piece, previous.strip()[-CONTEXT_LENGTH:])
        for previous, piece in zip((before, *pieces), pieces, strict=False)
    )


def cut(text: str, length: int) -> tuple[str, ...]:
    """The text in pieces of at most ``length`` characters, cut between paragraphs, else sentences, else words."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > length:
        end = start + length
        for boundary in _BOUNDARIES:
            places = [match.end() for match in boundary.finditer(text, start, start + length)]
            # A cut right at the beginning would leave a piece of a few words.
            if places and places[-1] - start >= length // 3:
                end = places[-1]
                break
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return tuple(piece.strip() for piece in pieces if piece.strip())
