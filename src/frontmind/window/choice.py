"""How the notification center is sent, and why so: values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from frontmind.values.parts import Voice


class Framing(StrEnum):
    """The places where the notification center can stand.

    ASSISTANT: in front of the current user message, a user message that is the rule, then the section as an
        assistant message. Gone from the next request.
    USER_TEXT: the first text of the current user message, between rules. Gone from the next request.
    APPEND: as USER_TEXT, but it stays; a later turn says only the sections that changed.
    DEVELOPER: the application's own sections in a developer message behind the user message, gone from the next
        request; sections with other people's text as in APPEND.
    SYSTEM_CLEAR_AT: the application's own sections in a turn-scoped system message behind the user message, sent
        again as it was for ever; sections with other people's text as in APPEND.
    """

    ASSISTANT = "assistant"
    USER_TEXT = "user_text"
    APPEND = "append"
    DEVELOPER = "developer"
    SYSTEM_CLEAR_AT = "system_clear_at"

    @property
    def has_operator_message(self) -> bool:
        """Whether a part of it speaks with the operator's authority."""
        return self in (Framing.DEVELOPER, Framing.SYSTEM_CLEAR_AT)

    def keeps(self, voice: Voice) -> bool:
        """Whether a notice in this voice is sent again, as it was, in all later turns."""
        if voice is Voice.OPERATOR:
            return self is Framing.SYSTEM_CLEAR_AT
        return self in (Framing.APPEND, Framing.DEVELOPER, Framing.SYSTEM_CLEAR_AT)


class LayoutName(StrEnum):
    """How a person asks for a layout.

    PROFILE: the framing of the model's profile. AUTO: what costs least for how the conversation runs. SLIDE: the
    notification center moves along. CLEAR_AT, APPEND: the framings of these names.
    """

    PROFILE = "profile"
    AUTO = "auto"
    SLIDE = "slide"
    CLEAR_AT = "clear_at"
    APPEND = "append"


class ClosedThinking(StrEnum):
    """What becomes of the model's reasoning once its turn is over.

    SENT: it is sent again as it was. BOUND: it is, as long as nothing in front of it has changed since. LEFT_OUT: it
    is not.
    """

    SENT = "sent"
    BOUND = "bound"
    LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class FramingChoice:
    """A framing and the reason for it.

    Attributes:
        reason: one line for people.
        closed_thinking: what becomes of the reasoning of closed turns.
        asked: whether somebody asked for this framing; then nothing else is taken instead.
        ttl: the lifetime that is asked for what is cached; empty for the longest that the provider has for the system
            prompt, and the first for the history.
    """

    framing: Framing
    reason: str = "asked for"
    closed_thinking: ClosedThinking = ClosedThinking.SENT
    asked: bool = False
    ttl: str = ""
