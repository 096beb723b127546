"""The `Window`: everything that one model call will see, before any provider's spelling.

    stable head (system) | history | notification center | turn

A frozen value: the command line prints it, the store keeps what was made from it, a test compares it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from frontmind.errors import UsageError
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text, ToolResult
from frontmind.values.section import Section


@dataclass(frozen=True, slots=True)
class Window:
    """What one call of the model is made from.

    Attributes:
        cached_system: system text in front of the cache marker; empty when there is none.
        uncached_system: system text behind the marker; empty when there is none.
        history: the durable conversation: roles alternate, from a user message to an assistant message.
        notification_center: the rendered section; empty when no trinket has anything to say.
        turn: the current user message and, in a tool loop, the calls and results since.
        sections: the sections that the two system texts and the notification center are made of, in order.
    """

    cached_system: str
    uncached_system: str
    history: tuple[Message, ...]
    notification_center: str
    turn: tuple[Message, ...]
    sections: tuple[Section, ...] = ()

    def __post_init__(self) -> None:
        _require_alternation(self.history, "the history", ends_with=Role.ASSISTANT)
        _require_alternation(self.turn, "the turn", ends_with=Role.USER)
        if not self.turn:
            raise UsageError("a window needs a current user message; pass at least one message as its turn")
        if any(isinstance(part, ToolResult) for part in self.turn[0].parts):
            raise UsageError("the turn begins with a tool result; begin it with the user message that led to the call")

    def extended(self, *messages: Message) -> Window:
        """The window of the next step of the same turn: the same bytes, then the new messages."""
        return replace(self, turn=self.turn + messages)


def _require_alternation(messages: tuple[Message, ...], what: str, *, ends_with: Role) -> None:
    expected = Role.USER
    for index, message in enumerate(messages):
        if message.role is not expected:
            raise UsageError(
                f"message {index} of {what} has the role {message.role.value!r} where {expected.value!r} must "
                "stand; pass the messages through frontmind.window.normalise first"
            )
        if all(isinstance(part, Text) and not part.text.strip() for part in message.parts):
            raise UsageError(f"message {index} of {what} is empty; leave it out")
        expected = Role.ASSISTANT if message.role is Role.USER else Role.USER
    if messages and messages[-1].role is not ends_with:
        raise UsageError(f"{what} ends with a message of the {messages[-1].role.value}, which cannot be sent")
