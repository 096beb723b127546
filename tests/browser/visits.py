"""A person at the page: a context of the browser that notes whatever must not happen."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Error, Locator, Page, Request, expect

from server.serving import Served

Scheme: TypeAlias = Literal["light", "dark"]
DESKTOP: Final = (1440, 900)
PHONE: Final = (390, 844)
BUSY: Final = r"status of 409 .*/(preview|trinkets)$"
"""What a browser says when it is asked for what is next, and a turn has just begun: the page asks again behind it."""

UNAUTHORIZED: Final = "status of 401"
"""What a browser says of a reply that asks for a key."""


@dataclass
class Visit:
    """A page that is looked at.

    Attributes:
        faults: dialogs, errors of scripts, what the content policy refused, requests to elsewhere.
        asked: the addresses that the page has asked for.
        expected: patterns of errors in the console that belong to the test.
    """

    context: BrowserContext
    page: Page
    address: str
    expected: tuple[str, ...] = ()
    faults: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @property
    def message(self) -> Locator:
        """The field in which a message is written."""
        return self.page.get_by_role("textbox", name="Message")

    def turn(self, number: int) -> Locator:
        """A turn of the conversation."""
        return self.page.get_by_role("article", name=f"Turn {number}", exact=True)

    def reply(self, number: int) -> Locator:
        """The text of a turn's reply."""
        return self.turn(number).locator(".answered > .prose")

    @property
    def turn_in_progress(self) -> Locator:
        """The newest turn, as long as its reply is coming."""
        return self.page.locator(".turn").last.locator(".answered")

    def panel(self, name: str) -> Locator:
        """The region at the side that shows this."""
        return self.page.get_by_role("tabpanel", name=name)

    def piece(self, name: str) -> Locator:
        """The row of a block of the window in the inspector."""
        return self.page.locator(".piece").filter(has=self.page.locator(".piece-name", has_text=re.compile(name)))

    async def open(self, conversation: str = "main") -> None:
        """Go to the page, and wait until the conversation is there."""
        await self.page.goto(f"{self.address}/#/{conversation}")
        await expect(self.page.locator("#turns > *").first).to_be_attached()

    async def say(self, text: str) -> None:
        """Write a message, and send it."""
        await self.message.fill(text)
        await self.message.press("Enter")

    async def show_panel(self, name: str) -> Locator:
        """Open one of the panels."""
        await self.page.get_by_role("tab", name=name).click()
        panel = self.panel(name)
        await expect(panel).to_be_visible()
        return panel

    async def further(self) -> Visit:
        """Another tab of the same person."""
        return _watched(Visit(self.context, await self.context.new_page(), self.address, self.expected, self.faults))


def _watched(visit: Visit) -> Visit:
    def hear(message: ConsoleMessage) -> None:
        said = f"{message.text} {message.location['url']}"
        if message.type == "error" and not any(re.search(pattern, said) for pattern in (*visit.expected, BUSY)):
            visit.faults.append(f"console: {said}")

    def see(request: Request) -> None:
        visit.asked.append(request.url)
        if not request.url.startswith((f"{visit.address}/", "data:", f"blob:{visit.address}/")):
            visit.faults.append(f"request to elsewhere: {request.url}")

    async def refuse(dialog: Dialog) -> None:
        visit.faults.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def fail(error: Error) -> None:
        visit.faults.append(f"script: {error.stack or error.message}")

    visit.page.on("console", hear)
    visit.page.on("request", see)
    visit.page.on("dialog", refuse)
    visit.page.on("pageerror", fail)
    return visit


@asynccontextmanager
async def visiting(
    browser: Browser,
    address: str,
    *,
    size: tuple[int, int] = DESKTOP,
    scheme: Scheme = "light",
    scale: float = 1,
    expected: tuple[str, ...] = (),
) -> AsyncIterator[Visit]:
    """A person who comes for the first time; nothing that must not happen may have happened at the end.

    Args:
        size: of the window; a narrow one is a phone, which is touched.
        scale: how many pixels of the screen a pixel of the page is wide.
        expected: patterns of errors in the console that belong to the test.
    """
    width, height = size
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=scale,
        color_scheme=scheme,
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="Europe/Berlin",
        has_touch=size == PHONE,
        is_mobile=size == PHONE,
    )
    try:
        visit = _watched(Visit(context, await context.new_page(), address, expected))
        yield visit
        assert not visit.faults, "\n".join(visit.faults)
    finally:
        await context.close()


async def remind(server: Served, text: str, due: datetime) -> None:
    """Keep a reminder, as from elsewhere."""
    await server.store.add_reminder(text, due, zone=server.clock.zone.key, at=server.clock.now())
