"""The inspector: what the model saw, block for block, and how a person goes back through it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Locator, expect

from browser.scene import EDIT, MONDAY_TALK, MORNING, kitchen, say
from browser.visits import Visit, visiting
from caching_model import CachingModel
from server.serving import served
from support import HandClock, calling

REMINDER: Final = "call Anna Weber and confirm the tiles"
PLACE: Final = re.compile(r"([a-z]+)(?:\[(\d+)\])?(?:\.content\[(\d+)\])?")


@pytest.mark.requirement("WEB-17")
async def test_the_notification_center_shows_the_reminder_that_the_reply_used(browser: Browser) -> None:
    async with kitchen() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open(MONDAY_TALK)
        await expect(visit.reply(1)).to_contain_text(f"09:30: {REMINDER}")
        await visit.turn(1).get_by_role("button", name="Inspect").click()
        await expect(visit.page.get_by_role("heading", name="What the model saw in turn 1")).to_be_visible()
        # It was asked for in another conversation: only the notification center can have told of it.
        await expect(visit.page.get_by_role("region", name="Conversation history")).to_have_count(0)
        reminders = visit.piece("active_reminders")
        await expect(reminders).to_have_attribute("aria-expanded", "false")
        await reminders.click()
        body = visit.page.locator("li", has=reminders).locator(".body")
        await expect(body.get_by_role("group", name="Text of active_reminders")).to_contain_text(REMINDER)
        about = await _facts(body)
        assert about["Written by"] == "ReminderManager"
        assert re.fullmatch(r"~\d+, estimated", about["Tokens"])
        assert about["Why"]
        assert about["Age"] == "new in this turn"
        assert about["Cache"].endswith("fresh")
        await reminders.click()
        await expect(body).to_have_count(0)


async def _facts(body: Locator) -> Mapping[str, str]:
    names = await body.locator("dl.facts dt").all_inner_texts()
    return dict(zip(names, await body.locator("dl.facts dd").all_inner_texts(), strict=True))


@pytest.mark.requirement("WEB-17")
async def test_the_slider_goes_back_to_a_window_whose_text_equals_the_stored_request(browser: Browser) -> None:
    clock = HandClock()
    look = calling(("list_reminders", {"include_done": True}), said="One moment.")
    model = CachingModel(["Yes.\n\n```\n<b>\n```", look, "Nothing is due.", "No & no.", "Good."], clock)
    async with (
        served(model, clock=clock) as server,
        server.listening() as address,
        visiting(browser, address) as visit,
    ):
        for text in ("First <i>thing</i>", "What is due?", "And\n\nthen?", "Thank you"):
            await say(server, text, "main")
            clock.advance(minutes=2)
        await visit.open()
        slider = visit.page.get_by_role("slider", name="Turn")
        await expect(visit.page.get_by_role("heading", name="What the model saw in turn 4")).to_be_visible()
        turns = {turn.number: turn for turn in await server.store.turns("main")}
        await slider.focus()
        for keys, turn, call in (("ArrowLeft", 3, ""), ("ArrowLeft", 2, ", call 2 of 2"), ("Home", 1, "")):
            await slider.press(keys)
            title = f"What the model saw in turn {turn}{call}"
            await expect(visit.page.get_by_role("heading", name=title, exact=True)).to_be_visible()
            await expect(slider).to_have_attribute("aria-valuetext", re.compile(rf"^Turn {turn}{call}:"))
            hash_of = turns[turn].request
            assert hash_of is not None
            await expect(visit.page.locator(f"code[title='SHA-256 {hash_of}']")).to_be_visible()
            shown = await _everything_shown(visit)
            _assert_is_the_request(shown, await server.store.load_request(hash_of))


async def _everything_shown(visit: Visit) -> Mapping[str, str]:
    """The texts of all blocks by place, as a person reads them who opens each."""
    closed = visit.page.locator(".piece[aria-expanded=false]")
    while await closed.count():
        await closed.first.click()
    texts: dict[str, str] = {}
    for body in await visit.page.locator(".strip li > div > .body").all():
        about = await _facts(body)
        place = about["Place"].split(" · ")[0]
        texts[place] = texts.get(place, "") + (await body.locator(":scope > div > pre").last.text_content() or "")
    return texts


def _assert_is_the_request(shown: Mapping[str, str], request: Mapping[str, Any]) -> None:
    """Whether exactly the request was shown: each text as it is, each tool, call and result as its JSON."""
    places = {f"tools[{index}]": tool for index, tool in enumerate(request["tools"])}
    places |= {f"system[{index}]": block for index, block in enumerate(request["system"])}
    for number, message in enumerate(request["messages"]):
        places |= {f"messages[{number}].content[{index}]": each for index, each in enumerate(message["content"])}
    assert shown.keys() == places.keys()
    for place, text in shown.items():
        block = places[place]
        if block.get("type") == "text":
            assert text == block["text"], place
        elif block.get("type") == "tool_result":
            assert text == block["content"], place
        else:
            found = json.loads(text)
            assert found == {key: block[key] for key in found}, place
            assert {"name", "input_schema" if place.startswith("tools") else "input"} <= found.keys(), place


@pytest.mark.requirement("WEB-17")
async def test_what_would_be_sent_follows_what_is_typed_and_is_what_is_sent_then(browser: Browser) -> None:
    async with kitchen(until=1) as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open(MONDAY_TALK)
        await expect(visit.turn(1)).to_contain_text(MORNING)
        await visit.page.get_by_role("radio", name="Would be sent next").check()
        await expect(visit.page.get_by_role("heading", name="What would be sent next")).to_be_visible()
        await visit.message.fill(EDIT)
        row = visit.piece("user message").last
        await expect(row).to_contain_text(EDIT[:30])
        total = await visit.page.locator(".figures dd").first.inner_text()
        await visit.page.get_by_role("radio", name="Sent", exact=True).check()
        await visit.message.press("Enter")
        await expect(visit.turn(2).get_by_role("button", name="Another reply")).to_be_attached()
        first = (await server.store.turns(MONDAY_TALK))[-1]
        await expect(
            visit.page.get_by_role("heading", name="What the model saw in turn 2, call 2 of 2")
        ).to_be_visible()
        await visit.page.get_by_role("slider", name="Turn").press("ArrowLeft")
        await expect(
            visit.page.get_by_role("heading", name="What the model saw in turn 2, call 1 of 2")
        ).to_be_visible()
        sent = await visit.page.locator(".figures dd").first.inner_text()
        # One is estimated in front of it, the other was counted.
        guessed, counted = (int(text.strip("~").replace(",", "")) for text in (total, sent))
        assert abs(guessed - counted) < 0.02 * counted
        assert first.steps
