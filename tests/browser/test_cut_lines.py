"""Lines that are cut: a reply is taken up again where it was, and what was typed is kept until the server is back."""

from __future__ import annotations

import random
from itertools import cycle, islice
from typing import Final

import pytest
from playwright.async_api import Browser, expect

from browser.cutting import cutting
from browser.visits import visiting
from server.serving import GatedModel, served

CUTS: Final = 4
AT_ONCE: Final = 6
REFUSED: Final = "net::ERR_"
# Words of letters that take one, two, three and four bytes, so that a cut falls inside of them as well.
WORDS: Final = [
    f"{word}{number}" + ("\n\n " if number % 9 == 8 else " ")
    for number, word in enumerate(islice(cycle(("word", "größe", "数字", "🙂", "end")), 900))
]
REPLY: Final = "".join(WORDS).strip()
# Keeps every state of the reply that a person could have seen.
WATCH: Final = """() => {
  globalThis.seen = [];
  const look = () => {
    const shown = [...document.querySelectorAll(".answered .prose > *")].map((each) => each.textContent).join("\\n");
    if (shown !== seen.at(-1)) seen.push(shown);
  };
  new MutationObserver(look).observe(document.getElementById("turns"), { childList: true, subtree: true });
}"""


@pytest.mark.requirement("WEB-17")
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_reply_whose_line_is_cut_again_and_again_comes_without_a_lost_or_doubled_character(
    browser: Browser, seed: int
) -> None:
    randomly = random.Random(seed)
    cuts = [randomly.randint(300, 4000) for _ in range(CUTS)]
    model = GatedModel(REPLY)
    async with (
        served(model) as server,
        server.listening() as address,
        cutting(address, cuts) as line,
        visiting(browser, line.address, expected=(REFUSED,)) as visit,
    ):
        await visit.open()
        await visit.page.evaluate(WATCH)
        await visit.say("Count.")
        said = iter(WORDS)
        while line.cut < CUTS:
            *_, last = islice(said, AT_ONCE)
            model.let(AT_ONCE)
            await expect(visit.turn_in_progress).to_contain_text(last.strip())
        await expect(visit.page.locator(".working")).to_be_visible()
        model.open()
        await expect(visit.turn(1).get_by_role("button", name="Another reply")).to_be_attached()
        seen: list[str] = await visit.page.evaluate("seen")
        assert len(line.asked) == CUTS + 1
        assert (await visit.reply(1).inner_text()).split() == REPLY.split()
        whole = REPLY.split()
        for state in seen:
            *words, last = state.split() or [""]
            assert words == whole[: len(words)]
            assert whole[len(words)].startswith(last) if last else not words
        assert len(seen) > 2 * CUTS


@pytest.mark.requirement("WEB-17")
async def test_a_server_that_is_away_is_said_and_what_was_typed_goes_on_when_it_is_back(browser: Browser) -> None:
    async with (
        served() as server,
        server.listening() as address,
        cutting(address) as line,
        visiting(browser, line.address, expected=(REFUSED,)) as visit,
    ):
        await visit.open()
        lost = visit.page.get_by_text("The line to the server is cut")
        await expect(lost).to_be_hidden()
        await line.close()
        await expect(lost).to_be_visible()
        await visit.say("Are you there?")
        await expect(visit.page.get_by_text("Not sent: Frontmind cannot be reached")).to_be_visible()
        await expect(visit.message).to_have_value("Are you there?")
        await line.open()
        await expect(lost).to_be_hidden()
        await visit.message.press("Enter")
        await expect(visit.reply(1)).to_have_text("Hello.")
        await expect(visit.message).to_have_value("")
        assert len(await server.store.turns("main")) == 1


@pytest.mark.requirement("WEB-17")
async def test_what_was_typed_outlasts_a_reload_in_each_conversation(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open("first")
        await visit.message.fill("Half a thought\nin two lines")
        await visit.page.get_by_role("button", name="New conversation").click()
        await expect(visit.message).to_have_value("")
        await visit.message.fill("Another")
        await visit.page.reload()
        await expect(visit.message).to_have_value("Another")
        await visit.open("first")
        await expect(visit.message).to_have_value("Half a thought\nin two lines")
        await visit.message.press("Enter")
        await expect(visit.reply(1)).to_have_text("Hello.")
        await visit.page.reload()
        await expect(visit.reply(1)).to_have_text("Hello.")
        await expect(visit.message).to_have_value("")


@pytest.mark.requirement("WEB-17")
async def test_a_page_that_is_opened_while_a_reply_runs_shows_it_and_goes_on(browser: Browser) -> None:
    model = GatedModel("One two three four.")
    async with served(model) as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open()
        await visit.say("Count.")
        model.let(2)
        await expect(visit.turn_in_progress).to_contain_text("One two")
        await visit.page.reload()
        await expect(visit.turn_in_progress).to_contain_text("One two")
        model.open()
        await expect(visit.reply(1)).to_have_text("One two three four.")
        await expect(visit.page.locator(".prose", has_text="One two")).to_have_count(1)
