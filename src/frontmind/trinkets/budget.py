"""Making what a trinket says fit into its budget: whole elements are left out first, then the end of a text.

Sizes are estimates of the rendered text (`frontmind.values.tokens`); this module counts for no model.
"""

from __future__ import annotations

from typing import Final

from frontmind.trinkets.markup import DEPTH_LIMIT, Body, Element, escape, render, require_depth
from frontmind.values.tokens import BYTES_PER_TOKEN, estimate_tokens

OMITTED: Final = "omitted"
"""The name of the element that says how much was left out."""

_NOTE_TOKENS: Final = 16
_CUT: Final = "\n(cut here: it was too long)"


def fits(body: Body, budget: int) -> bool:
    """Whether the body, rendered, has at most this many tokens. Looks no further than it must.

    Raises:
        UsageError: what it looks at could not be rendered.
    """
    return _fits(body, budget, DEPTH_LIMIT)


def _fits(body: Body, budget: int, deepest: int) -> bool:
    if isinstance(body, str):
        return _text_tokens(body, budget) <= budget
    require_depth(deepest)
    left = budget
    for element in body:
        left -= _element_tokens(element, left, deepest)
        if left < 0:
            return False
    return True


def shortened(body: Body, budget: int) -> Body:
    """The body with whole elements left out from the end, and a text without its end, so that it `fits`."""
    if isinstance(body, str):
        return _cut(body, budget)
    kept: list[Element] = []
    left = budget - _NOTE_TOKENS
    for element in body:
        cost = _element_tokens(element, left)
        if cost > left:
            break
        kept.append(element)
        left -= cost
    if not kept and body and not isinstance(body[0].body, tuple):
        first = Element(body[0].name, "", body[0].attributes)
        room = left - _element_tokens(first, left)
        if room > 0:
            kept.append(Element(first.name, _cut(str(body[0].body), room), first.attributes))
    missing = len(body) - len(kept)
    return [*kept, Element(OMITTED, f"{missing} more")] if missing else kept


def _text_tokens(text: str, enough: int) -> int:
    # A text that is too long as it is need not be escaped to know it.
    if len(text) > enough * BYTES_PER_TOKEN:
        return enough + 1
    return estimate_tokens(escape(text))


def _element_tokens(element: Element, enough: int, deepest: int = DEPTH_LIMIT) -> int:
    if isinstance(element.body, str):
        if len(element.body) > enough * BYTES_PER_TOKEN:
            return enough + 1
    elif not _fits(element.body, enough, deepest - 1):
        return enough + 1
    return estimate_tokens(render(element)) + 1


def _cut(text: str, budget: int) -> str:
    room = max(0, budget - _NOTE_TOKENS) * BYTES_PER_TOKEN
    kept = text[:room]
    # References are longer than what they stand for: a text of controls is cut again.
    while kept and estimate_tokens(escape(kept)) > max(0, budget - _NOTE_TOKENS):
        kept = kept[: len(kept) * 3 // 4]
    whole_lines, _, _ = kept.rpartition("\n")
    return (whole_lines if len(whole_lines) > len(kept) // 2 else kept) + _CUT
