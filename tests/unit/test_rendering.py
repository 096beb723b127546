"""Texts are rendered once, long ones beside the event loop."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from frontmind.providers.scripted import ScriptedModel
from frontmind.server import rendering
from frontmind.server.markdown import render
from frontmind.server.rendering import RENDERED_AT_ONCE, KeptHtml, html_of
from frontmind.values.message import user
from server.serving import served


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the thread of each rendering."""
    found: list[str] = []

    def noted(text: str) -> str:
        found.append(threading.current_thread().name)
        return render(text)

    monkeypatch.setattr(rendering, "render", noted)
    return found


async def test_a_text_is_rendered_once(threads: list[str]) -> None:
    kept = KeptHtml()
    for _ in range(3):
        assert await html_of(["*a*", "b", "*a*"], kept) == {"*a*": render("*a*"), "b": render("b")}
    assert len(threads) == 2


@pytest.mark.parametrize("texts", [["x" * (RENDERED_AT_ONCE + 1)], [f"{n} word" for n in range(RENDERED_AT_ONCE)]])
async def test_what_takes_long_is_rendered_beside_the_loop(threads: list[str], texts: list[str]) -> None:
    assert await html_of(texts, KeptHtml()) == {text: render(text) for text in texts}
    assert {name.partition("_")[0] for name in threads} == {"rendering"}


async def test_two_that_ask_for_the_same_at_once_have_it_rendered_once(threads: list[str]) -> None:
    kept, text = KeptHtml(), "word " * RENDERED_AT_ONCE
    first, second = await asyncio.gather(html_of([text], kept), html_of([text], kept))
    assert first == second
    assert len(threads) == 1


async def test_a_short_text_is_rendered_at_once(threads: list[str]) -> None:
    await html_of(["Good *morning*"], KeptHtml())
    assert threads == [threading.current_thread().name]


def test_what_is_kept_is_bounded_in_bytes_and_what_was_asked_for_last_stays() -> None:
    kept = KeptHtml(most=3 * sys.getsizeof(render("0" * 1_000)))
    kept.html_of("0" * 1_000)
    for number in range(1, 9):
        kept.html_of(str(number) * 1_000)
        assert kept.find("0" * 1_000) is not None
    assert kept.find("1" * 1_000) is None
    assert kept.size <= 3 * sys.getsizeof(render("0" * 1_000))


@pytest.mark.parametrize("text", ["", "\ud800", "é👀"])
def test_any_text_can_be_kept(text: str) -> None:
    kept = KeptHtml()
    assert kept.html_of(text) == render(text) == kept.find(text)


async def test_a_long_message_holds_nobody_up_and_is_rendered_once_however_often_it_is_shown(
    threads: list[str],
) -> None:
    text = "|a|b|\n|-|-|\n" + "|x *y*|`z`|\n" * 400
    async with served(ScriptedModel([text[::-1]])) as server:
        await (await server.hub.begin(server.person(), "main", user(text))).finished()
        path = "/api/conversations/main/turns/1"
        for _ in range(2):
            assert (await server.client.get(path)).json()["user"]["html"] == render(text)
            assert (await server.client.get(f"{path}/events")).status_code == 200
    assert len(threads) == 2
    assert {name.partition("_")[0] for name in threads} == {"rendering"}
