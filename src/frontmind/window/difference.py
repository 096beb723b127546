"""What became of a request in the next one: it was extended, something in it moved, or it shrank.

Pure. A cache reads from the front, so what counts is whether the blocks that were sent are still where they were. What
stands around the question that is being asked may go: that is how a section slides. Nothing here knows a provider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import takewhile
from typing import Final

from frontmind.window.layout import TEXT, THINKING, TOOL_CALL, Block, Layout

_IN_FRONT: Final = 30
_BEHIND: Final = 120


class Kind(StrEnum):
    """EXTENDED: it went on. MOVED: something stable was rewritten or pushed back. SHRUNK: something is just gone."""

    EXTENDED = "extended"
    MOVED = "moved"
    SHRUNK = "shrunk"


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of request A in request B.

    Attributes:
        block: the block that moved or went; None when A was extended.
        before: A's text from a little in front of the first difference on; empty where A has nothing there.
        after: B's text there; empty where B has nothing there.
        reason: one line for people.
        kept: how many blocks of A stand at the front of B as they were.
        kept_tokens: about how many tokens these are.
        blocks: how many blocks A has.
        slid: the blocks of A that were there for that one question only.
        other_model: whether the requests are for two models, which share no cache.
    """

    kind: Kind
    reason: str
    kept: int
    kept_tokens: int
    blocks: int
    block: Block | None = None
    before: str = ""
    after: str = ""
    slid: tuple[Block, ...] = ()
    other_model: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """The messages of A against those of B.

    Attributes:
        kept: the indices of A's blocks that B has in their place.
        slid: the indices of A's blocks that were there for that one question only.
        stopped: where A and B part for good, as an index in each; None when B has all of A.
    """

    kept: frozenset[int]
    slid: tuple[int, ...]
    stopped: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """The part of a conversation that no reply has closed.

    Attributes:
        start: the index of its first block.
        passing: the indices of the blocks that may be gone in the next request.
        asked: the indices of what the person may have said.
        in_loop: whether tools have been called in it.
    """

    start: int
    passing: frozenset[int]
    asked: frozenset[int] = field(default_factory=frozenset)
    in_loop: bool = False


def compare(a: Layout, b: Layout) -> Difference:
    """What became of A in B. A marker that stands elsewhere is no difference."""
    kept = sum(1 for _ in takewhile(lambda pair: pair[0].key == pair[1].key, zip(a.blocks, b.blocks, strict=False)))
    facts = _Facts(kept, sum(block.tokens for block in a.blocks[:kept]), len(a.blocks), a.model != b.model)
    if kept < max(len(a.head), len(b.head)):
        return _head_moved(a, b, facts)
    old, new = a.conversation, b.conversation
    alignment = align(old, new)
    slid = tuple(old[index] for index in alignment.slid)
    if alignment.stopped is None:
        reason = "all of A is in its place in B"
        if slid:
            names = ", ".join(dict.fromkeys(block.name or block.place for block in slid))
            reason += f", except for what was there for that one question: {names}"
        return facts.difference(Kind.EXTENDED, reason, slid=slid)
    gone = _first_gone(old, new, alignment)
    if gone is not None:
        return facts.difference(
            Kind.SHRUNK, f"{named(old[gone])} is gone and nothing stands for it", old[gone], old[gone].shown
        )
    return _moved(old, new, alignment, facts)


@dataclass(frozen=True, slots=True)
class _Facts:
    kept: int
    kept_tokens: int
    blocks: int
    other_model: bool

    def difference(
        self,
        kind: Kind,
        reason: str,
        block: Block | None = None,
        before: str = "",
        after: str = "",
        slid: tuple[Block, ...] = (),
    ) -> Difference:
        before, after = excerpts(before, after)
        return Difference(
            kind, reason, self.kept, self.kept_tokens, self.blocks, block, before, after, slid, self.other_model
        )


def named(block: Block) -> str:
    """The block for people: its place, and what it is where that is known."""
    return f"{block.place} ({block.name})" if block.name else block.place


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Two texts from a little in front of their first difference on, cut to a length that can be shown."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    start = max(0, same - _IN_FRONT)
    return _cut(before, start), _cut(after, start)


def _cut(text: str, start: int) -> str:
    end = start + _IN_FRONT + _BEHIND
    return ("…" if start and text else "") + text[start:end] + ("…" if end < len(text) else "")


def _head_moved(a: Layout, b: Layout, facts: _Facts) -> Difference:
    old, new = _at(a.head, facts.kept), _at(b.head, facts.kept)
    block = old or new
    assert block is not None
    if old is None:
        reason = f"{named(block)} was put between the head and the messages"
    elif new is None or old.key not in {item.key for item in b.head}:
        gone = new is None or new.key in {item.key for item in a.head}
        reason = f"{named(block)} {'is gone' if gone else 'was rewritten'}"
    else:
        block = new
        reason = f"B's {named(new)} was put in front of A's {named(old)}"
    return facts.difference(Kind.MOVED, reason, block, old.shown if old else "", new.shown if new else "")


def _moved(old: Sequence[Block], new: Sequence[Block], alignment: Alignment, facts: _Facts) -> Difference:
    assert alignment.stopped is not None
    i, j = alignment.stopped
    there = _at(new, j)
    if there is not None and i > 0 and i - 1 in alignment.slid:
        # What passes was rewritten in front of something that stays: it is the one to name.
        twin = next((k for k in alignment.slid if old[k].name and old[k].name == there.name), None)
        i = i if twin is None else twin
    turn = open_turn(old)
    if not turn.asked & alignment.kept:
        # The question is not there any more: the first thing that could be it is the one to name.
        i = min((k for k in alignment.slid if k in turn.asked), default=i)
    here = _at(old, i)
    block = here or there
    assert block is not None
    if here is not None and there is not None and here.key in {item.key for item in new[j + 1 :]}:
        reason = f"B's {named(there)} was put in front of A's {named(here)}"
        block = there
    else:
        reason = f"{named(block)} was rewritten"
    return facts.difference(Kind.MOVED, reason, block, here.shown if here else "", there.shown if there else "")


def align(old: Sequence[Block], new: Sequence[Block]) -> Alignment:
    """Walk both conversations at once; only what passes by nature may be missing."""
    turn, later = open_turn(old), open_turn(new)
    kept: set[int] = set()
    slid: list[int] = []
    i = j = 0
    replaced = False
    while i < len(old):
        if j < len(new) and old[i].key == new[j].key:
            kept.add(i)
            i, j, replaced = i + 1, j + 1, False
        elif _is_said_anew(i, j, old, new, turn, later):
            slid.append(i)
            i, j, replaced = i + 1, j + 1, False
        elif i in turn.passing and (i not in turn.asked or not _is_last_asked(i, turn, kept)):
            slid.append(i)
            i, replaced = i + 1, True
        elif j in later.passing and not later.in_loop and (new[j].in_center or replaced):
            # The same question once more, with what is true now in front of it.
            j += 1
        else:
            return Alignment(frozenset(kept), tuple(slid), (i, j))
    return Alignment(frozenset(kept), tuple(slid), None)


def _is_said_anew(i: int, j: int, old: Sequence[Block], new: Sequence[Block], turn: OpenTurn, later: OpenTurn) -> bool:
    """Whether the same section stands at both places, in a turn that nothing has followed yet."""
    if i not in turn.passing or j not in later.passing or later.in_loop:
        return False
    return old[i].in_center and new[j].in_center and old[i].name == new[j].name


def _is_last_asked(index: int, turn: OpenTurn, kept: set[int]) -> bool:
    """Whether the question would be gone with it."""
    return not (turn.asked & kept) and index == max(turn.asked)


def open_turn(blocks: Sequence[Block]) -> OpenTurn:
    """The part that no reply has closed, and what of it passes."""
    messages = _messages(blocks)
    first = len(messages)
    synthetic: set[int] = set()
    while first > 0:
        message = messages[first - 1]
        if blocks[message[0]].role == "assistant" and not any(blocks[i].kind == TOOL_CALL for i in message):
            if not _is_put_in(blocks, messages, first - 1):
                break
            synthetic.update(message)
        first -= 1
    start = messages[first][0] if first < len(messages) else len(blocks)
    open_blocks = range(start, len(blocks))
    spoken = [i for i in open_blocks if blocks[i].kind == TEXT and (blocks[i].role != "assistant" or i in synthetic)]
    return OpenTurn(
        start=start,
        passing=frozenset(spoken) | {i for i in open_blocks if blocks[i].kind == THINKING},
        asked=frozenset(i for i in spoken if blocks[i].role == "user" and not blocks[i].in_center),
        in_loop=any(blocks[i].kind == TOOL_CALL for i in open_blocks),
    )


def _messages(blocks: Sequence[Block]) -> list[list[int]]:
    """The indices of the blocks of each message; what a format says in items of their own is one message too."""
    messages: list[list[int]] = []
    for index, block in enumerate(blocks):
        if messages and _is_same_message(blocks[index - 1], block):
            messages[-1].append(index)
        else:
            messages.append([index])
    return messages


def _is_same_message(one: Block, next_one: Block) -> bool:
    if one.message == next_one.message:
        return True
    # Reasoning, words and calls of one reply may be items; two texts in a row are two messages of an application.
    both_said = one.role == next_one.role == "assistant"
    return both_said and not one.kind == next_one.kind == TEXT


def _is_put_in(blocks: Sequence[Block], messages: list[list[int]], index: int) -> bool:
    """Whether an assistant message is one that the application wrote for the question behind it."""
    message = messages[index]
    if all(blocks[i].in_center for i in message):
        return True
    followed = index + 1 < len(messages) and blocks[messages[index + 1][0]].role == "user"
    answers = index > 0 and blocks[messages[index - 1][0]].role != "assistant"
    return followed and not answers


def _first_gone(old: Sequence[Block], new: Sequence[Block], alignment: Alignment) -> int | None:
    """The first block that is missing, where what is left of A stands unbroken at the front of B; else None."""
    assert alignment.stopped is not None
    turn = open_turn(old)
    i, j = alignment.stopped
    first, asked = None, False
    while j < len(new) and not asked:
        k = next((k for k in range(i, len(old)) if old[k].key == new[j].key), None)
        if k is None:
            return None
        if k > i and first is None:
            first = i
        asked = k in turn.asked and k == max(turn.asked)
        i, j = k + 1, j + 1
    return first if first is not None else (i if i < len(old) else None)


def _at(blocks: Sequence[Block], index: int) -> Block | None:
    return blocks[index] if index < len(blocks) else None
