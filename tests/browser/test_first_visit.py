"""The first visit: from the address to the first reply of the model that comes with Frontmind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

import platformdirs
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from browser.visits import visiting
from frontmind.providers.engine import Engine
from frontmind.providers.gguf import default_model_path
from frontmind.providers.local import LocalModel
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from server.serving import served

FEW_TOKENS = 48


@pytest_asyncio.fixture(loop_scope="session")
async def local() -> AsyncIterator[LocalModel]:
    """The local model, which says little."""
    profile = resolve_profile("local", "")
    engine = Engine(default_model_path(platformdirs.user_cache_path("frontmind")))
    model = LocalModel(engine, profile=profile, framing=choose_framing(profile), max_output_tokens=FEW_TOKENS)
    try:
        yield model
    finally:
        await model.close()


# Notes how much of a reply stands on the page, each time that it changes.
WATCH = """() => {
  globalThis.seen = [];
  const look = () => {
    const text = document.querySelector(".answered .prose")?.textContent.trim() ?? "";
    if (text && text !== seen.at(-1)) seen.push(text);
  };
  new MutationObserver(look).observe(document.getElementById("turns"), { childList: true, subtree: true });
}"""


@pytest.mark.requirement("WEB-17")
async def test_the_first_reply_of_the_local_model_grows_on_the_page_while_it_comes(
    browser: Browser, local: LocalModel
) -> None:
    async with served(local) as server, server.listening() as address, visiting(browser, address) as visit:
        page = visit.page
        await page.goto(address)
        await expect(page.get_by_role("heading", name="What is on your mind?")).to_be_visible()
        await expect(page).to_have_title("New conversation – Frontmind")
        await expect(visit.message).to_be_focused()
        await page.evaluate(WATCH)
        await visit.say("Hello! Tell me in two sentences what tea is.")
        await expect(visit.turn(1).get_by_role("button", name="Another reply")).to_be_attached(timeout=180_000)
        (turn,) = await server.store.turns("main")
        assert turn.reply is not None
        said = turn.reply.text.split()
        assert (await visit.reply(1).inner_text()).split() == said
        seen: list[str] = await page.evaluate("seen")
        assert len(seen) >= 4, "the reply came all at once"
        for earlier, later in pairwise(seen):
            assert later.startswith(earlier) and len(later) > len(earlier)
        assert await page.locator("#title").inner_text() != "New conversation"
        inspector = visit.panel("Inspector")
        await expect(inspector.get_by_role("heading", name="What the model saw in turn 1")).to_be_visible()
        await expect(visit.piece("datetime_section")).to_be_visible()
