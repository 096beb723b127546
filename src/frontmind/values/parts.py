"""What a message is made of. Frozen, equal by content, no I/O; knows no provider's JSON."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, exactly as it was written."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, by its bytes or by its address.

    Attributes:
        media_type: such as ``image/png``.
        data: the bytes in base64; empty where ``url`` is given.
        url: where the provider fetches it; empty where ``data`` is given.
    """

    media_type: str
    data: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A file for the model to read, by its bytes or by its address.

    Attributes:
        media_type: such as ``application/pdf`` or ``text/plain``.
        data: the bytes in base64; empty where ``url`` is given.
        url: where the provider fetches it; empty where ``data`` is given.
        name: how it is called; empty where nobody said.
    """

    media_type: str
    data: str = ""
    url: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning as its provider gave it out: opaque, and only for that provider.

    Attributes:
        text: what can be read of it; empty where it is redacted.
        wire: the name of the wire format that takes it back.
        data: what goes back, as JSON text, byte for byte with its signature.
        head: stands for all that was in front of its conversation when it was written; empty where nobody noted it.
    """

    text: str
    wire: str
    data: str
    head: str = ""


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A block that one wire format has and no other, given back to it as it came.

    Attributes:
        wire: the name of the wire format that takes it.
        data: the block as JSON text.
        text: what it says, for every other format; empty where nothing of it can be said in words.
    """

    wire: str
    data: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's call of a tool.

    Attributes:
        id: the provider's id for this call; its result carries the same one.
        name: the tool's name.
        arguments: the arguments as the JSON text the model wrote, byte for byte.
        signature: what the provider wants back with the call, opaque; empty where it wants nothing.
    """

    id: str
    name: str
    arguments: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back.

    Attributes:
        call_id: the id of the `ToolCall` that this answers.
        text: the result as text.
        is_error: whether the tool failed.
        attachments: pictures and files of the result.
        wire: the name of the wire format that takes ``data`` back; empty where text and attachments say everything.
        data: the result as it came, as JSON text, for that format alone; every other one sends text and attachments.
            Whoever changes one of these leaves ``wire`` and ``data`` out.
    """

    call_id: str
    text: str
    is_error: bool = False
    attachments: tuple[Image | Document, ...] = ()
    wire: str = ""
    data: str = ""


class Voice(StrEnum):
    """Who says a message as it is sent: one of the two speakers, or the operator of the application."""

    USER = "user"
    ASSISTANT = "assistant"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Notice:
    """What the application put beside a message: part of what was sent, never of what was said.

    Attributes:
        text: byte for byte as it was sent.
        voice: `Voice.USER` stands in the user message, `Voice.OPERATOR` in a message of its own behind it.
        sections: the name and the digest of each section that it says, or says to be gone (an empty digest).
        lasting: whether an operator's notice holds for the rest of the conversation, and not for its turn alone.
    """

    text: str
    voice: Voice = Voice.USER
    sections: tuple[tuple[str, str], ...] = ()
    lasting: bool = False


Part: TypeAlias = Text | Image | Document | Thinking | ProviderBlock | ToolCall | ToolResult | Notice


def is_blank_text(part: Part) -> bool:
    """Whether it is a text without a visible character."""
    return isinstance(part, Text) and not part.text.strip()


def is_blank(part: Part) -> bool:
    """Whether the part says nothing of its own: blank text, reasoning, or a notice beside the message."""
    return isinstance(part, Thinking | Notice) or is_blank_text(part)


def part_text(part: Part) -> str:
    """What a part says in words, for showing, counting and searching."""
    match part:
        case ToolCall():
            return f"{part.name}({part.arguments})"
        case ToolResult():
            return "\n".join((part.text, *(part_text(item) for item in part.attachments)))
        case Image():
            return f"({part.media_type})"
        case Document():
            return f"({part.name or 'document'}, {part.media_type})"
        case ProviderBlock():
            return part.text or "(a block of the provider's own)"
        case _:
            return part.text
