"""The markup of a section: XML-like elements around data that others wrote.

Whatever string goes in as data, `parse` gives exactly it back, and no data can end an element, open one,
or draw the rule that ends the notification center: the characters that could are written as references.
Characters that XML cannot carry (controls, lone surrogates) and those that reorder or hide text on a screen
(bidirectional controls) are references too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from xml.sax.saxutils import escape as xml_escape

from frontmind.errors import UsageError
from frontmind.values.section import RULE_CHARACTER

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
# C0 controls but tab and newline, DEL and C1, line and paragraph separators, bidirectional controls,
# surrogates, the byte order mark, noncharacters at the end of the basic plane, and the rule.
_REFERENCED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    f"\ud800-\udfff\ufeff\ufffe\uffff{RULE_CHARACTER}]"
)
_REFERENCE = re.compile(r"&(?:#x([0-9A-F]{1,5}|10[0-9A-F]{4})|lt|gt|amp|quot);")
_NAMED = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"'}

DEPTH_LIMIT: Final = 60
"""How deep elements may stand inside each other: far above what a reader follows, and far below Python's own limit."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element with attributes and content.

    Attributes:
        name: letters, digits, ``_``, ``.`` and ``-``, not beginning with a digit.
        body: its text, or its child elements.
        attributes: name to value, rendered in the order given.
    """

    name: str
    body: str | tuple[Element, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)


Body: TypeAlias = str | Sequence[Element]
"""What a trinket has to say: plain text, or elements."""


def require_name(name: str) -> None:
    """Refuse what cannot be the name of an element or attribute.

    Raises:
        UsageError: the name could not be parsed back.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of an element or attribute; use letters, digits and _")


def escape(text: str) -> str:
    """The text with everything replaced that could be taken for markup."""
    return _REFERENCED.sub(lambda found: f"&#x{ord(found[0]):X};", xml_escape(text))


def unescape(text: str) -> str:
    """The inverse of `escape`, also for attribute values."""
    return _REFERENCE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _NAMED[found[0]], text)


def _escape_attribute(text: str) -> str:
    return escape(text).replace('"', "&quot;").replace("\n", "&#xA;").replace("\t", "&#x9;")


def render(element: Element, *, deepest: int = DEPTH_LIMIT) -> str:
    """The element as text. A section's text stands on lines of its own; a child's text stands inline.

    Args:
        deepest: inside of how many others an element may stand, up to `DEPTH_LIMIT`.

    Raises:
        UsageError: a name could not be parsed back, or an element stands deeper than that.
    """
    return _render(element, deepest)


def require_depth(left: int) -> None:
    """Refuse what stands too deep inside of other elements.

    Args:
        left: how much deeper it might stand; less than none is too deep.

    Raises:
        UsageError: it is too deep.
    """
    if left < 0:
        raise UsageError("too many elements stand inside each other; make them flatter")


def _render(element: Element, left: int) -> str:
    require_depth(left)
    if isinstance(element.body, str):
        body = escape(element.body)
    else:
        body = "\n".join(_render_child(child, left - 1) for child in element.body)
    return f"{_open_tag(element)}\n{body}\n</{element.name}>"


def _render_child(child: Element, left: int) -> str:
    if isinstance(child.body, str):
        require_depth(left)
        return f"{_open_tag(child)}{escape(child.body)}</{child.name}>"
    return _render(child, left)


def _open_tag(element: Element) -> str:
    for name in (element.name, *element.attributes):
        require_name(name)
    attributes = "".join(f' {name}="{_escape_attribute(value)}"' for name, value in element.attributes.items())
    return f"<{element.name}{attributes}>"


_TAG = re.compile(r'<(?P<close>/?)(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)(?P<attributes>(?: [^\s="<>]+="[^"<>]*")*)>')
_ATTRIBUTE = re.compile(r' ([^\s="<>]+)="([^"<>]*)"')


def parse(text: str) -> Element:
    """Read back what `render` wrote.

    Raises:
        UsageError: the text is not one rendered element.
    """
    element, end = _parse_at(text, 0, DEPTH_LIMIT)
    if end != len(text):
        raise UsageError(f"there is text behind the end of the element {element.name!r}")
    if render(element) != text:
        raise UsageError(f"the element {element.name!r} was not written by render: something in it would be lost")
    return element


def _parse_at(text: str, start: int, left: int) -> tuple[Element, int]:
    require_depth(left)
    opening = _TAG.match(text, start)
    if opening is None or opening["close"]:
        raise UsageError(f"no element begins at character {start}")
    attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(opening["attributes"])}
    position = opening.end()
    children: list[Element] = []
    while (following := _TAG.search(text, position)) is not None:
        if not following["close"]:
            child, position = _parse_at(text, following.start(), left - 1)
            children.append(child)
            continue
        if following["name"] != opening["name"]:
            break
        body: str | tuple[Element, ...] = tuple(children)
        if not children:
            body = unescape(_without_frame(text[opening.end() : following.start()], framed=start == 0))
        return Element(opening["name"], body, attributes), following.end()
    raise UsageError(f"the element {opening['name']!r} does not end")


def _without_frame(inner: str, *, framed: bool) -> str:
    """The text of an element; a section's has one line end after its opening tag and one before its closing."""
    return inner[1:-1] if framed else inner
