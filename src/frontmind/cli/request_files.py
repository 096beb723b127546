"""Reads files of requests: one request, a list of them, or one a line, plain or as somebody recorded them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from frontmind.cli.options import named_path, read_text_file
from frontmind.errors import UsageError
from frontmind.providers.reading import Hints, is_request, read_request
from frontmind.window.canonical import parse_json
from frontmind.window.layout import Layout

_LIMIT: Final = 200_000_000
_WRAPPERS: Final = ("body", "request")
_WHAT: Final = "pass a JSON request, a list of requests, or one request a line"
_NUMBERED: Final = re.compile(r"(?P<file>.+)#(?P<number>[0-9]{1,9})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RequestInFile:
    """A request and where it was read.

    Attributes:
        file: the file as the person named it.
        number: which request of the file it is, counted from 1.
        line: the line on which it begins, counted from 1.
        alone: whether it is the only one of its file.
    """

    file: str
    number: int
    line: int
    layout: Layout
    alone: bool

    @property
    def name(self) -> str:
        """The file, and the number behind ``#`` where there are several."""
        return self.file if self.alone else f"{self.file}#{self.number}"


def read_requests(file: str) -> list[RequestInFile]:
    """All requests of a file, in their order; at least one.

    Raises:
        UsageError: the file cannot be read, is not JSON, or has something that is no request; the error names it.
    """
    text = read_text_file(named_path(file), "the request file", limit=_LIMIT)
    values = list(_values(file, text))
    if not values:
        raise UsageError(f"{file} has no request; {_WHAT}")
    return [
        RequestInFile(file, number, line, _layout(file, number, value), alone=len(values) == 1)
        for number, (line, value) in enumerate(values, start=1)
    ]


def read_named_requests(name: str) -> list[RequestInFile]:
    """The requests that ``FILE`` or ``FILE#N`` names.

    Raises:
        UsageError: as `read_requests`, or the file has no such request.
    """
    found = _NUMBERED.fullmatch(name)
    if found is None or named_path(name).exists():
        return read_requests(name)
    requests = read_requests(found["file"])
    number = int(found["number"])
    if not 1 <= number <= len(requests):
        raise UsageError(f"{found['file']} has {len(requests)} request(s), no {name!r}; count from 1")
    return [requests[number - 1]]


def _values(file: str, text: str) -> Iterator[tuple[int, Any]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    try:
        value = parse_json(text)
    except ValueError as error:
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise UsageError(f"{file} is not JSON ({_one_line(error)}); {_WHAT}") from error
    else:
        first = lines[0][0]
        yield from ((first, item) for item in value) if isinstance(value, list) else ((first, value),)
        return
    for number, line in lines:
        try:
            yield number, parse_json(line)
        except ValueError as error:
            raise UsageError(f"line {number} of {file} is not JSON ({_one_line(error)}); {_WHAT}") from error


def _is_json(line: str) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def _one_line(error: ValueError) -> str:
    return " ".join(str(error).split())


def _layout(file: str, number: int, value: Any) -> Layout:
    body, hints = _unwrapped(value)
    try:
        return read_request(body, hints)
    except UsageError as error:
        raise UsageError(f"request {number} of {file}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"request {number} of {file} is nested too deeply to be read; pass a real one") from error


def _unwrapped(value: Any) -> tuple[Any, Hints]:
    """The body of a row of a recording, and what stands beside it."""
    if not isinstance(value, dict) or is_request(value):
        return value, Hints()
    for key in _WRAPPERS:
        if isinstance(value.get(key), dict):
            uri = value.get("uri") or value.get("url") or value.get("path")
            model = value.get("model")
            return value[key], Hints(
                uri if isinstance(uri, str) else "",
                model if isinstance(model, str) else "",
            )
    return value, Hints()
