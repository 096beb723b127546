"""Cuts a JSON list, or JSON lines, into its elements without reading the file at once.

The elements are told apart by their brackets alone, so that one which is no valid JSON is a broken element and not the
end of the list.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import IO, Any, Final

from frontmind.values.harmless import one_line
from frontmind.window.canonical import parse_json

LARGEST_ELEMENT: Final = 128_000_000
"""The most bytes of one element: values in Python take up to ten times as many."""

_STEP: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"
# A whole string, the beginning of one that does not end here, or a bracket.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}]', re.DOTALL)
_BETWEEN: Final = b" \t\r\n,"
_OPENING: Final = b"[{"
_VALUE: Final = (b"[", b"{")
_SHOWN: Final = 80
_QUOTE: Final = ord('"')
CUT_OFF: Final = "the file ends in the middle of it; export or download it again"
NOT_IN_THE_LIST: Final = "more stands behind the end of the list; make it JSON lines (.jsonl), or one list"
TOO_LARGE: Final = f"it is larger than {LARGEST_ELEMENT // 1_000_000} MB"


@dataclass(frozen=True, slots=True)
class Element:
    """An element as bytes.

    Attributes:
        number: counts from 1; of JSON lines that of the line.
        data: empty where there is a fault.
        fault: why it cannot be read; empty where it could.
    """

    number: int
    data: bytes
    fault: str = ""


def lines(file: IO[bytes]) -> Iterator[Element]:
    """The lines that are not blank."""
    number = 0
    while line := file.readline(LARGEST_ELEMENT):
        number += 1
        whole = len(line) < LARGEST_ELEMENT or line.endswith(b"\n")
        while not whole:
            rest = file.readline(LARGEST_ELEMENT)
            whole = not rest or rest.endswith(b"\n")
            line = b""
        data = line.removeprefix(_BOM) if number == 1 else line
        if not line:
            yield Element(number, b"", TOO_LARGE)
        elif data.strip():
            yield Element(number, data)


def elements(file: IO[bytes]) -> Iterator[Element]:
    """The elements of the list that the file is, or the values one after the other that it is."""
    head = file.read(_STEP).removeprefix(_BOM).lstrip()
    inside = head.startswith(b"[")
    return _Cutter(file, head[1:] if inside else head, inside).elements()


def is_by_lines(head: bytes) -> bool:
    """Whether a file has one value a line, and not one list or one value over several lines.

    Args:
        head: its beginning, without a byte order mark and blanks in front.
    """
    first, _, rest = head.partition(b"\n")
    if not first.startswith(_VALUE):
        return True
    if not rest.strip():
        return first.startswith(b"{")
    # A first line that is broken is one broken line where the second is a whole object.
    second = rest.lstrip(b"\r\n").partition(b"\n")[0]
    return _is_value(first) or (first.startswith(b"{") and second.startswith(b"{") and _is_value(second))


def value_of(element: Element) -> tuple[Any, str]:
    """The value of an element, or why it cannot be read."""
    if element.fault:
        return None, element.fault
    try:
        return parse_json(element.data.decode("utf-8")), ""
    except UnicodeDecodeError:
        return None, "it is not UTF-8 text"
    except ValueError as error:
        return None, f"it is not JSON ({one_line(str(error), _SHOWN)})"


def _is_value(line: bytes) -> bool:
    try:
        parse_json(line.decode("utf-8", "replace"))
    except ValueError:
        return False
    return True


class _Cutter:
    """Goes through the file; what it holds begins with the element that it is in."""

    def __init__(self, file: IO[bytes], head: bytes, inside: bool) -> None:
        self._file = file
        self._held = head
        self._inside = inside
        self._number = 0
        # Where the search goes on, and how many brackets are open there.
        self._place = 0
        self._depth = 0
        self._too_large = False

    def elements(self) -> Iterator[Element]:
        while True:
            ended = yield from self._whole_elements()
            if ended:
                yield from self._behind()
                return
            if len(self._held) > LARGEST_ELEMENT:
                self._held, self._place, self._too_large = self._held[self._place :], 0, True
            if len(self._held) > LARGEST_ELEMENT:
                # A text without an end: nothing behind it can be told apart.
                yield self._next(b"", TOO_LARGE)
                return
            # As much again as is held, so that a large element is not copied once for each step.
            more = self._file.read(max(_STEP, len(self._held)))
            if not more:
                yield from self._rest()
                return
            self._held += more

    def _whole_elements(self) -> Generator[Element, None, bool]:
        """The elements that end in what is held; returns whether the list ends as well."""
        start = 0
        for match in _TOKEN.finditer(self._held, self._place):
            first = self._held[match.start()]
            if first == _QUOTE:
                if match.end() - match.start() == 1:
                    self._keep(start, match.start())
                    return False
                continue
            if first in _OPENING:
                if self._depth == 0:
                    yield from self._between(self._held[start : match.start()])
                    start = match.start()
                self._depth += 1
                continue
            if self._depth == 0:
                yield from self._between(self._held[start : match.start()])
                if self._inside:
                    self._held = self._held[match.end() :]
                    return True
                start = match.end()
                continue
            self._depth -= 1
            if self._depth == 0:
                yield self._next(self._held[start : match.end()])
                start = match.end()
        self._keep(start, len(self._held))
        return False

    def _keep(self, start: int, place: int) -> None:
        self._held, self._place = self._held[start:], place - start

    def _between(self, data: bytes) -> Iterator[Element]:
        """Elements without brackets: numbers, texts, null, or what is no JSON at all."""
        for piece in data.split(b","):
            if piece.strip():
                yield self._next(piece)

    def _behind(self) -> Iterator[Element]:
        """One element for all that stands behind the end of the list."""
        more = self._held
        while not more.strip():
            more = self._file.read(_STEP)
            if not more:
                return
        yield self._next(b"", NOT_IN_THE_LIST)

    def _rest(self) -> Iterator[Element]:
        if self._depth:
            yield self._next(b"", CUT_OFF)
        else:
            yield from self._between(self._held)
            if self._inside:
                yield self._next(b"", CUT_OFF)

    def _next(self, data: bytes, fault: str = "") -> Element:
        self._number += 1
        if self._too_large and not fault:
            data, fault = b"", TOO_LARGE
        self._too_large = False
        return Element(self._number, data, fault)
