"""The page without a mouse."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Page, expect

from browser.scene import MONDAY_TALK, kitchen
from browser.visits import DESKTOP, Visit, visiting
from server.serving import GatedModel, served


async def focused(page: Page) -> str:
    """What has the focus, in words."""
    said: str = await page.evaluate(
        "() => { const at = document.activeElement; return at.ariaLabel || at.textContent.trim() || at.id }"
    )
    return said


async def tab_to(visit: Visit, name: str, *, back: bool = False, most: int = 60) -> None:
    """Press Tab until the element that is called this has the focus."""
    for _ in range(most):
        if (await focused(visit.page)).startswith(name):
            return
        await visit.page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"the keyboard does not come to {name!r}; it is at {await focused(visit.page)!r}")


@pytest.mark.requirement("WEB-17")
async def test_a_message_is_sent_stopped_and_edited_with_the_keyboard_alone(browser: Browser) -> None:
    model = GatedModel("One two three four.")
    async with served(model) as server, server.listening() as address, visiting(browser, address) as visit:
        page, keys = visit.page, visit.page.keyboard
        await visit.open()
        await expect(visit.message).to_be_focused()
        await keys.type("First line")
        await keys.press("Shift+Enter")
        await keys.type("second line")
        await keys.press("Enter")
        model.let(2)
        await expect(visit.turn_in_progress).to_contain_text("One two")
        await keys.press("Escape")
        await expect(visit.turn(1)).to_contain_text("The reply was stopped here.")
        (turn,) = await server.store.turns("main")
        assert turn.user.text == "First line\nsecond line"
        assert turn.interrupted
        model.open()
        await keys.type("half a draft")
        await keys.press("Alt+ArrowUp")
        await expect(visit.message).to_have_value("First line\nsecond line")
        await expect(page.get_by_text("Editing message 1")).to_be_visible()
        await keys.press("Escape")
        await expect(visit.message).to_have_value("half a draft")
        await keys.press("Alt+ArrowUp")
        await expect(visit.message).to_have_value("First line\nsecond line")
        await keys.press("ControlOrMeta+a")
        await keys.type("Another first line")
        await keys.press("Enter")
        await expect(visit.reply(2)).to_have_text("One two three four.")
        await expect(visit.turn(1)).to_have_count(0)
        await expect(visit.message).to_have_value("half a draft")
        await keys.press("ControlOrMeta+a")
        await keys.press("Delete")
        await tab_to(visit, "Another reply", back=True)
        await keys.press("Enter")
        await expect(visit.reply(3)).to_have_text("One two three four.")
        await expect(page.locator(".turn")).to_have_count(1)


@pytest.mark.requirement("WEB-17")
async def test_the_inspector_is_walked_through_with_the_keyboard_alone(browser: Browser) -> None:
    async with kitchen() as server, server.listening() as address, visiting(browser, address, size=DESKTOP) as visit:
        page, keys = visit.page, visit.page.keyboard
        await visit.open(MONDAY_TALK)
        heading = page.get_by_role("heading", name=re.compile("What the model saw in turn 2"))
        await expect(heading).to_be_visible()
        await tab_to(visit, "Turn")
        await keys.press("Home")
        await expect(page.get_by_role("heading", name="What the model saw in turn 1")).to_be_visible()
        await expect(page.get_by_role("slider", name="Turn")).to_be_focused()
        await tab_to(visit, "active_reminders")
        await keys.press("Enter")
        text = page.get_by_role("group", name="Text of active_reminders")
        await expect(text).to_be_visible()
        await expect(visit.piece("active_reminders")).to_be_focused()
        await tab_to(visit, "Text of active_reminders")
        await tab_to(visit, "active_reminders", back=True)
        await keys.press("Space")
        await expect(text).to_be_hidden()
        await tab_to(visit, "Inspector", back=True)
        await keys.press("ArrowRight")
        await expect(visit.panel("Reminders")).to_be_visible()
        await expect(page.get_by_role("tab", name="Reminders")).to_be_focused()
        await keys.press("ArrowLeft")
        await expect(heading).to_be_visible()


@pytest.mark.requirement("WEB-17")
async def test_dialogs_and_regions_give_the_focus_back(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        page, keys = visit.page, visit.page.keyboard
        await visit.open()
        memories = await visit.show_panel("Memories")
        await memories.get_by_label("Remember").fill("You prefer tea")
        await keys.press("Enter")
        delete = memories.get_by_role("button", name="Delete")
        await delete.focus()
        await keys.press("Enter")
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_be_visible()
        assert await page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
        await keys.press("Escape")
        await expect(dialog).to_have_count(0)
        await expect(delete).to_be_focused()
        await keys.press("?")
        await expect(page.get_by_role("dialog", name="Shortcuts")).to_be_visible()
        await keys.press("Escape")
        await expect(delete).to_be_focused()
        await keys.press("/")
        await expect(visit.message).to_be_focused()
        await keys.press("Alt+i")
        await expect(page.locator("#side")).to_be_hidden()
        await keys.press("Alt+i")
        await expect(page.locator("#side")).to_be_visible()
        await keys.press("Alt+n")
        await expect(page.get_by_role("heading", name="New conversation")).to_be_visible()
        await expect(visit.message).to_be_focused()


@pytest.mark.requirement("WEB-17")
async def test_on_a_narrow_screen_a_region_lies_over_the_others_until_escape(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address, size=(700, 800)) as visit:
        page = visit.page
        await visit.open()
        for name, region in (("Inspector and panels", "#side"), ("Conversations", "nav.conversations")):
            opener = page.get_by_role("button", name=name)
            await opener.focus()
            await page.keyboard.press("Enter")
            await expect(page.locator(region)).to_be_visible()
            await expect(page.locator("main")).to_have_attribute("inert", "")
            await page.keyboard.press("Escape")
            await expect(page.locator(region)).to_be_hidden()
            await expect(opener).to_be_focused()
