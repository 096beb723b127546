"""Functions as tools: `tool` makes one of any function with types and a docstring.

The types become the JSON schema and check what the model passes; nothing is coerced. Knows nothing of conversations.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, overload

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from frontmind.errors import RunError, UsageError
from frontmind.tools.schema import describe, explain
from frontmind.tools.threads import ToolThreads
from frontmind.tools.tool import DEFAULT_TIME_LIMIT, InvalidArguments, ToolOutput
from frontmind.values.harmless import one_line
from frontmind.values.tool import Tool
from frontmind.window.canonical import Json, canonical_text

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SUMMARY_LIMIT = 200
"""The most characters of a tool's summary."""


@dataclass(frozen=True, slots=True)
class FunctionTool(Generic[P, R]):
    """A function that a model can call; still to be called as the function that it is.

    Attributes:
        function: what is called. A plain function runs in a thread of its own, so that it may block.
        definition: its name, its docstring without the arguments, and the JSON schema of its arguments.
        time_limit: how long a call may take, in seconds.
        summary: what it is for, in one line.
        arguments: checks what the model passes.
    """

    function: Callable[P, R]
    definition: Tool
    time_limit: float
    summary: str
    arguments: type[BaseModel]
    _threads: ToolThreads = field(default_factory=ToolThreads, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name that the model calls."""
        return self.definition.name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    async def run(self, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call the function with what the model passed.

        A text or `ToolOutput` is given back as it is, None as "Done.", anything else as canonical JSON.

        Raises:
            InvalidArguments: the arguments do not fit the schema; the function was not called.
            ToolError: too many earlier calls hang; the function was not called.
            Exception: what the function raised.
        """
        function: Callable[..., Any] = self.function
        passed = self._check(arguments)
        if inspect.iscoroutinefunction(function):
            return _output(await function(**passed))
        return await self._threads.run(lambda: _output(self._call(function, passed)), self.name)

    def _call(self, function: Callable[..., Any], passed: Mapping[str, Any]) -> object:
        result: object = function(**passed)
        if inspect.iscoroutine(result):
            result.close()
            raise RunError(f"{self.name} returned a coroutine; declare it with async def")
        return result

    def _check(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        text = json.dumps(arguments, ensure_ascii=False)
        # Half a surrogate pair is not text; halves that belong together are the character that they stand for.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        fields = self.arguments.model_fields
        names = {name: field.alias or name for name, field in fields.items()}
        try:
            # Read as JSON, a date may be a text, and yet no text a number.
            checked = self.arguments.model_validate_json(text, strict=True)
        except ValidationError as error:
            reason = explain(error, names.values())
            raise InvalidArguments(one_line(f"{self.name} was not called: {reason}", 500)) from error
        return {names[name]: getattr(checked, name) for name in fields}


def _output(value: object) -> ToolOutput:
    if isinstance(value, ToolOutput):
        return value
    if isinstance(value, str):
        return ToolOutput(str.__str__(value))
    if value is None:
        return ToolOutput("Done.")
    return ToolOutput(canonical_text(to_jsonable_python(value)))


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    function: Callable[P, R], /, *, name: str | None = ..., time_limit: float = ..., summary: str | None = ...
) -> FunctionTool[P, R]: ...


@overload
def tool(
    *, name: str | None = ..., time_limit: float = ..., summary: str | None = ...
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    time_limit: float = DEFAULT_TIME_LIMIT,
    summary: str | None = None,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a function; as a decorator bare or with arguments.

    What the model is told is the docstring (Google's style) and the types. A parameter is described in the
    docstring's ``Args:``, or by ``Annotated[int, "how many"]`` or ``Annotated[int, Field(description="how many")]``.

    Args:
        function: plain or ``async def``; each parameter has a type.
        name: what the model calls it; the function's own name without it.
        time_limit: how long a call may take, in seconds.
        summary: what it is for, in one line; the docstring's first line without it.

    Raises:
        UsageError: no tool can be made of it; the error says what is missing.
    """

    def make(function: Callable[P, R]) -> FunctionTool[P, R]:
        own = name or str(getattr(function, "__name__", ""))
        if not _NAME.fullmatch(own):
            raise UsageError(f"{own!r} cannot be the name of a tool; use 1 to 64 letters, digits, _ and -")
        if time_limit <= 0:
            raise UsageError(f"the time limit of {own!r} is {time_limit:g} s; give it more than none")
        described = describe(function, own)
        return FunctionTool(
            function=function,
            definition=Tool(own, parameters=described.schema, description=described.description),
            time_limit=time_limit,
            summary=one_line(summary or described.description.partition("\n")[0], SUMMARY_LIMIT),
            arguments=described.arguments,
        )

    return make if function is None else make(function)
