"""The tools of one conversation: those that are always told of, and those that are loaded when they are needed.

What the model is told of in the ``tools`` part of a request never changes, since every change of it would throw the
whole prompt cache away. A loadable tool is a line among the hints; its full guide arrives as a tool's result, and the
tool is loaded as long as that result stands in the window.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from frontmind.errors import ToolError, UsageError
from frontmind.tools.function import SUMMARY_LIMIT, tool
from frontmind.tools.tool import DEFAULT_TIME_LIMIT, InvalidArguments, RunnableTool, ToolOutput
from frontmind.values.harmless import one_line
from frontmind.values.message import Message
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.tool import Tool
from frontmind.window.canonical import Json, canonical_text, parse_json

LOAD_TOOL = "load_tool"
USE_TOOL = "use_tool"
_NAMES_SHOWN = 20
_SCHEMA_FOLLOWS = "Arguments, as a JSON schema:"
_USE_TOOL = Tool(
    USE_TOOL,
    description=(
        "Run a tool of the tool hints, once load_tool has shown its guide.\n\n"
        "The result is that of the tool. Never guess a tool's arguments: its guide says what they are."
    ),
    parameters=canonical_text(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The tool's name, as the hints have it."},
                "arguments": {"type": "object", "description": "The tool's arguments, as its guide has them."},
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
    ),
)


class Toolbox:
    """The tools of one conversation, and which of them are loaded.

    Args:
        resident: told of in every request.
        loadable: told of in one line each; run through ``use_tool`` after ``load_tool``.
        loading: whether the two exist; they do without this when anything is loadable. Say so for a conversation to
            which loadable tools may come later: what the model is told of cannot change then.

    Raises:
        UsageError: two tools have one name.
    """

    def __init__(
        self,
        resident: Iterable[RunnableTool] = (),
        loadable: Iterable[RunnableTool] = (),
        *,
        loading: bool | None = None,
    ) -> None:
        self._resident: dict[str, RunnableTool] = {}
        self._loadable: dict[str, RunnableTool] = {}
        self._loaded: set[str] = set()
        waiting = tuple(loadable)
        self._loading = bool(waiting) if loading is None else loading
        built_in: tuple[RunnableTool, ...] = (tool(self.load, name=LOAD_TOOL), _UseTool(self)) if self._loading else ()
        for one in (*built_in, *resident):
            self._require_new(one)
            self._resident[one.name] = one
        self._definitions = tuple(self._resident[name].definition for name in sorted(self._resident))
        self.add_loadable(*waiting)

    @property
    def definitions(self) -> tuple[Tool, ...]:
        """What the model is told of, sorted by name; the same in the whole life of the conversation."""
        return self._definitions

    @property
    def hints(self) -> tuple[tuple[str, str], ...]:
        """Name and summary of each loadable tool, sorted by name. The summaries may be words of others."""
        return tuple((name, one_line(self._loadable[name].summary, SUMMARY_LIMIT)) for name in sorted(self._loadable))

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of the loaded tools, sorted."""
        return tuple(sorted(self._loaded))

    def get(self, name: str, /) -> RunnableTool | None:
        """The tool that a call of this name means, for a `ToolRunner`.

        Some models call a loaded tool by its own name; that is taken for ``use_tool``.
        """
        if name in self._resident:
            return self._resident[name]
        return _Guided(self._loadable[name], self) if name in self._loadable else None

    def add_loadable(self, *tools: RunnableTool) -> None:
        """Add tools, such as those of a server that has come.

        Raises:
            UsageError: a name is taken, or the conversation began without loadable tools. None of them is added.
        """
        if tools and not self._loading:
            raise UsageError("this conversation began without loadable tools; make its Toolbox with loading=True")
        added: dict[str, RunnableTool] = {}
        for one in tools:
            self._require_new(one, added)
            added[one.name] = one
        self._loadable |= added

    def remove(self, *names: str) -> None:
        """Remove loadable tools, such as those of a server that has gone; other names are ignored."""
        for name in names:
            self._loadable.pop(name, None)
            self._loaded.discard(name)

    def see(self, messages: Iterable[Message]) -> None:
        """Take for loaded exactly the tools whose guides stand in these messages; call it at the beginning of a turn.

        So a restart forgets nothing, and a tool whose guide has left the window with its turn is unloaded: its next
        use shows the guide again.

        Args:
            messages: those of the window, with the calls and their results.
        """
        if not self._loadable:
            return
        calls: dict[str, str] = {}
        seen: set[str] = set()
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    if (name := self._meant(part)) is not None:
                        calls[part.id] = name
                elif isinstance(part, ToolResult) and part.call_id in calls and _SCHEMA_FOLLOWS in part.text:
                    seen.add(calls[part.call_id])
        self._loaded = seen

    def _meant(self, call: ToolCall) -> str | None:
        """The loadable tool whose guide may stand in the result of the call."""
        name: object = call.name
        if call.name in (LOAD_TOOL, USE_TOOL):
            try:
                arguments = parse_json(call.arguments)
            except ValueError:
                return None
            name = arguments.get("name") if isinstance(arguments, dict) else None
        return name if isinstance(name, str) and name in self._loadable else None

    async def load(self, name: str) -> str:
        """Show the full guide of a tool from the tool hints, so that use_tool can run it.

        Args:
            name: The tool's name, as the hints have it.
        """
        found = self.find(name)
        self._loaded.add(name)
        return guide(found)

    def find(self, name: str) -> RunnableTool:
        """The loadable tool of that name.

        Raises:
            ToolError: there is none; the text says which there are.
        """
        if (found := self._loadable.get(name)) is not None:
            return found
        if name in self._resident:
            raise ToolError(f"{name} is always there; call it directly")
        names = sorted(self._loadable)
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        there = ", ".join(names[:_NAMES_SHOWN]) + more if names else "none at present"
        raise ToolError(f"there is no tool {one_line(name, 80)!r} to load; those that can be loaded: {there}")

    def require_loaded(self, found: RunnableTool) -> None:
        """Let only a loaded tool pass. The error shows the guide, and with that the tool is loaded.

        Raises:
            InvalidArguments: it is not loaded.
        """
        if found.name not in self._loaded:
            self._loaded.add(found.name)
            raise InvalidArguments(f"{found.name} was not loaded and did not run; now it is, so use it by its guide")

    def _require_new(self, one: RunnableTool, added: Mapping[str, RunnableTool] | None = None) -> None:
        other = self._resident.get(one.name) or self._loadable.get(one.name) or (added or {}).get(one.name)
        if other is not None:
            first, second = one_line(other.summary, 80), one_line(one.summary, 80)
            raise UsageError(
                f"two tools have the name {one.name!r} ({first!r} and {second!r}); give one of them another name"
            )


def guide(found: RunnableTool) -> str:
    """All that can be said of a tool: its description and the JSON schema of its arguments, to be read."""
    definition = found.definition
    schema = json.dumps(parse_json(definition.parameters), ensure_ascii=False, indent=2, sort_keys=True)
    described = definition.description or found.summary
    return f"{definition.name}\n\n{described}\n\n{_SCHEMA_FOLLOWS}\n{schema}"


@dataclass(frozen=True, slots=True)
class _Guided:
    """A loadable tool whose errors of use show its guide."""

    tool: RunnableTool
    toolbox: Toolbox

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def definition(self) -> Tool:
        return self.tool.definition

    @property
    def time_limit(self) -> float:
        return self.tool.time_limit

    @property
    def summary(self) -> str:
        return self.tool.summary

    async def run(self, arguments: Mapping[str, Json]) -> ToolOutput:
        try:
            self.toolbox.require_loaded(self.tool)
            return await self.tool.run(arguments)
        except InvalidArguments as error:
            raise InvalidArguments(f"{error}\n\n{guide(self.tool)}") from error


@dataclass(frozen=True, slots=True)
class _UseTool:
    """Runs a loadable tool in its place, within that tool's time limit."""

    toolbox: Toolbox
    name: str = USE_TOOL
    definition: Tool = _USE_TOOL
    time_limit: float = DEFAULT_TIME_LIMIT
    summary: str = "run a loaded tool"

    def target(self, arguments: Mapping[str, Json]) -> tuple[RunnableTool, Mapping[str, Json]]:
        name, passed = arguments.get("name"), arguments.get("arguments", {})
        if not isinstance(name, str):
            raise InvalidArguments(f"{USE_TOOL} was not called: the argument 'name' must be the name of a tool")
        found = _Guided(self.toolbox.find(name), self.toolbox)
        # Some models write an object inside an object as its JSON text.
        if isinstance(passed, str):
            try:
                passed = parse_json(passed)
            except ValueError:
                passed = None
        if not isinstance(passed, Mapping):
            raise InvalidArguments(
                f"{name} was not called: the argument 'arguments' must be an object\n\n{guide(found.tool)}"
            )
        return found, passed

    async def run(self, arguments: Mapping[str, Json]) -> ToolOutput:
        found, passed = self.target(arguments)
        return await found.run(passed)
