"""Where an index beside the store stands on disk, and how a new one takes the place of the old one.

The store is the truth; what stands here can be thrown away at any moment and is made anew. An index is built in a
folder of its own, a generation, and counts only once a manifest stands in it, which is written after everything else is
on disk. So a reader finds the old generation or the new one, each whole, wherever a process was killed. One process
builds at a time. Knows no engine.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from filelock import FileLock, Timeout

from frontmind.errors import RunError
from frontmind.window.canonical import digest

_MANIFEST: Final = "manifest.json"
_LOCK: Final = "building.lock"
_PREFIX: Final = "generation-"


Mark: TypeAlias = tuple[int, str]
"""A passage's id and a digest of what it says."""


class IndexDamaged(Exception):
    """What stands in a folder cannot be read as an index; it has to be built anew."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A whole index on disk.

    Attributes:
        number: grows with each that is built.
        through: it was built from all passages up to this id.
        marks: some of the passages that it was built from.
    """

    folder: Path
    number: int
    through: int
    marks: tuple[Mark, ...] = ()


class IndexFiles:
    """The generations of one index: of one engine, for the passages of one scope."""

    def __init__(self, root: Path, scope: Sequence[str], form: str) -> None:
        """
        Args:
            root: the folder of all indexes of a database.
            scope: whose passages of which kind, and what else tells the index apart from others.
            form: the engine and the form of its files; a generation of another form is not seen.
        """
        name = digest(json.dumps([form, *scope]).encode())[:24]
        self.folder: Final = root / name
        self._form = form

    def newest(self) -> Generation | None:
        """The newest whole generation; None when there is none."""
        for number in sorted(self._numbers(), reverse=True):
            found = self._read(number)
            if found is not None:
                return found
        return None

    @contextmanager
    def building(self) -> Iterator[bool]:
        """Be the only one who writes here: True, or False at once when somebody else is.

        Raises:
            OSError: the folder cannot be made or written to.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        # Not bound to a thread: the engines work on others than the one that takes the lock.
        lock = FileLock(self.folder / _LOCK, thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def begin(self) -> Path:
        """An empty folder for a new generation. What somebody began and did not finish is removed. Needs `building`."""
        numbers = self._numbers()
        for number in numbers:
            if self._read(number) is None:
                self._remove(number)
        folder = self._folder(max(numbers, default=0) + 1)
        folder.mkdir()
        return folder

    def publish(
        self, folder: Path, *, through: int, marks: Sequence[Mark] = (), unchanging: Sequence[str] = ()
    ) -> Generation:
        """Let the generation count that was built in this folder; older ones go. Needs `building`.

        Args:
            through: it has all passages up to this id.
            marks: some of them.
            unchanging: names of its files that never change from now on: one of another size is damage.
        """
        for path in sorted(folder.rglob("*")):
            _to_disk(path)
        manifest = {
            "form": self._form,
            "through": through,
            "marks": list(marks),
            "sizes": {name: (folder / name).stat().st_size for name in unchanging},
        }
        draft = folder / f"{_MANIFEST}.draft"
        draft.write_text(json.dumps(manifest), encoding="utf-8")
        _to_disk(draft)
        _to_disk(folder)
        draft.replace(folder / _MANIFEST)
        _to_disk(folder)
        _to_disk(self.folder)
        number = _number(folder)
        for older in self._numbers():
            if older < number:
                self._remove(older)
        return Generation(folder, number, through, tuple(marks))

    def discard(self, generation: Generation) -> None:
        """Let this one count no longer: it turned out to be damaged."""
        self._remove(generation.number)

    def remove(self) -> None:
        """Throw everything away that stands here."""
        for number in self._numbers():
            self._remove(number)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _numbers(self) -> list[int]:
        return [_number(path) for path in self.folder.glob(f"{_PREFIX}*") if path.name[len(_PREFIX) :].isdecimal()]

    def _folder(self, number: int) -> Path:
        return self.folder / f"{_PREFIX}{number:06}"

    def _read(self, number: int) -> Generation | None:
        folder = self._folder(number)
        try:
            manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
            whole = manifest["form"] == self._form and all(
                (folder / name).stat().st_size == size for name, size in manifest["sizes"].items()
            )
            marks = tuple((int(one), str(said)) for one, said in manifest["marks"])
            return Generation(folder, number, int(manifest["through"]), marks) if whole else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def _remove(self, number: int) -> None:
        folder = self._folder(number)
        # First, so that what is left of a removal that was cut short does not count.
        with suppress(OSError):
            (folder / _MANIFEST).unlink()
        # Where another process has its files open, the system may keep them; the next builder removes them.
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def writing(files: IndexFiles) -> Iterator[bool]:
    """As `IndexFiles.building`, for what a person is told.

    Raises:
        RunError: it cannot be written.
    """
    try:
        with files.building() as alone:
            yield alone
    except (OSError, IndexDamaged) as error:
        raise unwritable(files.folder, error) from error


def unwritable(place: Path | str, error: Exception) -> RunError:
    """What a person is told of an index that cannot be written."""
    reason = " ".join(str(error).split())
    return RunError(
        f"the search index in {place} cannot be written ({reason}); make room on its disk or change its permissions, "
        "or delete the folder: it is made anew"
    )


def _number(folder: Path) -> int:
    return int(folder.name[len(_PREFIX) :])


def _to_disk(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() or os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
