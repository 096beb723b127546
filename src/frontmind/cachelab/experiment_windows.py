"""The windows that experiments are made with, and the few changes to encoded requests that no window can ask for.

Pure. The windows go through the real encoder: what is tried is what Frontmind sends.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from frontmind.errors import UsageError
from frontmind.providers.protocol import Request
from frontmind.trinkets.markup import Element, render
from frontmind.values.message import Message, assistant, user
from frontmind.values.section import PLACEMENT_NOTIFICATION, Author, Section, render_notification_center
from frontmind.values.tokens import estimate_tokens
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.framing import closed
from frontmind.window.window import Window

QUESTION: Final = "Answer with the single word OK."
REPLY: Final = "OK."
# What a window has beside its filler, by estimate: instructions, the short messages, the section.
_BESIDE: Final = 90
_SMALL: Final = 180
_MARKERS: Final = ("cache_control", "prompt_cache_breakpoint")
_POINT: Final = "cachePoint"


@dataclass(frozen=True, slots=True)
class Ground:
    """What all windows of a series have in common.

    Attributes:
        nonce: stands at the beginning of every system prompt, so that nothing of an earlier run is read.
        choice: how the windows are framed.
        factor: how many tokens the provider counts for one of our estimate.
    """

    nonce: str
    choice: FramingChoice
    factor: float = 1.0

    def framed(self, framing: Framing) -> Ground:
        """The same ground with another framing."""
        return self if framing is self.choice.framing else replace(self, choice=FramingChoice(framing, asked=True))

    def small(self) -> Window:
        """A window with a history and a notification center, just large enough to learn how tokens are counted."""
        return self.window(_SMALL, name="accepted")

    def pair(self) -> Window:
        """As `small`, without a notification center."""
        return self.window(_SMALL, name="pair", state="")

    def window(self, tokens: int, *, name: str = "", state: str = "one") -> Window:
        """A window whose prefix, up to the end of its history, has about so many tokens.

        Args:
            name: tells it apart from others from its first tokens on.
            state: what the section says; empty for no section.
        """
        return self._window(f"{self.nonce} {name}".strip(), self._history(tokens), state, user(QUESTION))

    def spread(self, tokens: int, blocks: int, name: str) -> Window:
        """The same history as in `window`, and a user message of so many blocks behind it; no section."""
        turn = user(*(f"{name}, part {number} of {blocks}." for number in range(1, blocks)), QUESTION)
        return self._window(self.nonce, self._history(tokens), "", turn)

    def _history(self, tokens: int) -> tuple[Message, ...]:
        # Half in each exchange: reading one of them less than expected is then plain to see.
        text = filler(max(1, (round(tokens / self.factor) - _BESIDE) // 2))
        return (user(f"{text}\n{QUESTION}"), assistant(REPLY), user(f"Again.\n{text}\n{QUESTION}"), assistant(REPLY))

    def _window(self, name: str, history: tuple[Message, ...], state: str, turn: Message) -> Window:
        section = Section(
            "experiment",
            render(Element("experiment", f"This is reading {state}.")),
            PLACEMENT_NOTIFICATION,
            cache_policy=False,
            author=Author.APPLICATION,
        )
        sections = (section,) if state else ()
        return Window(
            cached_system=f"{name}\n\nThis conversation tries out a prompt cache. Keep every reply to one word.",
            uncached_system="",
            history=history,
            notification_center=render_notification_center(sections),
            turn=(turn,),
            sections=sections,
            framing=self.choice,
            conversation=self.nonce,
        )


def next_turn(window: Window, reply: Message, words: str, *, state: str = "") -> Window:
    """The window of the turn behind a window that was answered.

    Args:
        state: what the section says now; empty for no section.
    """
    history = closed(window, reply)
    following = replace(window, history=history, turn=(user(words),), notification_center="", sections=())
    if not state:
        return following
    sections = tuple(
        replace(section, content=render(Element(section.name, f"This is reading {state}.")))
        for section in window.sections
    )
    return replace(following, notification_center=render_notification_center(sections), sections=sections)


def filler(tokens: int) -> str:
    """A text without meaning of at least so many estimated tokens, the same for the same number."""
    lines: list[str] = []
    size = number = 0
    while size < tokens:
        number += 1
        line = f"Entry {number}: the shelf in row {number * 7 % 90} holds {number * 13 % 50} boxes of plain paper."
        lines.append(line)
        size += estimate_tokens(line)
    return "\n".join(lines)


def with_two_users(request: Request) -> Request:
    """The request with the user message before its last once more in front of that: two of one role in a row."""
    changed = copy.deepcopy(dict(request))
    items = _items(changed)
    *_, before, last = (index for index, item in enumerate(items) if item.get("role") == "user")
    items.insert(last, without_markers(items[before]))
    return changed


def with_one_marker(request: Request) -> Request:
    """The request with one marker in its messages, at the very end; the last that it has is moved there.

    Raises:
        UsageError: there is none.
    """
    changed = copy.deepcopy(dict(request))
    items = _items(changed)
    found = [marker for item in items for block in item["content"] for marker in _markers(block)]
    if not found:
        raise UsageError("the request has no marker in its messages; look-back is only tried with markers")
    items[:] = [without_markers(item) for item in items]
    name, value = found[-1]
    content = items[-1]["content"]
    if name == _POINT:
        content.append({name: value})
    else:
        content[-1][name] = value
    return changed


def without_markers(item: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a message without the markers of its blocks."""
    if not isinstance(item.get("content"), list):
        return dict(item)
    blocks = [
        {key: value for key, value in block.items() if key not in _MARKERS}
        for block in item["content"]
        if _POINT not in block
    ]
    return {**item, "content": blocks}


def _markers(block: Any) -> list[tuple[str, Any]]:
    return [(name, block[name]) for name in (*_MARKERS, _POINT) if isinstance(block, dict) and name in block]


def _items(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The list of messages, in whatever format."""
    body = request["body"] if isinstance(request.get("body"), dict) else request
    return next(body[key] for key in ("messages", "input", "contents") if isinstance(body.get(key), list))
