"""Tools of MCP servers, over stdio and streamable HTTP, through the official SDK.

A server that does not start, or that ends later, never ends the conversation: its tools say so. Their names,
descriptions and results are words of others.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frontmind.errors import RunError, UsageError
from frontmind.tools.function import SUMMARY_LIMIT
from frontmind.tools.mcp_connection import McpConnection, McpServer
from frontmind.tools.mcp_results import first_line, tool_output
from frontmind.tools.results import clean
from frontmind.tools.tool import RunnableTool, ToolOutput
from frontmind.values.harmless import one_line
from frontmind.values.tool import Tool
from frontmind.window.canonical import Json, canonical_text

if TYPE_CHECKING:
    from mcp_types import Tool as McpToolInfo

__all__ = ["McpServer", "McpTool", "open_mcp_tools"]

_NAME_LIMIT = 64
_DESCRIPTION_LIMIT = 8_000
_NOT_IN_A_NAME = re.compile("[^a-zA-Z0-9_-]")
_SDK_LOGGERS = ("mcp", "client")


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of an MCP server.

    Attributes:
        definition: under the name that the model calls.
        summary: what it is for, in one line, in the server's words.
        remote_name: what the server calls it.
        connection: the way to the server.
    """

    definition: Tool
    summary: str
    remote_name: str
    connection: McpConnection

    @property
    def name(self) -> str:
        """The name that the model calls."""
        return self.definition.name

    @property
    def time_limit(self) -> float:
        """How long a call may take, connecting included, in seconds."""
        return self.connection.server.time_limit

    async def run(self, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call it on the server, after connecting again where the connection was lost.

        Raises:
            ToolError: the server cannot be reached, was lost, or refused the call.
        """
        return tool_output(await self.connection.call(self.remote_name, arguments))


@asynccontextmanager
async def open_mcp_tools(
    servers: Iterable[McpServer], *, announce: Callable[[str], None]
) -> AsyncIterator[list[RunnableTool]]:
    """The tools of all servers, sorted by name, for as long as the context is open.

    The servers start at the same time, each within ten seconds; when the context ends, so do they.

    Args:
        servers: no two of one name.
        announce: is told in one line of each server that does not start; its tools are missing then.

    Raises:
        UsageError: two servers have one name, or the SDK is not installed.
    """
    connections = [McpConnection(server) for server in servers]
    names = [connection.server.name for connection in connections]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two MCP servers have the name {twice[0]!r}; give one of them another name")
    if connections:
        _require_sdk()
    try:
        with _quiet_sdk():
            found = await asyncio.gather(*(_open(connection) for connection in connections))
            tools: dict[str, RunnableTool] = {}
            for opened in found:
                if isinstance(opened, str):
                    announce(opened)
                else:
                    tools |= {tool.name: tool for tool in opened}
            yield [tools[name] for name in sorted(tools)]
    finally:
        await asyncio.gather(*(connection.close() for connection in connections))


def _require_sdk() -> None:
    try:
        import mcp  # noqa: F401, PLC0415 - optional dependency; only whether it is there
    except ImportError as error:
        raise UsageError("MCP servers need a package that is not installed: pip install 'frontmind[mcp]'") from error


@contextmanager
def _quiet_sdk() -> Iterator[None]:
    """What the SDK logs, such as a server's line that is not MCP, goes to whoever set up logging, or nowhere.

    Without any handler Python would write it to the terminal, in the middle of a reply.
    """
    nowhere = logging.NullHandler()
    for name in _SDK_LOGGERS:
        logging.getLogger(name).addHandler(nowhere)
    try:
        yield
    finally:
        for name in _SDK_LOGGERS:
            logging.getLogger(name).removeHandler(nowhere)


async def _open(connection: McpConnection) -> list[McpTool] | str:
    """The server's tools, or a line that says why there are none."""
    try:
        return [_tool(connection, info) for info in await connection.open()]
    except (RunError, ValueError) as error:
        reason = one_line(str(error))
        return f"the MCP server {connection.server.name!r} is not there ({reason}); its tools are missing"


def _tool(connection: McpConnection, info: McpToolInfo) -> McpTool:
    described = inspect.cleandoc(clean(info.description or ""))[:_DESCRIPTION_LIMIT]
    title = info.annotations.title if info.annotations is not None else None
    return McpTool(
        definition=Tool(
            tool_name(connection.server.name, info.name),
            parameters=canonical_text({**info.input_schema, "type": "object"}),
            description=described or None,
        ),
        summary=one_line(first_line((described, info.title, title, info.name)), SUMMARY_LIMIT),
        remote_name=info.name,
        connection=connection,
    )


def tool_name(server: str, tool: str) -> str:
    """``server__tool`` as providers take it: 64 letters, digits, ``_`` and ``-``.

    Where something had to be left out, a digest of the whole keeps two names apart.
    """
    whole = f"{server}__{tool}"
    name = _NOT_IN_A_NAME.sub("_", whole)
    if name == whole and len(name) <= _NAME_LIMIT:
        return name
    mark = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{name[: _NAME_LIMIT - 7]}_{mark}"
