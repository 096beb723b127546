"""Nobody reaches what is another's: every route of the application, asked by one person for the things of another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import httpx2
import pytest
import pytest_asyncio

from api.asks import ASKS, STREAMED, Ask, asked_path, routes
from api.belongings import Ids, MarkedModel, belongings, fill, say
from api.fuzzing import UNLIMITED
from frontmind.server.identity import Person
from frontmind.server.person_events import Changed, Listener, Thing
from frontmind.server.routers import ROUTERS
from server.serving import Served, read_events, served

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("WEB-20")]

MARK: Final = "zebraquartz"
OTHER_MARK: Final = "zebrapebble"
TABLE: Final = sorted(ASKS)
_RANDOM: Final = re.compile(r"[0-9a-f]{12,}|fm_[\w-]{43}")


@dataclass(frozen=True, slots=True)
class House:
    """A server in which Anna has one of everything, and the others nothing."""

    server: Served
    model: MarkedModel
    ids: Ids

    def pair(self, number: int) -> tuple[str, str]:
        """Two people who have nothing yet."""
        return f"bert{number:02}", f"cleo{number:02}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house() -> AsyncIterator[House]:
    model = MarkedModel()
    people = [name for number in range(len(TABLE)) for name in (f"bert{number:02}", f"cleo{number:02}")]
    async with served(model, people=("anna", *people), limits=UNLIMITED) as server:
        yield House(server, model, await fill(server, server.client, "anna", MARK, prefix="annas"))
        model.release()


async def test_every_route_is_asked_for_the_things_of_another(house: House) -> None:
    known = [f"{method} {path}" for method, path in routes(house.server.app)]
    assert len(known) >= len(ROUTERS) > 0
    assert len(set(known)) == len(known)
    missing = set(known) - ASKS.keys() - STREAMED
    assert not missing, f"say in tests/api/asks.py how these are asked: {sorted(missing)}"
    assert not (ASKS.keys() | STREAMED) - set(known), "these are no routes any more"
    document = house.server.app.openapi()["paths"]
    documented = {f"{method.upper()} {path}" for path, item in document.items() for method in item}
    assert documented <= {name.replace(":path", "") for name in known}


@pytest.mark.parametrize("route", TABLE)
async def test_a_call_with_the_ids_of_another_is_one_for_what_does_not_exist(house: House, route: str) -> None:
    server, number = house.server, TABLE.index(route)
    before = await belongings(server, "anna")
    with server.hub.events.listening("anna") as listener:
        told = [await _tell(server, who, route, ids) for who, ids in _asking(house, number)]
        assert await _heard_nothing(server, listener), "Anna was told of what another did"
    assert told[0], "the route was not asked"
    for (ask, mine), (_, nobodys) in zip(*told, strict=True):
        assert mine == nobodys, f"{route} {ask}"
    assert await belongings(server, "anna") == before
    running = server.hub.running(Person("anna"), house.ids.held)
    assert running is not None and not running.ended


def _asking(house: House, number: int) -> list[tuple[str, Ids]]:
    first, second = house.pair(number)
    return [(first, house.ids), (second, house.ids.elsewhere())]


async def _tell(server: Served, who: str, route: str, ids: Ids) -> list[tuple[Ask, str]]:
    """What this person is answered, without what differs from answer to answer."""
    client = await server.client_of(who)
    method, _, path = route.partition(" ")
    answers: list[tuple[Ask, str]] = []
    for ask in ASKS[route](ids):
        reply = await client.request(
            method, asked_path(path, ask), params=_params(ask), json=ask.json, headers=ask.headers
        )
        assert reply.status_code < 500, reply.text
        answers.append((ask, _told(reply, ids, who)))
        assert MARK not in answers[-1][1], f"{route} {ask}: {reply.text}"
        await _settled(server, who, ids)
    return answers


def _params(ask: Ask) -> dict[str, str]:
    return {name: str(value) for name, value in ask.query.items()}


def _told(reply: httpx2.Response, ids: Ids, who: str) -> str:
    headers = "\n".join(f"{name}: {value}" for name, value in sorted(reply.headers.items()))
    text = f"{reply.status_code}\n{headers}\n\n{reply.content.decode('utf-8', 'replace')}".replace(who, "(who)")
    for name in ids.named():
        # What was asked for may come back; nothing else of the other's.
        for form in (name, quote(name), quote(name, safe="")):
            text = text.replace(form, "(name)")
    if reply.status_code == 201:
        # Ids are given out in the order in which things are made, whoever makes them.
        text = re.sub(r'"id":\d+', '"id":(number)', text)
    return _RANDOM.sub("(random)", text)


async def _settled(server: Served, who: str, ids: Ids) -> None:
    for conversation in (ids.talk, ids.held, ids.chat):
        running = server.hub.running(Person(who), conversation)
        if running is not None:
            async with asyncio.timeout(20):
                await running.finished()


async def _heard_nothing(server: Served, listener: Listener) -> bool:
    server.hub.events.publish("anna", Changed(Thing.DOCUMENTS))
    return await listener.next() == Changed(Thing.DOCUMENTS)


async def test_people_whose_things_have_the_same_names_see_each_only_their_own() -> None:
    marks = {"dora": MARK, "emil": OTHER_MARK}
    seen: dict[str, set[str]] = {}
    model = MarkedModel()
    model.release()
    async with served(model, people=tuple(marks), limits=UNLIMITED) as server:
        clients = {who: await server.client_of(who) for who in marks}
        ids = {who: await fill(server, clients[who], who, mark, prefix="same") for who, mark in marks.items()}
        for who, mark in marks.items():
            (other,) = set(marks.values()) - {mark}
            await _settled(server, who, ids[who])
            for route in (name for name in TABLE if name.startswith("GET ")):
                for ask in ASKS[route](ids[who]):
                    reply = await clients[who].get(asked_path(route[4:], ask), params=_params(ask))
                    assert other not in f"{reply.headers}{reply.text}", f"{route} {ask}"
                    if mark in reply.text:
                        seen.setdefault(route, set()).add(who)
    own = {name for name in TABLE if name.startswith("GET /api/") and name not in NO_TEXTS}
    assert {route for route, who in seen.items() if who == set(marks)} == own


NO_TEXTS: Final = {
    "GET /api/health",
    "GET /api/conversations/{conversation}/calls",
    "GET /api/conversations/{conversation}/turns/{turn}/attachments/{index}",
    "GET /api/conversations/{conversation}/windows/{turn}/blocks/{block}",
    "GET /api/ledger",
}
"""Routes that give out no text of the person's."""


async def test_a_stream_of_what_happens_tells_nothing_of_another(house: House) -> None:
    server, names = house.server, []
    async with server.listening() as address:
        headers = {"Authorization": f"Bearer {server.keys['bert00']}"}
        async with (
            httpx2.AsyncClient(base_url=address, headers=headers, timeout=30) as client,
            client.stream("GET", "/api/events") as stream,
        ):
            await say(server, server.client, "anna", "annas other talk", f"Something new of {MARK}")
            await server.client.post("/api/memories", json={"text": f"{MARK} is new."})
            await server.client.post("/api/reminders", json={"phrase": f"call {MARK} in 1 minute"})
            await client.put("/api/me", json={"timezone": "", "instructions": ""})
            async with asyncio.timeout(20):
                async for event in read_events(stream):
                    names.append((event.name, event.data))
                    if event.data == {"what": "settings"}:
                        break
    assert names == [("changed", {"what": "settings"})]


async def test_a_clients_account_of_the_talk_of_another_begins_a_talk_of_its_own(house: House) -> None:
    server = house.server
    client = await server.client_of("bert00")
    said = [
        {"role": "user", "content": f"Chat of {MARK}"},
        {"role": "assistant", "content": f"I heard {MARK}."},
        {"role": "user", "content": "And then?"},
    ]
    reply = await client.post("/v1/chat/completions", json={"model": "frontmind", "messages": said})
    mine = await server.client.post("/v1/chat/completions", json={"model": "frontmind", "messages": said})
    assert mine.headers["frontmind-conversation"] == house.ids.chat
    assert reply.headers["frontmind-conversation"] != house.ids.chat
    assert [turn.number for turn in await server.store.of("anna").turns(house.ids.chat)] == [1, 2]
