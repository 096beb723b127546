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
from typing import TypeAlias
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


def render(element: Element) -> str:
    """The element as text. A section's text stands on lines of its own; a child's text stands inline.

    Raises:
        UsageError: a name could not be parsed back.
    """
    return f"{_open_tag(element)}\n{_render_body(element.body)}\n</{element.name}>"


def _render_body(body: str | tuple[Element, ...]) -> str:
    if isinstance(body, str):
        return escape(body)
    return "\n".join(_render_child(child) for child in body)


def _render_child(child: Element) -> str:
    if isinstance(child.body, str):
        return f"{_open_tag(child)}{escape(child.body)}</{child.name}>"
    return render(child)


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
    element, end = _parse_at(text, 0)
    if end != len(text):
        raise UsageError(f"there is text behind the end of the element {element.name!r}")
    if render(element) != text:
        raise UsageError(f"the element {element.name!r} was not written by render: something in it would be lost")
    return element


def _parse_at(text: str, start: int) -> tuple[Element, int]:
    opening = _TAG.match(text, start)
    if opening is None or opening["close"]:
        raise UsageError(f"no element begins at character {start}")
    attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(opening["attributes"])}
    position = opening.end()
    children: list[Element] = []
    while (following := _TAG.search(text, position)) is not None:
        if not following["close"]:
            child, position = _parse_at(text, following.start())
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
