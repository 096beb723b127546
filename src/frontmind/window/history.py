"""The durable conversation as a value that grows: a longer one shares everything with the one that it came from.

A turn adds two messages to thousands; checking and encoding those thousands again would be most of its cost. So a
history is a view of a list that is only ever appended to, and what was worked out for a message is kept beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias, overload

from frontmind.errors import UsageError
from frontmind.values.message import Message, Role
from frontmind.values.parts import Notice, ToolCall, ToolResult, Voice, is_blank

_MOST_ENCODINGS: Final = 4
WireMessages: TypeAlias = list[dict[str, Any]]


class _Shared:
    """What all views of one growing history have in common."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.encoded: dict[Hashable, tuple[WireMessages, list[int]]] = {}
        self.said: dict[str, str] = {}
        self.said_until = 0
        self.calls: dict[str, int] = {}
        for index, message in enumerate(messages):
            self.calls |= dict.fromkeys(_call_ids(message), index)


class History(Sequence[Message]):
    """A conversation up to the last reply: roles alternate, from a user message to an assistant message.

    Frozen, and equal to any sequence of the same messages. Every tool call stands right before its result.

    Raises:
        UsageError: the messages are no such conversation; the error names the message and the part.
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        listed = list(messages)
        require_exchanges(listed, "the history")
        _require_new_calls(listed, "the history", lambda call_id: False)
        self._shared = _Shared(listed)
        self._length = len(listed)

    def extended(self, *messages: Message) -> History:
        """This history and further exchanges; costs only what the new messages cost."""
        require_exchanges(messages, "the history", offset=self._length)
        self.require_new_calls(messages, "the history", offset=self._length)
        longer = History.__new__(History)
        if self._length == len(self._shared.messages):
            longer._shared = self._shared
            for index, message in enumerate(messages, start=self._length):
                longer._shared.calls |= dict.fromkeys(_call_ids(message), index)
            longer._shared.messages.extend(messages)
        else:
            # Another continuation has been added already: this is a branch of its own.
            longer._shared = _Shared([*self._shared.messages[: self._length], *messages])
            for key, (wire, ends) in self._shared.encoded.items():
                kept = ends[: self._length]
                longer._shared.encoded[key] = (wire[: kept[-1]] if kept else [], kept)
        longer._length = self._length + len(messages)
        return longer

    def until(self, length: int) -> History:
        """The history of its first ``length`` messages, which end with a reply. What was worked out is not again."""
        shorter = History.__new__(History)
        shorter._shared, shorter._length = self._shared, length
        return shorter

    def require_new_calls(self, messages: Sequence[Message], what: str, *, offset: int = 0) -> None:
        """Check that no tool call of these messages has an id that this history or another of them has.

        Raises:
            UsageError: one has; providers would refuse the request.
        """
        _require_new_calls(messages, what, self.has_call, offset)

    def has_call(self, call_id: str) -> bool:
        """Whether a tool call of this history has this id."""
        return self._shared.calls.get(call_id, self._length) < self._length

    def encoded(self, key: Hashable, encode: Callable[[Message, int], WireMessages]) -> tuple[WireMessages, list[int]]:
        """What ``encode`` makes of each message, done once for each key and message.

        Args:
            key: stands for everything that ``encode`` depends on.
            encode: from a message and its index to the messages of a wire format.

        Returns:
            A new list of all wire messages, and for each message how many there are up to its end (read only).
        """
        kept = self._shared.encoded
        if key not in kept and len(kept) >= _MOST_ENCODINGS:
            # A conversation may be looked at for many models; only those that are used stay.
            del kept[next(iter(kept))]
        wire, ends = kept[key] = kept.pop(key, ([], []))
        for index in range(len(ends), self._length):
            wire.extend(encode(self._shared.messages[index], index))
            ends.append(len(wire))
        return wire[: ends[self._length - 1]] if self._length else [], ends

    def said(self) -> Mapping[str, str]:
        """The digest of what each section said last in a notice of the user's voice; empty when it said it is gone."""
        shared = self._shared
        if self._length < shared.said_until:
            return _said(shared.messages[: self._length], {})
        shared.said = _said(shared.messages[shared.said_until : self._length], dict(shared.said))
        shared.said_until = self._length
        return shared.said

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step > 0:
                return tuple(self._shared.messages[start:stop:step])
            return tuple(self._shared.messages[place] for place in range(start, stop, step))
        if not -self._length <= index < self._length:
            raise IndexError("there is no such message in the history")
        return self._shared.messages[index + self._length if index < 0 else index]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return islice(self._shared.messages, self._length)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, History | tuple | list):
            return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"History({list(self)!r})"


def _call_ids(message: Message) -> list[str]:
    return [part.id for part in message.parts if isinstance(part, ToolCall)]


def _require_new_calls(
    messages: Sequence[Message], what: str, is_taken: Callable[[str], bool], offset: int = 0
) -> None:
    seen: set[str] = set()
    for index, message in enumerate(messages, start=offset):
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                if part.id in seen or is_taken(part.id):
                    raise UsageError(
                        f"message {index} of {what}, part {number}: the id {part.id!r} was used by an earlier call; "
                        "give each call its own, or pass the messages through frontmind.window.normalise first"
                    )
                seen.add(part.id)


def _said(messages: Iterable[Message], said: dict[str, str]) -> dict[str, str]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, Notice) and part.voice is Voice.USER:
                said.update(part.sections)
    return said


def require_exchanges(messages: Sequence[Message], what: str, *, offset: int = 0) -> None:
    """Check that messages are whole exchanges, from a user message to an assistant message.

    Args:
        what: what they are, for the error.
        offset: the index that the error gives to the first.

    Raises:
        UsageError: they are not; the error names the message and the part.
    """
    require_valid(messages, what, offset=offset)
    if not messages:
        return
    if any(isinstance(part, ToolResult) for part in messages[0].parts):
        raise UsageError(f"message {offset} of {what} begins with a tool result whose call is not there; leave it out")
    last = messages[-1]
    if last.role is not Role.ASSISTANT:
        raise UsageError(f"{what} ends with a message of the {last.role.value}, which cannot be sent")
    for number, part in enumerate(last.parts):
        if isinstance(part, ToolCall):
            raise UsageError(
                f"message {offset + len(messages) - 1} of {what}, part {number}: the tool call {part.id!r} has no "
                "result; add the result, or pass the messages through frontmind.window.normalise first"
            )


def require_valid(messages: Sequence[Message], what: str, *, offset: int = 0) -> None:
    """Check that roles alternate from the user on, that nothing is empty, and that calls and results are pairs.

    Raises:
        UsageError: the error names the message and the part, counted from 0.
    """
    mend = "pass the messages through frontmind.window.normalise first"
    expected = Role.USER
    open_calls: dict[str, int] = {}
    for index, message in enumerate(messages, start=offset):
        where = f"message {index} of {what}"
        if message.role is not expected:
            raise UsageError(f"{where} has the role {message.role.value!r} where {expected.value!r} must stand; {mend}")
        if all(is_blank(part) for part in message.parts):
            raise UsageError(f"{where} is empty; leave it out")
        open_calls = _pair(message, open_calls, where, mend)
        expected = Role.ASSISTANT if message.role is Role.USER else Role.USER


def _pair(message: Message, open_calls: dict[str, int], where: str, mend: str) -> dict[str, int]:
    """The calls that wait for a result after this message, by the part that made them."""
    calls: dict[str, int] = {}
    for number, part in enumerate(message.parts):
        if isinstance(part, ToolCall):
            if message.role is not Role.ASSISTANT:
                raise UsageError(f"{where}, part {number}: a tool call in a user message; only the assistant calls")
            if part.id in calls:
                raise UsageError(f"{where}, part {number}: the id {part.id!r} stands twice; give each call its own")
            calls[part.id] = number
        elif isinstance(part, ToolResult) and (
            message.role is not Role.USER or open_calls.pop(part.call_id, None) is None
        ):
            raise UsageError(
                f"{where}, part {number}: the tool result {part.call_id!r} has no call in the message before it; {mend}"
            )
    if open_calls:
        missing = ", ".join(repr(call) for call in open_calls)
        raise UsageError(f"{where} does not answer the tool call {missing} of the message before it; {mend}")
    return calls
