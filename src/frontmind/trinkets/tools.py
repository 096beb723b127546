"""What can be done from the conversation: full guides for some capabilities, one line for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.budget import fits, shortened
from frontmind.trinkets.markup import Body, Element
from frontmind.values.harmless import one_line

_LOADABLE: Final = " (load_tool shows how)"
_LENGTHS: Final = (100, 60, 30)
"""To how many characters hints are shortened, one after the other, before only the names are left."""


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A capability as the model should know it.

    Attributes:
        name: unique, and the key it is sorted by.
        hint: one line.
        guide: how it is used, when that needs more than a line; empty otherwise.
    """

    name: str
    hint: str
    guide: str = ""


class ToolGuidanceTrinket(EventAwareTrinket):
    """The guides, sorted by name."""

    section_name = "tool_guidance"
    cache_policy = True

    def __init__(self, tools: Sequence[ToolDescription]) -> None:
        self._tools = tuple(sorted(tools, key=lambda tool: tool.name))

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        return [Element("guide", tool.guide, {"name": tool.name}) for tool in self._tools if tool.guide]


class HintSource(Protocol):
    @property
    def hints(self) -> Sequence[tuple[str, str]]:
        """Name and summary of each tool that can be loaded, sorted by name."""
        ...


class ToolHintsTrinket(EventAwareTrinket):
    """A line for each capability that has no guide, then one for each tool that can be loaded, sorted by name."""

    section_name = "tool_hints"
    cache_policy = True
    token_budget = 4000

    def __init__(self, tools: Sequence[ToolDescription], loadable: HintSource | None = None) -> None:
        self._tools = tuple(sorted(tools, key=lambda tool: tool.name))
        self._loadable = loadable

    async def generate_content(self, context: TurnContext) -> str:
        lines = [f"{tool.name}: {tool.hint}" for tool in self._tools if not tool.guide]
        hints = self._loadable.hints if self._loadable is not None else ()
        return "\n".join([*lines, *(f"{name}: {summary}{_LOADABLE}" for name, summary in hints)])

    def shorten(self, body: Body, budget: int) -> Body:
        """Each hint is shortened, then only the names are left: what is not named cannot be found."""
        if not isinstance(body, str):
            return shortened(body, budget)
        lines = [line for line in body.split("\n") if line]
        told = [line for line in lines if not line.endswith(_LOADABLE)]
        loadable = [line.removesuffix(_LOADABLE) for line in lines if line.endswith(_LOADABLE)]
        for length in _LENGTHS:
            shorter = _in_groups([_cut(line, length) for line in told], [_cut(line, length) for line in loadable], "\n")
            if fits(shorter, budget):
                return shorter
        return _in_groups([_name(line) for line in told], [_name(line) for line in loadable], ", ")


def _in_groups(told: Sequence[str], loadable: Sequence[str], separator: str) -> str:
    groups = [separator.join(told)] if told else []
    if loadable:
        groups.append("load_tool shows how to use each of these:\n" + separator.join(loadable))
    return "\n".join(groups)


def _name(line: str) -> str:
    return line.partition(": ")[0]


def _cut(line: str, length: int) -> str:
    name, _, hint = line.partition(": ")
    return f"{name}: {one_line(hint, length)}"
