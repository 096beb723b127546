"""Which blocks of a request will not be there, or not be the same, in the next one.

Pure. A block is volatile when a later request of the same conversation shows it gone or changed, when it is part of a
notification center that slides, or when text in front of the conversation says what time it is now. What a later
request shows goes before what a text looks like. A single request does not show whether a notification center inside a
user message slides or stays, nor whether a date changes. Tools that come or go are the application's choice: only one
that is described anew is volatile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

from frontmind.window.difference import align, open_turn
from frontmind.window.layout import TEXT, Area, BlockKey, Layout

_LOOK_BACK: Final = 20
_CHANGED: Final = "changed between two requests of this conversation"


@dataclass(frozen=True, slots=True)
class Volatility:
    """What does not stay in a request, by the index of the block, with the reason.

    Attributes:
        volatile: blocks that are not there, or not the same, in the next request.
        changed: blocks in front of the conversation that are new since the request before.
    """

    volatile: Mapping[int, str]
    changed: Mapping[int, str]


@dataclass
class _Evidence:
    """What other requests of the conversation show of one; ``sliding`` are the roles whose sections were seen to go."""

    gone: dict[int, str] = field(default_factory=dict)
    changed: dict[int, str] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    sliding: set[str] = field(default_factory=set)


def find_volatile(layouts: Sequence[Layout]) -> list[Volatility]:
    """What does not stay in each of the requests.

    Args:
        layouts: in the order in which they were sent; requests of one conversation tell about each other.
    """
    evidence = [_Evidence() for _ in layouts]
    for index, layout in enumerate(layouts):
        for earlier in range(index - 1, max(-1, index - 1 - _LOOK_BACK), -1):
            if _goes_on(layouts[earlier], layout):
                _tell(layouts[earlier], layout, evidence[earlier], evidence[index])
                break
    return [
        Volatility(_volatile(layout, known), known.changed) for layout, known in zip(layouts, evidence, strict=True)
    ]


def _goes_on(earlier: Layout, later: Layout) -> bool:
    """Whether the later request is of the same conversation, no shorter, and has the question of the earlier one."""
    if (earlier.wire, earlier.model) != (later.wire, later.model):
        return False
    old, new = earlier.conversation, later.conversation
    if not old or not new or new[-1].message < old[-1].message:
        return False
    same_system = _first(earlier, Area.SYSTEM) == _first(later, Area.SYSTEM) is not None
    if not same_system and old[0].key != new[0].key:
        return False
    turn, there = open_turn(old), {block.key for block in new}
    closed = [block for block in old[: turn.start] if block.kind == TEXT]
    return all(block.key in there for block in closed) and any(old[index].key in there for index in turn.asked)


def _first(layout: Layout, area: Area) -> BlockKey | None:
    return next((block.key for block in layout.blocks if block.area is area), None)


def _tell(earlier: Layout, later: Layout, old: _Evidence, new: _Evidence) -> None:
    """Note what two requests of a conversation show of each of them."""
    before, after = _changed_head(earlier, later)
    offset = len(earlier.head)
    alignment = align(earlier.conversation, later.conversation)
    old.gone |= before | {offset + index: "is gone from the next request" for index in alignment.slid}
    old.kept |= {offset + index for index in alignment.kept} | (set(range(offset)) - set(before))
    new.changed |= after
    turn, later_turn = open_turn(earlier.conversation), open_turn(later.conversation)
    if later_turn.start > turn.start:
        slid = [earlier.conversation[index] for index in alignment.slid]
        new.sliding |= {block.role for block in slid if block.in_center}


def _changed_head(earlier: Layout, later: Layout) -> tuple[dict[int, str], dict[int, str]]:
    before: set[int] = set()
    after: set[int] = set()
    old, new = earlier.head, later.head
    matcher = SequenceMatcher(None, [block.key for block in old], [block.key for block in new], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            before.update(range(i1, i2))
            after.update(range(j1, j2))
    tools = {block.name for block in old if block.area is Area.TOOLS}
    tools &= {block.name for block in new if block.area is Area.TOOLS}
    return (
        {i: _CHANGED for i in before if old[i].area is Area.SYSTEM or old[i].name in tools},
        {j: _CHANGED for j in after if new[j].area is Area.SYSTEM or new[j].name in tools},
    )


_WHEN: Final = r"(?:[^\n{<]{0,20}?\d{1,4}[:/.-]\d{1,2}|[^\n{<]{0,4}\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)"
_MOMENT: Final = re.compile(
    r"\b(?:current|local) (?:date and time|date|time|datetime)\b[^\n{<]{0,20}\d"
    rf"|\btoday(?:['\u2019]s date)?(?: is|:){_WHEN}"
    rf"|\b(?:now is|it is now|now:){_WHEN}"
    r"|\brendered at\b[^\n{<]{0,20}\d"
    r"|\b\d+ ?(?:s|m|min|mins|minutes?|seconds?) (?:ago|old)\b",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(r"(?:e\.g\.|for example|example|such as|format|\blike\b|i\.e\.)[^\n]*$", re.IGNORECASE)


def _moment(text: str) -> str:
    """The words that say what time it is now; empty where there are none, or where they are an example."""
    for found in _MOMENT.finditer(text):
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if not _EXAMPLE.search(line):
            return found[0]
    return ""


def _volatile(layout: Layout, known: _Evidence) -> dict[int, str]:
    """The volatile blocks by index, and why they are."""
    why: dict[int, str] = {}
    offset = len(layout.head)
    centers = [index for index, block in enumerate(layout.blocks) if block.in_center and not block.cleared]
    turn = open_turn(layout.conversation)
    # Where earlier ones are still there this one will be kept too.
    stays = any(offset <= index < offset + turn.start for index in centers)
    for index in centers:
        block = layout.blocks[index]
        slides = block.role in known.sliding or (block.role == "assistant" and not stays)
        if block.area is Area.SYSTEM or (index >= offset + turn.start and slides and index not in known.kept):
            why[index] = "is part of the notification center, which moves on with every turn"
    for index, block in enumerate(layout.blocks[:offset]):
        words = "" if index in why else _moment(block.text)
        if words:
            why[index] = f"tells the time ({words!r})"
    return {index: text for index, text in (why | known.gone).items() if not layout.blocks[index].cleared}
