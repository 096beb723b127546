"""The events of turns: in order, resumed where they were cut, and at each reader's own pace."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, MutableMapping
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from frontmind.assistant.steadiness import SEGMENT_PAUSE
from frontmind.errors import ModelError
from frontmind.providers.protocol import Request, StreamEvent, TextDelta
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.identity import THE_ONLY_ONE
from frontmind.server.limits import Places
from frontmind.server.markdown import render
from frontmind.server.replies import ReplyEvent, TextPiece
from frontmind.server.reply_stream import Pace
from frontmind.server.streams import EventStream
from frontmind.values.message import Message, Role, user
from frontmind.values.parts import Text, ToolCall
from server.serving import Event, GatedModel, read_events, served

MAIN = "/api/conversations/main"
CALLS = Message(Role.ASSISTANT, (Text("I look at *all* of them. 👀"), ToolCall("c1", "list_reminders", "{}")))
LONG = "# Tea\n\nSome **strong** words.\n\n- one\n- two\n\n```py\nprint('<b>')\n```\n\nAnd an end 🫖 of it."
FAST = Pace(ping=15, text=0.0)


async def say(client: httpx2.AsyncClient, text: str = "Hi") -> str:
    begun = await client.post(f"{MAIN}/turns", json={"text": text})
    assert begun.status_code == 202, begun.text
    location: str = begun.headers["location"]
    return location


async def all_events(client: httpx2.AsyncClient, path: str, **headers: str) -> list[Event]:
    async with client.stream("GET", path, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        return [event async for event in read_events(response)]


def text_of(events: list[Event]) -> str:
    """The text as a reader puts it together, each piece at its place in its call's text."""
    texts: list[str] = []
    for event in events:
        if event.name == "text":
            if event.data["offset"] == 0:
                texts.append("")
            assert event.data["offset"] == len(texts[-1])
            texts[-1] += event.data["text"]
    return "|".join(texts)


def piece_of(event: ReplyEvent) -> Event:
    """What a reader has of an event that was told alone."""
    if isinstance(event, TextPiece):
        return Event("text", {"offset": event.offset, "text": event.text}, None)
    return Event(type(event).__name__, {}, None)


def elements(html: str) -> list[str]:
    """Top-level elements of what the renderer gives, as a page would count them."""
    found, depth, start = [], 0, 0
    for tag in re.finditer(r"<(/?)([a-z0-9]+)[^>]*>", html):
        opens = 0 if tag[2] in ("br", "hr") else -1 if tag[1] else 1
        if depth == 0 and opens >= 0:
            start = tag.start()
        depth += opens
        if depth == 0:
            found.append(html[start : tag.end()])
    return found


class Looker:
    """Applies html events as the page does: another text begins behind tools."""

    def __init__(self) -> None:
        self.texts: list[list[str]] = []
        self._between = True

    def take(self, event: Event) -> None:
        if event.name in ("tool_started", "tool_ended"):
            self._between = True
        if event.name == "html":
            if self._between:
                self.texts.append([])
                self._between = False
            assert event.data["keep"] <= len(self.texts[-1])
            self.texts[-1][event.data["keep"] :] = elements(event.data["html"])

    @property
    def shown(self) -> list[str]:
        return ["".join(text) for text in self.texts]


def rendered(text: str) -> str:
    return "".join(elements(render(text)))


async def test_a_turn_is_told_from_its_acceptance_to_its_end() -> None:
    async with served(ScriptedModel([CALLS, "Nothing is **due**."])) as server, server.talking() as client:
        events = await all_events(client, await say(client))
    names = [event.name for event in events]
    assert names[0] == "accepted" and names[-1] == "done" and "html" not in names
    numbers = [event.id or 0 for event in events]
    assert numbers[0] == 1 and numbers == sorted(set(numbers))
    assert text_of(events) == "I look at *all* of them. 👀|Nothing is **due**."
    started, ended = (event.data for event in events if event.name.startswith("tool"))
    assert (started["result"], ended["result"]) == (None, "[observed 2026-11-30 09:15]\nThere are no reminders.")
    done = events[-1].data
    assert done["turn"]["reply"]["text"] == "Nothing is **due**." and done["turn"]["running"] is False
    assert done["notes"] == []


@pytest.mark.requirement("WEB-12")
@pytest.mark.parametrize("way", ["header", "query"])
async def test_a_stream_that_is_cut_anywhere_resumes_without_a_lost_or_doubled_character(way: str) -> None:
    model = ScriptedModel([CALLS, LONG])
    async with served(model, pace=FAST) as server, server.talking() as client:
        path = await say(client)
        whole = await all_events(client, path)
        reply = server.hub.reply(server.person(), "main", 1)
        assert reply is not None and reply.last == whole[-1].id
        for cut in range(reply.last):
            before = [piece_of(event) for event in reply.behind(0)[:cut]]
            place = str(cut)
            if way == "header":
                rest = await all_events(client, f"{path}?html=true", **{"last-event-id": place})
            else:
                rest = await all_events(client, f"{path}?html=true&after={place}")
            numbered = [event for event in rest if event.id is not None]
            numbers = [event.id or 0 for event in numbered]
            assert numbers[0] > cut and numbers == sorted(set(numbers)) and numbers[-1] == reply.last
            assert text_of(before + numbered) == f"{CALLS.text}|{LONG}"


@pytest.mark.requirement("WEB-12")
async def test_what_a_reply_looks_like_is_whole_wherever_the_stream_was_cut() -> None:
    model = GatedModel(LONG)
    async with served(model, pace=FAST) as server, server.talking() as client:
        path = f"{await say(client)}?html=true"
        place = 0
        looker = Looker()
        reply = server.hub.running(server.person(), "main")
        assert reply is not None
        for cut in range(1, len(LONG.split(" "))):
            model.let(1)
            await reply.beyond(cut)
            async with client.stream("GET", path, headers={"last-event-id": str(place)}) as response:
                first_html = True
                async for event in read_events(response):
                    if event.name == "html":
                        assert event.data["keep"] == 0 or not first_html
                        first_html = False
                    looker.take(event)
                    place = event.id or place
                    if event.name == "html" and place > cut:
                        break
            said = "".join(LONG.split(" ")[i] + " " for i in range(cut))
            assert looker.shown == [rendered(said)]
        model.open()
        for event in await all_events(client, path, **{"last-event-id": str(place)}):
            looker.take(event)
    assert looker.shown == [rendered(LONG)]


async def test_all_looks_together_are_the_whole_reply() -> None:
    async with served(ScriptedModel([CALLS, LONG]), pace=FAST) as server, server.talking() as client:
        looker = Looker()
        for event in await all_events(client, f"{await say(client)}?html=true"):
            looker.take(event)
    assert looker.shown == [rendered(CALLS.text), rendered(LONG)]


async def test_two_readers_see_the_same() -> None:
    model = GatedModel("One two three four.")
    async with served(model) as server, server.talking() as client:
        path = await say(client)
        readers = [asyncio.create_task(all_events(client, path)) for _ in range(2)]
        model.open()
        first, second = await asyncio.gather(*readers)
    assert first == second and text_of(first) == "One two three four."


async def test_a_turn_whose_events_are_gone_is_told_as_a_whole() -> None:
    async with served(ScriptedModel(["Hello.", "Again."])) as server:
        reply = await server.hub.begin(server.person(), "main", user("Hi"))
        await reply.finished()
        assert (await server.client.get("/api/health")).status_code == 200
        server.hub.forget_replies()
        (event,) = await all_events(server.client, f"{MAIN}/turns/1/events?after=3")
        assert (event.name, event.data["turn"]["reply"]["text"]) == ("done", "Hello.")
        assert (await server.client.get(f"{MAIN}/turns/9/events")).status_code == 404


async def test_a_place_that_no_event_has_begins_from_the_start() -> None:
    async with served(ScriptedModel(["Hello you."])) as server:
        await (await server.hub.begin(server.person(), "main", user("Hi"))).finished()
        for place in ("999", "-1", "x", "½", "9" * 39):
            events = await all_events(
                server.client, f"{MAIN}/turns/1/events", **{"last-event-id": place.encode("ascii", "replace").decode()}
            )
            assert text_of(events) == "Hello you."


async def test_a_turn_that_nobody_answers_any_more_says_so() -> None:
    async with served() as server:
        await server.store.begin_turn("main", user("Hi"), server.clock.now(), segment_pause=SEGMENT_PAUSE)
        (event,) = await all_events(server.client, f"{MAIN}/turns/1/events")
    assert (event.name, event.data["error"]["code"], event.data["turn"]["state"]) == ("failed", "conflict", "open")


async def test_a_model_that_fails_is_told_with_what_was_kept() -> None:
    class Failing(ScriptedModel):
        async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
            yield TextDelta("Half of")
            raise ModelError("the model broke off; try again", model=self.name, retryable=False)

    async with served(Failing([])) as server, server.talking() as client:
        events = await all_events(client, await say(client))
    last = events[-1]
    assert (last.name, last.data["error"]["code"]) == ("failed", "model_failed")
    assert last.data["turn"]["reply"]["text"] == "Half of" and last.data["turn"]["interrupted"] is True


async def test_an_error_that_nobody_foresaw_is_told_without_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ScriptedModel):
        def encode(self, window: object) -> Request:
            raise ZeroDivisionError("inside")

    async with served(Broken([])) as server:
        begun = await server.client.post(f"{MAIN}/turns", json={"text": "Hi"})
        (*_, last) = await all_events(server.client, begun.headers["location"])
    assert (last.name, last.data["error"]["code"]) == ("failed", "internal")
    assert "inside" not in str(last.data) and "ZeroDivisionError: inside" in caplog.text


async def test_a_stopped_turn_ends_with_what_was_said() -> None:
    model = GatedModel()
    async with served(model) as server, server.talking() as client:
        path = await say(client)
        model.let(2)
        async with client.stream("GET", path) as response:
            found: list[Event] = []
            async for event in read_events(response):
                found.append(event)
                if text_of(found) == "One two " and event.name == "text":
                    await client.post(f"{MAIN}/turns/1/stop")
    assert found[-1].name == "done"
    assert found[-1].data["turn"]["interrupted"] is True
    assert found[-1].data["turn"]["reply"]["text"] == text_of(found)


async def test_a_silent_stream_says_that_it_lives() -> None:
    model = GatedModel()
    async with served(model, pace=Pace(ping=0.01)) as server, server.talking() as client:
        path = await say(client)
        for silent in (path, "/api/events"):
            async with client.stream("GET", silent) as response:
                pings = 0
                async for line in response.aiter_lines():
                    pings += line == ": ping"
                    if pings == 3:
                        break
        model.open()


class SlowReader:
    """A reader of an event stream that takes one chunk and then nothing."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.full = asyncio.Event()
        self.drained = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if len(self.taken) == 2:
            self.full.set()
            await self.drained.wait()
        self.taken.append(message.get("body", b""))


async def test_a_reader_that_takes_nothing_is_let_go_and_holds_up_nobody() -> None:
    closed = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"data: 1\n\n"
        finally:
            closed.set()

    reader = SlowReader()
    state = {"person": THE_ONLY_ONE, "streams": Places(1, "streams")}
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "state": state}
    await EventStream(chunks(), write_seconds=0.01)(scope, reader.receive, reader.send)
    assert closed.is_set() and len(reader.taken) == 2


async def test_a_turn_goes_on_while_its_reader_takes_nothing() -> None:
    model = GatedModel(" ".join(["word"] * 3000))
    async with served(model) as server, server.talking() as client:
        path = await say(client)
        async with client.stream("GET", path) as response:
            lines = response.aiter_lines()
            assert await anext(lines) == "id: 1"
            model.open()
            reply = server.hub.running(server.person(), "main")
            assert reply is not None
            await reply.finished()
            assert (await client.get(f"{MAIN}/turns/1")).json()["state"] == "done"
        assert text_of(await all_events(client, path)) == " ".join(["word"] * 3000)


async def test_pages_hear_of_turns_of_their_person_alone() -> None:
    async with served(people=("anna", "ben")) as server, server.listening() as address:
        anna, ben = (
            httpx2.AsyncClient(base_url=address, headers={"x-api-key": server.keys[name]}) for name in ("anna", "ben")
        )
        async with anna, ben, anna.stream("GET", "/api/events") as heard, ben.stream("GET", "/api/events") as other:
            # They listen from before the first line on.
            assert (heard.status_code, other.status_code) == (200, 200)
            await anna.post(f"{MAIN}/turns", json={"text": "Hi"})
            await ben.put("/api/me", json={"timezone": "Asia/Tokyo", "instructions": ""})
            got = [event async for event in _until(heard, 3)]
            (his,) = [event async for event in _until(other, 1)]
    assert [(event.name, event.data) for event in got] == [
        ("turn", {"conversation": "main", "turn": 1, "state": "began"}),
        ("turn", {"conversation": "main", "turn": 1, "state": "ended"}),
        ("changed", {"what": "conversations"}),
    ]
    assert (his.name, his.data) == ("changed", {"what": "settings"})


async def test_a_page_whose_key_was_taken_back_hears_nothing_more() -> None:
    async with served(people=("anna",), pace=Pace(ping=0.01)) as server, server.talking() as client:
        opened = await client.post("/api/login", json={"key": server.keys["anna"]})
        cookie = opened.headers["set-cookie"].partition(";")[0]
        async with (
            httpx2.AsyncClient(base_url=client.base_url, headers={"cookie": cookie}) as page,
            page.stream("GET", "/api/events") as heard,
        ):
            lines = heard.aiter_lines()
            assert await anext(lines) == ": ping"
            assert (await page.post("/api/logout")).status_code == 204
            await client.post(f"{MAIN}/turns", json={"text": "Hi"})
            assert not any("event" in line for line in [line async for line in lines])


async def _until(response: httpx2.Response, count: int) -> AsyncIterator[Event]:
    async for event in read_events(response):
        yield event
        count -= 1
        if not count:
            return


def test_where_many_read_each_is_told_less_often() -> None:
    pace = Pace(text=0.1)
    with ExitStack() as readers:
        for _ in range(80):
            readers.enter_context(pace.reading())
        assert pace.between == 0.1
        for _ in range(120):
            readers.enter_context(pace.reading())
        assert pace.between == pytest.approx(0.25)
    assert pace.between == 0.1
