"""The server as a program: sockets, signals, and what is opened for it and closed again."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_address
from types import FrameType
from typing import Final
from zoneinfo import ZoneInfo

import uvicorn
from platformdirs import user_state_path

from frontmind.assistant.notices import Notices
from frontmind.cli.opening import Opened, open_assistant
from frontmind.cli.settings import Settings
from frontmind.cli.settings_file import read_settings_file, settings_file_path
from frontmind.cli.terminal import note, say
from frontmind.errors import UsageError
from frontmind.providers.opening import Selection
from frontmind.recall.embedder_source import SharedEmbedder
from frontmind.server.app import build_app
from frontmind.server.guards import LOOPBACK_NAMES, Guards, allowed_hosts
from frontmind.server.hub import Hub
from frontmind.server.identity import Access
from frontmind.server.limits import IDLE_SECONDS, ONE_PERSON, Limits
from frontmind.server.sessions import Setting
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.clock import Clock, FixedClock, SystemClock
from frontmind.window.choice import LayoutName

_CLOSING_SECONDS: Final = 5
"""How long connections may stay open when nothing runs any more."""

_BACKLOG: Final = 2048


@dataclass(frozen=True, slots=True)
class Where:
    """Where a server listens.

    Attributes:
        host: a name or an address of this machine.
        port: 0 for any.
        names: further names that it goes by.
        grace: how long running turns may go on when it is ended, in seconds.
    """

    host: str
    port: int
    names: tuple[str, ...]
    grace: float


class _Told(Notices):
    """What goes on beside the turns of all people is told to whoever runs the server, at once."""

    def add(self, line: str) -> None:
        """Tell it; may be called in any thread."""
        note(f"frontmind: {line}")


def run_server(selection: Selection, clock: Clock, settings: Settings, *, db: str, where: Where) -> None:
    """Serve until a signal ends it.

    Raises:
        UsageError: it cannot listen there, or an option cannot be used.
        StoreError: the database cannot be used.
        ModelUnavailable: the model cannot be.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_news)
    with ExitStack() as stack:
        listeners = [stack.enter_context(each) for each in listen(where.host, where.port)]
        factory = uvicorn.Config("", log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(_serve(selection, clock, settings, db=db, where=where, listeners=listeners))


def _is_news(record: logging.LogRecord) -> bool:
    # A reader that was too slow, and was let go: it comes back.
    return "returned without completing response" not in record.getMessage()


async def _serve(
    selection: Selection, clock: Clock, settings: Settings, *, db: str, where: Where, listeners: list[socket.socket]
) -> None:
    notices = _Told()

    async def check(store: SqliteStore) -> bool:
        has_accounts = bool(await store.accounts_of_database().accounts())
        if not has_accounts:
            _require_local(where, listeners)
        if has_accounts and read_settings_file(settings_file_path(os.environ)).mcp:
            note("frontmind: there are accounts, so the MCP servers of the settings file are not used: they act as you")
        try:
            for listener in listeners:
                listener.listen(_BACKLOG)
        except OSError as error:
            raise _unusable(where.host, where.port, error) from error
        return not has_accounts

    async with open_assistant(selection, settings, db=db, notices=notices, check=check) as opened:
        accounts = opened.store.accounts_of_database()
        limits = Limits() if await accounts.accounts() else ONE_PERSON
        async with _hub(opened, clock, settings, limits) as hub:
            access = Access(accounts, clock.now, limits=limits)
            await access.look()
            app = build_app(hub, Guards(access, limits, allowed_hosts((*where.names, where.host))))
            config = uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                lifespan="on",
                ws="none",
                timeout_graceful_shutdown=_CLOSING_SECONDS,
                timeout_keep_alive=IDLE_SECONDS,
                backlog=_BACKLOG,
            )
            server = Server(config, hub, where.grace, lambda: _greet(opened, where, listeners))
            await server.serve(listeners)


def _require_local(where: Where, listeners: list[socket.socket]) -> None:
    """Without accounts everybody who reaches the server is the one person, also through a reverse proxy.

    Raises:
        UsageError: others than those at this machine could reach it.
    """
    if not all(ip_address(each.getsockname()[0]).is_loopback for each in listeners):
        missing = f"listens on this machine alone, and not on {where.host}"
    elif names := sorted(allowed_hosts(where.names) - LOOPBACK_NAMES):
        missing = f"is for this machine alone, and does not go by {names[0]}"
    else:
        return
    raise UsageError(f"without accounts the server {missing}; make one first: frontmind user add NAME")


@asynccontextmanager
async def _hub(opened: Opened, clock: Clock, settings: Settings, limits: Limits) -> AsyncIterator[Hub]:
    source = opened.recall.source
    # One for all people: it has the weights of a model.
    embedder = None if source is None else SharedEmbedder(source)
    setting = Setting(
        store=opened.store,
        model=opened.model,
        clock=clock,
        clock_in=_clock_like(clock),
        recall=replace(opened.recall, source=embedder),
        loadable=opened.loadable,
        loading=opened.loading,
        locks=user_state_path("frontmind"),
        chooses_layout=settings.layout is LayoutName.AUTO,
        keep_alive=settings.keep_alive,
    )
    try:
        yield Hub(setting, limits=limits)
    finally:
        if embedder is not None:
            await embedder.close()


def _clock_like(clock: Clock) -> Callable[[ZoneInfo], Clock]:
    """The clock in another zone: one that stands still does so for everybody."""
    if isinstance(clock, FixedClock):
        moment = clock.moment
        return lambda zone: FixedClock(moment, zone)
    return SystemClock


class Server(uvicorn.Server):
    """The HTTP server, which ends with care: a signal lets turns that run come to their end first, a second one stops
    them.

    Args:
        grace: how long they may go on.
        started: called when requests are taken.
    """

    def __init__(self, config: uvicorn.Config, hub: Hub, grace: float, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._hub = hub
        self._grace = grace
        self._tell_started = started
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Task[None] | None = None
        self._signals = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self._tell_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal came. Called between any two steps of the program."""
        self._signals += 1
        if self._loop is None:
            raise KeyboardInterrupt
        self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end_with_care())
        elif self._signals > 1:
            self._hub.hurry()

    async def _end_with_care(self) -> None:
        try:
            await self._hub.shut_down(self._grace)
        finally:
            self.should_exit = True


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets on all addresses of this name, on which nobody listens yet.

    Raises:
        UsageError: there is no such address on this machine, or the port is in use.
    """
    found: list[socket.socket] = []
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((family, place[:2]) for family, _, _, _, place in places):
            chosen = found[0].getsockname()[1] if found else port
            found.append(_listener(family, (str(address[0]), chosen)))
    except (OSError, UnicodeError) as error:
        for each in found:
            each.close()
        raise _unusable(host, port, error) from error
    return found


def _unusable(host: str, port: int, error: OSError | UnicodeError) -> UsageError:
    if isinstance(error, UnicodeError):
        return UsageError(f"{host!r} is no name of a host; pass another with --host")
    reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror or error})"
    return UsageError(f"port {port} of {host} {reason}; pass another with --port or --host")


def _listener(family: int, address: tuple[str, int]) -> socket.socket:
    # The protocol is named, since asyncio turns off the delay of small packets only where it is.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # After a restart the port may be taken at once; on Windows it would let others share it.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _greet(opened: Opened, where: Where, listeners: list[socket.socket]) -> None:
    address = listeners[0].getsockname()
    host = where.host if where.host not in ("0.0.0.0", "::", "") else "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    say(f"Frontmind with {opened.model.name} at http://{shown}:{address[1]}")
    if sys.stdout.isatty():
        say("Ctrl-C stops it.")
