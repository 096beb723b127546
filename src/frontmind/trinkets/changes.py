"""What is new in a section of the system prompt since a conversation began. Pure: two rendered texts to an element.

While a conversation runs its system prompt keeps its bytes; what has changed since is said in the notification center.
Elements are told apart by their ``name``, ``id`` or ``number``; where that cannot say which is which, all is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from frontmind.errors import UsageError
from frontmind.trinkets.markup import Element, parse, render

GONE: Final = {"gone": "true"}
"""The attribute of an element that is no longer there."""
WHOLE: Final = {"whole": "true"}
"""The attribute of an element that takes the place of the whole earlier one, with all that is in it."""
UNCHANGED: Final = {"content": "unchanged"}
"""The attribute of an element of which only the attributes have changed."""

_IDENTIFYING: Final = ("name", "id", "number")
_NAME = re.compile(r"<([A-Za-z_][A-Za-z0-9_.-]*)")


def changed_elements(before: str, after: str) -> Element | None:
    """What a reader of ``before`` must be told to know ``after``; both are one rendered section, or empty.

    Returns:
        None when they are equal. Otherwise an element named as the section that holds, inside their ancestors, the
        elements that are new or different (as they are now, each once) and, marked as `GONE`, those that are not
        there any more. The whole present section, marked as `WHOLE`, where a text was not written by
        `frontmind.trinkets.markup`, or what has changed is more than half of it.
    """
    if before == after:
        return None
    if not after:
        return Element(_name_of(before), "", GONE)
    try:
        now = parse(after)
    except UsageError:
        # What no element can be made of is said as plain text.
        return Element(_name_of(after), after, WHOLE)
    try:
        then = parse(before)
    except UsageError:
        return _whole(now)
    if then.name != now.name:
        return _whole(now)
    changed = _changed(then, now)
    return _whole(now) if 2 * len(render(changed)) > len(after) else changed


def _changed(then: Element, now: Element) -> Element:
    """What is different in ``now``, which is the same element as ``then`` and not equal to it."""
    if isinstance(then.body, str) or isinstance(now.body, str):
        if then.body == now.body:
            return _marked(replace(now, body=""), UNCHANGED)
        return now if isinstance(now.body, str) and isinstance(then.body, str) else _whole(now)
    old, new = _by_key(then.body), _by_key(now.body)
    if old is None or new is None or [key for key in old if key in new] != [key for key in new if key in old]:
        return _whole(now)
    children = [
        *(Element(child.name, "", {**_identity(child), **GONE}) for key, child in old.items() if key not in new),
        *(
            _changed(old[key], child) if key in old else child
            for key, child in new.items()
            if key not in old or not _equal(old[key], child)
        ),
    ]
    return replace(now, body=tuple(children)) if children else _marked(replace(now, body=""), UNCHANGED)


def _equal(one: Element, other: Element) -> bool:
    return one == other and list(one.attributes) == list(other.attributes)


def _by_key(children: Sequence[Element]) -> Mapping[tuple[str, str, str], Element] | None:
    """The children by what identifies them; None where two are alike or one has nothing that identifies it."""
    keyed: dict[tuple[str, str, str], Element] = {}
    for child in children:
        identity = _identity(child)
        if not identity:
            return None
        ((attribute, value),) = identity.items()
        if keyed.setdefault((child.name, attribute, value), child) is not child:
            return None
    return keyed


def _identity(element: Element) -> Mapping[str, str]:
    for attribute in _IDENTIFYING:
        if attribute in element.attributes:
            return {attribute: element.attributes[attribute]}
    return {}


def _whole(element: Element) -> Element:
    return _marked(element, WHOLE)


def _marked(element: Element, mark: Mapping[str, str]) -> Element:
    return replace(element, attributes={**element.attributes, **mark})


def _name_of(rendered: str) -> str:
    found = _NAME.match(rendered)
    return found[1] if found else "section"
