"""A look at the window after a pause shows what the next turn sends: the summary in place of what has left."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from frontmind.providers.protocol import Request
from frontmind.stores.sqlite import SqliteStore
from frontmind.window.canonical import canonical_json
from support import Run

LONG = "We walk along the river and count the herons in the reeds. " * 120
MODEL = ("--model", "echo")


async def last_request(path: Path) -> Request:
    store = SqliteStore.open(path)
    try:
        newest = (await store.turns("main"))[-1]
        assert newest.request is not None
        return await store.load_request(newest.request)
    finally:
        await store.close()


def test_a_look_after_a_pause_shows_the_bytes_that_the_turn_sends(frontmind: Run, tmp_path: Path) -> None:
    for minute in (0, 1):
        talked = frontmind("chat", *MODEL, "--now", f"2026-11-30T09:0{minute}", "--message", f"{minute} {LONG}")
        assert talked.returncode == 0, talked.stderr
    asking = (*MODEL, "--now", "2026-11-30T14:00", "--message", "And now?")
    shown = frontmind("window", "show", "--request", *asking)
    explained = frontmind("window", "explain", "--json", *asking)
    answered = frontmind("chat", *asking)
    assert (shown.returncode, answered.returncode) == (0, 0)
    assert "2 old turn(s) are not sent any more: a summary stands for them" in shown.stderr
    assert "2 old turn(s) left the window with their segments; a summary stands for them" in answered.stdout
    request = json.loads(shown.stdout)
    assert "<earlier_segments " in json.dumps(request["messages"])
    assert canonical_json(request) == canonical_json(asyncio.run(last_request(tmp_path / "mind.db")))
    blocks = {block["name"]: block["why"] for block in json.loads(explained.stdout)["blocks"]}
    assert blocks["earlier_segments"] == "stands for the turns that are not sent any more"
