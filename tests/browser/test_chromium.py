"""How the browser is found, and installed where it is missing."""

from __future__ import annotations

import subprocess
from functools import partial

import pytest

from browser.chromium import INSTALLING, NoBrowser, provide


async def test_a_browser_that_is_there_is_taken_and_nothing_is_installed() -> None:
    installed: list[tuple[str, ...]] = []
    found = provide(found=lambda: "/usr/bin/chromium", may_install=lambda: True, install=installed.append)
    assert (found, installed) == ("/usr/bin/chromium", [])


async def test_a_missing_browser_is_installed_once_where_that_is_allowed() -> None:
    installed: list[tuple[str, ...]] = []
    found = provide(
        found=lambda: "/usr/bin/chromium" if installed else None, may_install=lambda: True, install=installed.append
    )
    assert (found, tuple(installed)) == ("/usr/bin/chromium", INSTALLING)


async def test_without_a_browser_it_is_said_what_to_install() -> None:
    def fail(command: tuple[str, ...]) -> None:
        raise subprocess.CalledProcessError(100, command)

    for may, install in ((False, fail), (True, fail), (True, lambda _: None)):
        with pytest.raises(NoBrowser, match="apt-get install chromium"):
            provide(found=lambda: None, may_install=partial(bool, may), install=install)
