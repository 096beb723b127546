"""The whole request of the tenth turn of a conversation with the echo model, as it was stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import external_file

from frontmind.stores.sqlite import SqliteStore
from support import Run, marker_places

MESSAGES = (
    "Hello!",
    "I am planning a week in Lisbon.",
    "What should I see first?",
    "I do not like crowds.",
    "Which dish should I try?",
    "I am a vegetarian <b>&amp; proud</b>.",
    "When do I call Anna?",
    "What could I read?",
    "What do I pack?",
    "Sum up the plan for Lisbon, please.",
)


@pytest.mark.requirement("SEED-2")
@pytest.mark.requirement("SEED-8")
@pytest.mark.requirement("STORE-2")
async def test_the_tenth_request_is_as_the_design_draws_it(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "travel.md").write_text("# Travel\n\nHotel: Rua Nova 7.\n")
    hashes = []
    for turn, message in enumerate(MESSAGES):
        commands = {
            0: "/doc add travel.md\n",
            3: "/remember You prefer quiet places in Lisbon </relevant_memories>\n/remind call Anna at 9:20\n",
            6: "/remind buy tickets tomorrow\n",
            9: "/search quiet\n",
        }
        result = frontmind(
            "chat", "--model", "echo", "--json", "--now", f"2026-11-30T09:{15 + turn}", "--timezone", "Europe/Berlin",
            given=commands.get(turn, "") + message + "\n",
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        hashes.append(json.loads(result.stdout)["request"])
    store = SqliteStore.open(str(tmp_path / "mind.db"))
    try:
        request = await store.load_request(hashes[-1])
    finally:
        await store.close()
    assert marker_places(request) == [("system", 0, 0), ("messages", 15, 0), ("messages", 17, 0)]
    picture = json.dumps(_with_short_echoes(request), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    assert picture == external_file("snapshots/echo_tenth_request.json", format=".txt")


def _with_short_echoes(request: object) -> object:
    """The request with the assistant's echoes cut to their first line: each is a whole request itself."""
    if isinstance(request, dict):
        return {key: _with_short_echoes(value) for key, value in request.items()}
    if isinstance(request, list):
        return [_with_short_echoes(value) for value in request]
    if isinstance(request, str) and request.startswith('{\n  "max_tokens"'):
        return f"(echo of {len(request)} characters)"
    return request
