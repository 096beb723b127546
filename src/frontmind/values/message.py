"""A message of a conversation: who speaks, and the parts of what is said.

Two roles are enough inside: the system prompt is not a message here, and a tool result is said by the
user's side. Encoders translate to whatever roles a provider has.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from frontmind.values.parts import Part, Text


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``parts`` is never empty in a valid history."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts, with a blank line between."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))


def user(*texts: str) -> Message:
    """A user message of one text part per argument."""
    return Message(Role.USER, tuple(Text(text) for text in texts))


def assistant(*texts: str) -> Message:
    """An assistant message of one text part per argument."""
    return Message(Role.ASSISTANT, tuple(Text(text) for text in texts))
