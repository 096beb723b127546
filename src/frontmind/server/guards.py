"""What every request passes before a route sees it: the addresses that are served, browsers' origins, keys, rates.

Plain ASGI, so that streams pass through untouched. Knows no route; the paths that need no key are named here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frontmind.errors import FrontmindError
from frontmind.server.answers import NO_STORE, SECURITY_HEADERS, problem_reply
from frontmind.server.dependencies import SLASH
from frontmind.server.errors import Problem
from frontmind.server.identity import Access
from frontmind.server.limits import Buckets, Limits, Places

SESSION_COOKIE: Final = "frontmind_session"
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_READS_ONLY: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_FREE: Final = frozenset({"/", "/api/health", "/api/login", "/openapi.json"})
_FREE_FOLDER: Final = "/page/"
_APIS: Final = ("/api/", "/v1/")


@dataclass(frozen=True, slots=True)
class Guards:
    """What a server lets in.

    Attributes:
        access: who may use it.
        limits: how much.
        hosts: the names that it goes by beside those of loopback and the addresses that it listens on, in lower case.
        timer: seconds from an arbitrary start.
    """

    access: Access
    limits: Limits = field(default_factory=Limits)
    hosts: frozenset[str] = frozenset()
    timer: Callable[[], float] = time.monotonic

    def rates(self) -> Buckets:
        """How many requests are taken."""
        return Buckets(self.limits.burst, self.limits.per_second, timer=self.timer)


class SecurityHeaders:
    """Adds what every reply says to a browser."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(("/api", "/v1")):
                    headers["Cache-Control"] = NO_STORE
            await send(message)

        await self._app(scope, receive, send_with_headers)


class Gate:
    """Lets a request in, with who is asking in its state, or answers what is wrong with it."""

    def __init__(self, app: ASGIApp, guards: Guards) -> None:
        self._app = app
        self._access = guards.access
        self._hosts = guards.hosts
        self._rates = guards.rates()
        self._streams = Places(guards.limits.streams_of_one, "event streams")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope["path"] = _path(scope)
            headers = Headers(scope=scope)
            self._check_host(headers, scope)
            _check_origin(headers, scope)
            await self._identify(headers, scope)
        except (Problem, FrontmindError) as error:
            await problem_reply(scope, error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check_host(self, headers: Headers, scope: Scope) -> None:
        name = host_name(headers.get("host", ""))
        if name in LOOPBACK_NAMES or name in self._hosts or (name and name == _own_address(scope)):
            return
        raise Problem(
            421,
            "forbidden_host",
            "this server does not go by that name; use the address that it printed, or start it with --allow-host",
        )

    async def _identify(self, headers: Headers, scope: Scope) -> None:
        state, address = scope.setdefault("state", {}), client_address(scope)
        key = key_of(headers)
        if is_free(scope["path"]) or not key or not await self._access.look():
            self._count(f"address {address}")
        if is_free(scope["path"]):
            return
        person = await self._access.person_of(key, address=address)
        if person.owner:
            self._count(f"person {person.owner}")
        state["person"] = person
        state["holds"] = lambda: self._access.holds(key)
        state["streams"] = self._streams

    def _count(self, name: str) -> None:
        if seconds := math.ceil(self._rates.take(name)):
            after = {"Retry-After": str(seconds)}
            raise Problem(429, "rate_limited", f"too many requests; try again in {seconds} s", headers=after)


def is_free(path: str) -> bool:
    """Whether the path needs no key."""
    return path in _FREE or path.startswith(_FREE_FOLDER)


def key_of(headers: Headers) -> str:
    """The key that a request carries, in one of the ways of the APIs or in the page's cookie; empty for none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key", "").strip() or session_key(headers)


def session_key(headers: Headers) -> str:
    """The key in the page's cookie; empty for none."""
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(SESSION_COOKIE)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


def host_name(host: str) -> str:
    """The name in a Host header, in lower case and without the port; empty where it cannot be read."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def allowed_hosts(names: Sequence[str]) -> frozenset[str]:
    """The names that a person allows, as they are compared."""
    return frozenset(host_name(name) for name in names) - {""}


def _path(scope: Scope) -> str:
    """The path with its names as they were meant: a slash that was percent-encoded is told from one that was not.

    Raises:
        Problem: it has other control characters, or is not UTF-8.
    """
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    try:
        decoded = "/".join(
            unquote(part, errors="strict").replace("/", SLASH) for part in raw.decode("ascii").split("/")
        )
    except UnicodeDecodeError:
        raise _not_found() from None
    if any(character < " " or "\x7f" <= character < "\xa0" for character in decoded.replace(SLASH, "/")):
        raise _not_found()
    if SLASH.encode() in raw or "%1f" in raw.decode("ascii").lower():
        raise _not_found()
    return decoded


def _not_found() -> Problem:
    return Problem(404, "not_found", "there is no such path")


def _own_address(scope: Scope) -> str:
    """The address on which the request came in. Only an address: a name proves nothing."""
    server = scope.get("server")
    try:
        return str(ip_address(server[0])) if server else ""
    except ValueError:
        return ""


def _check_origin(headers: Headers, scope: Scope) -> None:
    # A page of somebody else's in the person's browser must reach nothing, and read nothing.
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    if origin is not None and not _is_own(origin, headers.get("host", "")):
        raise _forbidden_origin()
    # A link to the page may stand anywhere; what reading changes, such as reminders that are told, is no page.
    is_page = scope["method"] in _READS_ONLY and not scope["path"].startswith(_APIS)
    if site not in ("none", "same-origin") and not is_page:
        raise _forbidden_origin()


def _is_own(origin: str, host: str) -> bool:
    scheme, _, place = origin.lower().partition("://")
    return scheme in ("http", "https") and place == host.lower()


def _forbidden_origin() -> Problem:
    return Problem(403, "forbidden_origin", "pages of other addresses cannot use this server")


def client_address(scope: Scope) -> str:
    """Where the request comes from; empty where nobody knows."""
    client = scope.get("client")
    return str(client[0]) if client else ""
