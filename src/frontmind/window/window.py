"""The `Window`: everything that one model call will see, before any provider's spelling.

    stable head (system, tools) | history | notification center | turn

A frozen value: the command line prints it, the store keeps what was made from it, a test compares it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from frontmind.errors import UsageError
from frontmind.values.message import Message, Role
from frontmind.values.parts import Notice, ToolCall, ToolResult
from frontmind.values.section import Section
from frontmind.values.tool import AnyTool
from frontmind.window.choice import FramingChoice
from frontmind.window.history import History, require_valid


@dataclass(frozen=True, slots=True)
class Update:
    """Sections that changed inside a turn, said again behind a message of tool results.

    Attributes:
        after: the index in the turn of the message of tool results.
        sections: the changed sections as they are now.
    """

    after: int
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """What one call of the model is made from.

    Attributes:
        cached_system: system text in front of the cache marker; empty when there is none.
        uncached_system: system text behind the marker; empty when there is none.
        history: the durable conversation; any sequence of messages is made a `History`.
        notification_center: the rendered section; empty when no trinket has anything to say.
        turn: the current user message and, in a tool loop, the calls and results since.
        sections: the sections that the two system texts and the notification center are made of, in order.
        tools: what the model may call; kept in the order of their names.
        framing: how the notification center is sent; None leaves it to the model's profile.
        updates: sections that changed since the notification center was composed.
        conversation: names the conversation to providers that route by it; never shown to a model.

    Raises:
        UsageError: the parts cannot be sent as they are; the error names the message and the part.
    """

    cached_system: str
    uncached_system: str
    history: Sequence[Message]
    notification_center: str
    turn: tuple[Message, ...]
    sections: tuple[Section, ...] = ()
    tools: tuple[AnyTool, ...] = ()
    framing: FramingChoice | None = None
    updates: tuple[Update, ...] = ()
    conversation: str = ""

    def __post_init__(self) -> None:
        history = self.history if isinstance(self.history, History) else History(self.history)
        object.__setattr__(self, "history", history)
        _require_turn(self.turn)
        history.require_new_calls(self.turn, "the turn")
        if not self.notification_center.strip():
            object.__setattr__(self, "notification_center", "")
        for update in self.updates:
            if not 0 <= update.after < len(self.turn) or not _has_results(self.turn[update.after]):
                raise UsageError(f"an update stands after message {update.after} of the turn, which has no tool result")
        names = [tool.name for tool in self.tools]
        if len(set(names)) < len(names):
            twice = next(name for name in sorted(names) if names.count(name) > 1)
            raise UsageError(f"two tools are called {twice!r}; give each a name of its own")
        object.__setattr__(self, "tools", tuple(sorted(self.tools, key=lambda tool: tool.name)))

    def has_call(self, call_id: str) -> bool:
        """Whether a tool call of its history or its turn has this id."""
        if isinstance(self.history, History) and self.history.has_call(call_id):
            return True
        said = (part for message in self.turn for part in message.parts)
        return any(isinstance(part, ToolCall) and part.id == call_id for part in said)

    def extended(self, *messages: Message, changed: Sequence[Section] = ()) -> Window:
        """The window of the next step of the same turn: the same bytes, then the new messages.

        Args:
            changed: sections that changed meanwhile; their fresh text is said behind the tool results, and the
                notification center stays as it was. One without text is said to be gone.
        """
        turn = self.turn + messages
        fresh = (Update(len(turn) - 1, tuple(changed)),) if changed else ()
        return replace(self, turn=turn, updates=self.updates + fresh)


def _require_turn(turn: tuple[Message, ...]) -> None:
    if not turn:
        raise UsageError("a window needs a current user message; pass at least one message as its turn")
    if _has_results(turn[0]):
        raise UsageError("the turn begins with a tool result; begin it with the user message that led to the call")
    require_valid(turn, "the turn")
    if turn[-1].role is not Role.USER:
        raise UsageError(f"the turn ends with a message of the {turn[-1].role.value}, which cannot be sent")
    for index, message in enumerate(turn):
        if any(isinstance(part, Notice) for part in message.parts):
            raise UsageError(f"message {index} of the turn has a notice; pass the sections instead")


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)
