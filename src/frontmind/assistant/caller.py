"""A program that talks to the assistant for its person, with instructions and tools of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from frontmind.errors import UsageError
from frontmind.values.harmless import one_line
from frontmind.values.tool import AnyTool, Tool
from frontmind.window.canonical import parse_json

# What every provider takes, and gives back as it was told.
_NAME: Final = re.compile("[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Caller:
    """What a program brings along.

    Attributes:
        instructions: its own system prompt; it stands behind the assistant's persona.
        tools: what it can carry out itself. Where one has the name of a tool of the assistant, the program's own is
            told of in its place. The model's calls of them end the run; the turn goes on with the results.

    Raises:
        UsageError: the tools cannot be told of: a name that providers refuse, or that two have, or parameters that are
            no JSON object.
    """

    instructions: str = ""
    tools: tuple[Tool, ...] = ()

    def __post_init__(self) -> None:
        names: set[str] = set()
        for tool in self.tools:
            _require_usable(tool)
            if tool.name in names:
                raise UsageError(f"two tools are called {tool.name!r}; give each a name of its own")
            names.add(tool.name)

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of what it carries out."""
        return frozenset(tool.name for tool in self.tools)

    def persona_behind(self, persona: str) -> str:
        """The persona, and what the program says of the assistant behind it."""
        return f"{persona}\n\n{self.instructions}" if self.instructions.strip() else persona

    def tools_beside(self, tools: tuple[AnyTool, ...]) -> tuple[AnyTool, ...]:
        """Those of these tools that it does not hide with one of its own, and its own."""
        hidden = self.tool_names
        return (*(tool for tool in tools if tool.name not in hidden), *self.tools) if hidden else tools


NOBODY: Final = Caller()
"""No program: the person talks to the assistant as it is."""


def _require_usable(tool: Tool) -> None:
    if not _NAME.fullmatch(tool.name):
        raise UsageError(
            f"{one_line(tool.name, 80)!r} cannot be the name of a tool; take 1 to 64 of the characters a-z, A-Z, 0-9, "
            "_ and -"
        )
    try:
        is_object = isinstance(parse_json(tool.parameters), dict)
    except ValueError:
        is_object = False
    if not is_object:
        raise UsageError(f"the parameters of the tool {tool.name!r} are no JSON schema; pass a JSON object")
