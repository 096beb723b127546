"""What the two OpenAI formats have in common when they are read: who speaks in which order, and files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from frontmind.values.message import Message, Role
from frontmind.values.parts import Document, Image, Notice, Part, Voice

OPERATOR_ROLES: Final = frozenset({"system", "developer"})
_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)
_ADDRESS: Final = re.compile(r"https?://")


class Conversation:
    """The messages of a request as they are read, one after the other.

    Attributes:
        system: the operator's texts in front of the first message.
        messages: the rest; what the operator says later stands beside the message in front of it.
    """

    def __init__(self) -> None:
        self.system: list[str] = []
        self.messages: list[Message] = []

    def operator(self, texts: Sequence[str]) -> None:
        """Take in a message of the operator."""
        if not self.messages:
            self.system += texts
            return
        earlier = self.messages.pop()
        self.messages.append(Message(earlier.role, (*earlier.parts, Notice("\n\n".join(texts), Voice.OPERATOR))))

    def say(self, role: Role, parts: Iterable[Part], *, joined: bool = False) -> None:
        """Take in a message.

        Args:
            joined: whether it is a further piece of the message in front of it, where that is of the same role.
        """
        last = self.messages[-1] if self.messages else None
        if joined and last is not None and last.role is role and not _is_closed(last):
            self.messages[-1] = Message(role, (*last.parts, *parts))
        else:
            self.messages.append(Message(role, tuple(parts)))


def _is_closed(message: Message) -> bool:
    return any(isinstance(part, Notice) for part in message.parts)


def read_image(url: object, detail: object) -> Image | None:
    """A picture by its address; None where more is said of it than a picture holds."""
    if not isinstance(url, str) or detail not in (None, "auto"):
        return None
    if found := _DATA_URL.fullmatch(url):
        return Image(found[1], found[2])
    # An address does not tell its type; any type of picture that every model takes will do.
    return Image("image/png", url=url) if _ADDRESS.match(url) else None


def read_document(data: object, url: object, name: object) -> Document | None:
    """A file by its bytes or its address; None for one that the server keeps."""
    called = str(name or "")
    if isinstance(data, str) and (found := _DATA_URL.fullmatch(data)):
        return Document(found[1], found[2], "", called)
    address = url or data
    if isinstance(address, str) and _ADDRESS.match(address):
        return Document("application/pdf", "", address, called)
    return None


def without_marker(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block without its cache marker."""
    return {key: value for key, value in block.items() if key not in ("cache_control", "prompt_cache_breakpoint")}


def plain_texts(content: object) -> list[str]:
    """The texts of a message that holds nothing else, whether it is one text or a list of parts."""
    if isinstance(content, str):
        return [content]
    return [str(block["text"]) for block in content] if isinstance(content, list) else []
