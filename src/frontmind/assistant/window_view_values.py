"""A window of the past or of the next turn as people look at it: its blocks, what each cost, and why it is there.

Frozen values. Know no store, no HTTP and no terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from frontmind.assistant.explanation import Dropped
from frontmind.values.calls import CacheVerdict
from frontmind.values.section import SectionFailure
from frontmind.values.usage import Usage

REST: Final = "(rest)"
"""The name of the block that holds what no other has: the chat template's own tokens, where the others were counted."""

REST_AREA: Final = "rest"


class BlockChange(StrEnum):
    """A block against the window before. CHANGED: that had a block of the same name with another content."""

    SAME = "same"
    NEW = "new"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class ViewBlock:
    """A block of a window. Its read, written and fresh tokens add up to its tokens.

    Attributes:
        id: its index in the window.
        area: tools, system, history, notification or turn; `REST_AREA` for what no block has.
        name: the section's name, or what the block is.
        role: whose it is in the request.
        kind: ``text``, ``thinking``, ``tool``, ``tool_use``, ``tool_result``, ``image`` and so on.
        trinket: the class of the trinket that wrote it; empty where none did.
        place: where it stands in the request, such as ``messages[3].content[0]``.
        text: what it says; of tools, their calls and what has no words, its JSON.
        tokens: its size. A block that the model does not see has none.
        exact: whether the model's own tokenizer counted it; otherwise it is an estimate within what was counted.
        read, written, fresh: what the cache did, or should do, with these tokens.
        age: how long it had stood as it was; empty where that is not known.
        why: why it is there.
        change: against the window before.
    """

    id: int
    area: str
    name: str
    role: str
    kind: str
    trinket: str
    place: str
    text: str
    tokens: int
    exact: bool
    read: int
    written: int
    fresh: int
    age: str
    why: str
    change: BlockChange


@dataclass(frozen=True, slots=True)
class WindowView:
    """A window as it was sent, or would be. The tokens of its blocks add up to ``total``.

    Where a provider counts tokens as read and written both, the blocks show them as read, so that nothing is in two
    places; ``usage`` has the provider's figures.

    Attributes:
        turn: the number of the turn.
        step: which call of the turn it is, from 0.
        steps: how many calls the turn has so far.
        sent_at: when it was sent; None where nobody noted it, and for one that would be sent.
        model: the model's full name.
        framing: the name of the framing; empty where nobody noted it.
        framing_reason: why it is framed so, in one line.
        request: the hash under which the request is stored; empty for one that would be sent.
        total: tokens of the whole prompt.
        exact: whether ``total`` is what the provider, or the engine, counted.
        usage: as it was counted; None before, and where the call broke off.
        expected: what the rules expected of the cache; None where none is known.
        cost: in US dollars; None where no price is known.
        full_price: what the same tokens would have cost without a cache.
        verdict: why less was read, or will be, than could have been.
        diagnosis: what the provider itself said of it; empty where it said nothing.
        dropped: what could have been in it and is not.
        failures: the sections that were unavailable.
    """

    conversation: str
    turn: int
    step: int
    steps: int
    sent_at: datetime | None
    model: str
    framing: str
    framing_reason: str
    request: str
    total: int
    exact: bool
    usage: Usage | None
    expected: Usage | None
    cost: Decimal | None
    full_price: Decimal | None
    verdict: CacheVerdict
    diagnosis: str
    blocks: tuple[ViewBlock, ...]
    dropped: tuple[Dropped, ...]
    failures: tuple[SectionFailure, ...]


class Operation(StrEnum):
    """What became of a line."""

    KEPT = " "
    REMOVED = "-"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a text, or of the one before it."""

    operation: Operation
    text: str


class ChangeKind(StrEnum):
    """What became of a block."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class BlockDifference:
    """A block that is in one of two windows only, or in both with different content.

    Attributes:
        name, area, place: of the block, in the later window unless it was removed.
        before, after: its text in each; empty where it is not there.
        lines: from the one text to the other, shortened where they are long.
    """

    name: str
    area: str
    place: str
    kind: ChangeKind
    before: str
    after: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class WindowDiff:
    """What became of one window in a later one.

    Attributes:
        turn, step: of the later window.
        other: the turn of the earlier one; None where there is none.
        first_difference: where the two part, and how, in one line; empty where there is none before.
        common: about how many tokens both have in front of it.
        changes: in the order of the later window, what was removed first.
        omitted: how many changes more there are, which are not told.
    """

    turn: int
    step: int
    other: int | None
    first_difference: str
    common: int
    changes: tuple[BlockDifference, ...]
    omitted: int = 0
