"""The person's own settings, over HTTP."""

from __future__ import annotations

import pytest

from frontmind.values.people import PersonSettings
from server.serving import served


async def test_settings_are_kept_for_their_person_alone_and_hold_at_once() -> None:
    async with served(people=("anna", "ben")) as server:
        ben = await server.client_of("ben")
        said = {"timezone": "America/New_York", "instructions": "Be brief.\n<script>"}
        me = (await server.client.put("/api/me", json=said)).json()
        assert me == (await server.client.get("/api/me")).json()
        assert {key: me[key] for key in said} == said
        assert (me["name"], me["accounts"], me["zone"]) == ("anna", True, "America/New_York")
        assert me["now"] == "2026-11-30T03:15:00-05:00"
        other = (await ben.get("/api/me")).json()
        assert (other["name"], other["timezone"], other["instructions"]) == ("ben", "", "")
        assert other["now"] == "2026-11-30T09:15:00+01:00"
        kept = await server.hub.store_of(server.person("anna")).settings()
    assert kept == PersonSettings("America/New_York", "Be brief.\n<script>")


@pytest.mark.parametrize(
    "body",
    [
        {"timezone": "Mars/Olympus", "instructions": ""},
        {"timezone": "../../etc/passwd", "instructions": ""},
        {"timezone": "UTC", "instructions": "x" * 20_001},
        {"timezone": "UTC"},
        {"timezone": 1, "instructions": ""},
        {"timezone": "UTC", "instructions": "", "owner": "ben"},
    ],
)
async def test_settings_that_cannot_hold_change_nothing(body: dict[str, object]) -> None:
    async with served() as server:
        reply = await server.client.put("/api/me", json=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid_request")
        assert await server.store.settings() == PersonSettings()


async def test_moments_are_told_in_the_persons_zone() -> None:
    async with served() as server:
        await server.client.put("/api/me", json={"timezone": "Asia/Tokyo", "instructions": ""})
        begun = await server.client.post("/api/conversations/main/turns", json={"text": "Hi"})
        turn = (await server.client.get(f"/api/conversations/main/turns/{begun.json()['turn']}")).json()
        listed = (await server.client.get("/api/conversations")).json()["conversations"][0]
    assert turn["asked_at"] == "2026-11-30T17:15:00+09:00"
    assert listed["started_at"] == "2026-11-30T17:15:00+09:00"
