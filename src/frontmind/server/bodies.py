"""Bodies of requests, read and checked before a route sees them: their size, type, encoding and nesting. Plain ASGI.

Knows of routes only which of them take long texts and files.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frontmind.server.answers import problem_reply
from frontmind.server.errors import Problem
from frontmind.server.limits import Limits, Places

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LONG_TEXTS: Final = ("/v1/", "/api/documents/")
_OF_A_CONVERSATION: Final = ("/turns", "/preview")

_IN_THE_LOOP: Final = 100_000
"""So many bytes are looked through within a millisecond; more would let others wait."""

_PIECE: Final = 1 << 17

_MARKS: Final = b'"[]{},'
_NO_MARKS: Final = bytes(set(range(256)) - set(_MARKS))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


class Bodies:
    """Reads the body of a request that may have one, and lets it through when it is JSON in bounds."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._large = Places(limits.large_bodies_of_one, "large requests on their way")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in _WITHOUT_BODY:
            await self._app(scope, receive, send)
            return
        try:
            with ExitStack() as held:
                body = await self._read(scope, receive, held)
        except Problem as problem:
            await problem_reply(scope, problem)(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replayed(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive, held: ExitStack) -> bytes | None:
        """The whole body; None where the client went away.

        Args:
            held: keeps the place of a large body.

        Raises:
            Problem: it cannot be taken.
        """
        headers, most = Headers(scope=scope), self._most(scope["path"])
        said = headers.get("content-length", "")
        if said.isascii() and said.isdecimal() and (len(said) > 18 or int(said) > most):
            raise _too_large(most)
        pieces: list[bytes] = []
        size, is_large = 0, False
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            piece: bytes = message.get("body", b"")
            size += len(piece)
            if size > most:
                raise _too_large(most)
            if size > self._limits.small_body_bytes and not is_large:
                is_large = True
                held.enter_context(self._large.taken(scope["state"]["person"].owner))
            pieces.append(piece)
            if not message.get("more_body", False):
                break
        body = b"".join(pieces)
        if len(body) > _IN_THE_LOOP:
            await asyncio.to_thread(self._check, headers, body)
        elif body:
            self._check(headers, body)
        return body

    def _most(self, path: str) -> int:
        """The longest body that is taken there."""
        is_said = path.startswith("/api/conversations/") and path.endswith(_OF_A_CONVERSATION)
        if is_said or path.startswith(_LONG_TEXTS):
            return self._limits.body_bytes
        return min(self._limits.small_body_bytes, self._limits.body_bytes)

    def _check(self, headers: Headers, body: bytes) -> None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Problem(415, "unsupported_media_type", "send JSON, with Content-Type: application/json")
        try:
            body.decode("utf-8")
        except UnicodeDecodeError:
            raise Problem(400, "invalid_json", "the body is not UTF-8; encode it so") from None
        outline, limits = json_outline(body), self._limits
        if outline.depth > limits.json_depth:
            raise Problem(
                400, "invalid_json", f"the body is nested more than {limits.json_depth} deep; make it flatter"
            )
        if outline.values > limits.json_values:
            raise Problem(
                400, "invalid_json", f"the body has more than {limits.json_values:,} values; send less at once"
            )


@dataclass(frozen=True, slots=True)
class Outline:
    """How much there is to read in a JSON text.

    Attributes:
        depth: how deep its values are nested.
        values: at most how many it has.
    """

    depth: int
    values: int


def json_outline(body: bytes, *, piece_bytes: int = _PIECE) -> Outline:
    """What stands in a JSON text; of one that is not valid, what stands in front of the fault counts in full.

    Args:
        piece_bytes: so many bytes are looked through at once: in between, other threads go on.
    """
    start = depth = deepest = values = 0
    is_text = False
    while start < len(body):
        piece = body[start : start + piece_bytes]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            # What is escaped stays with its sign.
            piece = body[start : start + piece_bytes + 1]
        start += len(piece)
        marks = piece.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
        parts = marks.split(b'"')
        outside = b"".join(parts[is_text::2])
        is_text ^= len(parts) % 2 == 0
        brackets = outside.translate(_STEPS, b",")
        opened = brackets.count(b"\x01")
        values += opened + len(outside) - len(brackets)
        deepest = max(deepest, max(accumulate(memoryview(brackets).cast("b"), initial=depth)))
        depth += 2 * opened - len(brackets)
    return Outline(deepest, values + 1)


def _too_large(most: int) -> Problem:
    return Problem(413, "too_large", f"the body is larger than {most / 1e6:g} MB; send less at once")


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
