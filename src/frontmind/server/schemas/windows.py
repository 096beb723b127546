"""Windows as the API gives them out, in a size that a page can take: long texts are cut, and their length is told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from enum import StrEnum
from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from frontmind.assistant import window_view_values as values
from frontmind.server.schemas.sent import Sent
from frontmind.server.schemas.texts import Shown
from frontmind.server.schemas.times import LARGEST_NUMBER
from frontmind.server.schemas.usage import Usage, dollars, usage_figures
from frontmind.window.blocks import PLACEMENT_HISTORY

TEXT_LENGTH: Final = 20_000
"""The most characters of a block's text in a window."""

WHOLE_TEXT_LENGTH: Final = 1_000_000
"""The most characters of a block's text that is asked for by itself: no page shows more."""

_ALL_TEXTS: Final = 1_000_000
_SHORTER: Final = (TEXT_LENGTH, 5_000, 1_000, 200)


class Area(StrEnum):
    """Where in a window a block stands."""

    TOOLS = "tools"
    SYSTEM = "system"
    HISTORY = "history"
    NOTIFICATION = "notification"
    TURN = "turn"
    REST = "rest"


class Block(BaseModel):
    """A block of a window. Its read, written and fresh tokens add up to its tokens.

    Attributes:
        id: its index in the window.
        area: where it stands; "rest" for what no block has.
        name: the section's name, or what it is.
        role: whose it is in the request.
        kind: text, thinking, tool, tool_use, tool_result, image and so on.
        trinket: the class of the trinket that wrote it; empty where none did.
        place: where it stands in the request.
        text: what it says, at most 20,000 characters; in a window with very many messages fewer of the history's.
        length: the characters of the whole text.
        exact: whether the model's own tokenizer counted it; otherwise its size is an estimate.
        age: how long it had stood as it was; empty where that is not known.
        why: why it is there.
        change: against the window before.
    """

    id: int
    area: Area
    name: Shown
    role: Shown
    kind: Shown
    trinket: Shown
    place: Shown
    text: Shown
    length: int
    tokens: int
    exact: bool
    read: int
    written: int
    fresh: int
    age: str
    why: Shown
    change: Literal["same", "new", "changed"]


class BlockText(BaseModel):
    """The text of a block, at most 1,000,000 characters of it.

    Attributes:
        id: the block's index in its window.
        length: the characters of the whole text.
    """

    id: int
    text: Shown
    length: int


class WindowCache(BaseModel):
    """Why less of a prompt was read from the cache than could have been.

    Attributes:
        cause: "nothing" where nothing was lost.
        reason: one line for people.
        lost: about how many tokens are processed again because of it.
        place: where the first difference stands; empty where none is the cause.
        before, after: both texts around it.
        diagnosis: what the provider itself says of it; empty where it says nothing.
    """

    cause: str
    reason: Shown
    lost: int
    place: Shown
    before: Shown
    after: Shown
    diagnosis: Shown


class LeftOut(BaseModel):
    """Something that is not in a window, and why not."""

    name: Shown
    trinket: Shown
    why: Shown


class FailedSection(BaseModel):
    """A section that was unavailable, since when, and why."""

    section: Shown
    since: str
    reason: Shown


class WindowView(BaseModel):
    """A window as it was sent, or would be. The tokens of its blocks add up to ``total``.

    Attributes:
        step: which call of the turn it is, from 0.
        steps: how many calls the turn has.
        sent_at: null for one that would be sent, and where nobody noted it.
        request: the SHA-256 of the stored request; empty for one that would be sent.
        total: the tokens of the prompt.
        exact: whether that is what the provider counted.
        usage: as the provider counted; null before.
        expected: what the rules expected of the cache; null where none is known.
        cost: in US dollars; null where no price is known.
        full_price: what the same would have cost without a cache.
        dropped: what could have been in it and is not.
        failures: the sections that were unavailable.
    """

    conversation: Shown
    turn: int
    step: int
    steps: int
    sent_at: AwareDatetime | None
    model: Shown
    framing: Shown
    framing_reason: Shown
    request: str
    total: int
    exact: bool
    usage: Usage | None
    expected: Usage | None
    cost: str | None
    full_price: str | None
    cache: WindowCache
    blocks: list[Block]
    dropped: list[LeftOut]
    failures: list[FailedSection]


class PreviewAsked(Sent):
    """The message that would be sent.

    Attributes:
        replaces: the number of the turn in whose place the conversation would go on; null for behind the last.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "What did we say of the house?"}]})

    text: str = Field(min_length=1, max_length=1_000_000)
    replaces: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)


class ChangedLine(BaseModel):
    """A line: " " is in both texts, "-" in the earlier one only, "+" in the later one only."""

    op: Literal[" ", "-", "+"]
    text: Shown


class BlockChanged(BaseModel):
    """A block that is in one of two windows only, or in both with different content.

    Attributes:
        before, after: its text in each, at most 20,000 characters; empty where it is not there.
        lines: from the one text to the other; what is left out is said in a line.
    """

    name: Shown
    area: Area
    place: Shown
    kind: Literal["added", "removed", "changed"]
    before: Shown
    after: Shown
    lines: list[ChangedLine]


class WindowDiff(BaseModel):
    """What became of one window in a later one.

    Attributes:
        turn: of the later one.
        other: the turn of the earlier one; null where there is none.
        first_difference: where a cache finds no more of the earlier one; empty where it finds all.
        common: about how many tokens both have in front of it.
        omitted: how many changes more there are.
    """

    turn: int
    other: int | None = Field(serialization_alias="with")
    first_difference: Shown
    common: int
    changes: list[BlockChanged]
    omitted: int


def window_reply(view: values.WindowView, zone: tzinfo) -> WindowView:
    """The window as the API gives it out, moments in this zone."""
    verdict, history = view.verdict, _history_length(view.blocks)
    return WindowView(
        conversation=view.conversation,
        turn=view.turn,
        step=view.step,
        steps=view.steps,
        sent_at=None if view.sent_at is None else view.sent_at.astimezone(zone),
        model=view.model,
        framing=view.framing,
        framing_reason=view.framing_reason,
        request=view.request,
        total=view.total,
        exact=view.exact,
        usage=usage_figures(view.usage),
        expected=usage_figures(view.expected),
        cost=dollars(view.cost),
        full_price=dollars(view.full_price),
        cache=WindowCache(
            cause=verdict.cause.value,
            reason=verdict.reason,
            lost=verdict.tokens,
            place=verdict.place,
            before=verdict.before,
            after=verdict.after,
            diagnosis=view.diagnosis,
        ),
        blocks=[_block(block, history if block.area == PLACEMENT_HISTORY else TEXT_LENGTH) for block in view.blocks],
        dropped=[LeftOut(name=item.name, trinket=item.trinket, why=item.why) for item in view.dropped],
        failures=[FailedSection(section=item.section, since=item.since, reason=item.reason) for item in view.failures],
    )


def block_text_reply(index: int, text: str) -> BlockText:
    """The text of one block."""
    return BlockText(id=index, text=text[:WHOLE_TEXT_LENGTH], length=len(text))


def diff_reply(diff: values.WindowDiff) -> WindowDiff:
    """What became of one window in a later one."""
    return WindowDiff(
        turn=diff.turn,
        other=diff.other,
        first_difference=diff.first_difference,
        common=diff.common,
        changes=[_changed(change) for change in diff.changes],
        omitted=diff.omitted,
    )


def _history_length(blocks: Sequence[values.ViewBlock]) -> int:
    """How many characters of each of the history's blocks there is room for."""
    lengths = [len(block.text) for block in blocks if block.area == PLACEMENT_HISTORY]
    fitting = (most for most in _SHORTER if sum(min(length, most) for length in lengths) <= _ALL_TEXTS)
    return next(fitting, _SHORTER[-1])


def _block(block: values.ViewBlock, most: int) -> Block:
    return Block(
        id=block.id,
        area=Area(block.area),
        name=block.name,
        role=block.role,
        kind=block.kind,
        trinket=block.trinket,
        place=block.place,
        text=block.text[:most],
        length=len(block.text),
        tokens=block.tokens,
        exact=block.exact,
        read=block.read,
        written=block.written,
        fresh=block.fresh,
        age=block.age,
        why=block.why,
        change=block.change.value,
    )


def _changed(change: values.BlockDifference) -> BlockChanged:
    return BlockChanged(
        name=change.name,
        area=Area(change.area),
        place=change.place,
        kind=change.kind.value,
        before=change.before,
        after=change.after,
        lines=[ChangedLine(op=line.operation.value, text=line.text) for line in change.lines],
    )
