"""Requests byte by byte, as no client library sends them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from frontmind.server.compat.errors import shape_of
from frontmind.server.errors import CODES

_LONGEST: Final = 20.0
_ONLY_COMPATIBLE: Final = frozenset(
    {"invalid_request", "unsupported", "model_not_found", "previous_response_not_found"}
)
_TRACES: Final = ("Traceback", 'File "', "site-packages", "object at 0x", "pydantic", "starlette", "sqlite")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of the error, in any of the shapes."""
        code: str = json.loads(self.body)["error"]["code"]
        return code


class Line:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Send these bytes as they are; a server that has closed already is no error."""
        self._writer.write(data)
        try:
            await self._writer.drain()
        except ConnectionError:
            return

    async def answer(self) -> Answer:
        """The next answer on the line.

        Raises:
            asyncio.IncompleteReadError: none came: the server has closed the line.
        """
        async with asyncio.timeout(_LONGEST):
            while True:
                head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                status = int(first.split(" ")[1])
                if status != 100:
                    break
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            if headers.get("transfer-encoding") == "chunked":
                return Answer(status, headers, await self._chunks())
            return Answer(status, headers, await self._reader.readexactly(int(headers.get("content-length", 0))))

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += await self._reader.readexactly(size)
            await self._reader.readline()
        await self._reader.readline()
        return body


@asynccontextmanager
async def line(address: str) -> AsyncIterator[Line]:
    """A connection to the server at this address."""
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**24)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()


def request(
    method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, *, key: str = ""
) -> bytes:
    """A request; a body is JSON unless the headers say something else."""
    sent = {"Host": "127.0.0.1", **({"Authorization": f"Bearer {key}"} if key else {})}
    if body is not None:
        sent |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    sent |= dict(headers or {})
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (body or b"")


async def asked(address: str, data: bytes) -> Answer:
    """The answer to these bytes on a line of their own."""
    async with line(address) as own:
        await own.send(data)
        return await own.answer()


def check_refusal(answer: Answer, path: str, headers: Mapping[str, str] | None = None) -> None:
    """Check that a refusal is one that the API's document describes, in the shape of the API of the path."""
    assert 400 <= answer.status < 500, (answer.status, answer.body[:500])
    check_answer(answer, path, headers)


def check_answer(answer: Answer, path: str, headers: Mapping[str, str] | None = None) -> None:
    """Check that an answer is none of a server that failed, and if it is a refusal, that it is a documented one."""
    assert answer.status < 500, (answer.status, answer.body[:500])
    if answer.status < 400:
        return
    text = answer.body.decode("utf-8")
    assert answer.headers["content-type"] == "application/json", answer
    assert not [trace for trace in _TRACES if trace in text], text
    said: dict[str, Any] = json.loads(text)
    shape = shape_of(path, {name.lower(): value for name, value in (headers or {}).items()})
    codes = set(CODES[answer.status]) | (_ONLY_COMPATIBLE if shape is not None else set())
    assert said["error"]["code"] in codes, text
    assert said["error"]["message"] and "\n" not in said["error"]["message"]
    assert len(text) < 2_000, text
