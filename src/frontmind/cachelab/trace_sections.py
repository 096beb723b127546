"""What was said in the requests of one conversation, and what the application put beside it for a single turn.

Pure. A text is a section where it is part of a notification center, where the application says it in its own voice, or
where it is gone or rewritten in the next request. In the newest request, which has no next one, a text is a section
that stands where one stood in the requests before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from frontmind.cachelab.trace_system import NamedText, split_systems, with_own_names
from frontmind.providers.decoding.reply import DecodedRequest
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.reading_blocks import Blocks, Spot
from frontmind.values.message import Message
from frontmind.values.parts import Notice, Part, Text, Thinking, ToolCall, ToolResult, part_text
from frontmind.values.section import HEADER, PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, RULE, Author, Section
from frontmind.window.difference import open_turn
from frontmind.window.framing import gone_section
from frontmind.window.layout import CENTER, TEXT, THINKING, TOOL_CALL, TOOL_RESULT, Area, Block, Layout, take_apart
from frontmind.window.normalise import normalise
from frontmind.window.volatility import find_volatile

_Known: TypeAlias = dict[tuple[str, int, int, Part], tuple[Block, ...]]
_SYSTEM: Final = "system_prompt"
_PASSING: Final = "passing_text"
_OPERATOR: Final = "operator_text"
# The messages are compared by themselves: what stays of the system prompt is found elsewhere.
_HEAD: Final = Block(Area.SYSTEM, "head", "system", TEXT, b"head")
_BEFORE: Final = 2
_ALIKE: Final = 12
_DIGITS: Final = re.compile(r"\d+")
_TURN_SCOPED: Final = frozenset({Wire.ANTHROPIC, Wire.BEDROCK_INVOKE})


@dataclass(frozen=True, slots=True)
class Told:
    """A request without what stands beside the conversation.

    Attributes:
        messages: as `frontmind.window.normalise` leaves them.
        sections: what stands beside it, of both placements.
    """

    messages: tuple[Message, ...]
    sections: tuple[Section, ...]


def split_requests(requests: Sequence[DecodedRequest], wire: str) -> list[Told]:
    """Each request in what was said and what stands beside it.

    Args:
        requests: of one conversation, in their order.
        wire: the format that they are written in.
    """
    systems = split_systems([request.system for request in requests])
    known: _Known = {}
    read = [_Read(request.messages, known) for request in requests]
    passing = [
        {index - 1 for index in found.volatile if index} for found in find_volatile([item.layout for item in read])
    ]
    if read:
        passing[-1] |= read[-1].like(list(zip(read, passing, strict=True))[-1 - _BEFORE : -1])
    told = []
    own: set[str] = set()
    versions: dict[str, set[str]] = {}
    said: dict[Message, Message] = {}
    for system, item, places in zip(systems, read, passing, strict=True):
        operator = item.operator(wire)
        own |= operator.keys()
        beside = item.center() | operator
        # What the system prompt says may be out of date: a message says the newest.
        prompt = [NamedText(piece.name, beside.pop(piece.name, piece.text)) for piece in system.changes]
        said_beside = [NamedText(name, text) for name, text in beside.items()]
        pieces = with_own_names([*prompt, *said_beside, *item.passing(places)])
        for piece in pieces:
            versions.setdefault(piece.name, set()).add(piece.text)
        fixed = [Section(_SYSTEM, system.stays, PLACEMENT_SYSTEM, cache_policy=True)] if system.stays else []
        changing = [Section(piece.name, piece.text, PLACEMENT_NOTIFICATION, cache_policy=False) for piece in pieces]
        messages = normalise(item.without(places)).messages
        told.append(Told(tuple(said.setdefault(message, message) for message in messages), (*fixed, *changing)))
    own |= {name for name, texts in versions.items() if _only_counts(texts)}
    return [replace(one, sections=tuple(_authored(section, own) for section in one.sections)) for one in told]


def _only_counts(texts: set[str]) -> bool:
    """Whether nothing but figures differs: no person or document writes so."""
    return len(texts) > 1 and len({_DIGITS.sub("0", text) for text in texts}) == 1


def _authored(section: Section, own: set[str]) -> Section:
    return replace(section, author=Author.APPLICATION) if section.name in own else section


class _Read:
    """The messages of a request, and its texts as blocks."""

    def __init__(self, messages: Sequence[Message], known: _Known) -> None:
        self._messages = messages
        blocks = Blocks()
        for index, message in enumerate(messages):
            for number, part in enumerate(message.parts):
                key = (message.role.value, index, number, part)
                if key not in known:
                    known[key] = _blocks_of(part, Spot(Area.MESSAGES, f"{index}.{number}", message.role.value, index))
                blocks.items += known[key]
        self.blocks = _framed(blocks.all())
        self.layout = Layout("", "", "", (_HEAD, *self.blocks))
        self._start = open_turn(self.blocks).start

    def center(self) -> dict[str, str]:
        """What the notification centers say last of each section."""
        said: dict[str, str] = {}
        for block in self.blocks:
            if not block.in_center:
                continue
            text = block.text.strip("\n") if block.name != CENTER else _unframed(block.text)
            if not text:
                continue
            said.pop(block.name, None)
            if block.name == CENTER or text != gone_section(block.name).content:
                said[block.name] = text
        return said

    def operator(self, wire: str) -> dict[str, str]:
        """What the application says in its own voice and still holds."""
        begin = self.blocks[self._start].message if self._start < len(self.blocks) else len(self._messages)
        said: dict[str, str] = {}
        for index, message in enumerate(self._messages):
            for part in message.parts:
                if isinstance(part, Notice) and (part.lasting or wire not in _TURN_SCOPED or index >= begin):
                    said |= _taken_apart(part.text)
        return said

    def passing(self, places: set[int]) -> list[NamedText]:
        """The texts outside of a notification center that are there for this one question."""
        blocks = [self.blocks[place] for place in sorted(places)]
        outside = [block for block in blocks if block.kind == TEXT and not block.in_center and block.text.strip()]
        return [NamedText(_element(block.text) or _PASSING, block.text.strip("\n")) for block in outside]

    def without(self, places: set[int]) -> list[Message]:
        """The messages without what stands beside the conversation."""
        gone = {place for place in places if self.blocks[place].kind == TEXT}
        gone |= {place for place, block in enumerate(self.blocks) if block.in_center}
        touched = {self.blocks[place].message for place in gone}
        kept: dict[str, str] = {}
        for place, block in enumerate(self.blocks):
            if block.message in touched and block.kind == TEXT:
                kept[block.place] = kept.get(block.place, "") + ("" if place in gone else block.text)
        return [
            Message(message.role, tuple(self._kept(index, message, kept if index in touched else {})))
            for index, message in enumerate(self._messages)
        ]

    def _kept(self, index: int, message: Message, kept: dict[str, str]) -> list[Part]:
        parts: list[Part] = []
        for number, part in enumerate(message.parts):
            if isinstance(part, Notice):
                continue
            text = kept.get(f"{index}.{number}") if isinstance(part, Text) else None
            if text is None or (isinstance(part, Text) and text == part.text):
                parts.append(part)
            elif text.strip():
                parts.append(Text(text.strip("\n")))
        return parts

    def like(self, before: Sequence[tuple[_Read, set[int]]]) -> set[int]:
        """The texts of the open turn that stand where passing ones stood, and begin as they did."""
        there: dict[tuple[int, int], list[Block]] = {}
        for other, places in before:
            for place, block in other._open_texts().items():
                if block in {other.blocks[index] for index in places}:
                    there.setdefault(place, []).append(block)
        found = {place: block for place, block in self._open_texts().items() if place in there}
        alike = {block for place, block in found.items() if any(_alike(block, other) for other in there[place])}
        return {index for index, block in enumerate(self.blocks) if index >= self._start and block in alike}

    def _open_texts(self) -> dict[tuple[int, int], Block]:
        """The texts of the open turn by the number of their message and their own in it."""
        texts: dict[tuple[int, int], Block] = {}
        for block in self.blocks[self._start :]:
            if block.kind == TEXT:
                message = block.message - self.blocks[self._start].message
                number = sum(1 for other, _ in texts if other == message)
                texts[message, number] = block
        return texts


def _blocks_of(part: Part, spot: Spot) -> tuple[Block, ...]:
    blocks = Blocks()
    match part:
        case Notice():
            pass
        case Text(text):
            blocks.text(spot, text)
        case Thinking():
            blocks.other(spot, THINKING, {"thinking": part.text, "data": part.data})
        case ToolCall():
            value = {"id": part.id, "name": part.name, "arguments": part.arguments}
            blocks.other(spot, TOOL_CALL, value, call_id=part.id, name=part.name)
        case ToolResult():
            blocks.other(spot, TOOL_RESULT, {"id": part.call_id, "output": part.text}, call_id=part.call_id)
        case _:
            blocks.other(spot, "file", {"text": part_text(part), "value": repr(part)})
    return tuple(blocks.items)


def _framed(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks, a rule right in front of a section being part of its frame; reasoning may stand between them."""
    framed = list(blocks)
    behind: Block | None = None
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        if behind is not None and behind.in_center and block.kind == TEXT and not _unframed(block.text):
            framed[index] = replace(block, name=CENTER, in_center=True)
        behind = behind if block.kind == THINKING else block
    return tuple(framed)


def _unframed(text: str) -> str:
    """What a piece of a notification center says beside its frame."""
    return text.replace(HEADER, "").replace(RULE, "").strip("\n ")


def _taken_apart(text: str) -> dict[str, str]:
    said: dict[str, str] = {}
    for piece in take_apart(text, elements=True):
        name = piece.name if piece.name != CENTER else ""
        words = piece.text.strip("\n") if name else _unframed(piece.text)
        if words:
            key = name or _OPERATOR
            said[key] = f"{said[key]}\n\n{words}" if key in said else words
    return said


def _element(text: str) -> str:
    """The name of the element that a text is; empty where it is none, or more than one."""
    pieces = take_apart(text.strip(), elements=True)
    return pieces[0].name if len(pieces) == 1 else ""


def _alike(one: Block, other: Block) -> bool:
    if one.role != other.role:
        return False
    same_name = _element(one.text) == _element(other.text) != ""
    same_start = one.text[:_ALIKE] == other.text[:_ALIKE] and len(one.text) > _ALIKE
    return same_name or same_start or _DIGITS.sub("0", one.text) == _DIGITS.sub("0", other.text)
