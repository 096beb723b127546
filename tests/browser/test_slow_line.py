"""A server that takes its time: what a person does before the page has all that it asked for is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Route, expect

from browser.visits import Visit, visiting
from server.serving import served


@asynccontextmanager
async def held(visit: Visit, pattern: str) -> AsyncIterator[None]:
    """As long as the context is open, requests for such addresses get no answer."""
    free = asyncio.Event()

    async def hold(route: Route) -> None:
        await free.wait()
        await route.continue_()

    await visit.page.route(pattern, hold)
    try:
        yield
    finally:
        free.set()


@pytest.mark.requirement("WEB-17")
async def test_what_is_typed_before_the_conversation_is_there_stays(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        async with held(visit, "**/api/me"):
            await visit.page.goto(address)
            await visit.message.press_sequentially("In a hurry")
        await expect(visit.page.locator(".empty")).to_be_visible()
        await expect(visit.message).to_have_value("In a hurry")
        await visit.message.press("Enter")
        await expect(visit.reply(1)).to_have_text("Hello.")


@pytest.mark.requirement("WEB-17")
async def test_a_message_that_is_sent_while_the_conversation_is_still_read_stays_on_the_page(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        async with held(visit, "**/turns?newest=*"):
            await visit.page.goto(address)
            await expect(visit.page.locator("#model")).not_to_be_empty()
            await visit.message.fill("In a hurry")
            await visit.message.press("Enter")
        await expect(visit.reply(1)).to_have_text("Hello.")
        await expect(visit.page.locator(".turn")).to_have_count(1)
        await expect(visit.message).to_have_value("")
        assert len(await server.store.turns("main")) == 1
