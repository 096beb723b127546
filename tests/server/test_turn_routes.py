"""Saying something, stopping it, reading it back; and whose conversations are whose."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from datetime import UTC
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.identity import Person
from frontmind.server.limits import Limits
from frontmind.server.turn_reading import read_turn
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.calls import Call
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text, ToolCall
from frontmind.values.records import TurnState
from server.serving import GatedModel, Served, served

MAIN = "/api/conversations/main"
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20
PDF = b"%PDF-1.7\n%\xe2\xe3\n"


def seeing() -> ScriptedModel:
    """A model that takes pictures and files."""
    return ScriptedModel(lambda _: "I see.", profile=resolve_profile("anthropic", "claude-sonnet-4-5"))


async def say(server: Served, text: str, path: str = MAIN, **more: object) -> httpx2.Response:
    return await server.client.post(f"{path}/turns", json={"text": text, **more})


async def answered(server: Served, text: str, path: str = MAIN, **more: object) -> dict[str, object]:
    """Say something, and give back the turn when it has ended."""
    begun = await say(server, text, path, **more)
    assert begun.status_code == 202, begun.text
    reply = server.hub.reply(server.person(), begun.json()["conversation"], begun.json()["turn"])
    assert reply is not None
    await reply.finished()
    turn: dict[str, object] = (await server.client.get(f"{path}/turns/{begun.json()['turn']}")).json()
    return turn


async def test_a_message_is_on_disk_when_it_is_accepted_and_the_turn_goes_on_by_itself() -> None:
    model = GatedModel()
    async with served(model) as server:
        begun = await say(server, "Hi")
        assert (begun.status_code, begun.json()) == (202, {"conversation": "main", "turn": 1})
        assert begun.headers["location"] == f"{MAIN}/turns/1/events"
        (stored,) = await server.store.turns("main")
        assert (stored.state, stored.user.text) == (TurnState.OPEN, "Hi")
        assert (await server.client.get(MAIN)).json()["running"] == 1
        open_turn = (await server.client.get(f"{MAIN}/turns/1")).json()
        assert (open_turn["state"], open_turn["running"], open_turn["reply"]) == ("open", True, None)
        model.open()
        reply = server.hub.running(server.person(), "main")
        assert reply is not None
        await reply.finished()
        turn = (await server.client.get(f"{MAIN}/turns/1")).json()
    assert (turn["state"], turn["running"], turn["reply"]["text"]) == ("done", False, "One two three four.")
    assert turn["reply"]["html"] == "<p>One two three four.</p>\n"
    assert turn["usage"]["output"] > 0


@pytest.mark.requirement("WEB-14")
async def test_a_conversation_takes_one_turn_at_a_time_and_others_run_beside_it() -> None:
    model = GatedModel()
    async with served(model) as server:
        assert (await say(server, "First")).status_code == 202
        busy = await say(server, "Second")
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "conversation_busy")
        assert (await say(server, "Elsewhere", "/api/conversations/other")).status_code == 202
        await model.until_began(2)
        waiting = [asyncio.create_task(say(server, text, wait=True)) for text in ("Third", "Fourth")]
        model.open()
        assert [reply.json()["turn"] for reply in await asyncio.gather(*waiting)] == [2, 3]
        turns = await server.store.turns("main")
    assert [turn.user.text for turn in turns] == ["First", "Third", "Fourth"]


async def test_a_message_whose_sender_gave_up_waiting_is_not_said() -> None:
    model = GatedModel()
    async with served(model) as server, server.listening() as address:
        async with httpx2.AsyncClient(base_url=address) as client:
            await client.post(f"{MAIN}/turns", json={"text": "First"})
            gone = asyncio.create_task(client.post(f"{MAIN}/turns", json={"text": "Gone", "wait": True}))
            while server.hub.waiting(server.person(), "main") < 2:
                await asyncio.wait({gone}, timeout=0.01)
            gone.cancel()
            await asyncio.wait({gone})
            while server.hub.waiting(server.person(), "main") > 1:
                await asyncio.wait({asyncio.create_task(client.get("/api/health"))})
            model.open()
            last = await client.post(f"{MAIN}/turns", json={"text": "Last", "wait": True})
        assert last.json()["turn"] == 2
        assert [turn.user.text for turn in await server.store.turns("main")] == ["First", "Last"]


async def marked(server: Served, text: str, key: str, path: str = MAIN, **more: object) -> httpx2.Response:
    return await server.client.post(
        f"{path}/turns", json={"text": text, **more}, headers={"Idempotency-Key": key}, timeout=60
    )


async def test_a_message_that_is_sent_again_with_its_key_is_said_once() -> None:
    async with served(people=("anna", "ben")) as server:
        first = await marked(server, "Hi", "k1")
        reply = server.hub.reply(server.person(), "main", 1)
        assert reply is not None
        again = await marked(server, "Hi", "k1")
        await reply.finished()
        # Also when it has been answered, whether or not it would wait.
        answered_already = await marked(server, "Hi", "k1", wait=True)
        for other in (again, answered_already):
            assert (other.status_code, other.json()) == (202, first.json())
            assert other.headers["location"] == first.headers["location"]
        # Another key, other words, another conversation and another person are other messages.
        assert (await marked(server, "Hi", "k2", wait=True)).json()["turn"] == 2
        assert (await marked(server, "Hi!", "k1", wait=True)).json()["turn"] == 3
        assert (await marked(server, "Hi", "k1", "/api/conversations/other")).json()["turn"] == 1
        ben = await server.client_of("ben")
        await ben.post(f"{MAIN}/turns", json={"text": "Hi"}, headers={"Idempotency-Key": "k1"})
        assert [turn.user.text for turn in await server.hub.store_of(Person("anna")).turns("main")] == [
            "Hi",
            "Hi",
            "Hi!",
        ]
        assert len(await server.hub.store_of(Person("ben")).turns("main")) == 1


async def test_a_marked_message_that_waits_is_said_once_and_one_that_was_refused_can_be_sent_again() -> None:
    model = GatedModel()
    async with served(model) as server:
        await say(server, "First")
        assert (await marked(server, "Second", "k")).json()["error"]["code"] == "conversation_busy"
        both = [asyncio.create_task(marked(server, "Second", "k", wait=True)) for _ in range(2)]
        while server.hub.waiting(server.person(), "main") < 2:
            await asyncio.wait(both, timeout=0.01)
        model.open()
        assert [reply.json()["turn"] for reply in await asyncio.gather(*both)] == [2, 2]
        assert (await marked(server, "Second", "k" * 201)).status_code == 422
        assert [turn.user.text for turn in await server.store.turns("main")] == ["First", "Second"]


async def test_the_figures_of_a_turn_are_its_own_however_many_come_behind_it() -> None:
    async with served(ScriptedModel(lambda _: "Yes.")) as server:
        for number in range(1, 4):
            await answered(server, f"message {number}")
            server.clock.advance(minutes=1)
        turns = await server.store.turns("main")
        figures = [(await read_turn(server.store, turn, UTC, running=None)).usage for turn in turns]
        assert [each is not None and each.input for each in figures] == sorted(
            {turn.usage.input for turn in turns if turn.usage is not None}
        )

        asked: list[int] = []

        class Counted(SqliteStore):
            async def calls(self, **chosen: Any) -> Sequence[Call]:
                found = await super().calls(**chosen)
                asked.append(len(found))
                return found

        counted = Counted(server.store._database, server.store._locks)
        await read_turn(counted, turns[0], UTC, running=None)
        assert asked == [1]


async def test_what_was_said_until_a_stop_is_kept() -> None:
    model = GatedModel("One two three.")
    async with served(model) as server:
        await say(server, "Count")
        reply = server.hub.running(server.person(), "main")
        assert reply is not None
        model.let(2)
        await reply.beyond(2)
        stopped = await server.client.post(f"{MAIN}/turns/1/stop")
        assert (stopped.status_code, stopped.json()) == (202, {"conversation": "main", "turn": 1})
        await reply.finished()
        turn = (await server.client.get(f"{MAIN}/turns/1")).json()
        assert turn["interrupted"] is True and turn["state"] == "done"
        assert turn["reply"]["text"].startswith("One")
        again = await server.client.post(f"{MAIN}/turns/1/stop")
        assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")


async def test_going_on_from_an_earlier_turn_leaves_the_later_ones_out() -> None:
    async with served(ScriptedModel(["One.", "Two.", "Three."])) as server:
        await answered(server, "first")
        await answered(server, "second")
        turn = await answered(server, "second, edited", replaces=2)
        listed = (await server.client.get(f"{MAIN}/turns")).json()["turns"]
        assert (await server.client.get(f"{MAIN}/turns/2")).status_code == 404
        wrong = await say(server, "again", replaces=99)
    assert turn["number"] == 3
    assert [each["user"]["text"] for each in listed] == ["first", "second, edited"]
    assert wrong.status_code == 422


async def test_turns_are_listed_by_number_and_the_newest_across_those_that_were_replaced() -> None:
    async with served(ScriptedModel(lambda _: "Yes.")) as server:
        for number in range(1, 6):
            await answered(server, f"message {number}")
        await answered(server, "message 6", replaces=4)

        async def numbers(query: str) -> list[int]:
            reply = await server.client.get(f"{MAIN}/turns?{query}")
            return [turn["number"] for turn in reply.json()["turns"]]

        assert await numbers("") == [1, 2, 3, 6]
        assert await numbers("since=2&until=5") == [2, 3]
        assert await numbers("newest=1") == [6]
        assert await numbers("newest=2") == [3, 6]
        assert await numbers("newest=500") == [1, 2, 3, 6]
        assert (await server.client.get("/api/conversations/new/turns?newest=5")).json() == {"turns": []}


async def test_tools_are_told_with_what_was_said_before_them() -> None:
    calls = Message(Role.ASSISTANT, (Text("I look."), ToolCall("c1", "list_reminders", "{}")))
    async with served(ScriptedModel([calls, "Nothing is due."])) as server:
        turn = await answered(server, "What is due?")
    assert turn["steps"] == [
        {
            "text": "I look.",
            "html": "<p>I look.</p>\n",
            "calls": [
                {
                    "id": "c1",
                    "name": "list_reminders",
                    "arguments": "{}",
                    "result": "[observed 2026-11-30 09:15]\nThere are no reminders.",
                    "is_error": False,
                }
            ],
        }
    ]


@pytest.mark.parametrize("name", ["a/b", "../main", "Tee & Brot?", "👩‍🚀 #1%2F", "x" * 100, "mañana", "a/events"])
async def test_a_conversation_may_have_any_name(name: str) -> None:
    async with served() as server:
        path = f"/api/conversations/{quote(name, safe='')}"
        begun = await say(server, "Hi", path)
        assert begun.json() == {"conversation": name, "turn": 1}
        assert begun.headers["location"] == f"{path}/turns/1/events"
        assert (await server.client.get(path)).json()["name"] == name
        assert (await server.client.get("/api/conversations")).json()["conversations"][0]["name"] == name


@pytest.mark.parametrize("path", ["a%00b", "a%1Fb", "a%0Ab", "a%7Fb", "%C2%85", "%FF", "x" * 101])
async def test_a_name_that_no_conversation_can_have_is_answered(path: str) -> None:
    async with served() as server:
        reply = await server.client.get(f"/api/conversations/{path}")
    assert reply.status_code in (404, 422), reply.text
    assert reply.json()["error"]["code"] in ("not_found", "invalid_request")


async def test_nothing_of_another_person_is_there() -> None:
    async with served(seeing(), people=("anna", "ben")) as server:
        await answered(server, "My secret", attachments=[{"data": base64.b64encode(PNG).decode()}])
        ben = await server.client_of("ben")
        for path in (f"{MAIN}/turns/1", f"{MAIN}/turns/1/events", f"{MAIN}/turns/1/attachments/0"):
            assert (await server.client.get(path)).status_code == 200
            assert (await ben.get(path)).status_code == 404
        assert (await ben.get(f"{MAIN}/turns")).json() == {"turns": []}
        assert (await ben.get("/api/conversations")).json() == {"conversations": [], "next": None}
        assert (await ben.post(f"{MAIN}/turns/1/stop")).status_code == 409
        assert (await ben.post(f"{MAIN}/turns", json={"text": "Mine"})).json()["turn"] == 1


async def test_pictures_and_files_come_back_as_they_were_sent() -> None:
    sent = [
        {"media_type": "text/html", "data": base64.b64encode(PNG).decode(), "name": "<script>.png"},
        {"media_type": "application/pdf", "data": base64.b64encode(PDF).decode(), "name": "Größe\r\nX: y.pdf"},
        {"data": base64.b64encode(b"<script>alert(1)</script>").decode(), "name": "a.html"},
    ]
    async with served(seeing()) as server:
        turn = await answered(server, "Look", attachments=sent)
        attachments = turn["user"]["attachments"]  # type: ignore[index]
        replies = [await server.client.get(each["url"]) for each in attachments]
        assert (await server.client.get(f"{MAIN}/turns/1/attachments/3")).status_code == 404
    assert [each["kind"] for each in attachments] == ["image", "document", "document"]
    assert [each["media_type"] for each in attachments] == ["image/png", "application/pdf", "text/plain"]
    assert [reply.content for reply in replies] == [PNG, PDF, b"<script>alert(1)</script>"]
    kinds = [reply.headers["content-type"] for reply in replies]
    assert kinds == ["image/png", "application/octet-stream", "application/octet-stream"]
    assert "content-disposition" not in replies[0].headers
    for reply in replies[1:]:
        assert reply.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
        assert reply.headers["x-content-type-options"] == "nosniff"


async def test_a_text_is_told_to_a_model_that_takes_no_files() -> None:
    async with served(ScriptedModel(lambda _: "Read.")) as server:
        data = base64.b64encode(b"Milk, bread").decode()
        turn = await answered(server, "What is on it?", attachments=[{"data": data, "name": "list.txt"}])
    assert turn["user"]["text"] == "list.txt:\n\nMilk, bread\n\nWhat is on it?"  # type: ignore[index]


@pytest.mark.parametrize(
    "attachment",
    [
        {"data": "not base64!"},
        {"data": ""},
        {"data": base64.b64encode(b"MZ\x90\x00\x03").decode(), "media_type": "image/png"},
        {"data": base64.b64encode(b"\x00\x01").decode()},
        {"data": base64.b64encode(PNG).decode(), "url": "http://127.0.0.1:1/"},
        {"media_type": "image/png"},
    ],
)
async def test_an_attachment_that_is_not_taken_stores_nothing(attachment: dict[str, str]) -> None:
    async with served(seeing()) as server:
        reply = await say(server, "Look", attachments=[attachment])
        assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid_request")
        assert await server.store.turns("main") == []


async def test_a_picture_is_refused_where_the_model_sees_none() -> None:
    async with served() as server:
        reply = await say(server, "Look", attachments=[{"data": base64.b64encode(PNG).decode()}])
        assert reply.status_code == 422 and "image/png" in reply.json()["error"]["message"]
        assert await server.store.turns("main") == []


async def test_too_many_turns_at_once_are_refused_and_say_when_to_come_again() -> None:
    model = GatedModel()
    limits = Limits(turns_of_one=2, turns=3, waiting=1)
    async with served(model, people=("anna", "ben"), limits=limits) as server:
        ben = await server.client_of("ben")
        assert [(await say(server, "Hi", f"/api/conversations/{n}")).status_code for n in "ab"] == [202, 202]
        refused = await say(server, "Hi", "/api/conversations/c")
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_requests_at_once")
        assert refused.headers["retry-after"] == "2"
        assert (await ben.post(f"{MAIN}/turns", json={"text": "Hi"})).status_code == 202
        assert (await ben.post("/api/conversations/d/turns", json={"text": "Hi"})).status_code == 429
        model.open()


@pytest.mark.parametrize("text", ["", " \n\t "])
async def test_an_empty_message_is_refused(text: str) -> None:
    async with served() as server:
        reply = await say(server, text)
        assert reply.status_code == 422
        assert await server.store.turns("main") == []


async def test_conversations_are_listed_newest_first_page_by_page() -> None:
    async with served() as server:
        for name in ("one", "two", "a/b"):
            await answered(server, f"About {name}", f"/api/conversations/{quote(name, safe='')}")
            server.clock.advance(minutes=1)
        first = (await server.client.get("/api/conversations?limit=2")).json()
        rest = (await server.client.get(f"/api/conversations?limit=2&before={first['next']}")).json()
        wrong = [await server.client.get(f"/api/conversations?before={text}") for text in ("x", "MjAyNg==", "%FF", "é")]
    assert [each["name"] for each in first["conversations"]] == ["a/b", "two"]
    assert [each["name"] for each in rest["conversations"]] == ["one"]
    assert rest["next"] is None
    assert first["conversations"][0]["title"] == "About a/b"
    assert [reply.status_code for reply in wrong] == [422] * 4


async def test_half_a_surrogate_pair_in_a_store_does_no_harm() -> None:
    async with served(ScriptedModel(lambda _: "A \ud83d half.")) as server:
        turn = await answered(server, "Hi")
        events = await server.client.get(f"{MAIN}/turns/1/events?html=true")
    assert turn["reply"]["text"] == "A \ufffd half."  # type: ignore[index]
    assert events.status_code == 200
