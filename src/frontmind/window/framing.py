"""How the notification center enters the list of messages. Pure; knows no provider's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text
from frontmind.values.section import PLACEMENT_NOTIFICATION, RULE, Section
from frontmind.window.window import Window


class Framing(StrEnum):
    """ASSISTANT: a user message that is the rule, then the section as an assistant message."""

    ASSISTANT = "assistant"


class Origin(StrEnum):
    """Which part of the window a message comes from."""

    HISTORY = "history"
    RULE = "rule"
    NOTIFICATION = "notification"
    TURN = "turn"


@dataclass(frozen=True, slots=True)
class FramedMessage:
    """A message as it will be sent, and where it comes from."""

    message: Message
    origin: Origin


def frame(window: Window) -> tuple[FramedMessage, ...]:
    """The messages of the window in the order in which they are sent; their roles alternate.

    The opening rule is a message of its own in the user role: the section then answers it, and the model
    does not take the section for something that it said to the person. An empty notification center adds
    nothing at all.
    """
    framed = [FramedMessage(message, Origin.HISTORY) for message in window.history]
    if window.notification_center:
        framed.append(FramedMessage(user(RULE), Origin.RULE))
        framed.append(FramedMessage(assistant(window.notification_center), Origin.NOTIFICATION))
    framed.extend(FramedMessage(message, Origin.TURN) for message in window.turn)
    return tuple(framed)


def with_fresh_sections(results: Message, sections: Sequence[Section]) -> Message:
    """A message of tool results, followed by the sections that changed since the window was composed.

    Inside a turn the notification center is frozen; what changed of it is said again behind the results. System
    sections are left out: they change with the next turn.
    """
    if results.role is not Role.USER:
        raise ValueError("tool results are said by the user's side")
    return Message(
        Role.USER,
        (
            *results.parts,
            *(Text(section.content) for section in sections if section.placement == PLACEMENT_NOTIFICATION),
        ),
    )
