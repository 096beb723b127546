"""Two tabs of one person, and what comes to both by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from browser.visits import remind, visiting
from server.serving import GatedModel, served


def notices(page: Page) -> Locator:
    """What comes by itself."""
    return page.get_by_role("region", name="Notices")


@pytest.mark.requirement("WEB-17")
async def test_a_turn_in_one_tab_appears_in_the_other_while_it_runs(browser: Browser) -> None:
    model = GatedModel("One two three four.")
    async with served(model) as server, server.listening() as address, visiting(browser, address) as visit:
        other = await visit.further()
        await visit.open()
        await other.open()
        await visit.say("Count for both.")
        model.let(2)
        await expect(other.turn(1)).to_contain_text("Count for both.")
        await expect(other.turn_in_progress).to_contain_text("One two")
        model.open()
        for tab in (visit, other):
            await expect(tab.reply(1)).to_have_text("One two three four.")
            await expect(tab.page.locator(".turn")).to_have_count(1)
        await other.say("Once more.")
        for tab in (visit, other):
            await expect(tab.reply(2)).to_have_text("One two three four.")
            await expect(tab.page.locator(".turn")).to_have_count(2)
        assert len(await server.store.turns("main")) == 2


@pytest.mark.requirement("WEB-17")
async def test_a_reminder_that_is_due_appears_once_and_can_be_done_or_put_off(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open()
        await remind(server, "call Anna", server.clock.now() + timedelta(minutes=5))
        await remind(server, "water the plants", server.clock.now() + timedelta(minutes=5))
        panel = await visit.show_panel("Reminders")
        await expect(panel.locator("li")).to_have_count(2)
        await expect(notices(visit.page)).to_be_hidden()
        server.clock.advance(minutes=6)
        server.hub.telling.wake()
        await expect(notices(visit.page).locator(".notice")).to_have_count(2)
        server.hub.telling.wake()
        later = await visit.further()
        await later.open()
        await expect(later.message).to_be_visible()
        await expect(notices(later.page)).to_be_hidden()
        call = notices(visit.page).locator(".notice", has_text="call Anna")
        await call.get_by_role("button", name="Done").click()
        await expect(notices(visit.page).locator(".notice")).to_have_count(1)
        await expect(panel.locator("li")).to_have_count(1)
        await notices(visit.page).get_by_role("combobox", name="Snooze: water the plants").select_option("in 1 hour")
        await expect(notices(visit.page)).to_be_hidden()
        await expect(panel.locator("li")).to_contain_text("snoozed")
        done, snoozed = sorted(await server.store.reminders(), key=lambda each: each.text)
        assert done.done_at is not None
        assert snoozed.snoozed_until == server.clock.now() + timedelta(hours=1)
        server.clock.advance(minutes=61)
        server.hub.telling.wake()
        await expect(notices(visit.page).locator(".notice")).to_have_count(1)


@pytest.mark.requirement("WEB-17")
async def test_what_is_changed_in_one_tab_is_seen_in_the_panels_of_the_other(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        other = await visit.further()
        await visit.open()
        await other.open()
        mine, theirs = await visit.show_panel("Memories"), await other.show_panel("Memories")
        await mine.get_by_label("Remember").fill("You prefer tea")
        await mine.get_by_role("button", name="Add").click()
        await expect(theirs.get_by_text("You prefer tea")).to_be_visible()
        await theirs.get_by_role("button", name="Delete").click()
        await other.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(mine.get_by_text("Nothing is remembered yet.")).to_be_visible()
        assert list(await server.store.memories()) == []
