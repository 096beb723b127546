"""Reading and writing the files that documents follow. Blocking; knows nothing of documents."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from frontmind.errors import Conflict, UsageError

TEXT_LIMIT: Final = 1_000_000
"""The most characters of a document."""

_BYTES_OF_A_CHARACTER: Final = 4
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells without reading it that a file is probably the same; ``modified`` is in nanoseconds."""

    modified: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file as it was read, without a byte order mark; ``marked`` says whether there was one."""

    text: str
    stamp: FileStamp
    marked: bool


def read_file(path: Path, known: FileStamp | None = None) -> FileText | None:
    """The text of a file; None when it still has the stamp ``known``.

    Raises:
        UsageError: it cannot be a document: it is gone, no regular file, unreadable, too large, not text, or empty.
    """
    try:
        # A pipe that nobody writes to would never open.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{shown(path)} is not a regular file; pass a text file")
            stamp = _stamp(status)
            if stamp == known:
                return None
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                limit = TEXT_LIMIT * _BYTES_OF_A_CHARACTER + len(_BYTE_ORDER_MARK)
                # None from what cannot be waited for, as some files of the system are.
                data = file.read(limit + 1) or b""
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return FileText(_decoded(path, data), stamp, data.startswith(_BYTE_ORDER_MARK))


def write_file(path: Path, old: str, new: str) -> FileStamp:
    """Replace the text of a file that still has the text ``old``, at once or not at all; its permissions stay.

    A link stays a link: the file that it leads to is written.

    Raises:
        Conflict: the file has another text by now.
        UsageError: it cannot be read or written.
    """
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise _unreadable(path, error) from error
    present = read_file(target)
    if present is None or present.text != old:
        raise Conflict(f"{shown(path)} was changed meanwhile; read it again")
    if not os.access(target, os.W_OK):
        raise UsageError(f"cannot write {shown(path)} (it is read-only); allow it, or change the file yourself")
    data = (_BYTE_ORDER_MARK if present.marked else b"") + new.encode("utf-8")
    try:
        return _replace(path, target, data, present.stamp)
    except OSError as error:
        raise UsageError(f"cannot write {shown(path)} ({error.strerror}); check the file and its folder") from error


def shown(path: Path) -> str:
    """The path on one line, spelled out where it holds what a terminal would act on."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _replace(path: Path, target: Path, data: bytes, known: FileStamp) -> FileStamp:
    descriptor, name = tempfile.mkstemp(prefix=".frontmind-", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        stamp = _stamp(temporary.stat())
        if _stamp(target.stat()) != known:
            raise Conflict(f"{shown(path)} was changed meanwhile; read it again")
        temporary.replace(target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    return stamp


def _stamp(status: os.stat_result) -> FileStamp:
    return FileStamp(status.st_mtime_ns, status.st_size, status.st_ino)


def _decoded(path: Path, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Cut at the limit, the last character may be half a one.
        if len(data) <= TEXT_LIMIT * _BYTES_OF_A_CHARACTER:
            raise UsageError(f"the document {shown(path)} is not UTF-8 text; convert it first") from error
        raise _too_large(path) from error
    if len(text) > TEXT_LIMIT:
        raise _too_large(path)
    if "\0" in text:
        raise UsageError(f"the document {shown(path)} is no text but a binary file; pass a text file")
    if not text.strip():
        raise UsageError(f"the document {shown(path)} is empty; write something into it first")
    return text


def _unreadable(path: Path, error: Exception) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return UsageError(f"cannot read the document {shown(path)} ({reason}); check the path")


def _too_large(path: Path) -> UsageError:
    return UsageError(f"the document {shown(path)} is larger than {TEXT_LIMIT:,} characters; pass a smaller one")
