"""What a client asks for: exchanges that were had, and what is new. Frozen; knows no format and no store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from frontmind.server.compat.errors import RequestProblem
from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, Text, ToolCall, ToolResult, is_blank_text
from frontmind.window.canonical import digest
from frontmind.window.normalise import OPENING_PLACEHOLDER

_NO_WORDS = "(The reply has no words.)"


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the person asked and what came of it, in the client's account.

    Attributes:
        user: what the person said; without parts where the assistant began.
        reply: all that was said in reply, the traffic of tools in words.
        said: the person's texts, and what stands for each file: by it the client's account is recognised.
        replied: the assistant's texts alone.
    """

    user: Message
    reply: Message
    said: str
    replied: str

    @property
    def question(self) -> Message:
        """``user``, or a message that says that the assistant began."""
        return self.user if self.user.parts else Message(Role.USER, (Text(OPENING_PLACEHOLDER),))


@dataclass(frozen=True, slots=True)
class Asked:
    """A conversation whose last word is the client's.

    Attributes:
        exchanges: those that are over, in order.
        last: the one that is not: its ``reply`` and ``replied`` are empty unless tools of the client were called.
        results: what those tools gave back, in their order; empty for an ordinary message.
        added: what the person said behind the results.
    """

    exchanges: tuple[Exchange, ...]
    last: Exchange
    results: tuple[ToolResult, ...] = ()
    added: tuple[Part, ...] = ()

    @property
    def message(self) -> Message:
        """All of the last exchange as one message of the person, for a turn that begins with it."""
        told = tuple(Text(_as_words(result)) for result in self.results)
        before = self.last.reply.parts if self.results else ()
        return Message(Role.USER, (*self.last.user.parts, *before, *told, *self.added))


def asked_of(messages: Sequence[Message]) -> Asked:
    """Divide the messages of a request.

    Raises:
        RequestProblem: there is none, or the last is not the client's.
    """
    exchanges: list[Exchange] = []
    current: list[Message] = []
    for message in messages:
        if current and _begins(message, current):
            exchanges.append(_exchange(current))
            current = []
        current.append(message)
    if not current:
        raise RequestProblem("there are no messages; send at least one of the user", param="messages")
    if current[-1].role is Role.ASSISTANT:
        raise RequestProblem(
            "the last message is the assistant's; end with a user message or the results of tools",
            code="unsupported",
            param="messages",
        )
    behind = _behind_last_reply(current)
    if not any(isinstance(part, ToolResult) for message in current[-behind:] for part in message.parts):
        last = _exchange(current)
        if all(is_blank_text(part) for part in last.user.parts):
            raise RequestProblem("the last user message is empty; write something", param="messages")
        return Asked(tuple(exchanges), last)
    parts = [part for message in current[-behind:] for part in message.parts]
    results = tuple(part for part in parts if isinstance(part, ToolResult))
    added = tuple(part for part in parts if not isinstance(part, ToolResult) and not is_blank_text(part))
    return Asked(tuple(exchanges), _exchange(current[:-behind], added), results, added)


def _begins(message: Message, current: Sequence[Message]) -> bool:
    """Whether an exchange begins with the message: it is the person's, and the one before has a reply."""
    if message.role is Role.ASSISTANT or any(isinstance(part, ToolResult) for part in message.parts):
        return False
    # What is said right behind the results of tools belongs to the same exchange.
    return current[-1].role is Role.ASSISTANT


def _behind_last_reply(current: Sequence[Message]) -> int:
    """How many messages stand behind the last one of the assistant; all where there is none."""
    count = 0
    for message in reversed(current):
        if message.role is Role.ASSISTANT:
            break
        count += 1
    return count


def _exchange(messages: Sequence[Message], added: Iterable[Part] = ()) -> Exchange:
    asked: list[Part] = []
    later: list[Part] = [*added]
    reply: list[Part] = []
    replied: list[str] = []
    answered = False
    for message in messages:
        answered = answered or message.role is Role.ASSISTANT
        for part in message.parts:
            if message.role is Role.USER and not isinstance(part, ToolResult):
                (later if answered else asked).append(part)
            elif isinstance(part, ToolCall | ToolResult):
                reply.append(Text(_as_words(part)))
            elif isinstance(part, Text):
                replied.append(part.text)
            if answered and isinstance(part, Text) and part.text.strip():
                reply.append(part if message.role is Role.ASSISTANT else Text(f"(the user added: {part.text})"))
    kept = tuple(part for part in asked if not is_blank_text(part))
    said = "\n\n".join(_stands_for(part) for part in (*asked, *later))
    words = tuple(reply) or ((Text(_NO_WORDS),) if answered else ())
    return Exchange(Message(Role.USER, kept), Message(Role.ASSISTANT, words), said, "\n\n".join(replied))


def _stands_for(part: Part) -> str:
    """What tells this part from any other. The same words beside another picture are another question."""
    return part.text if isinstance(part, Text) else f"({digest(repr(part).encode(errors='backslashreplace'))})"


def _as_words(part: ToolCall | ToolResult) -> str:
    if isinstance(part, ToolCall):
        return f"(call of the tool {part.name} with {part.arguments})"
    return f"(result of a tool: {part.text})"
