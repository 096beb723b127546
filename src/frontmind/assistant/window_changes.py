"""What is different between two requests that were sent: block by block, and line by line.

Pure. Bounded: however long the texts are, only so much of them is compared, and what is left out is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final

from frontmind.assistant.explanation import area_of
from frontmind.assistant.window_view import block_text
from frontmind.assistant.window_view_values import (
    BlockDifference,
    ChangeKind,
    DiffLine,
    Operation,
    WindowDiff,
)
from frontmind.cachelab.parts import turn_start
from frontmind.window.difference import compare, excerpts, named
from frontmind.window.layout import CENTER, Block, Layout

_CHANGES: Final = 200
"""So many changes are told: more than that is another conversation."""

_ALL_TEXT: Final = 1_000_000
"""So many characters the changes have together, or a little more."""

_LINES: Final = 300
"""So many lines of each text are compared; `difflib` takes the square of that at worst."""

_CONTEXT: Final = 3
_LINE_LENGTH: Final = 1_000
_TEXT_LENGTH: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Placed:
    """A block of one of the two, and where in the window it stands."""

    index: int
    block: Block
    area: str

    @property
    def identity(self) -> tuple[str, str] | None:
        """What it is called where there is one of it only; None for what was said, which has no name."""
        return (self.area, self.block.name) if self.block.name else None


def window_changes(
    earlier: tuple[int, Layout] | None, turn: int, step: int, later: Layout, *, sizes: Sequence[int]
) -> WindowDiff:
    """What became of an earlier request in a later one. What stands elsewhere with the same content is no change.

    Args:
        earlier: the number of its turn, and the request; None where there is none: then all is new.
        turn, step: of the later one.
        sizes: the tokens of each block of the later one.
    """
    if earlier is None:
        shown, omitted = _told([(None, item) for item in _placed(later, 0)])
        return WindowDiff(turn, step, None, "", 0, shown, omitted)
    other, before = earlier
    found = compare(before, later)
    shown, omitted = _told(list(_changes(_placed(before, found.kept), _placed(later, found.kept))))
    first = _first_difference(before, later, found.kept)
    return WindowDiff(turn, step, other, first, sum(sizes[: found.kept]), shown, omitted)


def _first_difference(before: Layout, later: Layout, kept: int) -> str:
    """Where a cache that has the earlier request finds no more of it in the later one; empty where it finds all."""
    old = before.blocks[kept] if kept < len(before.blocks) else None
    new = later.blocks[kept] if kept < len(later.blocks) else None
    if old is None:
        return ""
    if new is None:
        return f"{named(old)} is gone, and nothing stands for it"
    if (old.area, old.role, old.kind, old.name) == (new.area, new.role, new.kind, new.name):
        return f"{named(new)} has another content"
    return f"at {new.place} stands {_called(new)}, where {_called(old)} stood"


def _called(block: Block) -> str:
    return block.name or f"{block.role} {block.kind}"


def _told(
    changes: Sequence[tuple[_Placed | None, _Placed | None]],
) -> tuple[tuple[BlockDifference, ...], int]:
    """The changes as far as there is room for them, and how many are left out."""
    shown: list[BlockDifference] = []
    room = _ALL_TEXT
    for before, after in changes[:_CHANGES]:
        if room <= 0:
            break
        shown.append(_difference(before, after))
        room -= sum(len(line.text) for line in shown[-1].lines) + len(shown[-1].before) + len(shown[-1].after)
    return tuple(shown), len(changes) - len(shown)


def _placed(layout: Layout, start: int) -> list[_Placed]:
    opened = turn_start(layout)
    first_of_turn = layout.blocks[opened].message if opened < len(layout.blocks) else len(layout.blocks)
    return [
        _Placed(index, block, area_of(block, first_of_turn))
        for index, block in enumerate(layout.blocks[start:], start)
        if block.name != CENTER
    ]


def _changes(before: Sequence[_Placed], later: Sequence[_Placed]) -> Iterator[tuple[_Placed | None, _Placed | None]]:
    """What is in one of the two only, or in both in another form: removed blocks at the place where they stood."""
    ours, theirs = _unmatched(before, later)
    named_before = {item.identity: item for item in ours if item.identity is not None}
    pairs = {
        item.index: named_before[item.identity]
        for item in theirs
        if item.identity is not None and item.identity in named_before
    }
    paired = {item.index for item in pairs.values()}
    yield from ((item, None) for item in ours if item.index not in paired)
    yield from ((pairs.get(item.index), item) for item in theirs)


def _unmatched(before: Sequence[_Placed], later: Sequence[_Placed]) -> tuple[list[_Placed], list[_Placed]]:
    """What has no twin with the same content in the other, wherever that stands."""
    ours, theirs = _by_content(before), _by_content(later)
    return (
        [item for key, items in ours.items() for item in items[len(theirs.get(key, ())) :]],
        [item for key, items in theirs.items() for item in items[len(ours.get(key, ())) :]],
    )


def _by_content(items: Sequence[_Placed]) -> dict[tuple[str, str, str], list[_Placed]]:
    found: dict[tuple[str, str, str], list[_Placed]] = {}
    for item in items:
        found.setdefault((item.block.area.value, item.block.kind, block_text(item.block)), []).append(item)
    return found


def _difference(before: _Placed | None, after: _Placed | None) -> BlockDifference:
    shown = after or before
    assert shown is not None
    kind = ChangeKind.CHANGED
    if before is None or after is None:
        kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED
    one, two = ("" if item is None else block_text(item.block) for item in (before, after))
    return BlockDifference(
        name=_called(shown.block),
        area=shown.area,
        place=shown.block.place,
        kind=kind,
        before=_cut(one, _TEXT_LENGTH),
        after=_cut(two, _TEXT_LENGTH),
        lines=tuple(text_lines(one, two)),
    )


def text_lines(before: str, after: str) -> Iterator[DiffLine]:
    """From one text to the other, with a few lines around each change; long texts are compared where they part."""
    old, new = before.splitlines(), after.splitlines()
    front = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    most = min(len(old), len(new)) - front
    behind = 0
    while behind < most and old[-1 - behind] == new[-1 - behind]:
        behind += 1
    start = max(0, front - _CONTEXT)
    yield from _skipped(start, "the same in both")
    yield from (DiffLine(Operation.KEPT, _cut(line, _LINE_LENGTH)) for line in new[start:front])
    yield from _middle(old[front : len(old) - behind], new[front : len(new) - behind])
    end = len(new) - behind
    yield from (DiffLine(Operation.KEPT, _cut(line, _LINE_LENGTH)) for line in new[end : end + _CONTEXT])
    yield from _skipped(behind - _CONTEXT, "the same in both")


def _middle(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    compared_old, compared_new = old[:_LINES], new[:_LINES]
    matcher = SequenceMatcher(None, compared_old, compared_new, autojunk=False)
    for operation, i1, i2, j1, j2 in matcher.get_opcodes():
        if operation == "equal":
            yield from (DiffLine(Operation.KEPT, _cut(line, _LINE_LENGTH)) for line in compared_new[j1:j2])
            continue
        removed, added = compared_old[i1:i2], compared_new[j1:j2]
        if len(removed) == len(added) == 1 and max(len(removed[0]), len(added[0])) > _LINE_LENGTH:
            # A change far inside of a long line would be cut off on both sides.
            removed, added = [[text] for text in excerpts(removed[0], added[0])]
        yield from (DiffLine(Operation.REMOVED, _cut(line, _LINE_LENGTH)) for line in removed)
        yield from (DiffLine(Operation.ADDED, _cut(line, _LINE_LENGTH)) for line in added)
    yield from _skipped(len(old) - len(compared_old), "of the earlier text, not compared")
    yield from _skipped(len(new) - len(compared_new), "of the later text, not compared")


def _skipped(lines: int, why: str) -> Iterator[DiffLine]:
    if lines > 0:
        yield DiffLine(Operation.KEPT, f"… ({lines:,} {'line' if lines == 1 else 'lines'} {why})")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
