"""A line between browser and server that can be cut: a proxy for TCP, of a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlsplit

_PIECE: Final = 4096
_Look: TypeAlias = Callable[[bytes], bytes]


@dataclass
class CuttingProxy:
    """Passes bytes on, and cuts the lines on which events come.

    Attributes:
        server: the address that is reached through it.
        cuts: after how many bytes of an event stream each line is cut; none is cut when they are used up.
        cut: how many lines were cut.
        asked: the first line of each request for the events of a turn.
    """

    server: str
    cuts: Iterator[int] = field(default_factory=lambda: iter(()))
    cut: int = 0
    asked: list[bytes] = field(default_factory=list)
    port: int = 0
    _listener: asyncio.Server | None = None
    _lines: set[asyncio.WriteTransport] = field(default_factory=set)

    @property
    def address(self) -> str:
        """Where the browser finds the server."""
        return f"http://127.0.0.1:{self.port}"

    async def open(self) -> None:
        """Take connections, on the same port as before."""
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Cut all lines, and take no connection any more."""
        if self._listener is not None:
            self._listener.close()
        for line in list(self._lines):
            line.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(self.server)
        there, to_server = await asyncio.open_connection(parts.hostname, parts.port)
        line = _Line(self)
        transports = [writer.transport, to_server.transport]
        self._lines.update(transports)
        try:
            forth = asyncio.create_task(line.pass_on(reader, to_server, line.watch_request))
            back = asyncio.create_task(line.pass_on(there, writer, line.within_budget))
            _, pending = await asyncio.wait({forth, back}, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
            await asyncio.wait({forth, back})
        finally:
            for transport in transports:
                transport.abort()
                self._lines.discard(transport)


@dataclass
class _Line:
    """One connection: how many bytes may still come back before it is cut."""

    proxy: CuttingProxy
    left: int | None = None

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, look: _Look) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(_PIECE):
                passed = look(data)
                writer.write(passed)
                await writer.drain()
                if len(passed) < len(data):
                    # Every other line ends in order, and what was sent arrives; the others are torn, and it may not.
                    if self.proxy.cut % 2 == 0:
                        writer.close()
                        await writer.wait_closed()
                    self.proxy.cut += 1
                    return

    def watch_request(self, data: bytes) -> bytes:
        first, _, _ = data.partition(b"\r\n")
        if b"/turns/" in first and b"/events" in first:
            self.proxy.asked.append(first)
            self.left = next(self.proxy.cuts, None)
        return data

    def within_budget(self, data: bytes) -> bytes:
        if self.left is None:
            return data
        passed = data[: self.left]
        self.left -= len(passed)
        return passed


@asynccontextmanager
async def cutting(server: str, cuts: Iterable[int] = ()) -> AsyncIterator[CuttingProxy]:
    """A proxy in front of the server at this address."""
    proxy = CuttingProxy(server, iter(cuts))
    await proxy.open()
    try:
        yield proxy
    finally:
        await proxy.close()
