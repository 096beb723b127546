"""What can be done from the conversation: full guides for some capabilities, one line for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.markup import Element


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


class ToolHintsTrinket(EventAwareTrinket):
    """A line for each capability that has no guide, sorted by name."""

    section_name = "tool_hints"
    cache_policy = True

    def __init__(self, tools: Sequence[ToolDescription]) -> None:
        self._tools = tuple(sorted(tools, key=lambda tool: tool.name))

    async def generate_content(self, context: TurnContext) -> str:
        return "\n".join(f"{tool.name}: {tool.hint}" for tool in self._tools if not tool.guide)
