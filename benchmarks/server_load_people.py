"""The people who load the server of `benchmarks.server_load`: each says something, follows the reply to its end,
thinks, and says the next thing. A plain client on asyncio, so that it takes little of the processor itself.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from benchmarks.server_load_process import Plan

_TEXT: Final = b"\nevent: text\n"
_LAST_CHUNK: Final = b"0\r\n\r\n"
_TOPICS: Final = (
    "the beans in the garden",
    "a birthday present for Anna",
    "the train to the mountains",
    "what the dentist said about the tooth",
    "the leaking roof of the shed",
    "bread with less salt",
    "the concert in October",
    "learning to swim again",
)


@dataclass(frozen=True, slots=True)
class Load:
    """What the people do.

    Attributes:
        turns: how many each of them takes.
        plan: how long the model takes, on average.
        spread: by which share of that a reply takes more or less.
        think: seconds between the end of a reply and the next message.
        arrive: seconds within which all of them come.
        at_once: how many may wait for a reply at the same time.
        conversation: in which they talk, each in one of their own.
        query: what is asked for with the events.
        seed: of everything that is drawn.
    """

    turns: int
    plan: Plan
    spread: float = 0.2
    think: float = 1.0
    arrive: float = 0.0
    at_once: int = 1_000_000
    conversation: str = "main"
    query: str = ""
    seed: int = 1


@dataclass(slots=True)
class Seen:
    """What the people saw, in seconds.

    Attributes:
        whole: of each turn, from the message to the last event, less the model's time.
        first: the same up to the first piece.
        errors: a line for each turn that went wrong.
        lags: how late the client itself woke up.
        seconds: how long all of it took.
    """

    whole: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    seconds: float = 0.0


class Wire(asyncio.Protocol):
    """One connection that stays open: a request at a time, its reply read to the end."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._head = self._tail = b""
        self._left: int | None = None
        self._done: asyncio.Future[None] | None = None
        self.first_at = 0.0
        self.text_at = 0.0
        self.last_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's own are no subclass.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(exc or ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if not self._pieces:
            self.first_at = now
        if not self.text_at and _TEXT in data:
            self.text_at = now
        self._pieces.append(data)
        self._tail = (self._tail + data)[-len(_LAST_CHUNK) :]
        if not self._head:
            self._read_head()
        elif self._left is not None:
            self._left -= len(data)
        whole = self._tail == _LAST_CHUNK if self._left is None else self._left <= 0
        if self._head and whole and self._done is not None and not self._done.done():
            self.last_at = now
            self._done.set_result(None)

    def _read_head(self) -> None:
        sent = b"".join(self._pieces)
        head, between, body = sent.partition(b"\r\n\r\n")
        if not between:
            return
        self._head, self._pieces = head, [body]
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        self._left = int(lengths[0].split(b":")[1]) - len(body) if lengths else None

    async def ask(self, method: str, path: str, key: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of the reply, as it came over the wire."""
        assert self._transport is not None
        self._pieces, self._head, self._tail, self._left = [], b"", b"", None
        self.first_at = self.text_at = self.last_at = 0.0
        self._done = self._loop.create_future()
        headers = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        if body:
            headers += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._transport.write(headers.encode("ascii") + b"\r\n" + body)
        await self._done
        return int(self._head.split(b" ", 2)[1]), b"".join(self._pieces)

    @property
    def is_open(self) -> bool:
        """Whether it can be asked: the server hangs up on who says nothing for long."""
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


def unchunked(body: bytes) -> bytes:
    """A body that came in chunks, put together."""
    pieces, place = list[bytes](), 0
    while True:
        end = body.index(b"\r\n", place)
        size = int(body[place:end], 16)
        if not size:
            return b"".join(pieces)
        pieces.append(body[end + 2 : end + 2 + size])
        place = end + 2 + size + 2


def fault(stream: bytes, plan: Plan) -> str:
    """What is wrong with the events of a turn; empty where each piece came once and the turn is the whole reply."""
    said, turn = [], None
    for event in stream.decode("ascii").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in event.splitlines() if not line.startswith(":"))
        if fields.get("event") == "text":
            said.append(json.loads(fields["data"])["text"])
        elif fields.get("event") == "done":
            turn = json.loads(fields["data"])["turn"]
        elif fields.get("event") == "failed":
            return f"failed: {fields['data'][:200]}"
    if turn is None:
        return "the events end without the last one"
    if "".join(said) != "".join(plan.words):
        return f"other text came than the model said: {''.join(said)[:200]!r}"
    reply = turn["reply"]
    return "" if reply and reply["text"] == "".join(plan.words) else "the turn has another reply"


class People:
    """Those who use the server.

    Args:
        keys: one for each of them.
    """

    def __init__(self, port: int, keys: Sequence[str]) -> None:
        self._port = port
        self._keys = keys
        self._said = [0] * len(keys)

    async def run(self, load: Load) -> Seen:
        """Let all of them take their turns."""
        seen = Seen()
        places = asyncio.Semaphore(load.at_once)
        watching = asyncio.create_task(_watch_lag(seen.lags))
        began = time.perf_counter()
        await asyncio.gather(*(self._talk(person, load, places, seen) for person in range(len(self._keys))))
        seen.seconds = time.perf_counter() - began
        watching.cancel()
        return seen

    async def _talk(self, person: int, load: Load, places: asyncio.Semaphore, seen: Seen) -> None:
        chance = random.Random(f"{load.seed} {person} {self._said[person]}")
        await asyncio.sleep(chance.uniform(0, load.arrive))
        wire = Wire()
        for _ in range(load.turns):
            self._said[person] += 1
            async with places:
                try:
                    if not wire.is_open:
                        _, wire = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", self._port)
                    wrong = await self._turn(wire, person, load, chance, seen)
                except (OSError, ValueError, KeyError) as error:
                    wrong = f"{type(error).__name__}: {error}"
            if wrong:
                seen.errors.append(wrong)
                wire.close()
            if load.think:
                await asyncio.sleep(load.think)
        wire.close()

    async def _turn(self, wire: Wire, person: int, load: Load, chance: random.Random, seen: Seen) -> str:
        mean, share = load.plan, chance.uniform(1 - load.spread, 1 + load.spread)
        plan = Plan(round(mean.first * share, 3), mean.pieces, round(mean.rest * share, 3))
        text = f"What about {chance.choice(_TOPICS)}, number {self._said[person]}? {plan}"
        path, key = f"/api/conversations/{load.conversation}/turns", self._keys[person]
        began = time.perf_counter()
        status, body = await wire.ask("POST", path, key, json.dumps({"text": text}).encode())
        if status != 202:
            return f"{status}: {body[:200]!r}"
        number = json.loads(body)["turn"]
        status, body = await wire.ask("GET", f"{path}/{number}/events{load.query}", key)
        if status != 200:
            return f"{status}: {body[:200]!r}"
        whole, first = wire.last_at - began - plan.seconds, wire.text_at - began - plan.first
        if wrong := fault(unchunked(body), plan):
            return wrong
        seen.whole.append(whole)
        seen.first.append(first)
        return ""


async def _watch_lag(lags: list[float]) -> None:
    while True:
        due = time.perf_counter() + 0.01
        await asyncio.sleep(0.01)
        lags.append(time.perf_counter() - due)
