"""Functions as tools: what the model is told of them, what is checked, and what comes back."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from frontmind.errors import RunError, UsageError
from frontmind.tools.function import FunctionTool, tool
from frontmind.tools.tool import InvalidArguments, RunnableTool, ToolOutput
from frontmind.values.parts import Image
from frontmind.window.canonical import canonical_text


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Place:
    title: str
    floor: int = 0


class Guest(BaseModel):
    name: str


@tool
def book(
    title: str,
    when: datetime,
    seats: Annotated[int, "how many seats", Field(ge=1, le=9)],
    place: Place | None = None,
    guests: list[Guest] = [],  # noqa: B006 - the schema must show it
    colour: Literal["red", "blue"] = "red",
    note: Annotated[str, Field(description="seen by the kitchen")] = "",
) -> str:
    """Book a table.

    Only in the evening.

    Args:
        title: under which name,
            as it will be called.
        when (datetime): the moment.
        note: not this one

    Returns:
        The number of the booking.
    """
    return f"{title} {when.isoformat()} {seats} {place} {guests} {colour} {note}"


VALID: dict[str, Any] = {"title": "Anna", "when": "2026-12-24T19:00:00+01:00", "seats": 2}


def schema_of(made: FunctionTool[..., Any]) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(made.definition.parameters)
    return schema


def test_the_definition_has_name_description_and_schema() -> None:
    assert book.name == book.definition.name == "book"
    assert book.definition.description == (
        "Book a table.\n\nOnly in the evening.\n\nReturns:\n    The number of the booking."
    )
    assert book.summary == "Book a table."
    assert book.time_limit == 30.0
    runnable: RunnableTool = book
    assert runnable.name == "book"
    schema = schema_of(book)
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["title", "when", "seats"]
    assert schema["properties"]["title"] == {
        "type": "string",
        "description": "under which name, as it will be called.",
    }
    assert schema["properties"]["when"]["description"] == "the moment."
    assert schema["properties"]["seats"] == {
        "type": "integer",
        "description": "how many seats",
        "minimum": 1,
        "maximum": 9,
    }
    assert schema["properties"]["note"]["description"] == "seen by the kitchen"
    assert schema["properties"]["colour"] == {"type": "string", "enum": ["red", "blue"], "default": "red"}


def test_the_schema_has_no_titles_but_keeps_an_argument_of_that_name() -> None:
    assert '"title":"' not in book.definition.parameters
    schema = schema_of(book)
    assert "title" in schema["properties"]
    assert "title" in schema["$defs"]["Place"]["properties"]


def written(source: str) -> Callable[..., Any]:
    """The function ``f`` of a module of this source; all such modules have the same name."""
    module: dict[str, Any] = {"__name__": "tools_of_a_plugin"}
    exec(compile("from __future__ import annotations\nfrom typing import *\n" + source, "plugin.py", "exec"), module)
    made: Callable[..., Any] = module["f"]
    return made


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Kind = Literal['a']\ndef f(x: Kind) -> str:\n    'Do.'",
            "Kind = Literal['b']\ndef f(x: Kind) -> str:\n    'Do.'",
        ),
        (
            "Kind = Literal['a', 'b']\ndef f(x: Kind) -> str:\n    'Do.'",
            "Kind = Literal['b', 'a']\ndef f(x: Kind) -> str:\n    'Do.'",
        ),
        (
            "def f(*, x: int = 1, y: int) -> str:\n    'Do.'",
            "def f(*, x: int, y: int = 1) -> str:\n    'Do.'",
        ),
    ],
    ids=["types", "order", "defaults"],
)
def test_functions_of_equal_code_have_each_the_schema_of_their_own_types(one: str, other: str) -> None:
    first, second = tool(written(one)), tool(written(other))
    assert first.definition.parameters != second.definition.parameters
    assert tool(written(other)).definition == second.definition
    assert tool(written(one)).definition == first.definition


def test_the_schema_is_canonical_json() -> None:
    assert book.definition.parameters == canonical_text(schema_of(book))


def test_the_schema_is_the_same_in_every_process() -> None:
    script = (
        "import sys, importlib.util as u\n"
        "spec = u.spec_from_file_location('tools_of_the_test', sys.argv[1])\n"
        "module = u.module_from_spec(spec); sys.modules[spec.name] = module; spec.loader.exec_module(module)\n"
        "sys.stdout.write(module.book.definition.parameters)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script, __file__],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "777")
    ]
    assert said == [book.definition.parameters] * 3


def test_arguments_with_the_names_of_model_attributes_are_fine() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @tool
        def odd(json: int, model_config: int, copy: int = 1, _hidden: int = 2) -> int:
            """Odd names."""
            return json + model_config + copy + _hidden

    assert set(schema_of(odd)["properties"]) == {"json", "model_config", "copy", "_hidden"}
    assert asyncio.run(odd.run({"json": 1, "model_config": 2, "_hidden": 4})).text == "8"


def test_a_default_that_json_cannot_say_is_left_out_of_the_schema() -> None:
    marker = object()

    def find(anything: Any = marker) -> bool:
        """Find it."""
        return anything is marker

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = tool(find)
    assert schema_of(made)["properties"] == {"anything": {}}
    assert asyncio.run(made.run({})).text == "true"


def test_it_is_still_the_function() -> None:
    assert book("Anna", datetime(2026, 12, 24, 19), 2) == "Anna 2026-12-24T19:00:00 2 None [] red "  # noqa: DTZ001


def test_name_limit_and_summary_can_be_given() -> None:
    @tool(name="ask-anna", time_limit=1.5, summary="asks\nAnna")
    async def ask(question: str) -> str:
        """Ask her."""
        return question

    assert (ask.name, ask.time_limit, ask.summary) == ("ask-anna", 1.5, "asks Anna")


def test_a_bound_method_is_a_tool() -> None:
    class Cellar:
        bottles = 3

        def count(self, kind: str) -> int:
            """Count the bottles."""
            return self.bottles

    made = tool(Cellar().count)
    assert list(schema_of(made)["properties"]) == ["kind"]
    assert asyncio.run(made.run({"kind": "red"})).text == "3"


def without_type(a, b: int) -> None:  # type: ignore[no-untyped-def]
    """Does it."""


def without_docstring(a: int) -> None: ...


def only_arguments(a: int) -> None:
    """
    Args:
        a: the number
    """


def any_number(*values: int) -> None:
    """Does it."""


def any_names(**values: int) -> None:
    """Does it."""


def by_place(a: int, /) -> None:
    """Does it."""


def of_the_unknown(a: threading.Lock) -> None:
    """Does it."""


def of_nothing(a: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Does it."""


def stale(a: int) -> None:
    """Does it.

    Args:
        b: was renamed
    """


def garbled(a: int) -> None:
    """Does it.

    Args:
        the number
    """


def with_a_set(a: frozenset[str] = frozenset({"x", "y"})) -> None:
    """Does it."""


def with_no_number(a: float = float("nan")) -> None:
    """Does it."""


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (without_type, "parameter 'a' of 'without_type' has no type"),
        (without_docstring, "'without_docstring' has no docstring"),
        (only_arguments, "'only_arguments' has no docstring"),
        (any_number, r"\*values"),
        (any_names, r"\*\*values"),
        (by_place, "cannot be passed by name"),
        (of_the_unknown, "no JSON schema"),
        (of_nothing, "'Missing' is not defined"),
        (stale, "describes 'b', which is not a parameter"),
        (garbled, "cannot be read"),
        (with_a_set, "is a set"),
        (with_no_number, "no JSON schema"),
        (lambda: None, "'<lambda>' cannot be the name of a tool"),
    ],
)
def test_a_function_of_which_no_tool_can_be_made_is_refused_at_once(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as raised:
        tool(function)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["a b", "ä", "a.b", "a" * 65, "a\n"])
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a tool"):
        tool(without_docstring, name=name)


def test_a_limit_of_no_time_is_refused() -> None:
    with pytest.raises(UsageError, match="time limit"):
        tool(stale, time_limit=0)


async def test_valid_arguments_arrive_as_what_the_types_say() -> None:
    seen: list[Any] = []

    @tool
    def keep(day: date, colour: Colour, place: Place, guest: Guest, pair: tuple[int, str], share: float) -> None:
        """Keep them."""
        seen.extend((day, colour, place, guest, pair, share))

    await keep.run(
        {
            "day": "2026-12-24",
            "colour": "blue",
            "place": {"title": "cellar"},
            "guest": {"name": "Anna"},
            "pair": [1, "a"],
            "share": 1,
        }
    )
    assert seen == [date(2026, 12, 24), Colour.BLUE, Place("cellar"), Guest(name="Anna"), (1, "a"), 1.0]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"seats": "2"}, "the argument 'seats': Input should be a valid integer"),
        ({"seats": "12abc"}, "the argument 'seats': Input should be a valid integer"),
        ({"seats": 2.5}, "the argument 'seats'"),
        ({"seats": True}, "the argument 'seats'"),
        ({"seats": 0}, "the argument 'seats': Input should be greater than or equal to 1"),
        ({"title": None}, "the argument 'title': Input should be a valid string"),
        ({"title": 5}, "the argument 'title': Input should be a valid string"),
        ({"when": "tomorrow"}, "the argument 'when': Input should be a valid datetime"),
        ({"place": {"title": "x", "floor": "up"}}, "the argument 'place.floor'"),
        ({"guests": [{"name": "Anna"}, {}]}, "the argument 'guests.1.name' is missing"),
        ({"colour": "green"}, "'red' or 'blue'"),
        ({"tilte": "Anna"}, "there is no argument 'tilte' (the arguments are: title, when, seats,"),
    ],
)
async def test_arguments_that_do_not_fit_are_named_and_the_function_is_not_called(
    changed: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidArguments) as raised:
        await book.run(VALID | changed)
    text = str(raised.value)
    assert text.startswith("book was not called: ")
    assert reason in text
    assert "\n" not in text
    assert "http" not in text


async def test_a_missing_argument_is_named() -> None:
    with pytest.raises(InvalidArguments, match=r"'title' is missing; .*'when' is missing"):
        await book.run({"seats": 2})


async def test_an_argument_with_half_a_character_is_a_text_all_the_same() -> None:
    @tool
    def say(text: str) -> str:
        """Say it."""
        return text

    assert (await say.run({"text": "a\ud800b"})).text == "a\ufffdb"
    assert (await say.run({"text": "\ud83d\ude00"})).text == "😀"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        ("", ""),
        (None, "Done."),
        (7, "7"),
        ({"b": 1, "a": "ü"}, '{"a":"ü","b":1}'),
        (Place("cellar", 1), '{"floor":1,"title":"cellar"}'),
        (Guest(name="Anna"), '{"name":"Anna"}'),
        ([Guest(name="Anna"), date(2026, 12, 24)], '[{"name":"Anna"},"2026-12-24"]'),
        (Colour.RED, '"red"'),
    ],
)
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "async"])
async def test_what_it_returns_becomes_text(value: Any, text: str, plain: bool) -> None:
    def give() -> Any:
        """Give it."""
        return value

    async def give_later() -> Any:
        """Give it."""
        return value

    assert await tool(give if plain else give_later).run({}) == ToolOutput(text)


async def test_an_output_is_given_back_as_it_is() -> None:
    output = ToolOutput("a picture", attachments=(Image("image/png", data="AAAA"),))

    @tool
    def show() -> ToolOutput:
        """Show it."""
        return output

    assert await show.run({}) is output


async def test_a_plain_function_that_blocks_does_not_hold_the_loop() -> None:
    go_on = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        assert go_on.wait(30)
        return threading.current_thread().name

    running = asyncio.ensure_future(wait.run({}))
    await asyncio.sleep(0)
    go_on.set()
    assert (await running).text != threading.current_thread().name


async def test_a_plain_function_sees_the_context_of_its_caller() -> None:
    who: ContextVar[str] = ContextVar("who", default="nobody")

    @tool
    def name() -> str:
        """Name the caller."""
        return who.get()

    who.set("Anna")
    assert (await name.run({})).text == "Anna"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()])
async def test_what_would_end_a_program_ends_only_the_call_of_a_plain_function(error: BaseException) -> None:
    @tool
    def leave() -> None:
        """Leave."""
        raise error

    with pytest.raises(RunError, match=f"leave raised {type(error).__name__}"):
        await leave.run({})


async def test_what_a_function_raises_is_raised() -> None:
    @tool
    def spill() -> None:
        """Spill."""
        raise ValueError("the soup is cold")

    with pytest.raises(ValueError, match="the soup is cold"):
        await spill.run({})


async def test_a_plain_function_that_returns_a_coroutine_is_told_to_be_async() -> None:
    async def later() -> str:
        return "later"

    @tool
    def give() -> Any:
        """Give it."""
        return later()

    with pytest.raises(RunError, match="async def"):
        await give.run({})
