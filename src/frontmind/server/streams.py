"""Event streams over HTTP. A slow reader holds nothing up but itself; one that went away ends quietly.

Knows nothing of what the events say.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PING: Final = b": ping\n\n"
"""What is said when nothing has happened for long, so that a dead line shows."""

END: Final = "end"
"""The id of an event that says all there is. Who comes back with it is told that nothing follows, with a 204; an
`EventSource` would ask for ever otherwise.
"""

_JSON: Final = json.JSONEncoder(separators=(",", ":"))
WRITE_SECONDS: Final = 30.0
"""How long a reader may take nothing before it is let go; it comes back and goes on where it was."""


def event_bytes(name: str, data: Mapping[str, object] | str, *, number: int | str | None = None) -> bytes:
    """An event as it goes over the wire.

    Args:
        name: empty for an event that has none.
        data: said as JSON; a text, on one line, as it is.
        number: its id, with which a reader that was cut off comes back; `END` for one behind which nothing comes, None
            for an event that has none.
    """
    # Escaped to ASCII, so that half a surrogate pair of a model's text passes, and no line end stands in the data.
    text = data if isinstance(data, str) else _JSON.encode(data)
    place = "" if number is None else f"id: {number}\n"
    kind = f"event: {name}\n" if name else ""
    return f"{place}{kind}data: {text}\n\n".encode("ascii")


class EventStream(Response):
    """A reply that goes on as long as its events do.

    Args:
        chunks: what is sent, each as soon as the one before was taken; closed in the end, whatever the end is.
        write_seconds: how long the reader may take nothing.
        headers: further ones.

    Attributes:
        chunks, write_seconds: as given.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        *,
        write_seconds: float = WRITE_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self.chunks = chunks
        self.write_seconds = write_seconds
        # When the chunk was given that the reader has not taken yet.
        self._given_at: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until they end, or the reader is gone or too slow.

        Raises:
            Problem: the person has too many streams open. None of the events was asked for then.
        """
        state = scope["state"]
        with state["streams"].taken(state["person"].owner):
            await self._run(receive, send)

    async def _run(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        loop = asyncio.get_running_loop()
        sending = asyncio.ensure_future(self._send_all(send, loop))
        gone = asyncio.ensure_future(gone_away(receive))
        try:
            # One timer for all chunks: there may be many a second, to many readers.
            while not sending.done() and not gone.done() and (left := self._left(loop.time())) > 0:
                await asyncio.wait({sending, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                return
            sending.result()
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.wait({sending, gone})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _left(self, now: float) -> float:
        """How long the reader may still take nothing."""
        return self.write_seconds if self._given_at is None else self._given_at + self.write_seconds - now

    async def _send_all(self, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        chunks = self.chunks
        try:
            async for chunk in chunks:
                self._given_at = loop.time()
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                self._given_at = None
        finally:
            if hasattr(chunks, "aclose"):
                await chunks.aclose()


def place_of(last_event_id: str | None) -> int | None:
    """The number with which a reader comes back; None where it brings none, or no number."""
    text = last_event_id or ""
    return int(text) if text.isascii() and text.isdecimal() else None


async def gone_away(receive: Receive) -> None:
    """Wait until the client is gone; its body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        continue
