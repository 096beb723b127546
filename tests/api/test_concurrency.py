"""Many calls for the same thing at the same time: one is done, and the others wait for it or are told."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import httpx2
import pytest

from api.fuzzing import UNLIMITED
from api.sockets import line, request
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.limits import Limits
from frontmind.values.records import Turn, TurnState
from server.serving import GatedModel, Served, served

MAIN = "/api/conversations/main"
MANY = 50


async def say(server: Served, text: str, **more: object) -> httpx2.Response:
    return await server.client.post(f"{MAIN}/turns", json={"text": text, **more})


async def ended(server: Served, number: int) -> None:
    reply = server.hub.reply(server.person(), "main", number)
    assert reply is not None
    await reply.finished()


async def waiting(server: Served, count: int) -> None:
    """Wait until so many turns run or wait."""
    never = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(20):
        while server.hub.waiting(server.person(), "main") != count:
            await asyncio.wait({never}, timeout=0.005)


async def live(server: Served) -> list[Turn]:
    return [turn for turn in await server.store.turns("main") if turn.state in (TurnState.OPEN, TurnState.DONE)]


def codes(replies: list[httpx2.Response]) -> Counter[str]:
    return Counter(reply.json()["error"]["code"] if reply.is_error else str(reply.status_code) for reply in replies)


@pytest.mark.requirement("WEB-14")
async def test_of_many_messages_at_once_one_is_taken_and_the_others_are_told() -> None:
    model = GatedModel()
    async with served(model, limits=UNLIMITED) as server:
        replies = await asyncio.gather(*(say(server, f"Message {number}") for number in range(MANY)))
        assert codes(replies) == {"202": 1, "conversation_busy": MANY - 1}
        model.open()
        await ended(server, 1)
        (turn,) = await server.store.turns("main")
    (taken,) = (number for number, reply in enumerate(replies) if reply.status_code == 202)
    assert (turn.user.text, turn.state) == (f"Message {taken}", TurnState.DONE)
    assert model.began == 1


@pytest.mark.requirement("WEB-14")
async def test_many_messages_that_wait_are_all_answered_one_after_the_other() -> None:
    async with served(ScriptedModel(lambda _: "Hello."), limits=UNLIMITED) as server:
        replies = await asyncio.gather(*(say(server, f"Message {number}", wait=True) for number in range(MANY)))
        await ended(server, MANY)
        turns = await server.store.turns("main")
    assert codes(replies) == {"202": MANY}
    assert [reply.json()["turn"] for reply in replies] == list(range(1, MANY + 1))
    assert [turn.user.text for turn in turns] == [f"Message {number}" for number in range(MANY)]
    assert all(turn.state is TurnState.DONE for turn in turns)


async def test_more_than_may_wait_are_told_when_to_come_again_and_say_nothing() -> None:
    model = GatedModel()
    async with served(model, limits=Limits(waiting=4)) as server:
        sending = [asyncio.create_task(say(server, f"Message {number}", wait=True)) for number in range(20)]
        await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
        await waiting(server, 5)
        model.open()
        replies = await asyncio.gather(*sending)
        taken = [reply for reply in replies if reply.status_code == 202]
        refused = [reply for reply in replies if reply.status_code == 429]
        assert len(taken) + len(refused) == 20 and len(taken) >= 5 and len(refused) >= 10
        assert all(int(reply.headers["retry-after"]) > 0 for reply in refused)
        await ended(server, len(taken))
        assert len(await server.store.turns("main")) == len(taken)


async def test_what_is_stopped_while_others_wait_lets_the_next_one_begin() -> None:
    model = GatedModel()
    async with served(model, limits=UNLIMITED) as server:
        assert (await say(server, "First")).status_code == 202
        second = asyncio.create_task(say(server, "Second", wait=True))
        await waiting(server, 2)
        queued = await server.client.post(f"{MAIN}/turns/2/stop")
        assert (queued.status_code, queued.json()["error"]["code"]) == (409, "conflict")
        stops = await asyncio.gather(*(server.client.post(f"{MAIN}/turns/1/stop") for _ in range(5)))
        assert {reply.status_code for reply in stops} <= {202, 409}
        assert stops[0].status_code == 202
        assert (await second).json()["turn"] == 2
        model.open()
        await ended(server, 2)
        assert [turn.user.text for turn in await server.store.turns("main")] == ["First", "Second"]
        again = await server.client.post(f"{MAIN}/turns/2/stop")
        assert again.status_code == 409


async def test_a_client_that_goes_away_while_it_waits_says_nothing_and_holds_nobody_up() -> None:
    model = GatedModel()
    async with served(model, limits=UNLIMITED) as server, server.listening() as address:
        assert (await say(server, "First")).status_code == 202
        for number in range(5):
            async with line(address) as own:
                body = json.dumps({"text": f"Gone {number}", "wait": True}).encode()
                await own.send(request("POST", f"{MAIN}/turns", body))
                await waiting(server, 2)
            await waiting(server, 1)
        last = asyncio.create_task(say(server, "Last", wait=True))
        await waiting(server, 2)
        model.open()
        assert (await last).json()["turn"] == 2
        await ended(server, 2)
        assert [turn.user.text for turn in await server.store.turns("main")] == ["First", "Last"]


@pytest.mark.parametrize("wait", [False, True])
async def test_a_turn_that_is_replaced_twice_at_once_leaves_one_line(wait: bool) -> None:
    async with served(ScriptedModel(lambda _: "Hello."), limits=UNLIMITED) as server:
        for number in (1, 2):
            assert (await say(server, f"Message {number}")).status_code == 202
            await ended(server, number)
        replies = await asyncio.gather(*(say(server, f"Instead {n}", replaces=2, wait=wait) for n in range(10)))
        for reply in replies:
            if reply.status_code == 202:
                await ended(server, reply.json()["turn"])
        found = codes(replies)
        assert found.pop("202") >= 1
        assert found.keys() <= ({"invalid_request", "conflict"} if wait else {"conversation_busy"}), found
        said = [turn.user.text for turn in await live(server)]
        listed = (await server.client.get(f"{MAIN}/turns")).json()["turns"]
    assert len(said) == 2 and said[0] == "Message 1" and said[1].startswith("Instead ")
    assert [turn["user"]["text"] for turn in listed] == said


async def test_of_edits_of_one_document_at_once_one_is_kept_and_the_others_conflict() -> None:
    async with served(limits=UNLIMITED) as server:
        for expected in (0, 1):
            replies = await asyncio.gather(
                *(
                    server.client.put("/api/documents/house", json={"text": f"# {expected} {n}", "expected": expected})
                    for n in range(20)
                )
            )
            assert codes(replies) == {"200": 1, "conflict": 19}
            (kept,) = (reply.json() for reply in replies if reply.status_code == 200)
            now = (await server.client.get("/api/documents/house")).json()
            assert (now["text"], now["version"]) == (kept["text"], expected + 1)
        undone = await asyncio.gather(
            *(server.client.post("/api/documents/house/undo", json={"expected": 2}) for _ in range(10))
        )
        assert codes(undone) == {"200": 1, "conflict": 9}
        deleted = await asyncio.gather(*(server.client.delete("/api/documents/house") for _ in range(10)))
        assert codes([reply for reply in deleted if reply.is_error]).keys() <= {"not_found"}
        assert sum(reply.status_code == 204 for reply in deleted) == 1
        assert all(reply.status_code < 500 for reply in deleted)


async def test_of_edits_of_one_memory_or_reminder_at_once_one_is_kept() -> None:
    async with served(limits=UNLIMITED) as server:
        memory = (await server.client.post("/api/memories", json={"text": "You like cats."})).json()
        reminder = (await server.client.post("/api/reminders", json={"phrase": "call Anna tomorrow at 9am"})).json()
        for path, version in (
            (f"/api/memories/{memory['id']}", memory["version"]),
            (f"/api/reminders/{reminder['id']}", reminder["version"]),
        ):
            replies = await asyncio.gather(
                *(server.client.patch(path, json={"text": f"Text {n}", "version": version}) for n in range(20))
            )
            assert codes(replies) == {"200": 1, "conflict": 19}, path
            gone = await asyncio.gather(*(server.client.delete(path) for _ in range(10)))
            assert sorted(reply.status_code for reply in gone) == [204] + [404] * 9, path


async def test_two_clients_that_begin_with_the_same_words_have_two_conversations() -> None:
    async with served(ScriptedModel(lambda _: "Hello."), limits=UNLIMITED) as server:
        body = {"model": "frontmind", "messages": [{"role": "user", "content": "Hi"}]}
        replies = await asyncio.gather(*(server.client.post("/v1/chat/completions", json=body) for _ in range(20)))
        names = {reply.headers["frontmind-conversation"] for reply in replies}
        assert {reply.status_code for reply in replies} == {200}
        assert len(names) == 20


async def test_clients_that_go_on_at_once_from_the_same_place_leave_one_line() -> None:
    async with served(ScriptedModel(lambda _: "Hello."), limits=UNLIMITED) as server:
        hello = [{"role": "user", "content": "Hi"}]
        first = await server.client.post("/v1/chat/completions", json={"model": "frontmind", "messages": hello})
        name = first.headers["frontmind-conversation"]
        had = [*hello, {"role": "assistant", "content": "Hello."}]
        replies = await asyncio.gather(
            *(
                server.client.post(
                    "/v1/chat/completions",
                    json={"model": "frontmind", "messages": [*had, {"role": "user", "content": f"And {n}?"}]},
                )
                for n in range(10)
            )
        )
        assert {reply.status_code for reply in replies} <= {200, 409}
        assert {reply.headers.get("frontmind-conversation", name) for reply in replies} == {name}
        done = [turn.user.text for turn in await server.store.turns(name) if turn.state is TurnState.DONE]
    assert done[0] == "Hi" and len(done) == 2, done
