"""Explains a window: every block with its trinket, its place, size and age, why it is there, and what the cache does.

Pure: it is given the request that was made of a window, what the cache should do with that, and what is known of the
turns before. `describe` and `left_out` need no window: they say the same of a request that was sent long ago.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from frontmind.cachelab.outcome import Expectation
from frontmind.cachelab.prediction import Prediction
from frontmind.continuum.collapse import EARLIER_SEGMENTS
from frontmind.providers.encoding.encode import count_tail
from frontmind.providers.estimate import Calibration
from frontmind.providers.profiles.profile import Profile
from frontmind.values.records import Turn
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, SectionFailure
from frontmind.values.usage import Usage
from frontmind.window.blocks import PLACEMENT_HISTORY, PLACEMENT_TOOLS, PLACEMENT_TURN
from frontmind.window.choice import ClosedThinking, FramingChoice
from frontmind.window.framing import section_digest
from frontmind.window.layout import CENTER, Area, Block, Layout
from frontmind.window.window import Window

_KEPT_UNCHANGED = "unchanged since it was said in an earlier turn, and this framing keeps what was said"


@dataclass(frozen=True, slots=True)
class ExplainedBlock:
    """One block of a window.

    Attributes:
        name: the section's name, or what the block is.
        placement: tools, system, history, notification or turn.
        place: where it stands in the request, such as ``messages[3].content[0]``.
        trinket: the class of the trinket that wrote it; empty where none did.
        tokens: its size, an estimate within what the provider has counted of the conversation.
        age: how long it has stood as it is; empty where that is not known.
        why: why it is there.
        expected: what the cache should do with it.
    """

    name: str
    placement: str
    place: str
    trinket: str
    tokens: int
    age: str
    why: str
    expected: Expectation


@dataclass(frozen=True, slots=True)
class Described:
    """What a block of a request is; the fields are those of `ExplainedBlock`."""

    name: str
    placement: str
    trinket: str
    age: str
    why: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that is not in the window, and why not."""

    name: str
    trinket: str
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A window explained.

    Attributes:
        blocks: in the order in which the model reads them.
        dropped: what could have been in it and is not.
        total: tokens of the whole request; the blocks and ``residual`` add up to it.
        residual: what no block accounts for; negative when the blocks are estimated larger than the whole.
        calibration: how the estimates were corrected.
        cache: one line that says what is expected of the cache and why.
        usage: the prompt tokens of the call as they are expected, without any output.
    """

    blocks: tuple[ExplainedBlock, ...]
    dropped: tuple[Dropped, ...]
    total: int
    residual: int
    calibration: Calibration
    cache: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Background:
    """What is known beside the window.

    Attributes:
        turns: the answered turns that are in the window, by number.
        left_out: how many answered turns are not sent any more.
        trinkets: section name to the class of its trinket, for all that are registered.
        failures: the sections that failed.
        has_more: whether there are answered turns in front of ``turns`` that nobody has read.
    """

    turns: Sequence[Turn] = ()
    left_out: int = 0
    trinkets: Mapping[str, str] | None = None
    failures: Sequence[SectionFailure] = ()
    has_more: bool = False


def explain(
    window: Window,
    layout: Layout,
    prediction: Prediction,
    choice: FramingChoice,
    profile: Profile,
    known: Background,
) -> Explanation:
    """Explain a window.

    Args:
        layout: of the request that was made of it.
        prediction: what the cache should do with that request, block by block.
        choice: how it is framed.
        profile: the model's.
    """
    messages = max((block.message for block in layout.blocks), default=-1) + 1
    first_of_turn = messages - count_tail(window, profile)
    digests = {section.name: section_digest(section) for section in window.sections}
    notified = [section.name for section in window.sections if section.placement == PLACEMENT_NOTIFICATION]
    described = describe(layout, known, first_of_turn=first_of_turn, digests=digests)
    shown = [
        ExplainedBlock(item.name, item.placement, block.place, item.trinket, tokens, item.age, item.why, state)
        for item, block, tokens, state in zip(
            described, layout.blocks, prediction.tokens, prediction.blocks, strict=True
        )
    ]
    total = prediction.expected.input
    return Explanation(
        blocks=tuple(shown),
        dropped=left_out(layout, choice, known, first_of_turn=first_of_turn, composed=digests, notified=notified),
        total=total,
        residual=total - sum(block.tokens for block in shown),
        calibration=prediction.calibration,
        cache=prediction.verdict.reason or prediction.rule,
        usage=prediction.expected,
    )


def describe(
    layout: Layout, known: Background, *, first_of_turn: int, digests: Mapping[str, str]
) -> tuple[Described, ...]:
    """What each block of a request is.

    Args:
        first_of_turn: the index of the first message that belongs to the turn and not to the history.
        digests: section name to digest, as the window's sections were composed.
    """
    ages = {name: _age(name, digest, known) for name, digest in digests.items()}
    return tuple(_described(block, known, first_of_turn, ages) for block in layout.blocks)


def _described(block: Block, known: Background, first_of_turn: int, ages: Mapping[str, str]) -> Described:
    placement = area_of(block, first_of_turn)
    trinket = (known.trinkets or {}).get(block.name, "")
    return Described(
        name=_description(block, placement),
        placement=placement,
        trinket=trinket,
        age="" if placement == PLACEMENT_HISTORY else ages.get(block.name, ""),
        why=_why(block, placement, trinket, known),
    )


def area_of(block: Block, first_of_turn: int) -> str:
    """Where in a window a block stands: tools, system, history, notification or turn.

    Args:
        first_of_turn: the index of the first message that belongs to the turn and not to the history.
    """
    if block.area is Area.TOOLS:
        return PLACEMENT_TOOLS
    if block.area is Area.SYSTEM:
        return PLACEMENT_SYSTEM
    if block.message < first_of_turn:
        return PLACEMENT_HISTORY
    return PLACEMENT_NOTIFICATION if block.in_center or block.cleared else PLACEMENT_TURN


def _description(block: Block, placement: str) -> str:
    if block.name == CENTER:
        return "(frame)"
    if block.name:
        return block.name
    if _is_summary(block):
        return EARLIER_SEGMENTS
    if placement == PLACEMENT_TURN and block.kind == "text" and block.role == "user":
        return "user message"
    return f"{block.role} {block.kind}" if block.kind != "text" else f"{block.role} message"


def _is_summary(block: Block) -> bool:
    text = block.text.strip()
    return text.startswith(f"<{EARLIER_SEGMENTS} ") and text.endswith(f"</{EARLIER_SEGMENTS}>")


def _why(block: Block, placement: str, trinket: str, known: Background) -> str:
    failed = next((failure for failure in known.failures if failure.section == block.name), None)
    if failed is not None:
        return f"unavailable since {failed.since}: {failed.reason}"
    if _is_summary(block):
        return "stands for the turns that are not sent any more"
    if placement == PLACEMENT_HISTORY:
        return "said in a notice that this framing keeps" if block.in_center else "said in an earlier turn"
    if placement == PLACEMENT_TURN:
        return "this turn"
    if trinket:
        return f"{trinket} wrote it for this turn"
    if placement == PLACEMENT_NOTIFICATION:
        return "frames the notification center"
    return "the base prompt" if placement == PLACEMENT_SYSTEM else "a tool that the model may call"


def _age(name: str, digest: str, known: Background) -> str:
    since = 0
    for turn in reversed(known.turns):
        digests = dict(turn.system_fingerprint) | dict(turn.sent.sections if turn.sent is not None else {})
        if digests.get(name) != digest:
            break
        since += 1
    if since == 0:
        return "new in this turn"
    more = " or more" if known.has_more and since == len(known.turns) else ""
    return f"unchanged for {since} turn{'s' if since > 1 else ''}{more}"


def left_out(
    layout: Layout,
    choice: FramingChoice,
    known: Background,
    *,
    first_of_turn: int,
    composed: Collection[str],
    notified: Sequence[str],
) -> tuple[Dropped, ...]:
    """What could have been in a request and is not.

    Args:
        choice: how it is framed.
        composed: the names of all sections of the window.
        notified: the names of those of the notification center, in their order.
    """
    trinkets = known.trinkets or {}
    shown = {block.name for block in layout.blocks if block.message >= first_of_turn}
    dropped = [
        Dropped(name, trinket, "it had nothing to say") for name, trinket in trinkets.items() if name not in composed
    ]
    dropped += [Dropped(name, trinkets.get(name, ""), _KEPT_UNCHANGED) for name in notified if name not in shown]
    if known.left_out:
        dropped.append(Dropped(f"{known.left_out} old turn(s)", "", "a summary stands for them; search finds them"))
    if choice.closed_thinking is ClosedThinking.LEFT_OUT:
        dropped.append(Dropped("reasoning of closed turns", "", choice.reason))
    return tuple(dropped)
