"""Turns out of the requests of one conversation: what is new in each, and what became of what had been said.

Pure. A request goes on from the one before it, asks its last question again, or comes without its oldest turns. Where
it does neither, a new stretch begins, with what it says of the past in front.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from frontmind.cachelab.session import Session, SessionStep, SessionTurn
from frontmind.cachelab.trace_sections import Told
from frontmind.cachelab.traces import Stretch
from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, Text, Thinking, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, Section
from frontmind.values.tool import AnyTool
from frontmind.window.normalise import split_at_turn


@dataclass(slots=True)
class _Turn:
    """A turn while its requests are read."""

    at: datetime
    user: tuple[Part, ...]
    sections: tuple[Section, ...]
    tools: tuple[AnyTool, ...]
    start: int
    summary: str
    steps: list[SessionStep] = field(default_factory=list)
    reply: Message | None = None

    def made(self) -> SessionTurn:
        return SessionTurn(
            self.at, self.user, self.reply, self.sections, tuple(self.steps), self.start, self.summary, self.tools
        )


@dataclass(slots=True)
class _Begun:
    """A stretch while its requests are read.

    Attributes:
        places: for each turn that is still sent its index, and that of its first message.
        told: the sections as they were said last.
    """

    given: tuple[Message, ...]
    turns: list[_Turn] = field(default_factory=list)
    counted: set[tuple[int, int]] = field(default_factory=set)
    places: list[tuple[int, int]] = field(default_factory=list)
    start: int = 0
    summary: str = ""
    told: dict[str, Section] = field(default_factory=dict)

    @property
    def call(self) -> tuple[int, int]:
        """The turn and the step of the newest call."""
        return len(self.turns) - 1, len(self.turns[-1].steps)


class TurnsOfRequests:
    """Takes request after request of a conversation, and gives its stretches.

    Attributes:
        repeated: how many requests were sent a second time inside of a turn, and stand for no call.
        rewritten: how many requests said earlier messages in other words, and are taken as if they did not.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._stretches: list[_Begun] = []
        self._sent: tuple[Message, ...] = ()
        self.repeated = 0
        self.rewritten = 0

    def add(self, told: Told, tools: tuple[AnyTool, ...], at: datetime) -> bool:
        """Take the next request in; whether it stands for a call of the session."""
        messages = _without_prefill(told.messages)
        if not messages:
            return False
        added = self._take(messages, told.sections, tools, at)
        self._sent = messages
        if added:
            stretch = self._stretches[-1]
            stretch.counted.add(stretch.call)
            stretch.told = {section.name: section for section in told.sections}
        return added

    def answered(self, reply: Message) -> None:
        """Take in the reply to the newest request, where the recording has it."""
        if self._stretches and self._stretches[-1].turns and not _calls(reply):
            self._stretches[-1].turns[-1].reply = reply

    def stretches(self) -> tuple[Stretch, ...]:
        """What was said so far."""
        return tuple(
            Stretch(
                Session(self._name, tuple(turn.made() for turn in begun.turns)), begun.given, frozenset(begun.counted)
            )
            for begun in self._stretches
            if begun.turns
        )

    def _take(
        self,
        messages: tuple[Message, ...],
        sections: tuple[Section, ...],
        tools: tuple[AnyTool, ...],
        at: datetime,
    ) -> bool:
        same = _common(self._sent, messages)
        stretch = self._stretches[-1] if self._stretches else None
        if stretch is not None and same < len(self._sent) < len(messages) and _is_reworded(self._sent, messages, same):
            self.rewritten += 1
            same = len(self._sent)
        if stretch is not None and same == len(self._sent) < len(messages):
            _extend(stretch, messages, same, sections, tools, at)
            return True
        opened = stretch.places[-1][1] if stretch is not None else 0
        if stretch is not None and same >= opened:
            if stretch.turns[-1].steps:
                self.repeated += 1
                return False
            # The same question, or another in its place: nobody answered the one before.
            stretch.places.pop()
            _extend(stretch, messages, opened, sections, tools, at)
            return True
        if stretch is not None and (cut := _cut(stretch, self._sent, messages)) is not None:
            first, stretch.summary = cut
            kept = len(self._sent) - first
            stretch.places = [(turn, place - first) for turn, place in stretch.places if place >= first]
            stretch.start = stretch.places[0][0]
            if len(messages) > kept:
                _extend(stretch, messages, kept, sections, tools, at)
                return True
        given, turn = split_at_turn(messages)
        begun = _Begun(given)
        self._stretches.append(begun)
        _extend(begun, (*given, *turn), len(given), sections, tools, at)
        return True


def _without_prefill(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(messages[:-1] if messages and messages[-1].role is Role.ASSISTANT else messages)


def _extend(
    stretch: _Begun,
    messages: Sequence[Message],
    first: int,
    sections: tuple[Section, ...],
    tools: tuple[AnyTool, ...],
    at: datetime,
) -> None:
    """Take in the messages from ``first`` on; all of them were there when the model was asked at ``at``."""
    index = first
    while index < len(messages):
        message = messages[index]
        if message.role is Role.USER:
            stretch.places.append((len(stretch.turns), index))
            stretch.turns.append(_Turn(at, message.parts, sections, tools, stretch.start, stretch.summary))
            stretch.told = {section.name: section for section in sections}
            index += 1
        elif _calls(message):
            last = index + 2 >= len(messages)
            changed = tuple(_changed(stretch.told, sections)) if last else ()
            stretch.turns[-1].steps.append(SessionStep(message, messages[index + 1], at, changed))
            index += 2
        else:
            stretch.turns[-1].reply = message
            index += 1


def _changed(told: dict[str, Section], sections: Sequence[Section]) -> Iterator[Section]:
    """The sections of the notification center that are not as they were said last; one without text is gone."""
    now = {section.name: section for section in sections if section.placement == PLACEMENT_NOTIFICATION}
    for name, section in now.items():
        if name not in told or told[name].content != section.content:
            yield section
    for name, section in told.items():
        if name not in now and section.placement == PLACEMENT_NOTIFICATION:
            yield Section(name, "", PLACEMENT_NOTIFICATION, cache_policy=False, author=section.author)


def _calls(message: Message) -> list[str]:
    return [part.id for part in message.parts if isinstance(part, ToolCall)]


def _results(message: Message) -> list[str]:
    return [part.call_id for part in message.parts if isinstance(part, ToolResult)]


def _core(message: Message) -> tuple[Role, tuple[Part, ...]]:
    """The message without reasoning, which is not sent again everywhere."""
    return message.role, tuple(part for part in message.parts if not isinstance(part, Thinking))


def _is_same(one: Message, two: Message) -> bool:
    return one is two or _core(one) == _core(two)


def _common(old: Sequence[Message], new: Sequence[Message]) -> int:
    same = 0
    for one, two in zip(old, new, strict=False):
        if not _is_same(one, two):
            break
        same += 1
    return same


def _is_reworded(old: Sequence[Message], new: Sequence[Message], same: int) -> bool:
    """Whether the new request goes on from the old one with some of its messages in other words."""
    if not all(_shape(one) == _shape(two) for one, two in zip(old, new, strict=False)):
        return False
    kept = same + sum(_is_same(one, two) for one, two in zip(old[same:], new[same:], strict=False))
    return 2 * kept >= len(old) and _is_same(old[-1], new[len(old) - 1])


def _shape(message: Message) -> tuple[Role, list[str], list[str]]:
    return message.role, _calls(message), _results(message)


def _cut(stretch: _Begun, old: Sequence[Message], new: Sequence[Message]) -> tuple[int, str] | None:
    """Where the new request takes up the old one, as the index of a turn's first message, and what stands in front."""
    if stretch.given:
        return None
    for _, first in stretch.places:
        kept = old[first:]
        if first == 0 or len(new) < len(kept):
            continue
        if _common(kept, new) == len(kept):
            return first, ""
        summary = _summary(kept[0], new[0])
        if summary and _common(kept[1:], new[1:]) == len(kept) - 1:
            return first, summary
    return None


def _summary(old: Message, new: Message) -> str:
    """The text that stands in front of the message now; empty where it is another message."""
    more = len(new.parts) - len(old.parts)
    if old.role is not new.role or more < 0:
        return ""
    front, behind = new.parts[:more], new.parts[more:]
    if behind == old.parts and all(isinstance(part, Text) for part in front):
        return "\n\n".join(part.text for part in front if isinstance(part, Text))
    first, then = old.parts[0], new.parts[0]
    # Where a message may only be one text, both are joined.
    if isinstance(first, Text) and isinstance(then, Text) and not more and new.parts[1:] == old.parts[1:]:
        return then.text.removesuffix(first.text).strip("\n") if then.text.endswith(f"\n{first.text}") else ""
    return ""
