"""How the notification center enters the list of messages. Pure; knows no provider's JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from frontmind.errors import UsageError
from frontmind.trinkets.markup import Element, render
from frontmind.values.message import Message, Role
from frontmind.values.parts import Notice, Part, Text, Thinking, ToolCall, Voice
from frontmind.values.section import (
    HEADER,
    PLACEMENT_NOTIFICATION,
    PLACEMENT_SYSTEM,
    RULE,
    Author,
    Section,
    join_sections,
    render_notification_center,
)
from frontmind.window.canonical import digest
from frontmind.window.choice import ClosedThinking, Framing, FramingChoice
from frontmind.window.history import History
from frontmind.window.window import Window

GONE: Final = ""
"""Stands for the digest of a section that said that it has nothing to say any more."""

_WHOLE: Final = "notification_center"
TOOLS: Final = "(tools)"
_DIGEST_LENGTH: Final = 16
_Filter: TypeAlias = Callable[[Part], bool]
DEFAULT_CHOICE: Final = FramingChoice(Framing.ASSISTANT, "the default")


class Origin(StrEnum):
    """Which part of the window a message comes from."""

    HISTORY = "history"
    RULE = "rule"
    NOTIFICATION = "notification"
    TURN = "turn"


@dataclass(frozen=True, slots=True)
class Before:
    """What a message needs to know of those in front of it.

    Attributes:
        calls: the tool calls that its results answer, in the order in which they were made.
        documents: the names of all documents in front of it; empty where it has no document itself.
    """

    calls: tuple[ToolCall, ...] = ()
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FramedMessage:
    """A message as it will be sent, who says it, and where it comes from.

    Attributes:
        parts: a `Notice` among them is text that the application put in front of or behind the person's own.
        before: filled in by the encoder; a framing alone leaves it empty.
    """

    voice: Voice
    parts: tuple[Part, ...]
    origin: Origin
    before: Before = Before()


def frame(window: Window, choice: FramingChoice | None = None) -> tuple[FramedMessage, ...]:
    """The messages of the window in the order in which they are sent.

    Args:
        choice: how to frame it; None for the window's own choice, or the `assistant` framing without one.
    """
    choice = choice or window.framing or DEFAULT_CHOICE
    head = prefix_identity(window, choice)
    history = (framed for message in window.history for framed in frame_history(message, choice, head))
    return (*history, *frame_tail(window, choice))


def frame_history(message: Message, choice: FramingChoice, head: str = "") -> list[FramedMessage]:
    """A message of the history as this framing sends it, with the notices that the framing keeps.

    Args:
        head: the `prefix_identity` of the window; needed only where reasoning is bound to it.
    """
    return _expand(message, Origin.HISTORY, lambda part: _is_sent_again(part, choice, head))


def frame_tail(window: Window, choice: FramingChoice) -> list[FramedMessage]:
    """Everything behind the history: the notification center and the turn.

    In the `assistant` framing the opening rule is a message of its own in the user role: the section then answers
    it, and the model does not take the section for something that it said to the person.
    """
    framed = []
    if choice.framing is Framing.ASSISTANT and window.notification_center:
        framed.append(FramedMessage(Voice.USER, (Text(RULE),), Origin.RULE))
        framed.append(FramedMessage(Voice.ASSISTANT, (Text(window.notification_center),), Origin.NOTIFICATION))
    for message in noticed_turn(window, choice):
        framed += _expand(message, Origin.TURN, lambda part: True)
    return framed


def closed(window: Window, reply: Message, choice: FramingChoice | None = None) -> History:
    """The history after the turn of this window was answered: what the next window is made with.

    Args:
        choice: how the window was framed, as `window_choice` gives it; None for the window's own choice.

    Reasoning is bound to what was in front of it, not to its model: give it to no other one.

    Raises:
        UsageError: nobody says how the window was framed.
    """
    choice = choice or window.framing
    if choice is None:
        raise UsageError("closing a turn needs its framing; pass what window_choice(window, profile) gave")
    history = window.history if isinstance(window.history, History) else History(window.history)
    head = prefix_identity(window, choice)
    turn = [
        Message(message.role, tuple(_bound(part, head) for part in message.parts if _is_kept(part, choice.framing)))
        for message in (*noticed_turn(window, choice), reply)
    ]
    return history.extended(*turn)


def prefix_identity(window: Window, choice: FramingChoice) -> str:
    """Stands for all that is in front of the second message of the conversation, as this framing sends it.

    As long as it stays the same, and the framing keeps what it says, nothing in front of any later message changes.
    """
    first = window.history[0] if window.history else noticed_turn(window, choice)[0]
    kept = [repr(part) for part in first.parts if _is_kept(part, choice.framing)]
    tools = [repr(tool) for tool in window.tools]
    facts = [window.cached_system, window.uncached_system, choice.framing.value, *tools, *kept]
    return digest("\0".join(facts).encode("utf-8", "surrogatepass"))[:_DIGEST_LENGTH]


def noticed_turn(window: Window, choice: FramingChoice) -> tuple[Message, ...]:
    """The messages of the turn with the notices that this framing puts beside them."""
    told = _Told(window, choice)
    turn = list(window.turn)
    in_front, behind = told.opening()
    turn[0] = Message(turn[0].role, (*in_front, *turn[0].parts, *behind))
    updates = {update.after: update.sections for update in window.updates}
    for index in range(1, len(turn)):
        if turn[index].role is Role.USER:
            turn[index] = Message(Role.USER, (*turn[index].parts, *told.step(updates.get(index, ()))))
    return tuple(turn)


class _Told:
    """What has been said of each section so far, while the notices of one turn are made."""

    def __init__(self, window: Window, choice: FramingChoice) -> None:
        self._framing = choice.framing
        self._center = window.notification_center
        self._sections = _sections(window)
        self._own = {section.name: section for section in self._sections if self._is_own(section)}
        history = window.history
        self._said = dict(history.said()) if isinstance(history, History) and self._framing.keeps(Voice.USER) else {}

    def _is_own(self, section: Section) -> bool:
        """Whether the section may be, and in this framing is, said with the operator's authority."""
        return self._framing.has_operator_message and section.author is Author.APPLICATION

    def opening(self) -> tuple[list[Notice], list[Notice]]:
        """The notices in front of the person's first words and behind them."""
        if not self._framing.keeps(Voice.USER):
            self._said = dict(_digests(self._sections))
            in_front = self._framing is Framing.USER_TEXT and self._center
            return ([Notice(f"{RULE}\n{self._center}")] if in_front else []), []
        there = {section.name for section in self._sections}
        absent = [
            Section(name, "", PLACEMENT_NOTIFICATION, cache_policy=False) for name in self._said if name not in there
        ]
        others = [section for section in self._sections if section.name not in self._own]
        return self._in_user_message([*others, *absent], header=True), _operator(list(self._own.values()))

    def step(self, changed: Sequence[Section]) -> list[Notice]:
        """The notices behind a message of tool results; a section without text is gone."""
        sections = [section for section in changed if section.placement == PLACEMENT_NOTIFICATION]
        own = [section for section in sections if self._is_own(section)]
        others = [section for section in sections if section not in own]
        self._own |= {section.name: section for section in own}
        for section in others:
            # What carries other people's text from now on is said with authority no longer.
            self._own.pop(section.name, None)
        if self._framing is Framing.SYSTEM_CLEAR_AT:
            # Tool results clear a turn-scoped message too: it is said again, whole, behind each of them.
            own = list(self._own.values())
        else:
            own = [section if section.content.strip() else gone_section(section.name) for section in own]
        return [*self._in_user_message(others, header=False), *_operator(own)]

    def _in_user_message(self, sections: Sequence[Section], *, header: bool) -> list[Notice]:
        """A notice of what is not as it was said last; no notice where nothing is new."""
        fresh, digests = [], []
        for section in sorted(sections, key=lambda section: not section.content.strip()):
            now = section_digest(section) if section.content.strip() else GONE
            if self._said.get(section.name, GONE) == now:
                continue
            digests.append((section.name, now))
            if now != GONE:
                fresh.append(section)
            elif section.name != _WHOLE:
                fresh.append(gone_section(section.name))
        self._said |= dict(digests)
        if not digests:
            return []
        body = join_sections(fresh)
        if not body:
            return [Notice("", sections=tuple(digests))]
        if [section.name for section in fresh] == [_WHOLE]:
            return [Notice(f"{RULE}\n{body}", sections=tuple(digests))]
        lines = (RULE, HEADER, RULE, body, RULE) if header else (RULE, body, RULE)
        return [Notice("\n".join(lines), sections=tuple(digests))]


def _expand(message: Message, origin: Origin, is_sent: _Filter) -> list[FramedMessage]:
    parts = tuple(part for part in message.parts if is_sent(part))
    own = tuple(part for part in parts if not (isinstance(part, Notice) and part.voice is Voice.OPERATOR))
    operator = tuple(part for part in parts if isinstance(part, Notice) and part.voice is Voice.OPERATOR)
    framed = [FramedMessage(Voice(message.role.value), own, origin)]
    if operator:
        framed.append(FramedMessage(Voice.OPERATOR, operator, origin))
    return framed


def _is_sent_again(part: Part, choice: FramingChoice, head: str) -> bool:
    if isinstance(part, Thinking):
        if choice.closed_thinking is ClosedThinking.BOUND:
            return part.head == head != ""
        return choice.closed_thinking is ClosedThinking.SENT
    return _is_kept(part, choice.framing)


def _bound(part: Part, head: str) -> Part:
    return replace(part, head=head) if isinstance(part, Thinking) and not part.head else part


def _is_kept(part: Part, framing: Framing) -> bool:
    return not isinstance(part, Notice) or framing.keeps(part.voice)


def _sections(window: Window) -> list[Section]:
    sections = [section for section in window.sections if section.placement == PLACEMENT_NOTIFICATION]
    if sections or not window.notification_center:
        return sections
    # Without its sections nobody knows whose words are in it.
    return [Section(_WHOLE, window.notification_center, PLACEMENT_NOTIFICATION, cache_policy=False)]


def gone_section(name: str) -> Section:
    """What is said of a section that has nothing to say any more."""
    return Section(name, render(Element(name, "Nothing any more.")), PLACEMENT_NOTIFICATION, cache_policy=False)


def _operator(sections: Sequence[Section]) -> list[Notice]:
    spoken = [section for section in sections if section.content.strip()]
    text = render_notification_center(spoken)
    return [Notice(text, Voice.OPERATOR, _digests(spoken))] if text else []


def section_digest(section: Section) -> str:
    """Stands for the section's text, where only a change of it matters."""
    return digest((section.state or section.content).encode("utf-8", "surrogatepass"))[:_DIGEST_LENGTH]


def system_fingerprint(window: Window) -> dict[str, str]:
    """Name to digest, for what stands in front of the conversation: the tools, and the system prompt's sections."""
    tools = "\0".join(repr(tool) for tool in window.tools).encode("utf-8", "surrogatepass")
    sections = dict(_digests([section for section in window.sections if section.placement == PLACEMENT_SYSTEM]))
    return {TOOLS: digest(tools)[:_DIGEST_LENGTH], **sections} if window.tools else sections


def notification_fingerprint(sections: Sequence[Section]) -> dict[str, str]:
    """Section name to digest, for the sections of the notification center."""
    return dict(_digests([section for section in sections if section.placement == PLACEMENT_NOTIFICATION]))


def kept_turn(window: Window, choice: FramingChoice) -> tuple[Message, ...]:
    """The messages of the turn with the notices beside them that this framing sends again in later turns."""
    return tuple(
        Message(message.role, tuple(part for part in message.parts if _is_kept(part, choice.framing)))
        for message in noticed_turn(window, choice)
    )


def kept_notices(window: Window, choice: FramingChoice) -> tuple[Notice, ...]:
    """The notices beside the first message of the turn that this framing sends again in later turns."""
    return tuple(part for part in kept_turn(window, choice)[0].parts if isinstance(part, Notice))


def _digests(sections: Sequence[Section]) -> tuple[tuple[str, str], ...]:
    return tuple((section.name, section_digest(section)) for section in sections)
