"""Replies as they go over the wire, whole or in a stream, whichever API they are in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Final, Protocol

from starlette.responses import Response

from frontmind.server.compat.talks import Outcome, Talk
from frontmind.server.errors import Problem
from frontmind.server.streams import EventStream
from frontmind.window.canonical import JsonObject, canonical_json

PING_SECONDS: Final = 15.0
"""After how long without a word a client is told that the connection stands; many give up after 30 to 60."""
PATIENCE: Final = 5.0
"""How long a stream waits for its first word before it begins: until then a failure can still be said by its status."""


class ReplyForm(Protocol):
    """How one API says a reply; in a stream, as events."""

    def whole(self, outcome: Outcome) -> JsonObject: ...

    def begin(self) -> Sequence[bytes]: ...

    def text(self, piece: str) -> Sequence[bytes]: ...

    def end(self, outcome: Outcome) -> Sequence[bytes]: ...

    def failed(self, problem: Problem) -> Sequence[bytes]: ...

    def quiet(self) -> bytes: ...


async def whole_reply(talk: Talk, form: ReplyForm, headers: Mapping[str, str]) -> Response:
    """The reply in one piece, when it is there.

    Raises:
        Problem: the turn failed.
    """
    outcome = await talk.outcome()
    if outcome.problem is not None:
        raise outcome.problem
    return Response(canonical_json(form.whole(outcome)), media_type="application/json", headers=dict(headers))


async def streamed_reply(
    talk: Talk,
    form: ReplyForm,
    headers: Mapping[str, str],
    *,
    heard: Callable[[], None],
    stops: bool,
    ping_seconds: float = PING_SECONDS,
    patience: float = PATIENCE,
) -> EventStream:
    """The reply as it comes.

    Args:
        heard: called when everything was sent.
        stops: whether the turn stops when the client goes away.
        ping_seconds: after how long without a word it is said that the connection stands.
        patience: how long the first word is waited for.

    Raises:
        Problem: the turn failed in this time, before it said anything.
    """
    pieces = _Pieces(talk.pieces())
    await pieces.wait(patience)
    if pieces.is_over and not pieces.has_text:
        outcome = await talk.outcome()
        if outcome.problem is not None:
            pieces.close()
            raise outcome.problem
    chunks = _chunks(talk, form, pieces, heard=heard, stops=stops, ping_seconds=ping_seconds)
    return EventStream(chunks, headers=headers)


async def _chunks(
    talk: Talk,
    form: ReplyForm,
    pieces: _Pieces,
    *,
    heard: Callable[[], None],
    stops: bool,
    ping_seconds: float,
) -> AsyncIterator[bytes]:
    ended = False
    try:
        yield b"".join(form.begin())
        while not pieces.is_over or pieces.has_text:
            if not await pieces.wait(ping_seconds):
                yield form.quiet()
            elif pieces.has_text:
                yield b"".join(form.text(pieces.take()))
        outcome = await talk.outcome()
        yield b"".join(form.end(outcome) if outcome.problem is None else form.failed(outcome.problem))
        ended = True
        heard()
    finally:
        pieces.close()
        if stops and not ended:
            talk.reply.stop()


class _Pieces:
    """Text as it comes, which can be waited for with a limit. What has come while nobody took any is one piece: a slow
    reader is told more at once.
    """

    def __init__(self, source: AsyncIterator[str]) -> None:
        self._ready: list[str] = []
        self._more = asyncio.Event()
        self._taking = asyncio.create_task(self._take_in(source))

    @property
    def is_over(self) -> bool:
        """Whether nothing comes any more."""
        return self._taking.done()

    @property
    def has_text(self) -> bool:
        """Whether there is a piece to take."""
        return bool(self._ready)

    async def wait(self, seconds: float) -> bool:
        """Whether a piece, or the end, is there after at most so long."""
        if not self._ready:
            more = asyncio.ensure_future(self._more.wait())
            await asyncio.wait({more, self._taking}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            more.cancel()
        return self.has_text or self.is_over

    def take(self) -> str:
        """All that is there."""
        text = "".join(self._ready)
        self._ready.clear()
        self._more.clear()
        return text

    def close(self) -> None:
        """Ask for no more."""
        self._taking.cancel()

    async def _take_in(self, source: AsyncIterator[str]) -> None:
        async for piece in source:
            self._ready.append(piece)
            self._more.set()
