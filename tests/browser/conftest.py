"""One browser for all tests of this folder, and one event loop, in which the servers run as well."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from browser.chromium import NoBrowser, provide

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _FOLDER in item.path.parents:
            # The first test may wait until a browser is installed.
            item.add_marker(pytest.mark.timeout(600), append=False)
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser. Without one the tests are skipped, but not where they are run for everybody."""
    try:
        return provide()
    except NoBrowser as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """The browser. Each test opens a context of its own in it: see `browser.visits`."""
    expect.set_options(timeout=20_000)
    async with async_playwright() as playwright:
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        made = await playwright.chromium.launch(executable_path=chromium, args=arguments)
        try:
            yield made
        finally:
            await made.close()
