"""Where the browser of these tests is, and how it comes onto a machine that has none."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
INSTALLING: Final = (("apt-get", "update", "-qq"), ("apt-get", "install", "-y", "-qq", "chromium"))
_SECONDS: Final = 240.0
_HOW: Final = "install it (Debian: apt-get install chromium) to test the page"


class NoBrowser(Exception):
    """There is no browser here; the words say what to install."""


def find() -> str | None:
    """The path of a browser that is installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def run(command: tuple[str, ...]) -> None:
    """Run a command of the package tool, quietly and no longer than a few minutes."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=_SECONDS)


def provide(
    *,
    found: Callable[[], str | None] = find,
    may_install: Callable[[], bool] = lambda: os.geteuid() == 0 and shutil.which("apt-get") is not None,
    install: Callable[[tuple[str, ...]], None] = run,
) -> str:
    """The path of a browser, which is installed first where it is missing and may be.

    Raises:
        NoBrowser: there is none, and it cannot be installed.
    """
    if path := found():
        return path
    if not may_install():
        raise NoBrowser(f"Chromium is not there; {_HOW}")
    try:
        for command in INSTALLING:
            install(command)
    except (subprocess.SubprocessError, OSError) as error:
        raise NoBrowser(f"Chromium is not there and could not be installed ({error}); {_HOW}") from error
    if path := found():
        return path
    raise NoBrowser(f"Chromium was installed and cannot be found; {_HOW}")
