"""What a conversation that goes on as it did last would cost in a layout.

The recent turns are played on from the present one: their sizes, pauses, tool calls and changes of sections. Each text
is a short label that stands for its size, so that requests made by the real encoder stay small. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from frontmind.cachelab.outcome import Outcome, equivalents
from frontmind.cachelab.session import Fixed, Plan, Session, SessionStep, SessionTurn, play
from frontmind.cachelab.sizing import SizedRequest
from frontmind.providers.profiles.profile import Profile
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, Section
from frontmind.values.tokens import estimate_tokens
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_text
from frontmind.window.framing import section_digest
from frontmind.window.layout import Layout
from frontmind.window.sizes import estimate_part

RECENT: Final = 12
"""So many turns say how the conversation runs."""

_TELLING: Final = 3
_MOST_CALLS: Final = 72
_LEAST_TURNS, _MOST_TURNS = 3, RECENT + 1
_USUAL_PAUSE: Final = timedelta(seconds=60)
_USUAL_REPLY: Final = 300
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_FILLER: Final = "." * 80
_FIRST_LETTER, _LETTERS = 0x4E00, 20000
_LABEL: Final = re.compile(r"§(\d+)§")


@dataclass(frozen=True, slots=True)
class _Step:
    said: int
    results: int
    after: timedelta
    changed: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Center:
    """A section of the notification center in one turn: its size, its author, and whether it is new in that turn."""

    tokens: int
    author: Author
    is_new: bool


@dataclass(frozen=True, slots=True)
class _Shape:
    """A turn by its sizes.

    Attributes:
        pause: from the last call of the turn before to its first.
    """

    pause: timedelta
    user: int
    reply: int
    steps: tuple[_Step, ...]
    center: dict[str, _Center]


@dataclass(frozen=True, slots=True)
class Traffic:
    """How a conversation runs: its recent turns, then the one that is being asked, by their sizes."""

    shapes: tuple[_Shape, ...]
    system: int

    @property
    def pauses(self) -> tuple[timedelta, ...]:
        """Those between the turns."""
        return tuple(shape.pause for shape in self.shapes)

    @property
    def calls(self) -> float:
        """How many calls a turn has."""
        return sum(1 + len(shape.steps) for shape in self.shapes) / len(self.shapes)


def traffic_of(past: Sequence[SessionTurn], turn: SessionTurn) -> Traffic:
    """How a conversation runs.

    Args:
        past: the turns before.
        turn: the one that is being asked; it is taken to go on as the one before it did.
    """
    recent = [*past[-RECENT:], turn]
    before = past[-RECENT - 1] if len(past) > RECENT else None
    pauses = pauses_of(recent)
    first = _pause(before, recent[0]) if before is not None else _middle(pauses)
    shapes = []
    known = before
    for pause, item in zip((first, *pauses), recent, strict=True):
        shapes.append(_shape(pause, known, item))
        known = item
    if before is None:
        shapes[0] = replace(shapes[0], center=_usually(shapes))
    if past:
        replies = [shape.reply for shape in shapes[:-1]]
        going_on = _Shape(shapes[-1].pause, shapes[-1].user, _mean(replies), shapes[-2].steps, shapes[-1].center)
    else:
        going_on = _Shape(_USUAL_PAUSE, shapes[-1].user, _USUAL_REPLY, (), shapes[-1].center)
    tools = sum(estimate_tokens(repr(tool)) for tool in turn.tools)
    system = sum(estimate_tokens(item.content) for item in turn.sections if item.placement == PLACEMENT_SYSTEM)
    return Traffic((*shapes[:-1], going_on), tools + system)


def _usually(shapes: Sequence[_Shape]) -> dict[str, _Center]:
    """The center of the conversation's first turn, where a section is new if it usually is in the others, or too few of
    them tell.
    """
    others = shapes[1:]
    center = {}
    for name, section in shapes[0].center.items():
        seen = [shape.center[name].is_new for shape in others if name in shape.center]
        center[name] = replace(section, is_new=len(seen) < _TELLING or 2 * sum(seen) >= len(seen))
    return center


def pauses_of(turns: Sequence[SessionTurn]) -> list[timedelta]:
    """How long nothing was sent between these turns."""
    return [_pause(one, two) for one, two in pairwise(turns)]


def _pause(one: SessionTurn, two: SessionTurn) -> timedelta:
    return max(two.at - (one.steps[-1].at if one.steps else one.at), timedelta())


def _middle(pauses: Sequence[timedelta]) -> timedelta:
    return sorted(pauses)[len(pauses) // 2] if pauses else _USUAL_PAUSE


def _mean(values: Sequence[int]) -> int:
    return round(sum(values) / len(values))


def _shape(pause: timedelta, before: SessionTurn | None, turn: SessionTurn) -> _Shape:
    known = {} if before is None else {section.name: section_digest(section) for section in _said_last(before)}
    center = {
        section.name: _Center(
            estimate_tokens(section.content), section.author, known.get(section.name) != section_digest(section)
        )
        for section in turn.sections
        if section.placement == PLACEMENT_NOTIFICATION
    }
    steps = []
    last = turn.at
    for step in turn.steps:
        changed = frozenset(section.name for section in step.changed if section.name in center)
        steps.append(_Step(_tokens(step.said), _tokens(step.results), max(step.at - last, timedelta()), changed))
        last = step.at
    user = sum(estimate_part(part) for part in turn.user)
    return _Shape(pause, user, _tokens(turn.reply) if turn.reply is not None else 0, tuple(steps), center)


def _said_last(turn: SessionTurn) -> list[Section]:
    sections = {section.name: section for section in turn.sections}
    for step in turn.steps:
        sections |= {section.name: section for section in step.changed}
    return list(sections.values())


def _tokens(message: Message) -> int:
    return sum(estimate_part(part) for part in message.parts)


def projected_cost(traffic: Traffic, profile: Profile, plan: Plan, first: Outcome, *, turns: int) -> float:
    """What the prompts of the next turns cost, in tokens at the price of an uncached input token.

    Args:
        first: what the cache does with the first of these calls, in this plan.
        turns: how many turns; of so many calls that it would take long, the last are not played but follow the trend.
    """
    played = min(turns, _MOST_TURNS, max(_LEAST_TURNS, round(_MOST_CALLS / traffic.calls)))
    labels = _Labels(first.usage.input)
    session = _session(traffic, labels, played)
    costs = [0.0] * played
    opened: list[Usage] = []
    for call in play(session, profile, Fixed(plan), size=labels.sized):
        if call.turn:
            is_first = (call.turn, call.step) == (1, 0)
            usage = first.usage if is_first else call.outcome.usage
            costs[call.turn - 1] += equivalents(usage, profile)
            if call.step == 0:
                opened.append(usage)
    return sum(costs) + _trend(costs[1:], opened, traffic.calls, profile, plan, turns - played)


def _trend(
    costs: Sequence[float], opened: Sequence[Usage], calls: float, profile: Profile, plan: Plan, further: int
) -> float:
    """The cost of so many further turns: as these, and what is carried along grows as it did in these.

    Args:
        opened: the first call of each turn that was played.
        calls: how many calls a turn has.
    """
    if further <= 0 or not costs:
        return 0.0
    pairs = list(pairwise(opened))
    grown = max(0.0, (opened[-1].input - opened[0].input) / len(pairs))
    cold = sum(two.cached * 2 < one.input for one, two in pairs) / len(pairs)
    carried = calls * profile.read_price + cold * (profile.write_price_of(plan.ttl) - profile.read_price)
    mean, middle = sum(costs) / len(costs), (len(costs) - 1) / 2
    return sum(mean + grown * carried * (len(costs) + index - middle) for index in range(further))


@dataclass(slots=True)
class _Labels:
    """Texts that stand for sizes.

    Attributes:
        prompt: the tokens that the first request behind the base has; what its labels do not say is the base's.
    """

    prompt: int
    sizes: list[int] = field(default_factory=lambda: [0])
    asked: int = 0

    def text(self, tokens: int) -> str:
        """A text of so many tokens; no two have much in common at their beginning."""
        self.sizes.append(tokens)
        number = len(self.sizes) - 1
        return f"{chr(_FIRST_LETTER + number % _LETTERS)}§{number}§{_FILLER}"

    def sized(self, layout: Layout) -> SizedRequest:
        """The request with the sizes that its labels stand for."""
        tokens = [self._tokens(block.shown, block.tokens) for block in layout.blocks]
        self.asked += 1
        if self.asked == 2:
            # The first request only holds what was said before; the second is the one that is known.
            self.sizes[0] = max(0, self.prompt - sum(tokens))
            tokens = [self._tokens(block.shown, block.tokens) for block in layout.blocks]
        return SizedRequest(layout, tuple(tokens))

    def _tokens(self, text: str, otherwise: int) -> int:
        found = _LABEL.findall(text)
        return sum(self.sizes[int(label)] for label in found) if found else otherwise


def _session(traffic: Traffic, labels: _Labels, turns: int) -> Session:
    """A turn that stands for all that was said before, then the present one, then the recent ones again and again."""
    system = Section("base_prompt", labels.text(traffic.system), PLACEMENT_SYSTEM, cache_policy=True)
    shapes = traffic.shapes
    at = _EPOCH - shapes[-1].pause
    made = [SessionTurn(at, (Text("."),), Message(Role.ASSISTANT, (Text("§0§"),)), (system,))]
    said: dict[str, str] = {}
    for number in range(turns):
        shape = shapes[(len(shapes) - 1 + number) % len(shapes)]
        at += shape.pause
        for name, center in shape.center.items():
            if center.is_new or name not in said:
                said[name] = labels.text(center.tokens)
        sections = [_section(name, said[name], center) for name, center in shape.center.items()]
        steps: list[SessionStep] = []
        start = at
        for index, step in enumerate(shape.steps):
            at += step.after
            said |= {name: labels.text(shape.center[name].tokens) for name in sorted(step.changed)}
            changed = [_section(name, said[name], shape.center[name]) for name in sorted(step.changed)]
            steps.append(_played_step(f"c{number}_{index}", step, labels, at, tuple(changed)))
        user, reply = Text(labels.text(shape.user)), Text(labels.text(shape.reply))
        made.append(SessionTurn(start, (user,), Message(Role.ASSISTANT, (reply,)), (system, *sections), tuple(steps)))
    return Session("", tuple(made))


def _section(name: str, text: str, center: _Center) -> Section:
    # A long name would be what two texts of a section have in common.
    element = f"s{sum(name.encode()) % 100}"
    content = f"<{element}>{text}</{element}>"
    return Section(name, content, PLACEMENT_NOTIFICATION, cache_policy=False, author=center.author)


def _played_step(call_id: str, step: _Step, labels: _Labels, at: datetime, changed: tuple[Section, ...]) -> SessionStep:
    call = ToolCall(call_id, "t", canonical_text({"a": labels.text(step.said)}))
    result = ToolResult(call_id, labels.text(step.results))
    return SessionStep(Message(Role.ASSISTANT, (call,)), Message(Role.USER, (result,)), at, changed)
