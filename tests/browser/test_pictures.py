"""Pictures of the page for a person to look at. FRONTMIND_SCREENSHOTS=1 puts them where the README shows them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from math import ceil, floor
from pathlib import Path
from typing import Final, get_args

import pytest
import pytest_asyncio
from playwright.async_api import Browser, FloatRect, expect

from browser.scene import LATER, MONDAY_TALK, kitchen
from browser.visits import DESKTOP, PHONE, Scheme, Visit, visiting
from server.serving import Served
from support import REPOSITORY

LARGEST: Final = 250_000
TALL: Final = (1440, 1072)
SETTING: Final = "FRONTMIND_SCREENSHOTS"
# Read before the tests' settings are taken away.
FOLDER: Final = REPOSITORY / "docs" / "images" if os.environ.get(SETTING) == "1" else None


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[Served]:
    """The server with the conversation about the kitchen."""
    async with kitchen() as made:
        yield made


async def open_scene(visit: Visit, server: Served) -> None:
    """The conversation, with the reminder that has just become due."""
    await visit.context.clock.set_fixed_time(LATER)
    await visit.open(MONDAY_TALK)
    await expect(visit.page.get_by_role("region", name="Notices")).to_contain_text("call Anna Weber")
    await expect(visit.reply(2)).to_be_visible()


async def take(visit: Visit, name: str, tmp_path: Path, *, region: str = "body") -> None:
    """Keep a picture of what the person sees."""
    path = (FOLDER or tmp_path) / f"page-{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    await visit.page.evaluate("document.activeElement.blur()")
    box = await visit.page.locator(region).bounding_box()
    assert box is not None
    # Half a pixel of the neighbours would come along.
    clip: FloatRect = {**box, "x": ceil(box["x"]), "width": floor(box["width"])}
    picture = await visit.page.screenshot(path=path, clip=clip, animations="disabled", caret="hide")
    assert len(picture) < LARGEST


@pytest.mark.parametrize("scheme", get_args(Scheme))
async def test_a_picture_shows_conversation_and_inspector(
    browser: Browser, server: Served, tmp_path: Path, scheme: Scheme
) -> None:
    async with server.listening() as address, visiting(browser, address, size=DESKTOP, scheme=scheme) as visit:
        await open_scene(visit, server)
        await expect(visit.piece("active_reminders")).to_be_attached()
        await take(visit, scheme, tmp_path)


async def test_a_picture_shows_the_conversation_on_a_phone(browser: Browser, server: Served, tmp_path: Path) -> None:
    async with server.listening() as address, visiting(browser, address, size=PHONE, scale=2) as visit:
        await open_scene(visit, server)
        await take(visit, "phone", tmp_path)


async def test_a_picture_shows_the_notification_center_in_the_inspector(
    browser: Browser, server: Served, tmp_path: Path
) -> None:
    async with server.listening() as address, visiting(browser, address, size=TALL, scale=1.5) as visit:
        await open_scene(visit, server)
        await expect(visit.piece("active_reminders")).to_be_attached()
        await visit.page.get_by_role("slider", name="Turn").press("ArrowLeft")
        await expect(visit.page.get_by_role("heading", name="turn 2, call 1 of 2")).to_be_visible()
        await visit.piece("active_reminders").click()
        await expect(visit.page.get_by_role("group", name="Text of active_reminders")).to_be_visible()
        await visit.page.get_by_role("heading", name="turn 2, call 1 of 2").evaluate("each => each.scrollIntoView()")
        await take(visit, "inspector", tmp_path, region="#side")
