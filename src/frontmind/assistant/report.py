"""What a turn did, for whoever wants to know: the command line, a server, a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from frontmind.providers.protocol import Retrying, StopReason
from frontmind.values.calls import CacheVerdict, Call
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.records import Turn
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
class TurnAccepted:
    """The message is on disk, and the model will be asked."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool begins to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool has given its result."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class CacheLoss:
    """So much of the next call's prompt will not come from the cache that the person should know why."""

    verdict: CacheVerdict


TurnEvent: TypeAlias = TurnAccepted | ToolStarted | ToolEnded | Retrying | CacheLoss
"""What happens in a turn beside the text that comes."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool that a turn made.

    Attributes:
        step: the number of the step, from 1.
        is_error: whether the tool failed, or could not be called.
    """

    step: int
    name: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class TurnReport:
    """One answered turn.

    Attributes:
        turn: its number in the conversation.
        reply: the text of the last message.
        model: the model's name.
        framing: how the notification center was sent, and why so.
        window: what the model saw last.
        request: the hash under which the last request is stored.
        usage: tokens as the provider counted, of all calls of the model together.
        last_usage: those of the last call.
        expected_cached: tokens that the cache should have given in all calls; None where no rule is known.
        calls: the calls of the model as the ledger has them: what was expected of the cache, what it did, and why.
        problems: what the ledger could not do, a line each.
        stop: why the model stopped.
        first_token_seconds, seconds: from the call to the first piece of text, and to the end.
        failures: sections that were unavailable.
        system_change: set when a system section changed since the turn before.
        left_out: how many turns left the window in this turn; a summary stands for them.
        collapsed: how many segments left with them, or with their rest.
        was_full: whether they left because the window did not fit, and not where the cache of it was gone anyway.
        joined: how many earlier unanswered messages were sent along.
        set_aside: how many earlier unanswered messages were refused with the first attempt, and are not sent again.
        tools: the calls of tools, in their order.
        shortened: sections that had more tokens than their budget.
        scrubbed: how many characters of echoes of the notification center were taken out of the reply.
        retries: how often the model was asked again because it failed before it said anything.
        waits_for: calls of the caller's own tools; the turn is open, and goes on with their results.
    """

    turn: int
    reply: str
    model: str
    framing: FramingChoice
    window: Window
    request: str
    usage: Usage
    last_usage: Usage
    expected_cached: int | None
    stop: StopReason
    first_token_seconds: float
    seconds: float
    failures: tuple[SectionFailure, ...] = ()
    system_change: SystemChange | None = None
    left_out: int = 0
    collapsed: int = 0
    was_full: bool = False
    joined: int = 0
    set_aside: int = 0
    tools: tuple[ToolUse, ...] = ()
    shortened: tuple[str, ...] = ()
    scrubbed: int = 0
    retries: int = 0
    calls: tuple[Call, ...] = ()
    problems: tuple[str, ...] = ()
    waits_for: tuple[ToolCall, ...] = ()
