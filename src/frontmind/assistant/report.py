"""What a turn did, for whoever wants to know: the command line, a server, a test."""

from __future__ import annotations

from dataclasses import dataclass

from frontmind.providers.protocol import StopReason
from frontmind.values.section import SectionFailure
from frontmind.values.usage import Usage
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window


@dataclass(frozen=True, slots=True)
class SystemChange:
    """System sections that are not what they were in the turn before.

    Attributes:
        sections: their names, sorted.
        tokens: about how many tokens of system and history could not be read from the cache because of it.
    """

    sections: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class TurnReport:
    """One answered turn.

    Attributes:
        turn: its number in the conversation.
        reply: the reply's text.
        model: the model's name.
        framing: how the notification center was sent, and why so.
        window: what the model saw.
        request: the hash under which the request is stored.
        usage: tokens as the provider counted.
        expected_cached: tokens that the cache should have given; None where no rule is known.
        stop: why the model stopped.
        first_token_seconds, seconds: from the call to the first piece of text, and to the end.
        failures: sections that were unavailable.
        system_change: set when a system section changed since the turn before.
        left_out: how many turns left the window in this turn because it no longer fitted.
        joined: how many earlier unanswered messages were sent along.
        set_aside: how many earlier unanswered messages were refused with the first attempt, and are not sent again.
    """

    turn: int
    reply: str
    model: str
    framing: FramingChoice
    window: Window
    request: str
    usage: Usage
    expected_cached: int | None
    stop: StopReason
    first_token_seconds: float
    seconds: float
    failures: tuple[SectionFailure, ...] = ()
    system_change: SystemChange | None = None
    left_out: int = 0
    joined: int = 0
    set_aside: int = 0
