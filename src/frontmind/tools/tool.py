"""What a tool is to those who run it. Knows neither how one is written nor who calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from frontmind.errors import ToolError
from frontmind.values.parts import Document, Image
from frontmind.values.tool import Tool
from frontmind.window.canonical import Json

DEFAULT_TIME_LIMIT = 30.0
"""How long a tool may take when nobody says otherwise, in seconds."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back, as it is; whoever runs it makes it fit and harmless.

    Attributes:
        text: what it says to the model.
        is_error: whether it says that something went wrong.
        attachments: pictures and files for the model.
    """

    text: str
    is_error: bool = False
    attachments: tuple[Image | Document, ...] = ()


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's schema; nothing was done."""


class RunnableTool(Protocol):
    """A tool that can be run. It may be asked to run while another call of it still runs."""

    @property
    def name(self) -> str:
        """The name that the model calls."""
        ...

    @property
    def definition(self) -> Tool:
        """What the model is told of it; the same as long as the tool lives."""
        ...

    @property
    def time_limit(self) -> float:
        """How long `run` may take, in seconds."""
        ...

    @property
    def summary(self) -> str:
        """What it is for, in one line."""
        ...

    async def run(self, arguments: Mapping[str, Json]) -> ToolOutput:
        """Do it. Cancelled at the time limit.

        Raises:
            ToolError: with what the model should be told. Anything else is a failure of the tool itself.
        """
        ...


@runtime_checkable
class DelegatingTool(Protocol):
    """A tool that stands for another one, whose time limit then holds."""

    def target(self, arguments: Mapping[str, Json]) -> tuple[RunnableTool, Mapping[str, Json]]:
        """The tool to run in its place, and the arguments for it.

        Raises:
            ToolError: with what the model should be told.
        """
        ...


class ToolLookup(Protocol):
    """Finds a tool by its name, as a dict of tools does."""

    def get(self, name: str, /) -> RunnableTool | None: ...
