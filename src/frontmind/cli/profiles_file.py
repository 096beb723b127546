"""The file of the user's own facts about models: where it stands, and how findings get into it.

What stands in it otherwise stays as it is, comments too. Knows no rule of any provider.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import tomlkit
from filelock import FileLock, Timeout
from platformdirs import user_config_path
from tomlkit.exceptions import TOMLKitError

from frontmind.errors import UsageError
from frontmind.providers.profiles.user_profiles import parse_user_profiles, spelled_facts

VARIABLE: Final = "FRONTMIND_PROFILES"
_SIZE_LIMIT: Final = 1_000_000
_LOCK_SECONDS: Final = 10.0


def profiles_file_path(environment: Mapping[str, str]) -> Path:
    """The file that FRONTMIND_PROFILES names, or else ``profiles.toml`` in the user's folder for settings.

    Raises:
        UsageError: FRONTMIND_PROFILES names what no file can be called, or something that is no file.
    """
    named = environment.get(VARIABLE, "")
    try:
        path = Path(named).expanduser() if named else user_config_path("frontmind") / "profiles.toml"
    except RuntimeError as error:
        raise UsageError(
            f"{VARIABLE} names {named!r}, and there is no such home folder; correct or unset it"
        ) from error
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return path
    except OSError as error:
        raise UsageError(f"cannot use {_shown(path)} ({error.strerror}); correct or set {VARIABLE}") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"{_shown(path)} is no file; correct {VARIABLE}, or move what is there")
    return path


def read_profiles_file(path: Path) -> dict[str, dict[str, object]]:
    """The facts by the full names of models; none where there is no file.

    Raises:
        UsageError: the file cannot be read, or something in it cannot be used.
    """
    return parse_user_profiles(_text(path), source=_shown(path)) if path.exists() else {}


def require_writable(path: Path) -> None:
    """Find out that facts could not be written before they are paid for. The folder is made, the file is not.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=".frontmind-", dir=path.resolve().parent):
            pass
    except OSError as error:
        raise UsageError(_no_room(path, error)) from error


def write_facts(path: Path, model: str, facts: Mapping[str, object]) -> None:
    """Put facts of one model into the file, in place of what it said of the same facts; at once or not at all.

    Args:
        model: its full name.

    Raises:
        UsageError: the file cannot be read or written, or is broken.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=_LOCK_SECONDS):
            read_profiles_file(path)
            _replace(path, _with_facts(_text(path) if path.exists() else "", model, facts, path))
    except Timeout as error:
        raise UsageError(f"{_shown(path)} is being written by another program; try again") from error
    except UnicodeError as error:
        raise UsageError(f"the name {model!r} is no text that a file can hold; use another name") from error
    except OSError as error:
        raise UsageError(_no_room(path, error)) from error
    except RuntimeError as error:
        # The path has become a circle of links.
        raise UsageError(f"cannot write {_shown(path)} (it is a link to itself); remove the link") from error


def _no_room(path: Path, error: OSError) -> str:
    return f"cannot write {_shown(path)} ({error.strerror}); check the file and its folder"


def _with_facts(text: str, model: str, facts: Mapping[str, object], path: Path) -> str:
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise UsageError(f"{_shown(path)} is not TOML ({error}); correct it there, or remove it") from error
    table = document.get(model)
    if table is None:
        table = tomlkit.table()
        document.add(model, table)
    for name, value in spelled_facts(facts).items():
        table[name] = value
    return tomlkit.dumps(document)


def _replace(path: Path, text: str) -> None:
    # A link stays a link: the file that it leads to is replaced.
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=".frontmind-", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(descriptor)
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_SIZE_LIMIT + 1)
        if len(data) > _SIZE_LIMIT:
            raise UsageError(f"{_shown(path)} is larger than {_SIZE_LIMIT // 1_000_000} MB; shorten it, or remove it")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {_shown(path)} ({error.strerror}); allow it, or remove the file") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{_shown(path)} is not UTF-8 text; correct it, or remove it") from error


def _shown(path: Path) -> str:
    text = str(path)
    return f"the file of your profiles {text if text.isprintable() else repr(text)}"
