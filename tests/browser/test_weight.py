"""What the page weighs, and how soon it comes."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Final

import pytest
from playwright.async_api import Browser, Response, expect

from browser.visits import visiting
from frontmind.server.page_files import read_page
from server.serving import served

MOST_BYTES: Final = 150_000
FIRST_BYTE: Final = 50.0
VISITS: Final = 5


def _note(loaded: list[Response], response: Response) -> None:
    loaded.append(response)


@pytest.mark.requirement("WEB-17")
async def test_all_that_the_page_loads_is_small_and_its_first_byte_comes_at_once(browser: Browser) -> None:
    waits: list[float] = []
    async with served() as server, server.listening() as address:
        for _ in range(VISITS):
            loaded: list[Response] = []
            async with visiting(browser, address) as visit:
                visit.page.on("response", partial(_note, loaded))
                await visit.open()
                await expect(visit.message).to_be_visible()
                files = [each for each in loaded if not each.url.startswith(f"{address}/api/")]
                index = next(each for each in files if each.url == f"{address}/")
                timing = index.request.timing
                waits.append(timing["responseStart"] - timing["requestStart"])
                sizes = {each.url.rpartition("/")[2]: len(await each.body()) for each in files}
        assert sum(sizes.values()) <= MOST_BYTES, sizes
        assert len(sizes) > 20
        assert statistics.median(waits) <= FIRST_BYTE


async def test_all_files_of_the_page_together_are_small() -> None:
    assert sum(len(file.data) for file in read_page().values()) <= MOST_BYTES
