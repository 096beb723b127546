"""The settings file: TOML with a table ``[mcp.NAME]`` for each MCP server.

    [mcp.notes]
    command = ["uvx", "notes-server", "--quiet"]
    env = { NOTES_TOKEN = "${NOTES_TOKEN}" }

    [mcp.wiki]
    url = "https://wiki.example/mcp"
    headers = { Authorization = "Bearer ${WIKI_TOKEN}" }
    time_limit = 60

``${VARIABLE}`` in the values of env, headers and url is taken from the environment, so that no secret has to stand
in the file. Knows nothing of what a server does.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from frontmind.cli.options import named_path, read_text_file
from frontmind.errors import UsageError
from frontmind.tools.mcp import McpServer
from frontmind.values.harmless import one_line

VARIABLE = "FRONTMIND_SETTINGS"
_SIZE_LIMIT = 1_000_000
_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_LONGEST_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class FileSettings:
    """What the settings file says.

    Attributes:
        mcp: the MCP servers, sorted by name.
    """

    mcp: tuple[McpServer, ...] = ()


def settings_file_path(environment: Mapping[str, str]) -> Path:
    """The file that FRONTMIND_SETTINGS names, or else ``settings.toml`` in the user's folder for settings.

    Raises:
        UsageError: FRONTMIND_SETTINGS names no file.
    """
    named = environment.get(VARIABLE, "")
    if not named:
        return user_config_path("frontmind") / "settings.toml"
    path = named_path(named)
    if not path.is_file():
        raise UsageError(f"{VARIABLE} names {named!r}, which is not a file; correct or unset it")
    return path


def read_settings_file(path: Path, environment: Mapping[str, str] | None = None) -> FileSettings:
    """What the file says; nothing where there is none.

    Args:
        environment: the variables that ``${VARIABLE}`` stands for; the process's own without it.

    Raises:
        UsageError: the file cannot be read, or a key in it cannot be used; the error names both.
    """
    if not path.exists():
        return FileSettings()
    try:
        content = tomllib.loads(read_text_file(path, "the settings file", limit=_SIZE_LIMIT))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"the settings file {path} is not TOML ({one_line(str(error))}); correct it there") from error
    top = _Table(path, "", content, os.environ if environment is None else environment)
    servers = top.table("mcp")
    top.refuse_others()
    return FileSettings(tuple(_server(servers.table(name), name) for name in sorted(servers.content)))


def _server(table: _Table, name: str) -> McpServer:
    command, env = table.command("command"), table.texts("env")
    url, headers = table.text("url"), table.texts("headers")
    seconds = table.seconds("time_limit")
    table.refuse_others()
    limit: dict[str, float] = {} if seconds is None else {"time_limit": seconds}
    try:
        return McpServer(name, command, env, url, headers, **limit)
    except UsageError as error:
        raise UsageError(f"{table.path}: {error}") from error


class _Table:
    """A table of the file that knows where it stands, for errors."""

    def __init__(self, path: Path, name: str, content: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self.path = path
        self.content = content
        self._name = name
        self._environment = environment
        self._read: set[str] = set()

    def table(self, key: str) -> _Table:
        value = self._get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, "must be a table")
        return _Table(self.path, self._full(key), value, self._environment)

    def text(self, key: str) -> str:
        value = self._get(key, "")
        if not isinstance(value, str):
            raise self._wrong(key, "must be a text in quotes")
        return self._expanded(key, value)

    def texts(self, key: str) -> dict[str, str]:
        inner = self.table(key)
        return {name: inner.text(name) for name in sorted(inner.content)}

    def command(self, key: str) -> tuple[str, ...]:
        """A program with its arguments: a list of texts, or one text as a shell would split it."""
        value = self._get(key, [])
        if isinstance(value, str):
            try:
                value = shlex.split(value)
            except ValueError as error:
                raise self._wrong(key, f"cannot be split into words ({error})") from error
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, 'must be a list of texts such as ["uvx", "notes-server"]')
        if key in self.content and not (value and value[0]):
            raise self._wrong(key, "names no program")
        return tuple(value)

    def seconds(self, key: str) -> float | None:
        value = self._get(key, None)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST_SECONDS:
            raise self._wrong(key, f"must be a number of seconds, more than 0 and at most {_LONGEST_SECONDS}")
        return float(value)

    def refuse_others(self) -> None:
        """Refuse keys that nothing asked for: a misspelt one would otherwise say nothing."""
        if others := sorted(set(self.content) - self._read):
            known = ", ".join(sorted(self._read))
            raise self._wrong(others[0], f"is not a setting; the settings here are {known}")

    def _get(self, key: str, default: Any) -> Any:
        self._read.add(key)
        return self.content.get(key, default)

    def _full(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def _wrong(self, key: str, what: str) -> UsageError:
        return UsageError(f"{self.path}: {one_line(self._full(key), 120)} {what}")

    def _expanded(self, key: str, value: str) -> str:
        def replaced(found: re.Match[str]) -> str:
            if (variable := self._environment.get(found[1])) is None:
                raise self._wrong(key, f"needs the environment variable {one_line(found[1], 80)!r}, which is not set")
            return variable

        return _REFERENCE.sub(replaced, value)
