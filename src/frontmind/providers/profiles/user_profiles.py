"""The user's own facts about models, as they stand in a TOML file: a table for each model's full name.

    ["anthropic:claude-opus-4-7"]
    min_cached_tokens = 4096

    ["compatible:qwen3@http://localhost:8080/v1"]
    framing = "user_text"
    ttls = ["5m", "1h"]

The facts and their values are those of ``--profile``; TOML's own lists, numbers and booleans are taken too. Reads and
spells text: where the file stands is not known here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from frontmind.errors import UsageError
from frontmind.providers.profiles.resolve import parse_overrides

_LONGEST_NUMBER: Final = 64

TomlValue: TypeAlias = str | int | float | bool | list[str]


def parse_user_profiles(text: str, *, source: str) -> dict[str, dict[str, object]]:
    """The facts by the full names of models.

    Args:
        source: names the text in errors.

    Raises:
        UsageError: it is no TOML, or a fact is unknown or cannot have its value; the error names model and fact.
    """
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Whatever else is no value of TOML's, Python refuses in words of its own.
        known = isinstance(error, tomllib.TOMLDecodeError | RecursionError)
        reason = " ".join(str(error).split()) if known else "it has a number that is too long"
        raise UsageError(f"{source} is not TOML ({reason}); correct it there, or remove it") from error
    profiles = {}
    for model, table in content.items():
        if not isinstance(table, dict):
            raise UsageError(
                f"{source}: {model!r} is no table; write the facts of a model under its full name, such as "
                '["anthropic:claude-sonnet-5"]'
            )
        profiles[model] = _facts(table, f"{source}, {model!r}")
    return profiles


def spelled_facts(facts: Mapping[str, object]) -> dict[str, TomlValue]:
    """Facts as the values of a TOML table, in the order of their names; `parse_user_profiles` reads them back."""
    return {name: _spelled(facts[name]) for name in sorted(facts)}


def _facts(table: Mapping[str, Any], where: str) -> dict[str, object]:
    facts: dict[str, object] = {}
    for name, value in table.items():
        text = _written(value)
        if text is None or "," in text or "=" in name or "," in name:
            raise UsageError(f"{where}: {name!r} has a value that no fact can have; write it as behind --profile")
        try:
            facts |= parse_overrides(f"{name}={text}")
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
    return facts


def _written(value: object) -> str | None:
    """The value as it is written behind ``--profile``; None where no fact can have it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() if value.bit_length() > _LONGEST_NUMBER:
            return None
        case int() | float():
            return str(value)
        case list() if all(isinstance(item, str) for item in value):
            return "+".join(value)
        case _:
            return None


def _spelled(value: object) -> TomlValue:
    match value:
        case None:
            return "none"
        case Enum():
            return str(value.value)
        case frozenset():
            return sorted(str(item) for item in value)
        case tuple():
            return [str(item) for item in value]
        case bool() | int() | float() | str():
            return value
        case _:
            raise TypeError(f"{value!r} is no value of a fact")
