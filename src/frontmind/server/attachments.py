"""Pictures and files that people send along: read, and told apart by what they are and not by what they are called."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from typing import Final

from frontmind.server.errors import Problem
from frontmind.server.schemas.turns import SentAttachment
from frontmind.values.harmless import one_line
from frontmind.values.parts import Document, Image, Text

_TEXT: Final = "text/plain"
_PDF: Final = "application/pdf"
_IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_TAKEN: Final = "PNG, JPEG, GIF, WebP, PDF and text"
SHOWN_IN_A_PAGE: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser shows without running anything of it."""


def read_attachment(sent: SentAttachment, number: int, inputs: Collection[str]) -> Image | Document | Text:
    """The part of a message that an attachment is; a text that the model does not take as a file is said as a text.

    Args:
        number: its place among the attachments, from 1, for errors.
        inputs: the media types that the model takes beside text.

    Raises:
        Problem: it is no base64, empty, or of a type that is not taken.
    """
    name = one_line(sent.name, 200) if sent.name else ""
    try:
        data = base64.b64decode(sent.data, validate=True)
    except (binascii.Error, ValueError):
        raise _refused(number, "is not base64; encode its bytes so") from None
    if not data:
        raise _refused(number, "is empty; leave it out")
    kind = type_of(data)
    if kind is None:
        raise _refused(number, f"is of a type that is not taken; {_TAKEN} are")
    encoded = base64.b64encode(data).decode("ascii")
    if kind in SHOWN_IN_A_PAGE:
        return Image(kind, encoded)
    if kind == _TEXT and _TEXT not in inputs:
        return Text(f"{name or 'A file'}:\n\n{data.decode('utf-8-sig')}")
    return Document(kind, encoded, name=name or ("document.pdf" if kind == _PDF else "text.txt"))


def type_of(data: bytes) -> str | None:
    """The media type of these bytes, by how they begin; None where it is none of those that are taken."""
    for beginning, kind in _IMAGES:
        if data.startswith(beginning):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith(b"%PDF-"):
        return _PDF
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else _TEXT


def _refused(number: int, why: str) -> Problem:
    return Problem(422, "invalid_request", f"attachment {number} {why}")
