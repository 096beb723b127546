"""The end of a server: what was accepted is answered or kept, and everybody is let go."""

from __future__ import annotations

import asyncio

import pytest

from frontmind.server.errors import Problem
from frontmind.values.message import user
from frontmind.values.records import TurnState
from server.serving import GatedModel, served

MAIN = "/api/conversations/main"


@pytest.mark.requirement("WEB-15")
async def test_a_turn_that_runs_may_finish_and_no_new_one_begins() -> None:
    model = GatedModel("All of it.")
    async with served(model) as server:
        person = server.person()
        reply = await server.hub.begin(person, "main", user("Hi"))
        waiting = asyncio.create_task(server.hub.begin(person, "main", user("Behind"), wait=True))
        ending = asyncio.create_task(server.hub.shut_down(60))
        await asyncio.wait({ending}, timeout=0)
        assert (await server.client.get("/api/health")).json()["status"] == "shutting_down"
        for path in (MAIN, "/api/conversations/other"):
            refused = await server.client.post(f"{path}/turns", json={"text": "New"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
            assert int(refused.headers["retry-after"]) > 0
        assert not ending.done()
        model.open()
        assert (await reply.report()).reply == "All of it."
        await ending
        with pytest.raises(Problem) as raised:
            await waiting
        assert raised.value.code == "shutting_down"
        (turn,) = await server.store.turns("main")
        assert (turn.state, turn.interrupted) == (TurnState.DONE, False)


@pytest.mark.requirement("WEB-15")
@pytest.mark.parametrize("way", ["no time is left", "somebody is in a hurry"])
async def test_a_turn_that_takes_too_long_is_stopped_and_what_was_said_is_kept(way: str) -> None:
    model = GatedModel("One two three.")
    async with served(model) as server:
        reply = await server.hub.begin(server.person(), "main", user("Count"))
        silent = await server.hub.begin(server.person(), "silent", user("Say nothing"))
        model.let(2)
        await reply.beyond(1)
        ending = asyncio.create_task(server.hub.shut_down(0.0 if way == "no time is left" else 600))
        if way == "somebody is in a hurry":
            await asyncio.wait({ending}, timeout=0)
            assert (await server.client.get("/api/health")).json()["status"] == "shutting_down"
            server.hub.hurry()
        await ending
        for each in (reply, silent):
            with pytest.raises(Problem):
                await each.report()
        kept = [*await server.store.turns("main"), *await server.store.turns("silent")]
    said = {turn.user.text: turn for turn in kept}
    assert set(said) == {"Count", "Say nothing"}
    answers = [turn for turn in kept if turn.state is TurnState.DONE]
    assert answers and all(turn.interrupted and turn.reply is not None for turn in answers)
    assert "".join(turn.reply.text for turn in answers if turn.reply).startswith("One")


async def test_the_streams_of_open_pages_end_and_connections_are_closed() -> None:
    model = GatedModel("One two.")
    async with served(model) as server, server.talking() as client:
        begun = await client.post(f"{MAIN}/turns", json={"text": "Hi"})
        async with client.stream("GET", "/api/events") as page, client.stream("GET", begun.headers["location"]) as turn:
            ending = asyncio.create_task(server.hub.shut_down(60))
            model.open()
            lines = [line async for line in turn.aiter_lines()]
            told = [line async for line in page.aiter_lines()]
            await ending
    assert "event: done" in lines
    assert told[0] == ": ping" and "event: turn" in told


async def test_a_second_end_changes_nothing_and_whoever_comes_late_is_let_go() -> None:
    async with served() as server:
        await server.hub.shut_down(1)
        await server.hub.shut_down(1)
        with server.hub.events.listening("") as listener:
            assert await listener.next() is None
        assert (await server.client.get("/api/conversations")).status_code == 200
