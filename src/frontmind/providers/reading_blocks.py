"""Collects the blocks of a request while it is read, the same for every wire format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from frontmind.errors import UsageError
from frontmind.values.section import RULE
from frontmind.window.canonical import canonical_json
from frontmind.window.layout import TEXT, TOOL, Area, Block, Marker, take_apart
from frontmind.window.sizes import estimate_json, estimate_tokens

JsonDict: TypeAlias = dict[str, Any]
CACHE_CONTROL: Final = "cache_control"
CACHE_POINT: Final = "cachePoint"
BREAKPOINT: Final = "prompt_cache_breakpoint"
_DEFAULT_TTL: Final = "5m"
_MARKERS: Final = (CACHE_CONTROL, BREAKPOINT)
# Where the blocks of a tool's result stand.
_NESTED: Final = ("content", "output")
_NAME_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a block stands and whose it is."""

    area: Area
    place: str
    role: str
    message: int = -1
    cleared: bool = False

    def at(self, step: str) -> Spot:
        """A place inside this one."""
        return replace(self, place=self.place + step)


class ReadMessages:
    """The messages of the requests of a conversation that were read last: one that is equal to what stood at the same
    place is not read again. Whoever passes one changes no message that was read.
    """

    def __init__(self) -> None:
        self._read: dict[tuple[str, Area], tuple[object, tuple[Block, ...]]] = {}

    def blocks(self, message: object, spot: Spot) -> tuple[Block, ...] | None:
        """The blocks of a message that was read at this spot; None for a new one."""
        message_there, blocks = self._read.get((spot.place, spot.area), (None, ()))
        return blocks if message_there == message else None

    def keep(self, message: object, spot: Spot, blocks: Iterable[Block]) -> None:
        """Note the blocks of a message."""
        self._read[spot.place, spot.area] = (message, tuple(blocks))


class Blocks:
    """The blocks so far, in the order in which they were added.

    Args:
        read: the messages that were read before.
    """

    def __init__(self, read: ReadMessages | None = None) -> None:
        self.items: list[Block] = []
        self._read = read

    @contextmanager
    def message(self, message: object, spot: Spot) -> Iterator[bool]:
        """Read a message, or what else stands in one place, unless it is known: then its blocks are added, and there
        is nothing to do.
        """
        known = None if self._read is None else self._read.blocks(message, spot)
        if known is not None:
            self.items += known
            yield False
            return
        before = len(self.items)
        yield True
        if self._read is not None:
            self._read.keep(message, spot, self.items[before:])

    def tool(self, place: str, definition: JsonDict, name: str, area: Area = Area.TOOLS) -> None:
        """A tool definition; its marker is taken from it."""
        with self.message(definition, Spot(area, place, "tools")) as is_new:
            if is_new:
                self._tool(place, definition, name, area)

    def _tool(self, place: str, definition: JsonDict, name: str, area: Area) -> None:
        self.items.append(
            Block(
                area,
                place,
                "tools",
                TOOL,
                canonical_json(unmarked(definition)),
                text=spoken(definition),
                name=_short(name),
                marker=marker_of(definition),
                tokens=estimate_json(definition),
                deferred=definition.get("defer_loading") is True,
            )
        )

    def text(self, spot: Spot, text: str, marker: Marker | None = None, extra: Mapping[str, Any] | None = None) -> None:
        """A text, as a block for each section that it is made of; the marker stands on the last."""
        pieces = take_apart(text, elements=spot.area is Area.SYSTEM)
        for number, piece in enumerate(pieces):
            said = {"type": "text", "text": piece.text, **(extra or {})}
            self.items.append(
                Block(
                    spot.area,
                    spot.place,
                    spot.role,
                    TEXT,
                    canonical_json(said),
                    text=piece.text,
                    message=spot.message,
                    name=piece.name,
                    in_center=piece.in_center,
                    marker=marker if number == len(pieces) - 1 else None,
                    tokens=estimate_tokens(piece.text),
                    cleared=spot.cleared,
                )
            )

    def other(self, spot: Spot, kind: str, value: JsonDict, *, call_id: str = "", name: str = "") -> None:
        """A block that is no text; its marker is taken from it."""
        plain = unmarked(value)
        self.items.append(
            Block(
                spot.area,
                spot.place,
                spot.role,
                kind,
                canonical_json(plain),
                text=spoken(plain),
                message=spot.message,
                name=_short(name),
                marker=marker_of(value),
                call_id=call_id,
                tokens=estimate_json(value),
                cleared=spot.cleared,
            )
        )

    def all(self) -> tuple[Block, ...]:
        """The blocks as they are once all of them are known.

        A text that is only a rule opens a notification center where that is the next thing that is said; anywhere else
        somebody wrote it.
        """
        items = list(self.items)
        for index, block in enumerate(items):
            alone = index == 0 or items[index - 1].place != block.place
            if block.in_center and alone and _is_rule(block):
                behind = items[index + 1] if index + 1 < len(items) else None
                answered = behind is not None and behind.in_center and behind.role == "assistant"
                if block.role == "assistant" or behind is None or not answered or _is_rule(behind):
                    items[index] = replace(block, name="", in_center=False)
        return tuple(items)

    def mark(self, marker: Marker) -> None:
        """Put a marker on the block that was added last."""
        if self.items:
            self.items[-1] = replace(self.items[-1], marker=marker)


def _is_rule(block: Block) -> bool:
    return block.text.strip() == RULE


def _short(name: str) -> str:
    return " ".join(name.split())[:_NAME_LENGTH]


def own_marker(value: Mapping[str, Any]) -> Marker | None:
    """The cache marker that a block, a message or a body carries itself."""
    for kind in _MARKERS:
        found = value.get(kind)
        if isinstance(found, dict):
            default = _DEFAULT_TTL if kind == CACHE_CONTROL else ""
            return Marker(kind, str(found.get("ttl") or default))
    return None


def marker_of(block: Mapping[str, Any]) -> Marker | None:
    """The cache marker of a block, its own or that of the last marked block of its content.

    Where one of those stands on a blank text, this is the text that the marker names.
    """
    inner = [item for key in _NESTED for item in _items(block, key) if isinstance(item, dict)]
    found = [(marker, item.get("text")) for item in inner if (marker := marker_of(item)) is not None]
    marker = own_marker(block) or (found[-1][0] if found else None)
    blank = next((text for _, text in found if isinstance(text, str) and not text.strip()), None)
    return marker if marker is None or blank is None else replace(marker, text=blank)


def unmarked(value: JsonDict) -> JsonDict:
    """The block without its marker and those on the blocks of its content; one text as content is that text."""
    plain = {key: item for key, item in value.items() if key not in _MARKERS and item is not None}
    for key in _NESTED:
        items = [unmarked(item) if isinstance(item, dict) else item for item in _items(plain, key)]
        if len(items) == 1 and isinstance(items[0], dict) and set(items[0]) == {"type", "text"}:
            plain[key] = items[0]["text"]
        elif items:
            plain[key] = items
    return plain


def _items(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def spoken(value: JsonDict) -> str:
    """What a block that is no text says in words, as far as a person wants to read it."""
    for key in ("description", "thinking", "text", "content", "output", "arguments"):
        found = value.get(key)
        if isinstance(found, str) and found:
            return found
    function = value.get("function")
    return spoken(function) if isinstance(function, dict) else ""


def require_list(value: Any, what: str) -> list[Any]:
    """The value if it is a list.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(value, list):
        raise UsageError(f"{what} is no list; pass the body of a request as it was sent")
    return value


def require_object(value: Any, what: str) -> JsonDict:
    """The value if it is a JSON object.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(value, dict):
        raise UsageError(f"{what} is no JSON object; pass the body of a request as it was sent")
    return value
