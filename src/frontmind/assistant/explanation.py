"""Explains a window: every block with its trinket, its place, size and age, why it is there, and what the cache does.

Pure: it is given the window, the request that was made of it, and what is known of the turns before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from frontmind.continuum.collapse import EARLIER_SEGMENTS
from frontmind.providers.encoding.encode import count_tail
from frontmind.providers.estimate import Calibration, estimate_request
from frontmind.providers.forecast import Earlier, Expectation, forecast
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
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
        tokens: its size, always an estimate here.
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
        cache: one line that says what the forecast rests on.
        usage: the prompt tokens of the call as the forecast has them, without any output.
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
        now: the moment of the explanation.
        turns: the answered turns that are in the window, by number.
        left_out: how many answered turns are not sent any more.
        trinkets: section name to the class of its trinket, for all that are registered.
        failures: the sections that failed.
        earlier: the newest requests of this conversation to the same model, each with the moment when it was answered,
            the newest first.
        calibration: what the conversation's replies have taught about sizes.
    """

    now: datetime
    turns: Sequence[Turn] = ()
    left_out: int = 0
    trinkets: Mapping[str, str] | None = None
    failures: Sequence[SectionFailure] = ()
    earlier: Sequence[tuple[Request, datetime]] = ()
    calibration: Calibration = field(default_factory=Calibration)


def explain(
    window: Window, request: Request, choice: FramingChoice, profile: Profile, known: Background
) -> Explanation:
    """Explain the window that this request was made of.

    Args:
        choice: how it is framed.
        profile: the model's.
    """
    layout = read_request(request)
    earlier = [Earlier(read_request(request), (known.now - at).total_seconds()) for request, at in known.earlier]
    expected = forecast(layout, earlier, profile)
    messages = max((block.message for block in layout.blocks), default=-1) + 1
    first_of_turn = messages - count_tail(window, profile)
    shown = [
        _explained(block, state, window, known, first_of_turn)
        for block, state in zip(layout.blocks, expected.expected, strict=True)
    ]
    total = known.calibration.corrected(estimate_request(request))
    return Explanation(
        blocks=tuple(shown),
        dropped=_dropped(window, layout, choice, known, first_of_turn),
        total=total,
        residual=total - sum(block.tokens for block in shown),
        calibration=known.calibration,
        cache=expected.reason,
        usage=_usage(shown, layout, profile, total),
    )


def _usage(blocks: Sequence[ExplainedBlock], layout: Layout, profile: Profile, total: int) -> Usage:
    sizes = dict.fromkeys(Expectation, 0)
    ttls: dict[str, int] = {}
    # What is written belongs to the entry of the next marker behind it.
    ttl = profile.ttls[0] if profile.ttls else ""
    for block, shown in zip(reversed(layout.blocks), reversed(blocks), strict=True):
        ttl = (block.marker.ttl or profile.ttls[0]) if block.marker is not None and profile.ttls else ttl
        sizes[shown.expected] += shown.tokens
        if shown.expected is Expectation.WRITTEN and ttl:
            ttls[ttl] = ttls.get(ttl, 0) + shown.tokens
    read = sizes[Expectation.READ]
    return Usage(
        input=max(total, read + sizes[Expectation.WRITTEN]),
        # As the provider will report it.
        cached=read - read % profile.cache_step,
        written=sizes[Expectation.WRITTEN],
        output=0,
        estimated=True,
        written_by_ttl=tuple(sorted(ttls.items())),
    )


def _explained(
    block: Block, state: Expectation, window: Window, known: Background, first_of_turn: int
) -> ExplainedBlock:
    placement = _placement(block, first_of_turn)
    trinket = (known.trinkets or {}).get(block.name, "")
    return ExplainedBlock(
        name=_description(block, placement),
        placement=placement,
        place=block.place,
        trinket=trinket,
        tokens=known.calibration.corrected(block.tokens),
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
