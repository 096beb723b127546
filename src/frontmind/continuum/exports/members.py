"""The files that an export is made of: itself, or those in a .zip that hold conversations. Knows no format."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Final

from frontmind.continuum.exports.value import ExportKind
from frontmind.errors import UsageError
from frontmind.values.harmless import one_line

_ZIP: Final = b"PK\x03\x04"
_EMPTY_ZIP: Final = b"PK\x05\x06"
_CONVERSATIONS: Final = re.compile(r"(?:.*/)?conversations(?:[-_]\d+)?\.json")
_WANTED: Final = {
    ExportKind.CHATGPT: (_CONVERSATIONS, "conversations.json"),
    ExportKind.CLAUDE: (_CONVERSATIONS, "conversations.json"),
    ExportKind.CLAUDE_CODE: (re.compile(r".*\.jsonl"), "session (.jsonl)"),
    ExportKind.OPENAI_MESSAGES: (re.compile(r".*\.(?:json|jsonl|ndjson)"), ".json or .jsonl file"),
}
_DIGITS: Final = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an export.

    Attributes:
        name: as it is called, for telling what its lines are.
        place: stands in front of places in it; empty for a file that is the whole export.
        size: in bytes, unpacked.
        open: opens it for reading from its beginning.
    """

    name: str
    place: str
    size: int
    open: Callable[[], IO[bytes]]


def members_of(file: IO[bytes], name: str, kind: ExportKind) -> tuple[Member, ...]:
    """The files that hold conversations, those in a .zip in the order of their names and numbers.

    Raises:
        UsageError: it is a .zip that cannot be read, or has no such file.
    """
    start = file.read(len(_ZIP))
    size = file.seek(0, 2)
    if start not in (_ZIP, _EMPTY_ZIP):
        return (Member(name, "", size, lambda: _rewound(file)),)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise UsageError(f"{name} is a damaged .zip file ({one_line(str(error))}); download it again") from error
    pattern, wanted = _WANTED[kind]
    found = sorted(
        (info for info in archive.infolist() if not info.is_dir() and pattern.fullmatch(info.filename)),
        key=lambda info: _natural(info.filename),
    )
    if not found:
        raise UsageError(f"{name} has no {wanted} in it; pass the export as it was downloaded")
    return tuple(
        Member(info.filename, f"{one_line(info.filename)}, ", info.file_size, _opener(archive, info)) for info in found
    )


def _rewound(file: IO[bytes]) -> IO[bytes]:
    file.seek(0)
    return file


def _opener(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    return lambda: archive.open(info)


def _natural(name: str) -> list[tuple[int, str]]:
    """So that part 10 comes behind part 9."""
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in _DIGITS.split(name)]
