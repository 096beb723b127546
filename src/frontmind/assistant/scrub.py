"""Takes an echo of the notification center out of a reply while it streams. Pure.

A model may begin its reply by saying aloud what it was shown. What is taken out is only what nobody would write by
chance: a line of rule characters, the header beside a rule or with its sentence, and an element of the names that
were sent, at the beginning of a line. Whatever stands in a fenced code block stays, and a reply without an echo
comes out byte for byte. An element that never ends may have the answer in it: of that one only the markup goes.

This module does not know what the sections say, nor what becomes of the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from frontmind.values.section import HEADER, RULE_CHARACTER

_TITLE, _SENTENCE_START, _SENTENCE_END = HEADER.split("\n")
_SENTENCES: Final = (_SENTENCE_START, f"{_SENTENCE_START} {_SENTENCE_END}")
_SHORTEST_RULE: Final = 8
# So much blank space may follow what is recognised, or make up a blank line: a limit keeps the work linear.
_MOST_PADDING: Final = 8
_MOST_BLANK: Final = 80
_MOST_ATTRIBUTES: Final = 1000
_BLANK: Final = " \t\r"
_FENCE: Final = re.compile(r" {0,3}(?P<run>`{3,}|~{3,})(?P<info>[^\n]*)")
_MARKUP_LINE: Final = re.compile(r"\s*(?:</?[A-Za-z_]|$)")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_PIECE_END: Final = re.compile(r"[\n>]")


class _Kind(Enum):
    """What a line is, as far as it is known; MAYBE: it is held until more of it has come."""

    MAYBE = auto()
    TEXT = auto()
    BLANK = auto()
    RULE = auto()
    TITLE = auto()
    SENTENCE = auto()
    OPENING = auto()


class _Fence:
    """Whether the text stands in a fenced code block; told line by line."""

    def __init__(self) -> None:
        self._run = ""

    @property
    def inside(self) -> bool:
        return bool(self._run)

    def add(self, line: str) -> None:
        found = _FENCE.match(line)
        if found is None:
            return
        run, info = found["run"], found["info"]
        if not self._run:
            self._run = run if run[0] == "~" or "`" not in info else ""
        elif run.startswith(self._run) and not info.strip():
            self._run = ""


class _Openings:
    """The opening tags of our elements."""

    def __init__(self, names: Iterable[str]) -> None:
        self._tags = [f"<{name}" for name in dict.fromkeys(names)]
        either = "|".join(re.escape(tag) for tag in self._tags) or r"(?!)"
        self._begun = re.compile(rf"(?:{either})[ \t/][^<>\n]{{0,{_MOST_ATTRIBUTES}}}")
        self._whole = re.compile(rf"(?P<tag>{either})(?:[ \t/][^<>\n]{{0,{_MOST_ATTRIBUTES}}})?>")

    def name(self, line: str) -> str | None:
        """The name of the element that the line opens."""
        found = self._whole.match(line)
        return found["tag"][1:] if found is not None else None

    def may_come(self, line: str) -> bool:
        """Whether the line is the beginning of an opening tag."""
        return any(tag.startswith(line) for tag in self._tags) or self._begun.fullmatch(line) is not None


class _Element:
    """An element of ours that has begun: all of it is held until it has ended, or is known to be none."""

    def __init__(self, tag: str, name: str) -> None:
        self.fence = _Fence()
        self._tag = tag
        self._closing = f"</{name}>"
        self._tail = ""
        self._first = True
        self._alone = True
        self._lines: list[str] = []
        self._current: list[str] = []

    def add(self, piece: str) -> bool:
        """Add a piece that ends at the latest with a ``>``; whether the element has ended with it."""
        self._current.append(piece)
        recent = self._tail + piece
        self._tail = recent[1 - len(self._closing) :]
        return recent.endswith(self._closing)

    @property
    def size(self) -> int:
        return len(self._tag) + sum(map(len, self._lines)) + sum(map(len, self._current))

    def end_line(self, openings: _Openings) -> str | None:
        """The current line has ended. Gives it back when it shows that the element will not end any more."""
        line = "".join(self._current)
        self._current.clear()
        blank = not line.strip()
        if self._first:
            self._first, self._alone = False, blank
        elif not self.fence.inside and (
            _is_rule(line.rstrip("\n")) or openings.name(line) is not None or (blank and not self._alone)
        ):
            return line
        else:
            self.fence.add(line)
        self._lines.append(line)
        return None

    def give_up(self) -> tuple[str, str]:
        """It never ends: what of it is certainly an echo, and what may be the answer."""
        if self._current:
            line = "".join(self._current)
            if self._first:
                self._alone = not line.strip()
            self._lines.append(line)
        if not self._alone:
            # A tag with text behind it and no end: a person may have asked which elements there are.
            return "", self._tag + "".join(self._lines)
        certain = next(
            (number for number, line in enumerate(self._lines) if not _MARKUP_LINE.match(line)), len(self._lines)
        )
        return self._tag + "".join(self._lines[:certain]), "".join(self._lines[certain:])


class EchoScrubber:
    """Takes echoes out of one reply.

    The same text gives the same result, however it is split. Held back is at most the current line while it can
    still become an echo, a header's title with it, and an element of ours until its end.

    Args:
        names: the names of the sections that were sent.

    Attributes:
        scrubbed: how many characters have been taken out.
        echoes: how many times; what follows upon each other counts once.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.scrubbed = 0
        self.echoes = 0
        self._openings = _Openings(names)
        self._shown: list[str] = []
        self._tail = ""
        self._fence = _Fence()
        self._line: list[str] = []
        self._passing = False
        self._fence_line: list[str] | None = None
        self._element: _Element | None = None
        self._title = ""
        self._expected: tuple[str, ...] = ()
        self._after_rule = False
        self._after_element = False
        self._in_echo = False

    def feed(self, text: str) -> str:
        """Add a piece of the reply; what may be shown now."""
        self._read(text)
        return self._take_shown()

    def finish(self) -> str:
        """The reply has ended; the rest of what is shown."""
        if self._element is not None:
            self._give_up(self._element)
        elif self._line:
            self._decide(ended=True)
        self._show_title()
        return self._take_shown()

    def _read(self, text: str) -> None:
        position = 0
        while position < len(text):
            if self._passing:
                end = text.find("\n", position) + 1 or len(text)
            else:
                # A tag of ours ends where a piece ends, so nothing is ever looked at twice.
                found = _PIECE_END.search(text, position)
                end = len(text) if found is None else found.end()
            self._add(text[position:end])
            position = end

    def _add(self, piece: str) -> None:
        if self._element is not None:
            self._add_inside(self._element, piece)
        elif self._passing:
            self._pass(piece)
        elif self._line and _is_drawn(piece) and self._line[-1][-1] == RULE_CHARACTER:
            self._line.append(piece)
        else:
            self._line.append(piece)
            self._decide(ended=piece.endswith("\n"))

    def _decide(self, *, ended: bool) -> None:
        line = "".join(self._line)
        kind = self._kind(line, ended=ended)
        if kind is _Kind.MAYBE:
            self._line = [line]
            return
        self._line.clear()
        if self._title and kind in (_Kind.RULE, _Kind.SENTENCE):
            self._remove(len(self._title))
            self._title = ""
        self._show_title()
        if kind is _Kind.TEXT:
            self._let_through(line)
        elif kind is _Kind.OPENING and line.endswith("/>"):
            self._remove(len(line))
            self._expected, self._after_rule = (), False
        elif kind is _Kind.OPENING:
            self._element = _Element(line, self._openings.name(line) or "")
        elif kind is _Kind.TITLE and not self._after_rule:
            self._title, self._expected = line, _SENTENCES
        else:
            self._remove(len(line))
            # A rule may stand above a blank line and the header below.
            self._after_rule = kind is _Kind.RULE or (kind is _Kind.BLANK and self._after_rule)
            self._expected = self._expected_after(kind, line)
        self._after_element = kind is _Kind.OPENING

    @staticmethod
    def _expected_after(kind: _Kind, line: str) -> tuple[str, ...]:
        if kind is _Kind.TITLE:
            return _SENTENCES
        return (_SENTENCE_END,) if kind is _Kind.SENTENCE and line.rstrip() == _SENTENCE_START else ()

    def _kind(self, line: str, *, ended: bool) -> _Kind:
        if self._fence.inside:
            return _Kind.TEXT
        text = line.removesuffix("\n")
        if not text.strip(_BLANK) and len(text) <= _MOST_BLANK and self._drops_blank():
            return _Kind.BLANK if ended else _Kind.MAYBE
        if text[:1] == "<":
            if self._openings.name(line) is not None:
                return _Kind.OPENING
            return _Kind.MAYBE if not ended and self._openings.may_come(text) else _Kind.TEXT
        if text[:1] == RULE_CHARACTER:
            if ended:
                return _Kind.RULE if _is_rule(text) else _Kind.TEXT
            return _Kind.MAYBE if _is_rule(text) or _is_drawn(text) else _Kind.TEXT
        for kind, sayings in ((_Kind.TITLE, (_TITLE,)), (_Kind.SENTENCE, self._expected)):
            if any(_is_said(text, saying) for saying in sayings):
                return kind if ended else _Kind.MAYBE
            if not ended and any(saying.startswith(text) for saying in sayings):
                return _Kind.MAYBE
        return _Kind.TEXT

    def _drops_blank(self) -> bool:
        """Blank lines between echoes go with them, but for the one that keeps two paragraphs apart."""
        return self._after_element or (self._in_echo and (not self._tail or self._tail.endswith("\n\n")))

    def _let_through(self, line: str) -> None:
        self._expected, self._after_rule = (), False
        self._passing = True
        self._fence_line = [] if line[0] in " `~" else None
        self._pass(line)

    def _pass(self, piece: str) -> None:
        self._show(piece)
        if self._fence_line is not None:
            self._fence_line.append(piece)
        if piece.endswith("\n"):
            if self._fence_line is not None:
                self._fence.add("".join(self._fence_line))
            self._passing, self._fence_line = False, None

    def _add_inside(self, element: _Element, piece: str) -> None:
        if element.add(piece):
            self._remove(element.size)
            self._element, self._after_element = None, True
            self._expected, self._after_rule = (), False
        elif piece.endswith("\n"):
            line = element.end_line(self._openings)
            if line is not None:
                self._give_up(element)
                self._read(line)

    def _give_up(self, element: _Element) -> None:
        echo, answer = element.give_up()
        self._element = None
        self._expected, self._after_rule, self._after_element = (), False, False
        if echo:
            self._remove(len(echo))
        if answer:
            self._show(answer)
            self._fence = element.fence

    def _remove(self, characters: int) -> None:
        self.scrubbed += characters
        self.echoes += not self._in_echo
        self._in_echo = True

    def _show_title(self) -> None:
        if self._title:
            self._show(self._title)
            self._title, self._expected, self._after_rule = "", (), False

    def _show(self, text: str) -> None:
        self._shown.append(text)
        self._tail = (self._tail + text.replace("\r", ""))[-2:]
        if text.strip():
            self._in_echo = False

    def _take_shown(self) -> str:
        shown = "".join(self._shown)
        self._shown.clear()
        return shown


def scrub(text: str, names: Iterable[str]) -> tuple[str, int]:
    """A whole text without its echoes, and how many characters were taken out."""
    scrubber = EchoScrubber(names)
    return scrubber.feed(text) + scrubber.finish(), scrubber.scrubbed


def _is_said(text: str, saying: str) -> bool:
    """Whether the line says it and nothing else."""
    return text.startswith(saying) and len(text) <= len(saying) + _MOST_PADDING and text.rstrip(_BLANK) == saying


def _is_rule(text: str) -> bool:
    drawn = text.rstrip(_BLANK)
    return len(drawn) >= _SHORTEST_RULE and _is_drawn(drawn) and len(text) <= len(drawn) + _MOST_PADDING


def _is_drawn(text: str) -> bool:
    return text.count(RULE_CHARACTER) == len(text)
