"""A server for tests: its application asked directly, or the real uvicorn on a loopback port."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
import uvicorn
from fastapi import FastAPI

from frontmind.assistant.recalling import RecallOptions
from frontmind.providers.protocol import Model, Request, StreamEvent
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.app import build_app
from frontmind.server.guards import Guards, allowed_hosts
from frontmind.server.hub import Hub
from frontmind.server.identity import THE_ONLY_ONE, Access, Person
from frontmind.server.keys import digest_of, hint_of, new_key
from frontmind.server.limits import Limits
from frontmind.server.reply_stream import Pace
from frontmind.server.sessions import Setting
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.clock import Clock
from support import HandClock

ADDRESS = "http://127.0.0.1:7766"


@dataclass(frozen=True, slots=True)
class ZonedClock:
    """The hand clock, shown in another zone."""

    hand: HandClock
    zone: ZoneInfo

    def now(self) -> datetime:
        return self.hand.now().astimezone(self.zone)


@dataclass
class Served:
    """A server on a workbench.

    Attributes:
        client: asks the application, with the key of the first of ``people`` where there are accounts.
        keys: the key of each person, by name.
    """

    hub: Hub
    app: FastAPI
    access: Access
    store: SqliteStore
    clock: HandClock
    client: httpx2.AsyncClient
    keys: dict[str, str] = field(default_factory=dict)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def person(self, name: str = "") -> Person:
        """The person of this name; without one the only one, or the first that has an account."""
        if name:
            return Person(name)
        return Person(next(iter(self.keys))) if self.keys else THE_ONLY_ONE

    async def client_of(self, name: str, address: str = ADDRESS) -> httpx2.AsyncClient:
        """A client with this person's key; it is closed with the server."""
        return await self.stack.enter_async_context(_client(self.app, address, self.keys[name]))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The same application behind the real server, on a free loopback port; gives its address."""
        async with listening(self.app) as address:
            yield address

    @asynccontextmanager
    async def talking(self) -> AsyncIterator[httpx2.AsyncClient]:
        """A client of the application behind the real server, with the key of the first person who has one."""
        key = next(iter(self.keys.values()), "")
        async with listening(self.app) as address:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            async with httpx2.AsyncClient(base_url=address, headers=headers, timeout=60) as client:
                yield client


class GatedModel(ScriptedModel):
    """Says its reply word by word, and waits before each until the test lets it: `let` for so many, `open` for all.

    Attributes:
        began: how many calls have begun.
    """

    def __init__(self, reply: str = "One two three four.", *, name: str = "gated") -> None:
        super().__init__(lambda _: reply, name=name)
        self.began = 0
        self._open = False
        self._allowed = asyncio.Semaphore(0)
        self._beginning = asyncio.Condition()

    def let(self, words: int = 1) -> None:
        """Let so many further words be said."""
        for _ in range(words):
            self._allowed.release()

    def open(self) -> None:
        """Say everything from now on."""
        self._open = True
        self.let()

    async def until_began(self, calls: int) -> None:
        """Wait until so many calls have begun."""
        async with self._beginning:
            await self._beginning.wait_for(lambda: self.began >= calls)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        async with self._beginning:
            self.began += 1
            self._beginning.notify_all()
        async for event in super().stream(request):
            await self._allowed.acquire()
            if self._open:
                self.let()
            yield event


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event as a client reads it."""

    name: str
    data: dict[str, Any]
    id: int | None


async def read_events(response: httpx2.Response) -> AsyncIterator[Event]:
    """The events of a stream as they come; pings are passed over."""
    name, number, data = "", None, ""
    async for line in response.aiter_lines():
        field_name, _, value = line.partition(": ")
        if field_name == "event":
            name = value
        elif field_name == "id":
            number = int(value) if value.isdecimal() else None
        elif field_name == "data":
            data = value
        elif not line and data:
            yield Event(name, json.loads(data), number)
            name, number, data = "", None, ""


def _client(app: FastAPI, address: str, key: str) -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url=address, headers=headers)


@asynccontextmanager
async def served(
    model: Model | None = None,
    *,
    db: str = ":memory:",
    people: tuple[str, ...] = (),
    clock: HandClock | None = None,
    limits: Limits | None = None,
    hosts: tuple[str, ...] = (),
    timer: Callable[[], float] | None = None,
    recall: RecallOptions | None = None,
    most_sessions: int = 256,
    pace: Pace | None = None,
) -> AsyncIterator[Served]:
    """A server over a store of its own; the model stays the caller's to close.

    Args:
        model: who answers; a scripted one that says "Hello." without.
        people: who has an account; without any the server is for one person.
        limits: how much it takes; what it does by default without.
        hosts: names that are allowed beside those of loopback.
        timer: seconds from an arbitrary start, for rates and how long keys are remembered.
        recall: how is searched; by words without.
        pace: how often event streams say something.
    """
    clock = clock or HandClock()
    limits = limits or Limits()
    async with AsyncExitStack() as stack:
        store = SqliteStore.open(db)
        stack.push_async_callback(store.close)
        keys = await _accounts(store, people, clock)
        setting = Setting(
            store=store,
            model=model or ScriptedModel(lambda _: "Hello."),
            clock=clock,
            clock_in=lambda zone: _in_zone(clock, zone),
            recall=recall or RecallOptions(),
            most_sessions=most_sessions,
        )
        hub = Hub(setting, limits=limits)
        timing = {} if timer is None else {"timer": timer}
        access = Access(store.accounts_of_database(), clock.now, limits=limits, **timing)
        await access.look()
        app = build_app(hub, Guards(access, limits, allowed_hosts(hosts), **timing), pace=pace)
        await stack.enter_async_context(app.router.lifespan_context(app))
        inner = await stack.enter_async_context(AsyncExitStack())
        client = await stack.enter_async_context(_client(app, ADDRESS, keys[people[0]] if people else ""))
        yield Served(hub, app, access, store, clock, client, keys, inner)


def _in_zone(clock: HandClock, zone: ZoneInfo) -> Clock:
    return ZonedClock(clock, zone)


async def _accounts(store: SqliteStore, people: tuple[str, ...], clock: HandClock) -> dict[str, str]:
    keys = {name: new_key() for name in people}
    accounts = store.accounts_of_database()
    for name, key in keys.items():
        await accounts.add_account(name, clock.now())
        await add_key(store, name, key, clock)
    return keys


async def add_key(store: SqliteStore, name: str, key: str, clock: HandClock, *, lasts: timedelta | None = None) -> None:
    """Give an account a further key."""
    expires = None if lasts is None else clock.now() + lasts
    accounts = store.accounts_of_database()
    await accounts.add_key(name, digest_of(key), label="test", hint=hint_of(key), at=clock.now(), expires_at=expires)


@asynccontextmanager
async def listening(app: FastAPI) -> AsyncIterator[str]:
    """The application behind the real server, on a free loopback port; gives its address."""
    # As the program does: asyncio turns off the delay of small packets only where the protocol is named.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            app, lifespan="off", access_log=False, log_config=None, proxy_headers=False, timeout_graceful_shutdown=5
        )
        server = uvicorn.Server(config)
        # The tests' own signals stay theirs.
        serving = asyncio.create_task(server._serve([listener]))
        try:
            # A connection is taken as soon as the socket listens, and answered as soon as the server runs.
            while not server.started:
                if serving.done():
                    serving.result()
                await asyncio.wait({serving}, timeout=0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await serving
