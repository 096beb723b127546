"""The window as a list of named blocks in the order in which the model reads them, for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from frontmind.values.message import Message
from frontmind.values.parts import Notice, part_text
from frontmind.values.section import HEADER, PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, RULE, Section
from frontmind.window.framing import DEFAULT_CHOICE, Origin, frame_history, frame_tail
from frontmind.window.window import Window

PLACEMENT_TOOLS = "tools"
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
    return "\n\n".join(part_text(part) for part in message.parts)


def window_blocks(window: Window) -> tuple[Block, ...]:
    """The blocks of the window in the order in which its framing sends them; empty ones are left out."""
    choice = window.framing or DEFAULT_CHOICE
    blocks = [
        Block(section.name, PLACEMENT_SYSTEM, section.content)
        for section in window.sections
        if section.placement == PLACEMENT_SYSTEM
    ]
    if window.history:
        sent = (framed for message in window.history for framed in frame_history(message, choice))
        text = "\n\n".join(part_text(part) for framed in sent for part in framed.parts)
        blocks.append(Block(f"{len(window.history)} messages", PLACEMENT_HISTORY, text))
    updated = [section for update in window.updates for section in update.sections]
    sections = [section for section in (*window.sections, *updated) if section.placement == PLACEMENT_NOTIFICATION]
    said: list[str] = []
    for framed in frame_tail(window, choice):
        for part in framed.parts:
            if framed.origin is Origin.TURN and not isinstance(part, Notice):
                said.append(part_text(part))
                continue
            blocks += _turn_block(said)
            blocks += _center_blocks(part_text(part), sections)
    return (*blocks, *_turn_block(said))


def _turn_block(said: list[str]) -> list[Block]:
    """What was said since the last block of the notification center, taken out of the list."""
    text = "\n\n".join(said)
    said.clear()
    return [Block("user message", PLACEMENT_TURN, text)] if text else []


def _center_blocks(text: str, sections: Sequence[Section]) -> list[Block]:
    blocks = []
    if text.startswith(RULE):
        blocks.append(Block("(rule)", PLACEMENT_NOTIFICATION, RULE))
        text = text[len(RULE) :].removeprefix("\n")
    header = f"{HEADER}\n{RULE}"
    if text.startswith(header):
        blocks.append(Block("(header)", PLACEMENT_NOTIFICATION, header))
        text = text[len(header) :].removeprefix("\n")
    body, rule, _ = text.rpartition(f"\n{RULE}")
    for section in sections:
        if section.content in body:
            blocks.append(Block(section.name, PLACEMENT_NOTIFICATION, section.content))
            body = body.replace(section.content, "", 1)
    if body.strip():
        blocks.append(Block("(no longer there)", PLACEMENT_NOTIFICATION, body.strip()))
    return [*blocks, Block("(rule)", PLACEMENT_NOTIFICATION, RULE)] if rule else blocks


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
