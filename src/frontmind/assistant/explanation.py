"""Explains a window: every block with its trinket, its place, size and age, why it is there, and what the cache does.

Pure: it is given the window, the request that was made of it, what the cache should do with that, and what is known of
the turns before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """

    turns: Sequence[Turn] = ()
    left_out: int = 0
    trinkets: Mapping[str, str] | None = None
    failures: Sequence[SectionFailure] = ()


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
    shown = [
        _explained(block, tokens, state, window, known, first_of_turn)
        for block, tokens, state in zip(layout.blocks, prediction.tokens, prediction.blocks, strict=True)
    ]
    total = prediction.expected.input
    return Explanation(
        blocks=tuple(shown),
        dropped=_dropped(window, layout, choice, known, first_of_turn),
        total=total,
        residual=total - sum(block.tokens for block in shown),
        calibration=prediction.calibration,
        cache=prediction.verdict.reason or prediction.rule,
        usage=prediction.expected,
    )


def _explained(
    block: Block, tokens: int, state: Expectation, window: Window, known: Background, first_of_turn: int
) -> ExplainedBlock:
    placement = _placement(block, first_of_turn)
    trinket = (known.trinkets or {}).get(block.name, "")
    return ExplainedBlock(
        name=_description(block, placement),
        placement=placement,
        place=block.place,
        trinket=trinket,
        tokens=tokens,
        age=_age(block, placement, window, known),
        why=_why(block, placement, trinket, known),
        expected=state,
    )


def _placement(block: Block, first_of_turn: int) -> str:
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


def _age(block: Block, placement: str, window: Window, known: Background) -> str:
    if placement == PLACEMENT_HISTORY:
        return ""
    section = next((section for section in window.sections if section.name == block.name), None)
    if section is None:
        return ""
    digest, since = section_digest(section), 0
    for turn in reversed(known.turns):
        digests = dict(turn.system_fingerprint) | dict(turn.sent.sections if turn.sent is not None else {})
        if digests.get(section.name) != digest:
            break
        since += 1
    return "new in this turn" if since == 0 else f"unchanged for {since} turn{'s' if since > 1 else ''}"


def _dropped(
    window: Window, layout: Layout, choice: FramingChoice, known: Background, first_of_turn: int
) -> tuple[Dropped, ...]:
    trinkets = known.trinkets or {}
    composed = {section.name for section in window.sections}
    shown = {block.name for block in layout.blocks if block.message >= first_of_turn}
    dropped = [
        Dropped(name, trinket, "it had nothing to say") for name, trinket in trinkets.items() if name not in composed
    ]
    dropped += [
        Dropped(section.name, trinkets.get(section.name, ""), _KEPT_UNCHANGED)
        for section in window.sections
        if section.placement == PLACEMENT_NOTIFICATION and section.name not in shown
    ]
    if known.left_out:
        dropped.append(Dropped(f"{known.left_out} old turn(s)", "", "a summary stands for them; search finds them"))
    if choice.closed_thinking is ClosedThinking.LEFT_OUT:
        dropped.append(Dropped("reasoning of closed turns", "", choice.reason))
    return tuple(dropped)
