"""What axe-core finds on the page, in all that it can show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, expect

from browser.visits import DESKTOP, PHONE, UNAUTHORIZED, Visit, remind, visiting
from caching_model import CLAUDE
from frontmind.domaindocs.library import DocumentLibrary
from frontmind.providers.protocol import Request
from frontmind.values.message import Message, Role, user
from frontmind.values.parts import Image, Text
from server.serving import Served, served
from support import calling, playing, remember

State: TypeAlias = Callable[[Visit, Served], Awaitable[None]]

SERIOUS: Final = ("serious", "critical")
PICTURE: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
REPLY: Final = """### What there is

Text with **weight**, `code`, a [link](https://example.org) and ~~nothing~~.

1. one
2. two
   - inner

> A quotation.

```python
def area(width: float, height: float) -> float:
    return width * height  # a comment that is so long that it does not fit into the width of a telephone at all
```

| Thing | Price |
|-------|------:|
| Tiles | 640 € |
| Oak   | 1,450 € |
"""


def answer(request: Request) -> str | Message:
    return REPLY if "tool_result" in str(request["messages"]) else calling(("list_reminders", {}), said="One moment.")


async def furnish(server: Served) -> None:
    """Something of everything, and a conversation with code, a table, a picture and a tool."""
    now = server.clock.now()
    for text in ("You prefer tea", "Anna is your tiler"):
        await remember(server.store, text, now)
    await remind(server, "call Anna", now)
    await DocumentLibrary(server.store, server.clock).add("kitchen", "# Kitchen\n\n## Budget\n\n7,500 €\n")
    message = Message(Role.USER, (Text("Look, **please**"), Image("image/png", PICTURE)))
    for said in (message, user("And now?")):
        await (await server.hub.begin(server.person(), "main", said, wait=True)).report()
        server.clock.advance(minutes=1)


async def faults(visit: Visit, *, only: str = "") -> list[str]:
    """What is serious of what axe-core finds, one line for each element."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if only:
        options["runOnly"] = [only]
    found = (await Axe().run(visit.page, options=options)).response["violations"]
    return [
        f"{each['id']}: {node['target']} {node['html'][:120]} {[check['message'] for check in node['any'][:1]]}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


async def open_panel(visit: Visit, name: str) -> None:
    """Show a panel, on a phone over all the rest."""
    tab = visit.page.get_by_role("tab", name=name)
    if not await tab.is_visible():
        await visit.page.get_by_role("button", name="Inspector and panels").click()
    await visit.show_panel(name)


async def empty(visit: Visit, _: Served) -> None:
    await visit.open("nothing")
    await expect(visit.page.locator(".empty")).to_be_visible()


async def conversation(visit: Visit, server: Served) -> None:
    await visit.open()
    await remind(server, "call Ben", server.clock.now())
    server.hub.telling.wake()
    for tool in await visit.page.locator("details.tool > summary").all():
        await tool.click()
    await expect(visit.page.get_by_role("region", name="Notices")).to_contain_text("call Ben")
    await expect(visit.turn(2).locator("table")).to_be_visible()


async def editing(visit: Visit, server: Served) -> None:
    await conversation(visit, server)
    await visit.turn(1).get_by_role("button", name="Edit").click()
    await expect(visit.page.get_by_text("Editing message 1")).to_be_visible()


async def reminders(visit: Visit, _: Served) -> None:
    await visit.open()
    await open_panel(visit, "Reminders")
    await visit.panel("Reminders").get_by_role("button", name="Edit").first.click()


async def memories(visit: Visit, _: Served) -> None:
    await visit.open()
    await open_panel(visit, "Memories")
    await visit.panel("Memories").get_by_role("button", name="Edit").first.click()


async def documents(visit: Visit, _: Served) -> None:
    await visit.open()
    await open_panel(visit, "Documents")
    await expect(visit.panel("Documents").get_by_text("kitchen")).to_be_visible()


async def document(visit: Visit, server: Served) -> None:
    await documents(visit, server)
    await visit.panel("Documents").get_by_role("button", name="Edit").click()
    await expect(visit.page.get_by_role("textbox", name="kitchen")).to_be_visible()


async def settings(visit: Visit, _: Served) -> None:
    await visit.open()
    await open_panel(visit, "Settings")
    await expect(visit.panel("Settings").get_by_text("Version")).to_be_visible()


async def inspector(visit: Visit, _: Served) -> None:
    await visit.open()
    await open_panel(visit, "Inspector")
    for name in ("active_reminders", "base_prompt", "12 tools"):
        await visit.piece(name).click()
    for folded in ("Changed since", "Trinkets now", "All calls", "Not in it", "Framing"):
        await visit.panel("Inspector").locator("summary", has_text=folded).click()
    await expect(visit.page.get_by_role("group", name="Text of active_reminders", exact=True)).to_be_visible()
    await expect(visit.page.locator(".plot svg")).to_be_visible()


async def next_window(visit: Visit, _: Served) -> None:
    await visit.open()
    await open_panel(visit, "Inspector")
    await visit.page.get_by_role("radio", name="Would be sent next").check()
    await expect(visit.page.get_by_role("heading", name="What would be sent next")).to_be_visible()


async def shortcuts(visit: Visit, _: Served) -> None:
    await visit.open()
    await visit.page.keyboard.press("Escape")
    await visit.page.locator("#transcript").focus()
    await visit.page.keyboard.press("?")
    await expect(visit.page.get_by_role("dialog", name="Shortcuts")).to_be_visible()


async def question(visit: Visit, server: Served) -> None:
    await documents(visit, server)
    await visit.panel("Documents").get_by_role("button", name="Delete").click()
    await expect(visit.page.get_by_role("dialog")).to_be_visible()


async def conversations(visit: Visit, _: Served) -> None:
    await visit.open()
    menu = visit.page.get_by_role("button", name="Conversations")
    if await menu.is_visible():
        await menu.click()


STATES: Final[tuple[State, ...]] = (
    *(empty, conversation, editing, reminders, memories, documents, document, settings),
    *(inspector, next_window, shortcuts, question, conversations),
)


@pytest.mark.requirement("WEB-18")
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_axe_finds_no_serious_fault_in_any_state_of_the_page(browser: Browser, size: tuple[int, int]) -> None:
    found: list[str] = []
    async with served(playing(CLAUDE, answer)) as server, server.listening() as address:
        await furnish(server)
        async with visiting(browser, address, size=size) as visit:
            for state in STATES:
                await visit.page.emulate_media(color_scheme="light")
                await visit.page.goto("about:blank")
                await state(visit, server)
                found += [f"{state.__name__}, light: {fault}" for fault in await faults(visit)]
                await visit.page.emulate_media(color_scheme="dark")
                found += [f"{state.__name__}, dark: {fault}" for fault in await faults(visit, only="color-contrast")]
    assert found == []


@pytest.mark.requirement("WEB-18")
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_axe_finds_no_serious_fault_at_the_login(browser: Browser, size: tuple[int, int]) -> None:
    async with (
        served(people=("anna",)) as server,
        server.listening() as address,
        visiting(browser, address, size=size, expected=(UNAUTHORIZED,)) as visit,
    ):
        await visit.page.goto(address)
        dialog = visit.page.get_by_role("dialog", name="Log in")
        await dialog.get_by_label("Key", exact=True).fill("fm_wrong")
        await visit.page.keyboard.press("Enter")
        await expect(dialog.get_by_role("alert")).to_be_visible()
        assert await faults(visit) == []
        await visit.page.emulate_media(color_scheme="dark")
        assert await faults(visit, only="color-contrast") == []


@pytest.mark.requirement("WEB-18")
async def test_the_check_sees_a_fault(browser: Browser) -> None:
    async with served() as server, server.listening() as address, visiting(browser, address) as visit:
        await visit.open()
        await visit.page.evaluate("document.querySelector('#bar-end button').removeAttribute('aria-label')")
        await visit.page.evaluate("document.querySelector('#bar-end button').removeAttribute('title')")
        assert any(fault.startswith("button-name") for fault in await faults(visit))
