"""What a function's signature and docstring say of its arguments, as a pydantic model and as a JSON schema.

Knows nothing of running tools.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, NoneType
from typing import Any
from weakref import WeakKeyDictionary

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from frontmind.errors import UsageError
from frontmind.window.canonical import canonical_text

_ARGUMENTS = re.compile(r"^(?:Args|Arguments|Parameters|Params):[ \t]*\n((?:[ \t]+\S.*(?:\n|\Z)|[ \t]*\n)*)", re.M)
_PARAMETER_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
# What stands under these keywords are values or named schemas, where "title" is not a keyword.
_VALUES = frozenset({"default", "const", "enum", "examples"})
_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_PLAIN = (NoneType, bool, int, float, str)
_of_codes: WeakKeyDictionary[CodeType, dict[object, Described]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Described:
    """What a model is told of a function.

    Attributes:
        description: its docstring without the arguments.
        arguments: checks what the model passes.
        schema: the JSON schema of the arguments.
    """

    description: str
    arguments: type[BaseModel]
    schema: str


def describe(function: Callable[..., Any], name: str) -> Described:
    """What the signature and docstring say.

    It is found out once for functions that differ in what they enclose, or are bound to, alone: each assistant of a
    process makes its tools of the same ones.

    Raises:
        UsageError: in all the ways of `read_docstring`, `arguments_model` and `schema_text`.
    """
    written = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(written, FunctionType) or hasattr(written, "__wrapped__"):
        return _described(function, name)
    defaults = (*(written.__defaults__ or ()), *(written.__kwdefaults__ or {}).values())
    shape = _shape(written)
    if shape is None or not all(type(default) in _PLAIN for default in defaults):
        return _described(function, name)
    # Two codes are equal where they say the same, wherever they stand.
    known = _of_codes.setdefault(written.__code__, {})
    key = (name, function is written, *shape)
    if key not in known:
        known[key] = _described(function, name)
    return known[key]


def _shape(function: FunctionType) -> tuple[Hashable, ...] | None:
    """What functions of equal code are told apart by; None where that cannot be said."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        hash(shape := tuple(hints.items()))
    except (NameError, TypeError, AttributeError):
        return None
    # Hints may be equal and yet be told in another order: Literal["a", "b"] and Literal["b", "a"].
    return (shape, repr(hints), repr((function.__defaults__, function.__kwdefaults__)), function.__doc__)


def _described(function: Callable[..., Any], name: str) -> Described:
    description, said = read_docstring(function, name)
    model = arguments_model(function, name, said)
    return Described(description, model, schema_text(model, name))


def read_docstring(function: Callable[..., Any], name: str) -> tuple[str, dict[str, str]]:
    """The docstring without its section of arguments, and what that section says of each.

    Args:
        function: its docstring is in Google's style.
        name: for errors.

    Raises:
        UsageError: there is no docstring, or its section of arguments cannot be read.
    """
    text = inspect.getdoc(function) or ""
    before, arguments, after = _split(text)
    description = f"{before.rstrip()}\n\n{after.lstrip()}".strip()
    if not description:
        raise UsageError(f"the tool {name!r} has no docstring; say there what it does, for the model to read")
    try:
        # The parser wants something in front of a section.
        parsed = docstring_parser.parse(
            f"_\n\nArgs:\n{arguments}" if arguments.strip() else "", style=docstring_parser.DocstringStyle.GOOGLE
        )
    except docstring_parser.ParseError as error:
        raise UsageError(
            f"the arguments in the docstring of {name!r} cannot be read ({' '.join(str(error).split())}); "
            "write each as `argument: what it is`"
        ) from error
    return description, {item.arg_name: " ".join((item.description or "").split()) for item in parsed.params}


def _split(text: str) -> tuple[str, str, str]:
    """What stands in front of the section of arguments, in it, and behind it."""
    section = _ARGUMENTS.search(text)
    return (text, "", "") if section is None else (text[: section.start()], section[1], text[section.end() :])


def arguments_model(function: Callable[..., Any], name: str, described: Mapping[str, str]) -> type[BaseModel]:
    """A model whose aliases are the function's parameters.

    Args:
        function: every parameter of it has a type.
        name: for errors.
        described: what the docstring says of each parameter.

    Raises:
        UsageError: a parameter has no type, takes any number of arguments, or has a type without a JSON schema; or
            the docstring describes one that does not exist.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise UsageError(f"the types of {name!r} cannot be read ({error}); define them in the module") from error
    parameters = inspect.signature(function).parameters
    if unknown := sorted(set(described) - set(parameters)):
        raise UsageError(f"the docstring of {name!r} describes {unknown[0]!r}, which is not a parameter; correct it")
    fields: dict[str, Any] = {}
    for number, parameter in enumerate(parameters.values()):
        if parameter.kind not in _PARAMETER_KINDS:
            raise UsageError(
                f"the parameter {parameter} of {name!r} cannot be passed by name; give each argument one of its own"
            )
        if parameter.name not in hints:
            raise UsageError(f"the parameter {parameter.name!r} of {name!r} has no type; annotate it")
        # Under names of our own no parameter can collide with an attribute of the model.
        fields[f"p{number}"] = (hints[parameter.name], _field(parameter, hints[parameter.name], name, described))
    try:
        return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    except (PydanticUserError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"the arguments of {name!r} have no JSON schema ({reason}); use plain types") from error


def _field(parameter: inspect.Parameter, hint: object, name: str, described: Mapping[str, str]) -> Any:
    description = _annotated(hint) or described.get(parameter.name)
    facts: dict[str, Any] = {"alias": parameter.name} | ({"description": description} if description else {})
    if parameter.default is inspect.Parameter.empty:
        return Field(**facts)
    if isinstance(parameter.default, set | frozenset):
        raise UsageError(
            f"the default of {parameter.name!r} of {name!r} is a set, whose order is not stable; use a tuple"
        )
    return Field(default=parameter.default, **facts)


def _annotated(hint: object) -> str | None:
    """What ``Annotated`` says of the argument, as a text or as a pydantic field."""
    for item in getattr(hint, "__metadata__", ()):
        if isinstance(item, str):
            return " ".join(item.split())
        if isinstance(item, FieldInfo) and item.description:
            return item.description
    return None


class _Quiet(GenerateJsonSchema):
    """A default that JSON cannot say is left out of the schema, without a warning on the terminal."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        return None


def schema_text(model: type[BaseModel], name: str) -> str:
    """The model's JSON schema as canonical JSON, without titles.

    Raises:
        UsageError: there is none for one of its types.
    """
    try:
        return canonical_text(_without_titles(model.model_json_schema(schema_generator=_Quiet)))
    except (PydanticUserError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"the arguments of {name!r} have no JSON schema ({reason}); use plain types") from error


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _VALUES:
            kept[key] = value
        elif key in _NAMED_SCHEMAS:
            kept[key] = {inner: _without_titles(item) for inner, item in value.items()}
        elif key != "title":
            kept[key] = _without_titles(value)
    return kept


def explain(error: ValidationError, known: Iterable[str]) -> str:
    """What is wrong with the arguments, on one line, each by its name."""
    names = ", ".join(known) or "none"
    reasons = []
    for item in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        where = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            reasons.append(f"there is no argument {where[:80]!r} (the arguments are: {names})")
        elif item["type"] == "missing":
            reasons.append(f"the argument {where!r} is missing")
        else:
            reasons.append(f"the argument {where!r}: {item['msg']}" if where else item["msg"])
    return "; ".join(reasons)
