"""People with keys at the page: the login, and what becomes of a key that holds no longer."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.async_api import Browser, expect

from browser.visits import UNAUTHORIZED, Visit, visiting
from server.serving import Served, served

PAGE_KEY: Final = "page"


class HandTimer:
    """Seconds that are moved by hand: so long the server believes a key without asking the database."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def log_in(visit: Visit, key: str) -> None:
    """Give the key that the page asks for."""
    dialog = visit.page.get_by_role("dialog", name="Log in")
    await dialog.get_by_label("Key", exact=True).fill(key)
    await dialog.get_by_role("button", name="Log in").click()


async def enter(visit: Visit, key: str) -> None:
    """Log in with a key that holds."""
    await log_in(visit, key)
    await expect(visit.page.get_by_role("dialog")).to_be_hidden()
    await expect(visit.page.locator("#turns > *").first).to_be_attached()


async def revoke_page_key(server: Served, timer: HandTimer, name: str) -> None:
    """Take back the key that the page was given, as another process does."""
    accounts = server.store.accounts_of_database()
    for key in await accounts.keys(name):
        if key.label == PAGE_KEY and key.revoked_at is None:
            await accounts.revoke_key(key.id, server.clock.now())
    timer.seconds += 10


@pytest.mark.requirement("WEB-17")
async def test_a_wrong_key_is_refused_with_words_and_the_right_one_opens_the_page(browser: Browser) -> None:
    async with (
        served(people=("anna", "ben")) as server,
        server.listening() as address,
        visiting(browser, address, expected=(UNAUTHORIZED,)) as visit,
    ):
        await visit.page.goto(address)
        dialog = visit.page.get_by_role("dialog", name="Log in")
        await expect(dialog.get_by_label("Key", exact=True)).to_be_focused()
        await log_in(visit, "fm_wrong")
        await expect(dialog.get_by_role("alert")).to_contain_text("no account has this key")
        await visit.page.keyboard.press("Escape")
        await expect(dialog).to_be_visible()
        await log_in(visit, f"  {server.keys['anna']}  ")
        await expect(dialog).to_be_hidden()
        await expect(visit.page.locator("#person")).to_have_text("anna")
        await visit.say("Hello")
        await expect(visit.reply(1)).to_have_text("Hello.")
        assert server.keys["anna"] not in await visit.page.content()
        (cookie,) = await visit.context.cookies()
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        await visit.page.reload()
        await expect(visit.reply(1)).to_have_text("Hello.")


@pytest.mark.requirement("WEB-17")
async def test_a_key_that_was_revoked_leads_back_to_the_login_and_what_was_typed_is_sent_then(browser: Browser) -> None:
    timer = HandTimer()
    async with (
        served(people=("anna",), timer=timer) as server,
        server.listening() as address,
        visiting(browser, address, expected=(UNAUTHORIZED,)) as visit,
    ):
        await visit.page.goto(address)
        await enter(visit, server.keys["anna"])
        await visit.message.fill("Something long that nobody wants to write again")
        await revoke_page_key(server, timer, "anna")
        await visit.message.press("Enter")
        dialog = visit.page.get_by_role("dialog", name="Log in")
        await expect(dialog).to_be_visible()
        await enter(visit, server.keys["anna"])
        await expect(visit.reply(1)).to_have_text("Hello.")
        await visit.message.fill("And something else")
        await revoke_page_key(server, timer, "anna")
        await visit.page.reload()
        await enter(visit, server.keys["anna"])
        await expect(visit.message).to_have_value("And something else")
        (turn,) = await server.store.of("anna").turns("main")
        assert turn.user.text == "Something long that nobody wants to write again"


@pytest.mark.requirement("WEB-17")
async def test_logging_out_shows_the_login_and_nothing_of_the_person(browser: Browser) -> None:
    async with (
        served(people=("anna",)) as server,
        server.listening() as address,
        visiting(browser, address, expected=(UNAUTHORIZED,)) as visit,
    ):
        await visit.page.goto(address)
        await enter(visit, server.keys["anna"])
        await visit.say("My secret is blue")
        await expect(visit.reply(1)).to_have_text("Hello.")
        settings = await visit.show_panel("Settings")
        await settings.get_by_role("button", name="Log out").click()
        await expect(visit.page.get_by_role("dialog", name="Log in")).to_be_visible()
        assert "secret" not in await visit.page.content()
