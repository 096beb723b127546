"""Where the cache markers stand: on bytes that the next request will send again, and never on more than allowed.

Four are enough for any conversation. Between turns: the end of the system text, the end of the durable history, and
the end that the turn before had marked, so that no look-back, however short, misses what was written then. While
tools run, that last one has done its work (the first step of the turn has read it), and the newest two ends of the
loop stand in its place: one to read, one to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frontmind.values.message import Message, Role
from frontmind.values.parts import ToolResult, Voice
from frontmind.window.choice import Framing
from frontmind.window.framing import FramedMessage


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """The messages that carry a marker, in the order in which they stand.

    Attributes:
        history: indices in the history.
        tail: indices in the framed tail.
    """

    history: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()


def plan_breakpoints(
    history: Sequence[Message], tail: Sequence[FramedMessage], framing: Framing, *, at_most: int
) -> Breakpoints:
    """Where the markers of a request stand, beside the one at the end of the system text.

    Args:
        history: the durable messages.
        tail: what follows them, as it is framed.
        at_most: how many there may be.
    """
    spoken = [index for index, framed in enumerate(tail) if framed.voice is not Voice.OPERATOR]
    users = [index for index in spoken if tail[index].voice is Voice.USER]
    results = [index for index in users if any(isinstance(part, ToolResult) for part in tail[index].parts)]
    if framing.keeps(Voice.OPERATOR) or framing is Framing.APPEND:
        # All of the turn is durable: what is marked is the newest end, and the end before it.
        earlier = _last_user(history)
        return _limited([] if earlier is None or len(users) > 1 else [earlier], users[-2:], at_most)
    if framing.keeps(Voice.USER):
        # Durable up to the person's words, behind which the operator's message will be gone: the last such end, and in
        # a tool loop this turn's own and the end of the step before. The newest end is where the provider's own
        # breakpoint stands, since only providers that have one take this framing.
        earlier = _last_question(history)
        return _limited([] if earlier is None else [earlier], [*users[:1], *results[-2:-1]] if results else [], at_most)
    durable = [index for index in (_previous_end(history), len(history) - 1) if index is not None and index >= 0]
    if results:
        # The end before this turn's was read by the first step and is not needed for the further ones.
        return _limited(durable[-1:], results[-2:], at_most)
    return _limited(durable, [], at_most)


def _limited(history: Sequence[int], tail: Sequence[int], at_most: int) -> Breakpoints:
    # The newest ends are worth most.
    kept_tail = tail[-at_most:] if at_most > 0 else ()
    room = at_most - len(kept_tail)
    return Breakpoints(tuple(history[-room:] if room > 0 else ()), tuple(kept_tail))


def _last_user(history: Sequence[Message]) -> int | None:
    for index in range(len(history) - 1, -1, -1):
        if history[index].role is Role.USER:
            return index
    return None


def _last_question(history: Sequence[Message]) -> int | None:
    """The last user message that answers no tool call: with it the last exchange begins."""
    for index in range(len(history) - 1, -1, -1):
        message = history[index]
        if message.role is Role.USER and not any(isinstance(part, ToolResult) for part in message.parts):
            return index
    return None


def _previous_end(history: Sequence[Message]) -> int | None:
    """The last assistant message before the last exchange: the end that the turn before had marked."""
    question = _last_question(history)
    return question - 1 if question else None
