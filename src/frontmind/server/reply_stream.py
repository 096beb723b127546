"""The events of a turn as they go over the wire: numbered, so that a reader which was cut off goes on where it was, and
on demand beside them what the reply looks like, made for each reader at its own pace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final

from frontmind.assistant.report import CacheLoss, ToolEnded, ToolStarted, TurnAccepted, TurnEvent
from frontmind.assistant.turn_notes import turn_notes
from frontmind.errors import FrontmindError
from frontmind.providers.protocol import Retrying
from frontmind.server.errors import Problem, problem_of
from frontmind.server.markdown import HtmlChange, StreamingMarkdown
from frontmind.server.rendering import RENDERED_AT_ONCE, beside
from frontmind.server.replies import Reply, ReplyDone, ReplyEvent, ReplyFailed, TextPiece
from frontmind.server.schemas.texts import speakable
from frontmind.server.schemas.turns import Turn, tool_use
from frontmind.server.streams import PING, event_bytes

TEXT_SECONDS: Final = 0.1
"""How often a reader is told more of the text: sooner than people notice, and each time costs the server a write."""

_READERS_AT_PACE: Final = 80
"""Where more read, each is told less often: a server that is busy with writes would hold up everything else."""


class Pace:
    """How often the readers of one server are told something.

    Args:
        ping: after so many seconds without an event, a line that says nothing.
        text: so many seconds after some of the text, more of it is said, and later where many read; what has come
            meanwhile is one event. All other events are said at once, with the text in front of them.
    """

    def __init__(self, *, ping: float = 15.0, text: float = TEXT_SECONDS) -> None:
        self.ping: Final = ping
        self._text = text
        self._readers = 0

    @property
    def between(self) -> float:
        """The seconds between two texts, now."""
        return self._text * max(1.0, self._readers / _READERS_AT_PACE)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count one more reader as long as the context is open."""
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1


@dataclass(slots=True)
class _Look:
    """What one reader sees of the text of one call of the model."""

    markdown: StreamingMarkdown = field(default_factory=StreamingMarkdown)
    waiting: list[str] = field(default_factory=list)

    async def advance(self) -> bytes:
        """The change that the waiting text makes; empty for none."""
        text = "".join(self.waiting)
        self.waiting.clear()
        return await self._html(lambda: self.markdown.feed(text), len(text)) if text else b""

    async def finish(self) -> bytes:
        """The change that is left where the text is whole; another text begins behind it."""
        last = await self.advance() + await self._html(self.markdown.finish, 0)
        self.markdown = StreamingMarkdown()
        return last

    async def _html(self, change: Callable[[], HtmlChange | None], more: int) -> bytes:
        is_long = self.markdown.unsettled + more > RENDERED_AT_ONCE
        made = await beside(change) if is_long else change()
        return b"" if made is None else event_bytes("html", {"keep": made.keep, "html": made.html})


@dataclass(frozen=True, slots=True)
class _Joined:
    """Pieces of a text that are said together.

    Attributes:
        count: of how many it is made.
    """

    offset: int
    text: str
    count: int


def _joined(events: Sequence[ReplyEvent]) -> Iterator[_Joined | TurnEvent | ReplyDone | ReplyFailed]:
    """The events, pieces of one text that follow each other as one."""
    pieces: list[TextPiece] = []
    for event in events:
        if isinstance(event, TextPiece):
            pieces.append(event)
            continue
        if pieces:
            yield _joint(pieces)
            pieces = []
        yield event
    if pieces:
        yield _joint(pieces)


def _joint(pieces: Sequence[TextPiece]) -> _Joined:
    return _Joined(pieces[0].offset, "".join(piece.text for piece in pieces), len(pieces))


class ReplyStream:
    """The events of one reply for one reader.

    Args:
        after: the number of the last event that the reader has.
        with_html: whether it wants to see the reply.
        zone: that of moments.
        turn_of: reads the turn as the API gives it out, once it has ended; None where there is none.
        pace: that of all readers of the server.
    """

    def __init__(
        self,
        reply: Reply,
        *,
        after: int,
        with_html: bool,
        zone: tzinfo,
        turn_of: Callable[[], Awaitable[Turn | None]],
        pace: Pace,
    ) -> None:
        self._reply = reply
        # One who has more than there is has it of another run of the server, or of what the turn did before it waited.
        self._number = after if after <= reply.last else 0
        self._zone = zone
        self._turn_of = turn_of
        self._pace = pace
        self._due_at = 0.0
        self._look = _Look() if with_html else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """What goes over the wire, up to the last event."""
        loop = asyncio.get_running_loop()
        if self._look is not None:
            self._look.waiting = said_before(self._reply.behind(0)[: self._number])
        spoke_at = loop.time()
        with self._pace.reading():
            while True:
                chunk = await self._take(loop.time())
                if chunk:
                    yield chunk
                    spoke_at = loop.time()
                if self._reply.ended and self._number >= self._reply.last:
                    return
                await self._wait(loop, spoke_at + self._pace.ping)
                if loop.time() - spoke_at >= self._pace.ping:
                    yield PING
                    spoke_at = loop.time()

    async def _wait(self, loop: asyncio.AbstractEventLoop, ping_at: float) -> None:
        """Wait until there is something to say, or maybe so."""
        if loop.time() >= self._due_at:
            await self._reply.more(self._number, until=ping_at)
        else:
            # More of the text wakes nobody before its moment.
            await self._reply.more(self._number, until=min(self._due_at, ping_at), but_text=True)

    async def _take(self, now: float) -> bytes:
        """All that has come and is to be said now."""
        if now < self._due_at and not self._reply.is_beyond_text(self._number):
            return b""
        said: list[bytes] = []
        for event in _joined(self._reply.behind(self._number)):
            if isinstance(event, _Joined):
                self._number += event.count
                said.append(event_bytes("text", {"offset": event.offset, "text": event.text}, number=self._number))
                if self._look is not None:
                    self._look.waiting.append(event.text)
                continue
            if self._look is not None:
                said.append(await self._look.finish())
            self._number += 1
            name, data = await self._event(event)
            said.append(event_bytes(name, data, number=self._number))
        if self._look is not None:
            said.append(await self._look.advance())
        self._due_at = now + self._pace.between
        return b"".join(said)

    async def _event(self, event: TurnEvent | ReplyDone | ReplyFailed) -> tuple[str, Mapping[str, object]]:
        match event:
            case TurnAccepted(turn):
                return "accepted", {"turn": turn.number, "asked_at": turn.asked_at.astimezone(self._zone).isoformat()}
            case ToolStarted(call):
                return "tool_started", tool_use(call).model_dump(mode="json")
            case ToolEnded(call, result):
                return "tool_ended", tool_use(call, result).model_dump(mode="json")
            case Retrying():
                return "retrying", {"attempt": event.attempt, "seconds": event.seconds, "reason": event.reason}
            case CacheLoss(verdict):
                return "cache_loss", {"tokens": verdict.tokens, "reason": verdict.reason}
            case ReplyDone() | ReplyFailed():
                return await self._last(event)

    async def _last(self, event: ReplyDone | ReplyFailed) -> tuple[str, Mapping[str, object]]:
        try:
            turn = await self._turn_of()
        except FrontmindError as error:
            return failed_event(None, problem_of(error))
        if isinstance(event, ReplyFailed):
            return failed_event(turn, event.problem)
        return done_event(turn, turn_notes(event.report))


def said_before(events: Sequence[ReplyEvent]) -> list[str]:
    """The text of the newest call of the model among these events, as far as it has come."""
    pieces: list[str] = []
    for event in reversed(events):
        if not isinstance(event, TextPiece):
            break
        pieces.append(event.text)
    return pieces[::-1]


def done_event(turn: Turn | None, notes: Sequence[str]) -> tuple[str, Mapping[str, object]]:
    """The last event of a turn that is answered, or waits for its caller."""
    if turn is None:
        gone = Problem(404, "not_found", "the turn is no longer part of the conversation")
        return failed_event(None, gone)
    return "done", {"turn": turn.model_dump(mode="json"), "notes": [speakable(note) for note in notes]}


def failed_event(turn: Turn | None, problem: Problem) -> tuple[str, Mapping[str, object]]:
    """The last event of a turn that failed; of one that was stopped with something said, that it is answered so far."""
    if problem.code == "stopped" and turn is not None and turn.state == "done":
        return "done", {"turn": turn.model_dump(mode="json"), "notes": []}
    error = problem.body.model_dump(mode="json")["error"]
    return "failed", {"error": error, "turn": None if turn is None else turn.model_dump(mode="json")}
