"""Texts of others on the page: they are shown, and do nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from browser.visits import Visit, remind, visiting
from caching_model import CLAUDE
from frontmind.providers.protocol import Request
from frontmind.values.message import Message
from server.serving import Served, served
from support import SHARED_DATA, calling, playing, remember

ELSEWHERE: Final = "http://127.0.0.1:9"
OURS: Final = (
    "<script>globalThis.taken = 1; alert(1)</script>",
    '"><script>globalThis.taken = 1</script>',
    "<img src=x onerror=\"globalThis.taken = 1; alert('img')\">",
    f'<img src="{ELSEWHERE}/pixel.png">',
    f"![a picture]({ELSEWHERE}/pixel.png)",
    "[look here](javascript:globalThis.taken=1)",
    '<a href="javascript:globalThis.taken=1">look here</a>',
    "[look here](data:text/html,<script>globalThis.taken=1</script>)",
    "[look here](<JaVaScRiPt:globalThis.taken=1>)",
    "<javascript:globalThis.taken=1>",
    "<svg onload=globalThis.taken=1><circle r=9></svg>",
    '<iframe srcdoc="<script>parent.taken = 1</script>"></iframe>',
    f"<style>@import url({ELSEWHERE}/style.css); * {{ display: none }}</style>",
    f'<link rel="stylesheet" href="{ELSEWHERE}/style.css">',
    f'<base href="{ELSEWHERE}/">',
    f'<form action="{ELSEWHERE}/"><button>Send the message</button></form>',
    "<details open ontoggle=globalThis.taken=1><summary>More</summary></details>",
    "<input autofocus onfocus=globalThis.taken=1>",
    f'<meta http-equiv="refresh" content="0; url={ELSEWHERE}/">',
    f'<object data="{ELSEWHERE}/thing.swf"></object>',
    "```\n</code></pre><script>globalThis.taken = 1</script>\n```",
    "```<script>globalThis.taken=1</script>\ncode\n```",
    '| a |\n|---|\n| <img src=x onerror="globalThis.taken = 1"> |',
    '<template><script>globalThis.taken = 1</script></template><div id="turns" name="cookie">',
    '<noscript><p title="</noscript><img src=x onerror=globalThis.taken=1>">',
    "<math><mtext><table><mglyph><style><img src=x onerror=globalThis.taken=1>",
)
NAME: Final = "<img src=x onerror=globalThis.taken=1>"
PICTURE: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# What no text of others may become on the page.
LIVE: Final = """() => {
  const own = "#turns, #side, #notices, #conversations-list, #title, dialog";
  const roots = [...document.querySelectorAll(own)];
  const found = roots.flatMap((root) => [...root.querySelectorAll(
    "script, iframe, object, embed, style, link, base, meta, form[action], template, math, audio, video, noscript")]);
  for (const each of roots.flatMap((root) => [...root.querySelectorAll("*")])) {
    for (const { name, value } of each.attributes) {
      if (name.startsWith("on") || name === "style" && each.closest(".prose")) found.push(each);
      const leads = ["href", "src", "action", "formaction", "xlink:href"].includes(name);
      if (leads && /^\\s*(javascript|data|vbscript):(?!image\\/)/i.test(value)) found.push(each);
    }
    if (each.matches("img") && !each.src.startsWith(location.origin) && !each.src.startsWith("blob:")) found.push(each);
  }
  return found.map((each) => each.outerHTML.slice(0, 200));
}"""


def shared_texts() -> list[str]:
    """The texts of the injection files, where they are beside the repository."""
    folder = SHARED_DATA / "injection"
    files = sorted(folder.glob("*.jsonl")) if folder.exists() else []
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [str(json.loads(line)["text"]) for line in lines]


@asynccontextmanager
async def poisoned(texts: Sequence[str]) -> AsyncIterator[Served]:
    """A server on which everything that can hold a text holds these."""
    everything = "\n\n".join(texts)

    def answer(request: Request) -> str | Message:
        if "tool_result" in str(request["messages"]):
            return everything
        return calling(("read_document", {"name": NAME}), said=texts[0])

    async with served(playing(CLAUDE, answer)) as server:
        for text in texts:
            await remember(server.store, text, server.clock.now())
            await remind(server, text, server.clock.now())
        await server.store.put_document(NAME, everything, server.clock.now(), expected=0)
        yield server


async def assert_nothing_took_effect(page: Page) -> None:
    assert await page.evaluate("globalThis.taken ?? null") is None
    assert await page.evaluate(LIVE) == []


@pytest.mark.requirement("WEB-17")
@pytest.mark.parametrize("whose", ["ours", "shared"])
async def test_texts_of_others_do_nothing_wherever_they_stand(browser: Browser, whose: str) -> None:
    texts = [text for text in (OURS if whose == "ours" else shared_texts()) if text.strip()]
    if not texts:
        pytest.skip("the injection files are not beside the repository")
    async with (
        poisoned(texts) as server,
        server.listening() as address,
        visiting(browser, address) as visit,
    ):
        await visit.open(NAME)
        await expect(visit.page.locator(".empty")).to_be_visible()
        picker = visit.page.locator("input[type=file]")
        picture: FilePayload = {"name": f"{NAME}.png", "mimeType": "image/png", "buffer": PICTURE}
        words: FilePayload = {"name": f"{NAME}.txt", "mimeType": "text/plain", "buffer": texts[0].encode()}
        await picker.set_input_files([picture, words])
        await expect(visit.page.locator("form .files").get_by_text(NAME)).to_have_count(2)
        await visit.say("\n".join(texts[:60]))
        await expect(visit.turn(1).get_by_role("button", name="Another reply")).to_be_attached()
        await assert_nothing_took_effect(visit.page)
        for tool in await visit.page.locator("details.tool > summary").all():
            await tool.click()
        await _follow_links(visit)
        await assert_nothing_took_effect(visit.page)
        await visit.page.reload()
        await expect(visit.turn(1).get_by_role("button", name="Another reply")).to_be_attached()
        await assert_nothing_took_effect(visit.page)
        await _open_panels(visit, texts)
        await _open_blocks(visit)
        await assert_nothing_took_effect(visit.page)


async def _follow_links(visit: Visit) -> None:
    """No link of a text goes anywhere but to a page of the web, and none opens by itself."""
    for link in await visit.page.locator(".prose a").all():
        href = await link.get_attribute("href") or ""
        assert href.startswith(("http://", "https://", "mailto:")), href
        assert "noopener" in (await link.get_attribute("rel") or "")


async def _open_panels(visit: Visit, texts: Sequence[str]) -> None:
    for name in ("Reminders", "Memories"):
        panel = await visit.show_panel(name)
        items = panel.locator("li > p:first-child")
        await expect(items.first).to_be_visible()
        assert len(await items.all()) == len(texts)
        shown = {" ".join(text.split()) for text in await items.all_inner_texts()}
        assert {" ".join(text.split()) for text in texts[:3]} <= shown
        await panel.get_by_role("button", name="Delete").first.click()
        dialog = visit.page.get_by_role("dialog")
        await expect(dialog).to_be_visible()
        await assert_nothing_took_effect(visit.page)
        await dialog.get_by_role("button", name="Cancel").click()
        await panel.get_by_role("button", name="Edit").first.click()
        await assert_nothing_took_effect(visit.page)
    panel = await visit.show_panel("Documents")
    await expect(panel.get_by_text(NAME)).to_be_visible()
    await panel.get_by_role("button", name="Edit").click()
    await expect(panel.get_by_role("textbox", name=NAME)).not_to_have_value("")
    await assert_nothing_took_effect(visit.page)
    await visit.show_panel("Settings")


async def _open_blocks(visit: Visit) -> None:
    await visit.show_panel("Inspector")
    await expect(visit.piece("active_reminders")).to_be_visible()
    closed = visit.page.locator(".piece[aria-expanded=false]")
    while await closed.count():
        await closed.first.click()
    folded = visit.panel("Inspector").locator("details:not([open]) > summary")
    while await folded.count():
        await folded.first.click()


@pytest.mark.requirement("WEB-17")
async def test_a_reminder_that_is_due_and_hostile_is_only_read(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open()
        await remind(server, OURS[2], server.clock.now())
        server.hub.telling.wake()
        await expect(visit.page.get_by_role("region", name="Notices")).to_contain_text("<img src=x")
        await assert_nothing_took_effect(visit.page)


@pytest.mark.requirement("WEB-17")
async def test_the_checks_of_this_file_see_what_they_look_for(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open()
        await visit.page.evaluate(
            """() => {
              const box = document.createElement("div");
              box.innerHTML = '<img src="http://127.0.0.1:9/x.png"><a href="javascript:1">x</a><b onclick="1">x</b>';
              document.getElementById("turns").append(box);
              const script = document.createElement("script");
              script.textContent = "globalThis.taken = 1";
              document.body.append(script);
            }"""
        )
        assert len(await visit.page.evaluate(LIVE)) == 3
        assert await visit.page.evaluate("globalThis.taken ?? null") is None, "the content policy lets it run"
        assert any("Content Security Policy" in fault for fault in visit.faults)
        visit.faults.clear()
