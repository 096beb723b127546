"""A Markdown text as its sections. Pure: it knows neither documents nor files.

Only ATX headings (``# Title``) outside of fenced code begin a section. That is CommonMark but for headings inside of
list items and HTML comments, which begin one here. A full parser is not used on purpose: the text is cut anew in each
turn, where it takes seconds for a megabyte; and wherever a cut is made, nothing is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

BEGINNING: Final = "(beginning)"
"""The name of the text before the first heading."""

_UNTITLED: Final = "(untitled)"
# A name stands in the prompt and is written back by the model; a whole paragraph behind a # is none.
_TITLE_LIMIT: Final = 120
_READ_LIMIT: Final = 2000
_CANDIDATE = re.compile(
    r"(?:\A|(?<=[\r\n])) {0,3}"
    r"(?:(?P<hashes>#{1,6})(?P<title>(?:[ \t][^\r\n]*)?)|(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*))"
    r"(?P<end>\r\n|\r|\n|\Z)"
)


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A section as places in its text.

    Attributes:
        name: unique in its text: the titles from the outermost section to it, joined by ``/``, and a number where two
            are alike. A heading that is added elsewhere under another title does not change it.
        title: the text of its heading, on one line, cut where it is very long.
        level: 1 to 6; 0 for the text before the first heading.
        start: where it begins.
        body: where its text begins, behind the line of its heading.
        own_end: where its own text ends and its first subsection begins.
        end: where it ends with all its subsections.
    """

    name: str
    title: str
    level: int
    start: int
    body: int
    own_end: int
    end: int


@dataclass(frozen=True, slots=True)
class _Heading:
    title: str
    level: int
    start: int
    body: int


def outline(text: str) -> tuple[DocumentSection, ...]:
    """The sections in their order, each before its subsections.

    The pieces ``text[section.start:section.own_end]`` joined give back the text. The text before the first heading is a
    section named `BEGINNING`, unless there is none; an empty text has no sections.
    """
    headings, _ = _scan(text)
    first = headings[0].start if headings else len(text)
    sections = [DocumentSection(BEGINNING, BEGINNING, 0, 0, 0, first, first)] if first else []
    names = _Names({BEGINNING})
    ends = _ends(headings, len(text))
    path: list[tuple[int, str]] = []
    for index, heading in enumerate(headings):
        while path and path[-1][0] >= heading.level:
            path.pop()
        name = names.unique(f"{path[-1][1]}/{heading.title}" if path else heading.title)
        path.append((heading.level, name))
        own_end = headings[index + 1].start if index + 1 < len(headings) else len(text)
        sections.append(
            DocumentSection(name, heading.title, heading.level, heading.start, heading.body, own_end, ends[index])
        )
    return tuple(sections)


def open_fence(text: str) -> str:
    """The fence that would close the code block which the text leaves open; empty where it leaves none."""
    return _scan(text)[1]


def clean_title(text: str) -> str:
    """A heading's text as it stands in names: on one line, without what cannot be seen."""
    line = " ".join(text[:_READ_LIMIT].split())
    title = " ".join("".join(character for character in line if character.isprintable()).split())
    title = title if len(title) <= _TITLE_LIMIT else title[: _TITLE_LIMIT - 1] + "…"
    return title or _UNTITLED


def _scan(text: str) -> tuple[list[_Heading], str]:
    headings: list[_Heading] = []
    fence = ""
    for line in _CANDIDATE.finditer(text):
        marks = line["fence"]
        if fence:
            if marks and marks[0] == fence[0] and len(marks) >= len(fence) and not line["info"].strip(" \t"):
                fence = ""
        elif marks:
            # Behind backticks further backticks make it a code span, not a fence.
            if marks[0] == "~" or "`" not in line["info"]:
                fence = marks
        else:
            title = clean_title(_without_closing(line["title"]))
            headings.append(_Heading(title, len(line["hashes"]), line.start(), line.end()))
    return headings, fence


def _without_closing(title: str) -> str:
    stripped = title.strip(" \t")
    shorter = stripped.rstrip("#")
    closes = shorter != stripped and (not shorter or shorter[-1] in " \t")
    return shorter.rstrip(" \t") if closes else stripped


def _ends(headings: list[_Heading], length: int) -> list[int]:
    ends = [length] * len(headings)
    nearest = [length] * 7
    for index in range(len(headings) - 1, -1, -1):
        level = headings[index].level
        ends[index] = min(nearest[1 : level + 1])
        nearest[level] = headings[index].start
    return ends


class _Names:
    """Names that were given, so that none is given twice."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._last: dict[str, int] = {}

    def unique(self, name: str) -> str:
        number, candidate = self._last.get(name, 1), name
        while candidate in self._taken:
            number += 1
            candidate = f"{name} ({number})"
        self._last[name] = number
        self._taken.add(candidate)
        return candidate
