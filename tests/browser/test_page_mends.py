"""What went wrong at the page once: each of these is what a person would see if it did again."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Final

import pytest
from playwright.async_api import Browser, Page, Route, expect

from browser.test_accounts import enter
from browser.visits import remind, visiting
from frontmind.server.identity import Person
from frontmind.values.message import user
from server.serving import GatedModel, Served, served

pytestmark = pytest.mark.requirement("WEB-17")

FAILED: Final = "net::ERR_|status of 500"
UNAUTHORIZED: Final = "status of 401"
NEWEST: Final = "**/turns?newest=*"
TURNS: Final = re.compile(r"/turns$")
NO_STORAGE: Final = """for (const name of ["getItem", "setItem", "removeItem", "clear"]) {
  Storage.prototype[name] = () => { throw new DOMException("", "QuotaExceededError"); };
}"""
# Every wait is over at once, and noted.
RECONNECT: Final = """async (cuts) => {
  const { follow } = await import("/page/stream.js");
  const waits = [];
  const set = globalThis.setTimeout;
  globalThis.setTimeout = (work, milliseconds) => {
    if (milliseconds < 30_000) waits.push(milliseconds);
    return set(work, milliseconds < 30_000 ? 0 : milliseconds);
  };
  let left = cuts;
  const fetch = async () => (left-- > 0 ? new Response(": ping\\n\\n") : new Response(null, { status: 204 }));
  await follow({ fetch }, "/api/events", { signal: new AbortController().signal, onEvent: () => false });
  globalThis.setTimeout = set;
  return waits;
}"""


async def say_all(server: Served, count: int, *, person: str = "") -> None:
    """Turns that are answered, in the conversation `main`."""
    for number in range(1, count + 1):
        reply = await server.hub.begin(Person(person), "main", user(f"Question {number}"))
        await reply.finished()


async def said(server: Served, person: str = "") -> list[str]:
    """What the person's conversation has."""
    return [turn.user.text for turn in await server.store.of(person).turns("main")]


async def press_unseen(page: Page, target: str, **event: object) -> None:
    """A key as a browser reports it that a test cannot type."""
    await page.evaluate(
        "([target, event]) => document.querySelector(target)"
        ".dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...event }))",
        [target, event],
    )


async def test_a_message_that_is_sent_before_the_conversation_is_read_stays_and_is_answered(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await say_all(server, 1)
        read = asyncio.Event()

        async def hold(route: Route) -> None:
            response = await route.fetch()
            await read.wait()
            await route.fulfill(response=response)

        await visit.page.route(NEWEST, hold, times=1)
        await visit.page.goto(f"{address}/#/main")
        await expect(visit.message).to_be_focused()
        await visit.say("Early bird")
        await expect(visit.reply(2)).to_have_text("Hello.")
        read.set()
        await expect(visit.reply(1)).to_have_text("Hello.")
        await expect(visit.reply(2)).to_have_text("Hello.")
        shown = await visit.page.locator(".turn").evaluate_all("all => all.map(({ dataset }) => dataset.number)")
        assert shown == ["1", "2"]
        assert await said(server) == ["Question 1", "Early bird"]


async def test_what_one_person_began_to_write_is_not_there_for_the_next(browser: Browser) -> None:
    async with (
        served(people=("anna", "ben")) as server,
        server.listening() as address,
        visiting(browser, address, expected=(UNAUTHORIZED,)) as visit,
    ):
        await visit.page.goto(address)
        await enter(visit, server.keys["anna"])
        await visit.message.fill("A secret, half written")
        settings = await visit.show_panel("Settings")
        await settings.get_by_role("button", name="Log out").click()
        await enter(visit, server.keys["ben"])
        await expect(visit.page.locator("#person")).to_have_text("ben")
        await expect(visit.page.locator("#turns > *").first).to_be_attached()
        await expect(visit.message).to_have_value("")
        assert "secret" not in await visit.page.evaluate("JSON.stringify({ ...sessionStorage })")


async def test_another_person_who_logs_in_meanwhile_sees_and_says_nothing_of_the_first(browser: Browser) -> None:
    async with (
        served(people=("anna", "ben")) as server,
        server.listening() as address,
        visiting(browser, address, expected=(UNAUTHORIZED,)) as visit,
    ):
        await say_all(server, 1, person="anna")
        await visit.page.goto(f"{address}/#/main")
        await enter(visit, server.keys["anna"])
        await expect(visit.turn(1)).to_contain_text("Question 1")
        await visit.context.clear_cookies()
        await visit.say("Of Anna alone")
        await enter(visit, server.keys["ben"])
        await expect(visit.page.locator("#person")).to_have_text("ben")
        await expect(visit.page.get_by_text("What is on your mind?")).to_be_visible()
        await expect(visit.message).to_have_value("")
        assert "Question 1" not in await visit.page.content()
        assert await said(server, "ben") == []


async def test_a_message_whose_answer_was_lost_is_said_once_when_it_is_sent_again(browser: Browser) -> None:
    model = GatedModel("One two.")
    async with (
        served(model) as server,
        server.listening() as address,
        visiting(browser, address, expected=(FAILED,)) as visit,
    ):

        async def lose(route: Route) -> None:
            await route.fetch()
            await route.abort()

        await visit.page.route(TURNS, lose, times=1)
        await visit.open()
        await visit.say("Only once")
        await expect(visit.message).to_have_value("Only once")
        await expect(visit.turn(1)).to_contain_text("Only once")
        model.open()
        await expect(visit.reply(1)).to_have_text("One two.")
        await visit.message.press("End")
        await visit.message.type("!")
        await visit.message.press("Backspace")
        await visit.message.press("Enter")
        await expect(visit.message).to_have_value("")
        await expect(visit.page.locator(".turn.waiting")).to_have_count(0)
        await expect(visit.page.locator(".turn")).to_have_count(1)
        assert await said(server) == ["Only once"]
        await visit.say("Only once")
        await expect(visit.reply(2)).to_have_text("One two.")
        assert await said(server) == ["Only once", "Only once"]


async def test_a_message_that_was_on_its_way_when_the_page_was_closed_is_said_once(browser: Browser) -> None:
    async with (
        served() as server,
        server.listening() as address,
        visiting(browser, address, expected=(FAILED,)) as visit,
    ):
        arrived, closed = asyncio.Event(), asyncio.Event()

        async def hold(route: Route) -> None:
            await route.fetch()
            arrived.set()
            await closed.wait()
            await route.abort()

        await visit.page.route(TURNS, hold, times=1)
        await visit.open()
        await visit.say("On its way")
        await arrived.wait()
        await visit.page.reload()
        closed.set()
        await expect(visit.reply(1)).to_have_text("Hello.")
        await expect(visit.message).to_have_value("")
        await expect(visit.page.locator(".turn")).to_have_count(1)
        assert await said(server) == ["On its way"]


async def test_a_reminder_that_was_done_in_one_tab_has_no_notice_in_the_other(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        other = await visit.further()
        await visit.open()
        await other.open()
        await server.client.post("/api/reminders", json={"phrase": "water the plants every day at 9am"})
        await remind(server, "call Anna", server.clock.now() + timedelta(hours=1))
        server.clock.advance(days=1)
        server.hub.telling.wake()
        for tab in (visit, other):
            await expect(tab.page.locator(".notice")).to_have_count(2)
        plants = visit.page.locator(".notice", has_text="plants")
        await plants.get_by_role("button", name="Done").click()
        for tab in (visit, other):
            await expect(tab.page.locator(".notice", has_text="plants")).to_have_count(0)
            await expect(tab.page.locator(".notice", has_text="call Anna")).to_have_count(1)


async def test_done_says_which_version_was_seen_and_one_that_holds_no_longer_changes_nothing(browser: Browser) -> None:
    async with (
        served() as server,
        server.listening() as address,
        visiting(browser, address, expected=("status of 409",)) as visit,
    ):
        other = await visit.further()
        await visit.open()
        await other.open()
        await server.client.post("/api/reminders", json={"phrase": "water the plants every day at 9am"})
        server.clock.advance(days=1)
        server.hub.telling.wake()
        done = [tab.page.locator(".notice").get_by_role("button", name="Done") for tab in (visit, other)]
        for button in done:
            await expect(button).to_be_visible()
        seen = asyncio.Event()

        async def hold(route: Route) -> None:
            await seen.wait()
            await route.continue_()

        # The second tab does not hear in time what the first one did.
        await other.page.route("**/api/reminders", hold)
        await done[0].click()
        await expect(visit.page.locator(".notice")).to_have_count(0)
        (reminder,) = await server.store.reminders()
        await done[1].click()
        seen.set()
        await expect(other.page.locator(".notice")).to_have_count(0)
        assert [each.due for each in await server.store.reminders()] == [reminder.due]


async def test_a_line_that_is_cut_again_and_again_is_taken_up_soon_each_time(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open()
        waits = [each for each in await visit.page.evaluate(RECONNECT, 8) if each > 300]
        assert len(waits) == 8
        assert max(waits) < 700


async def test_a_window_that_is_nowhere_stored_has_no_button_for_the_rest_of_a_text(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        reply = await server.hub.begin(server.person(), "main", user("word " * 5000 + "THE END"))
        await reply.finished()
        await visit.open()
        whole = visit.page.get_by_role("button", name="All of it")
        await visit.piece("word word").last.click()
        await whole.click()
        await expect(visit.page.locator("pre", has_text="THE END")).to_have_count(1)
        await visit.message.fill("word " * 5000 + "THE OTHER END")
        await visit.page.get_by_role("radio", name="Would be sent next").check()
        await expect(
            visit.page.get_by_role("heading", name="What would be sent next, with what is typed")
        ).to_be_visible()
        row = visit.piece("word word").last
        if await row.get_attribute("aria-expanded") == "false":
            await row.click()
        await expect(visit.page.get_by_text(re.compile("^The first 20,000 of")).last).to_be_visible()
        await expect(whole).to_have_count(0)


async def test_older_messages_that_cannot_be_read_are_said_and_read_when_tried_again(browser: Browser) -> None:
    async with (
        served() as server,
        server.listening() as address,
        visiting(browser, address, expected=(FAILED,)) as visit,
    ):
        await say_all(server, 60)
        await visit.page.route("**/turns?since=*", lambda route: route.abort(), times=1)
        await visit.open()
        await expect(visit.turn(60)).to_be_visible()
        await expect(visit.turn(11)).to_be_attached()
        await visit.page.locator("#transcript").evaluate("element => { element.scrollTop = 0; }")
        again = visit.page.locator(".older").get_by_role("button", name="Try again")
        await expect(again).to_be_visible()
        await again.click()
        await expect(visit.turn(1)).to_be_attached()
        await expect(visit.page.locator(".turn")).to_have_count(60)
        await expect(visit.page.locator(".older")).to_be_hidden()


async def test_shortcuts_with_alt_are_keys_and_not_the_letters_that_they_write(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open()
        await press_unseen(visit.page, "#message", key="Dead", code="KeyN", altKey=True)
        await expect(visit.page).not_to_have_url(re.compile("/main$"))
        await expect(visit.panel("Inspector")).to_be_visible()
        await press_unseen(visit.page, "#message", key="ˆ", code="KeyI", altKey=True)
        await expect(visit.panel("Inspector")).to_be_hidden()


async def test_escape_in_another_field_or_in_a_word_that_is_composed_stops_no_reply(browser: Browser) -> None:
    model = GatedModel("One two three four.")
    async with served(model) as server, server.listening() as address, visiting(browser, address) as visit:
        stops: list[str] = []
        visit.page.on("request", lambda request: stops.append(request.url) if "/stop" in request.url else None)
        await visit.open()
        panel = await visit.show_panel("Memories")
        await visit.say("Count.")
        model.let(2)
        await expect(visit.turn_in_progress).to_contain_text("One two")
        await panel.get_by_label("Remember").press("Escape")
        await press_unseen(visit.page, "#message", key="Escape", code="Escape", isComposing=True)
        model.let(1)
        await expect(visit.turn_in_progress).to_contain_text("three")
        assert stops == []
        await visit.message.press("Escape")
        await expect(visit.turn(1)).to_contain_text("The reply was stopped here.")
        assert len(stops) == 1


async def test_a_page_whose_first_question_fails_opens_when_the_server_answers(browser: Browser) -> None:
    async with (
        served() as server,
        server.listening() as address,
        visiting(browser, address, expected=(FAILED,)) as visit,
    ):
        await say_all(server, 1)
        await visit.page.route("**/api/me", lambda route: route.abort(), times=1)
        await visit.page.goto(f"{address}/#/main")
        await expect(visit.reply(1)).to_have_text("Hello.")
        await expect(visit.page.get_by_text("The line to the server is cut")).to_be_hidden()


async def test_news_from_another_tab_leaves_the_reader_where_he_is(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await say_all(server, 12)
        await visit.open()
        await expect(visit.turn(12)).to_be_visible()
        scroller = visit.page.locator("#transcript")
        await visit.turn(4).scroll_into_view_if_needed()
        place = await scroller.evaluate("element => element.scrollTop")
        assert await scroller.evaluate("element => element.scrollHeight - element.clientHeight") > place + 100
        first = await visit.turn(1).element_handle()
        reply = await server.hub.begin(server.person(), "main", user("From elsewhere"))
        await reply.finished()
        await expect(visit.reply(13)).to_have_text("Hello.")
        assert await scroller.evaluate("element => element.scrollTop") == place
        assert first is not None
        assert await first.evaluate("element => element.isConnected")


async def test_what_another_tab_says_is_seen_while_a_message_of_this_one_waits(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        held = asyncio.Event()

        async def hold(route: Route) -> None:
            await held.wait()
            await route.continue_()

        await visit.page.route(TURNS, hold, times=1)
        await visit.open()
        await visit.say("Mine, held up")
        reply = await server.hub.begin(server.person(), "main", user("From elsewhere"))
        await reply.finished()
        await expect(visit.reply(1)).to_have_text("Hello.")
        await expect(visit.page.locator(".turn.waiting")).to_contain_text("Mine, held up")
        held.set()
        await expect(visit.reply(2)).to_have_text("Hello.")
        assert await said(server) == ["From elsewhere", "Mine, held up"]


async def test_turns_that_another_tab_replaces_go_from_this_one(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await say_all(server, 3)
        other = await visit.further()
        await visit.open()
        await other.open()
        await expect(visit.turn(3)).to_be_visible()
        await other.turn(2).hover()
        await other.turn(2).get_by_role("button", name="Edit").click()
        await other.say("Question two, better")
        for tab in (visit, other):
            await expect(tab.reply(4)).to_have_text("Hello.")
            await expect(tab.page.locator(".turn")).to_have_count(2)
            await expect(tab.turn(1)).to_be_visible()


async def test_a_list_is_not_read_again_under_what_is_being_written(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        for text in ("You prefer tea", "You live in Bern"):
            await server.client.post("/api/memories", json={"text": text})
        await visit.open()
        panel = await visit.show_panel("Memories")
        await expect(panel.locator("li")).to_have_count(2)
        search = panel.get_by_role("searchbox", name="Search")
        visit.asked.clear()
        await search.press_sequentially("tea")
        await expect(panel.locator("li")).to_have_count(1)
        assert len([each for each in visit.asked if "/api/memories" in each]) == 1
        await panel.get_by_role("button", name="Edit").click()
        await panel.get_by_label("Text").fill("You prefer green tea")
        await expect(search).to_be_disabled()
        await expect(panel.get_by_label("Show those that hold no longer")).to_be_disabled()
        await panel.get_by_role("button", name="Save").click()
        await expect(panel.get_by_text("You prefer green tea")).to_be_visible()
        await expect(search).to_be_enabled()


async def test_a_browser_that_keeps_nothing_shows_the_page_and_sends_messages(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.context.add_init_script(NO_STORAGE)
        await visit.open()
        await visit.say("Hello")
        await expect(visit.reply(1)).to_have_text("Hello.")
        await visit.page.get_by_role("button", name="Theme").click()
        await expect(visit.page.locator("html")).to_have_attribute("data-theme", "light")
        await visit.page.get_by_role("button", name="Inspector and panels").click()
        await expect(visit.panel("Inspector")).to_be_hidden()


@pytest.mark.parametrize("width", [390, 1200, 1440])
async def test_all_tabs_of_the_side_fit_beside_each_other(browser: Browser, width: int) -> None:
    async with (
        served() as server,
        server.listening() as address,
        visiting(browser, address, size=(width, 900)) as visit,
    ):
        await visit.open()
        if width < 1000:
            await visit.page.get_by_role("button", name="Inspector and panels").click()
        await visit.show_panel("Settings")
        strip = visit.page.get_by_role("tablist", name="Regions")
        assert await strip.evaluate("element => element.scrollWidth - element.clientWidth") <= 0
