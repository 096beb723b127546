"""The window as a list of named blocks in the order in which the model reads them, for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from frontmind.values.message import Message
from frontmind.values.parts import Text, ToolCall
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, RULE
from frontmind.window.window import Window

PLACEMENT_HISTORY = "history"
PLACEMENT_TURN = "turn"


class CacheState(StrEnum):
    CACHED = "cached"
    PARTLY = "partly"
    FRESH = "fresh"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of the window: a section, the history, the rules, the turn."""

    name: str
    placement: str
    text: str


@dataclass(frozen=True, slots=True)
class CountedBlock:
    """A block with its size and what the cache did with it.

    Attributes:
        tokens: its size; the last block, ``(template and joins)``, holds what is left of the whole, and is
            negative when estimates add up to more than the whole.
        exact: whether the model's own tokenizer counted it.
    """

    name: str
    placement: str
    tokens: int
    exact: bool
    state: CacheState


def message_text(message: Message) -> str:
    """All that a message says, tools included, for showing and counting."""
    shown = []
    for part in message.parts:
        if isinstance(part, Text):
            shown.append(part.text)
        elif isinstance(part, ToolCall):
            shown.append(f"{part.name}({part.arguments})")
        else:
            shown.append(part.text)
    return "\n\n".join(shown)


def window_blocks(window: Window) -> tuple[Block, ...]:
    """The blocks of the window in order; empty ones are left out."""
    blocks = [
        Block(section.name, PLACEMENT_SYSTEM, section.content)
        for section in window.sections
        if section.placement == PLACEMENT_SYSTEM
    ]
    if window.history:
        text = "\n\n".join(message_text(message) for message in window.history)
        blocks.append(Block(f"{len(window.history)} messages", PLACEMENT_HISTORY, text))
    if window.notification_center:
        blocks.append(Block("(rule)", PLACEMENT_NOTIFICATION, RULE))
        blocks.append(Block("(header)", PLACEMENT_NOTIFICATION, _header(window)))
        blocks += [
            Block(section.name, PLACEMENT_NOTIFICATION, section.content)
            for section in window.sections
            if section.placement == PLACEMENT_NOTIFICATION
        ]
        blocks.append(Block("(rule)", PLACEMENT_NOTIFICATION, RULE))
    text = "\n\n".join(message_text(message) for message in window.turn)
    blocks.append(Block("user message", PLACEMENT_TURN, text))
    return tuple(blocks)


def _header(window: Window) -> str:
    return window.notification_center.partition(f"\n{RULE}\n")[0] + f"\n{RULE}"


def count_blocks(
    blocks: Sequence[Block], counts: Sequence[int], *, exact: bool, total: int, cached: int | None
) -> tuple[CountedBlock, ...]:
    """Put sizes and cache states to the blocks; the sizes add up to ``total``.

    Args:
        counts: tokens of each block by itself.
        total: tokens of the whole request.
        cached: how many of them came from the cache, always a prefix; None when nobody knows yet.
    """
    whole = max(1, sum(counts))
    share = None if cached is None else cached / max(1, total)
    counted = []
    end = 0
    for block, tokens in zip(blocks, counts, strict=True):
        start, end = end, end + tokens
        state = _state(start / whole, end / whole, share)
        counted.append(CountedBlock(block.name, block.placement, tokens, exact, state))
    rest = total - sum(counts)
    counted.append(CountedBlock("(template and joins)", "", rest, exact, CacheState.UNKNOWN))
    return tuple(counted)


def _state(start: float, end: float, cached: float | None) -> CacheState:
    # A block counts as cached when the prefix ends in its last tenth: the joins between blocks are not counted
    # with them, so the boundaries are off by a few tokens.
    if cached is None:
        return CacheState.UNKNOWN
    if cached >= end - (end - start) / 10:
        return CacheState.CACHED
    if cached > start + (end - start) / 10:
        return CacheState.PARTLY
    return CacheState.FRESH
