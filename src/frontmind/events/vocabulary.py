"""Every event there is. Frozen; an event says that something happened and carries the facts of it.

The vocabulary is closed: the bus refuses any other type, so a reader of this file knows all that can be
said between the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from frontmind.values.message import Message
from frontmind.values.section import Author, Section, SectionFailure
from frontmind.values.usage import Usage


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What the trinkets may know about the turn that is being composed.

    Attributes:
        conversation: the conversation's name.
        turn: the number of the turn, counting from 1.
        now: the moment of the turn, aware, in the user's zone. The only clock a trinket has.
        message: the text of the current user message; empty when none is known yet.
        previous_message_at: when the last message before this one was stored; None in the first turn.
        window_start: the number of the first turn that stands in the window.
        segment: the number of the segment that the turn belongs to; None where nobody knows it.
        context_limit: the most tokens that the window may have; None where nobody knows it, or it has none.
    """

    conversation: str
    turn: int
    now: datetime
    message: str = ""
    previous_message_at: datetime | None = None
    window_start: int = 1
    segment: int | None = None
    context_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ComposeSystemPromptEvent:
    """A window is about to be made: compose the prompt for this turn."""

    context: TurnContext
    base_prompt: str


@dataclass(frozen=True, slots=True)
class UpdateTrinketEvent:
    """The trinket of this section should say now what it has to say."""

    section: str
    context: TurnContext


@dataclass(frozen=True, slots=True)
class TrinketContentEvent:
    """A trinket has spoken.

    Attributes:
        section: the section's name.
        content: the rendered section; empty when there is nothing to say.
        placement: "system" or "notification", as the trinket's base class decides.
        cache_policy: for a system section, whether it stands in front of the cache marker.
        failure: set when the content is a stand-in because the trinket failed.
        author: whose words the content carries.
        observed_at: when the content was true; None where it tells that itself, or never changes by itself.
        shortened: whether something was left out, because it had more tokens than its budget.
    """

    section: str
    content: str
    placement: str
    cache_policy: bool = False
    failure: SectionFailure | None = None
    author: Author = Author.OTHERS
    observed_at: datetime | None = None
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class SystemPromptComposedEvent:
    """The prompt of this turn is composed.

    Attributes:
        cached_content: system text in front of the cache marker.
        non_cached_content: system text behind it.
        notification_center: the rendered notification center, or an empty string.
        sections: what the three are made of, in their order.
        failures: the sections that failed in this turn.
        shortened: the names of the sections that had more tokens than their budget.
    """

    context: TurnContext
    cached_content: str
    non_cached_content: str
    notification_center: str
    sections: tuple[Section, ...] = ()
    failures: tuple[SectionFailure, ...] = ()
    shortened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnCompletedEvent:
    """A turn was answered and stored; ``reply`` is its last message."""

    context: TurnContext
    user: Message
    reply: Message
    usage: Usage
    answered_at: datetime


Event: TypeAlias = (
    ComposeSystemPromptEvent | UpdateTrinketEvent | TrinketContentEvent | SystemPromptComposedEvent | TurnCompletedEvent
)
