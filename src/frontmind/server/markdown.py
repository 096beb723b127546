"""Markdown that anybody wrote as HTML that does nothing in a page: CommonMark with tables and strikethrough.

HTML in the text is text. A link leads to the web or to an address for mail; a picture is a link, since fetching it
would tell its server what was said. What markdown-it writes goes through nh3 as a second wall. Knows no page, no HTTP
and nothing of who wrote the text.

A *top-level element* is what one block of the text becomes: a paragraph, heading, rule, code block, list, quotation, or
a table in the ``div`` in which it scrolls. Each is exactly one element without text beside it, so the children of the
element that holds the HTML are the top-level elements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token
from markdown_it.utils import EnvType

from frontmind.server.markdown_rules import cleaned, parser, walled

LONGEST: Final = 50_000
"""The most characters that are read as Markdown, which takes up to a second; a longer text is shown as it is, in one
element.
"""

_ALWAYS: Final = 2_048
_SHARE: Final = 16
"""An open element beyond `_ALWAYS` characters is rendered again when it has grown by one part in so many."""

_BRACKET: Final = re.compile(r"\\.|[\[\]]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HtmlChange:
    """What becomes of the elements that are shown.

    Attributes:
        keep: so many top-level elements, from the first, stay as they are.
        html: stands in the place of the others.
    """

    keep: int
    html: str


@dataclass(frozen=True, slots=True)
class _Element:
    """A top-level element.

    Attributes:
        start, end: its first line, and the one behind its last.
        labels: what it may refer to, wherever that is defined.
    """

    start: int
    end: int
    html: str
    labels: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Read:
    """A text as it was read.

    Attributes:
        references: what is defined in it and was not before: label to the line behind the definition.
        known: all definitions that hold behind it, as markdown-it keeps them.
        complete: how many of its lines have an end.
    """

    elements: Sequence[_Element]
    references: dict[str, int]
    known: dict[str, object]
    complete: int


def render(text: str) -> str:
    """The text as HTML: its top-level elements, each with a line feed behind it; empty where nothing is said.

    Never raises, and takes time in proportion to the length, whatever the text is.
    """
    clean = cleaned(text)
    if len(clean) > LONGEST:
        return _plain(clean)
    return "".join(element.html for element in _read(clean, {}).elements)


class StreamingMarkdown:
    """Renders a text that grows. All changes, applied in their order, give what `render` gives of the whole.

    What is finished is not read again, unless a definition that comes late changes what it refers to.
    """

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._closed = 0
        self._closed_text: list[str] = []
        self._open = ""
        self._new: list[str] = []
        self._grown = 0
        self._length = 0
        self._half_line_end = False
        self._known: dict[str, object] = {}
        self._mentioned: set[str] = set()
        self._stale = False
        self._read_at = 0

    @property
    def unsettled(self) -> int:
        """How many characters the next change reads, if it needs no more than what can still change."""
        return len(self._open) + self._grown

    def feed(self, piece: str) -> HtmlChange | None:
        """Take what comes next; None where nothing has to be shown otherwise yet.

        Args:
            piece: may end anywhere, also in the middle of a line end.
        """
        if self._half_line_end:
            piece = "\r" + piece
        self._half_line_end = piece.endswith("\r")
        self._take(cleaned(piece[:-1] if self._half_line_end else piece))
        if not self._grown or self._grown * _SHARE < len(self._open) + self._grown - _ALWAYS:
            return None
        return self._advance(final=False)

    def finish(self) -> HtmlChange | None:
        """The text is whole; None where what is shown is right already."""
        if self._half_line_end:
            self._half_line_end = False
            self._take("\n")
        return self._advance(final=True)

    def _take(self, piece: str) -> None:
        self._new.append(piece)
        self._grown += len(piece)
        self._length += len(piece)

    def _advance(self, *, final: bool) -> HtmlChange | None:
        self._open += "".join(self._new)
        self._new.clear()
        self._grown = 0
        if self._length > LONGEST:
            self._reopen()
            return self._show([_plain(self._open)])
        read = _read(self._open, self._known)
        settled = len(read.elements) if final else _settled(read)
        if self._concerns_closed(read, settled) and (final or self._length * 4 >= self._read_at * 5):
            # Only after a fifth more of text, so that reading it all again takes no more than a share of the time.
            self._reopen()
            self._read_at = self._length
            read = _read(self._open, self._known)
            settled = len(read.elements) if final else _settled(read)
        change = self._show([element.html for element in read.elements])
        self._close(read, settled)
        return change

    def _concerns_closed(self, read: _Read, settled: int) -> bool:
        """Whether what is closed refers to what was defined only now."""
        cut = _cut(read, settled)
        self._stale |= any(end <= cut and label in self._mentioned for label, end in read.references.items())
        return self._stale

    def _reopen(self) -> None:
        self._open = "".join([*self._closed_text, self._open])
        self._closed_text.clear()
        self._closed = 0
        self._known = {}
        self._mentioned.clear()
        self._stale = False

    def _show(self, open_elements: Sequence[str]) -> HtmlChange | None:
        before = self._shown[self._closed :]
        same = 0
        while same < min(len(before), len(open_elements)) and before[same] == open_elements[same]:
            same += 1
        if same == len(before) == len(open_elements):
            return None
        keep = self._closed + same
        self._shown[keep:] = open_elements[same:]
        return HtmlChange(keep, "".join(open_elements[same:]))

    def _close(self, read: _Read, settled: int) -> None:
        if not settled:
            return
        cut = _cut(read, settled)
        place = _place_of_line(self._open, cut)
        self._closed_text.append(self._open[:place])
        self._open = self._open[place:]
        self._closed += settled
        self._mentioned.update(*(element.labels for element in read.elements[:settled]))
        for label, end in read.references.items():
            if end <= cut:
                self._known[label] = read.known[label]


def _settled(read: _Read) -> int:
    """How many elements no further text can change, but for definitions that are still to come.

    The one behind must have begun, with a whole line that follows: the line below decides whether a line is the head of
    a table, and so whether it begins an element. What refers to a definition that may still change is open like it.
    """
    count = 0
    for index, following in enumerate(read.elements[1:]):
        if following.start + 1 >= read.complete:
            break
        count = index + 1
    while count:
        cut = _cut(read, count)
        unsure = {label for label, end in read.references.items() if end > cut}
        first = next((index for index in range(count) if read.elements[index].labels & unsure), count)
        if first == count:
            break
        count = first
    return count


def _cut(read: _Read, settled: int) -> int:
    """The line at which the open part begins; definitions behind the last closed element belong to it."""
    if settled < len(read.elements):
        return read.elements[settled - 1].end if settled else 0
    return read.complete + 1


def _place_of_line(text: str, line: int) -> int:
    place = 0
    for _ in range(line):
        place = text.find("\n", place) + 1
        if not place:
            return len(text)
    return place


def _read(text: str, known: dict[str, object]) -> _Read:
    env: EnvType = {"references": dict(known)}
    tokens = parser().parse(text, env)
    elements: list[_Element] = []
    begin = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            elements.append(_element(tokens[begin : index + 1], env))
            begin = index + 1
    references = {
        label: int(reference["map"][1]) for label, reference in env["references"].items() if label not in known
    }
    return _Read(elements, references, env["references"], text.count("\n"))


def _element(tokens: Sequence[Token], env: EnvType) -> _Element:
    html = parser().renderer.render(tokens, parser().options, env)
    labels = frozenset(label for token in tokens if token.type == "inline" for label in _labels(token.content))
    start, end = tokens[0].map or (0, 0)
    return _Element(start, end, walled(html), labels)


def _labels(text: str) -> set[str]:
    """What stands in brackets without brackets in it, as definitions are called."""
    labels, start = set(), None
    for mark in _BRACKET.finditer(text):
        if mark[0] == "[":
            start = mark.end()
        elif mark[0] == "]" and start is not None:
            labels.add(normalizeReference(text[start : mark.start()]))
            start = None
    return labels


def _plain(text: str) -> str:
    return walled(f'<pre tabindex="0"><code>{escape(text)}</code></pre>')
