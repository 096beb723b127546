"""The connection to one MCP server: opened, lost, opened again, closed.

The SDK's connection must be closed by the task that opened it, so each has a task of its own. Knows nothing of
conversations, and not of what a result means.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from pydantic import ValidationError

from frontmind.errors import RunError, ToolError, UsageError
from frontmind.tools.tool import DEFAULT_TIME_LIMIT, InvalidArguments
from frontmind.values.harmless import one_line

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import Transport
    from mcp_types import CallToolResult
    from mcp_types import Tool as McpToolInfo

logger = logging.getLogger(__name__)

OPENING_SECONDS = 10.0
"""How long a server may take to start and to list its tools."""

_CLOSING_SECONDS = 8.0
_MOST_PAGES = 100
# No name ends in `_` or has `__`, so that the first `__` of a tool's full name always ends the server's.
_NAME = re.compile(r"(?=.{1,32}\Z)[a-zA-Z0-9-]+(?:_[a-zA-Z0-9-]+)*")


@dataclass(frozen=True)
class McpServer:
    """An MCP server as the settings name it.

    Attributes:
        name: the prefix of its tools' names.
        command: the program with its arguments, to be talked to over its standard input and output.
        env: environment variables for it, beside the few that every program gets.
        url: where it is reached over streamable HTTP, in place of a command.
        headers: HTTP headers for it.
        time_limit: how long a call may take, in seconds.

    Raises:
        UsageError: the name cannot be used, or there is not exactly one of command and URL.
    """

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    time_limit: float = DEFAULT_TIME_LIMIT

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{one_line(self.name, 80)!r} cannot name an MCP server; use up to 32 letters, digits and - or single _"
            )
        if bool(self.command) == bool(self.url):
            raise UsageError(f"the MCP server {self.name!r} needs either a command or a url")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise UsageError(f"the url of the MCP server {self.name!r} must begin with https:// or http://")
        if self.headers and not self.url:
            raise UsageError(f"the MCP server {self.name!r} has headers, but no url to send them to")
        if self.env and not self.command:
            raise UsageError(f"the MCP server {self.name!r} has an env, but no command to run in it")
        if not self.time_limit > 0:
            raise UsageError(f"the time limit of the MCP server {self.name!r} must be more than 0 seconds")


class McpConnection:
    """One server, connected when it is needed."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._last_words = _LastWords(server.name)

    async def open(self) -> tuple[McpToolInfo, ...]:
        """Connect, and list the server's tools.

        Raises:
            RunError: the server does not start or does not answer within `OPENING_SECONDS`; the text is the reason.
        """
        await self.close()
        self._stop = asyncio.Event()
        ready: asyncio.Future[tuple[Client, tuple[McpToolInfo, ...]]] = asyncio.get_running_loop().create_future()
        owner = self._owner = asyncio.ensure_future(self._own(ready, self._stop))
        # Nobody else asks how a connection ended that was open once.
        owner.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            either: set[asyncio.Future[Any]] = {owner, ready}
            await asyncio.wait(either, timeout=OPENING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if ready.done() and not owner.done():
                self._client, tools = ready.result()
                return tools
            in_time = owner.done()
        finally:
            if self._client is None and owner.cancel():
                await asyncio.wait({owner}, timeout=_CLOSING_SECONDS)
        reason = self._reason(owner) if in_time else f"no answer within {OPENING_SECONDS:g} s"
        raise RunError(f"{reason}{self._last_words}")

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool of the server, after connecting again where the connection was lost.

        Raises:
            ToolError: the server cannot be reached, was lost, or refused the call.
            pydantic.ValidationError: what it answered is not MCP.
        """
        from mcp import MCPError  # noqa: PLC0415 - optional dependency
        from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, INVALID_REQUEST  # noqa: PLC0415 - optional dependency

        client = await self._connected()
        try:
            return await client.call_tool(tool, dict(arguments))
        except MCPError as error:
            reason = one_line(error.message)
            # A server that was started again no longer knows the session, and calls the request invalid.
            if error.code in (CONNECTION_CLOSED, INVALID_REQUEST):
                self._lose(client)
                raise ToolError(
                    f"the connection to the MCP server {self.server.name!r} was lost ({reason}); it is not known "
                    "whether the call took effect; the next call connects again"
                ) from error
            if error.code == INVALID_PARAMS:
                raise InvalidArguments(f"the MCP server {self.server.name!r} refused the call: {reason}") from error
            raise ToolError(f"the MCP server {self.server.name!r} could not carry out the call: {reason}") from error

    async def close(self) -> None:
        """End the connection and the server's process, within some seconds."""
        self._stop.set()
        self._client = None
        owner, self._owner = self._owner, None
        if owner is not None:
            await asyncio.wait({owner}, timeout=_CLOSING_SECONDS)
            owner.cancel()

    async def _connected(self) -> Client:
        async with self._lock:
            if self._client is None or self._owner is None or self._owner.done():
                try:
                    await self.open()
                except RunError as error:
                    raise ToolError(
                        f"the MCP server {self.server.name!r} cannot be reached ({error}); the next call tries again"
                    ) from error
            assert self._client is not None
            return self._client

    def _lose(self, client: Client) -> None:
        # Another call may have connected again already.
        if self._client is client:
            self._client = None

    async def _own(self, ready: asyncio.Future[tuple[Client, tuple[McpToolInfo, ...]]], stop: asyncio.Event) -> None:
        from mcp import Client  # noqa: PLC0415 - optional dependency

        async with Client(self._transport()) as client:
            tools: list[McpToolInfo] = []
            page = await client.list_tools()
            tools += page.tools
            for _ in range(_MOST_PAGES):
                if page.next_cursor is None:
                    break
                page = await client.list_tools(cursor=page.next_cursor)
                tools += page.tools
            if not ready.done():
                ready.set_result((client, tuple(tools)))
            await stop.wait()

    def _transport(self) -> Transport:
        return _over_stdio(self.server, self._last_words) if self.server.command else _over_http(self.server)

    def _reason(self, owner: asyncio.Task[None]) -> str:
        error: BaseException | None = None if owner.cancelled() else owner.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            return one_line(f"it sent what is not MCP ({error.title}: {where}: {first['msg']})")
        if isinstance(error, OSError) and error.strerror and error.filename:
            return one_line(f"{error.strerror}: {error.filename}")
        return one_line(str(error) or type(error).__name__) if error is not None else "it ended"


@asynccontextmanager
async def _over_stdio(server: McpServer, last_words: _LastWords) -> AsyncIterator[Any]:
    from mcp import StdioServerParameters, stdio_client  # noqa: PLC0415 - optional dependency

    program, *arguments = server.command
    with last_words.heard() as errors:
        parameters = StdioServerParameters(command=program, args=arguments, env=dict(server.env))
        async with stdio_client(parameters, errlog=errors) as streams:
            yield streams


@asynccontextmanager
async def _over_http(server: McpServer) -> AsyncIterator[Any]:
    import httpx2  # noqa: PLC0415 - optional dependency
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - optional dependency

    # A server may hold the stream of a response open while it works.
    timeout = httpx2.Timeout(OPENING_SECONDS, read=max(server.time_limit, OPENING_SECONDS) + 1)
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


class _LastWords:
    """What a server says on its standard error: kept out of the terminal, and its last line for the reason it died."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: deque[str] = deque(maxlen=1)

    def __str__(self) -> str:
        return f"; it said: {one_line(self._lines[0])}" if self._lines else ""

    @contextmanager
    def heard(self) -> Iterator[TextIO]:
        """A file for the server to write to."""
        self._lines.clear()
        reading, writing = os.pipe()
        threading.Thread(target=self._read, args=(reading,), name=f"frontmind-mcp-{self._name}", daemon=True).start()
        with os.fdopen(writing, "w", encoding="utf-8") as file:
            yield file

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, encoding="utf-8", errors="replace") as file:
            # Bounded, since a server may never end its line.
            while line := file.readline(4096):
                if line.strip():
                    self._lines.append(line)
                    logger.debug("the MCP server %s: %s", self._name, line.rstrip())
