"""What docs/clients.md shows is what runs."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator

import pytest

from frontmind.server.compat.headers import CONVERSATION, ON_DISCONNECT, TASK, read_headers
from server.compat_bench import clients
from support import REPOSITORY

DOCUMENT = (REPOSITORY / "docs" / "clients.md").read_text(encoding="utf-8")


def blocks(language: str) -> Iterator[str]:
    return (found[1] for found in re.finditer(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL))


@pytest.mark.requirement("WEB-9")
async def test_the_programs_run_as_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    programs = list(blocks("python"))
    assert len(programs) == 2
    async with clients(["Noted.", "Nuts."]) as c:
        for program in programs:
            text = program.replace("http://127.0.0.1:7766", c.address)
            assert text != program
            await asyncio.to_thread(exec, compile(text, "clients.md", "exec"), {"__name__": "example"})
        assert capsys.readouterr().out == "Noted.\nNuts."
        assert len(await c.names()) == 2


def test_the_headers_are_the_ones_that_are_read() -> None:
    for name in (CONVERSATION, TASK, ON_DISCONNECT, "Idempotency-Key"):
        assert f"`{name}: " in DOCUMENT
    (shown,) = blocks("json")
    unfilled = read_headers(json.loads(shown))
    assert (unfilled.named, unfilled.is_task) == ("", False)
    filled = read_headers({CONVERSATION: "a%20b", TASK: "tags_generation", ON_DISCONNECT: "stop"})
    assert (filled.named, filled.is_task, filled.stops) == ("a b", True, True)
