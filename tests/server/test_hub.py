"""What a server holds open: sessions, indexes, embedders, replies; and whom it tells of reminders."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from frontmind.assistant.caller import Caller
from frontmind.assistant.going_back import InPlaceOf
from frontmind.assistant.recalling import RecallOptions
from frontmind.providers.scripted import ScriptedModel
from frontmind.recall.embedder_source import SharedEmbedder
from frontmind.server import hub as hub_module
from frontmind.server.errors import Problem
from frontmind.server.identity import Person
from frontmind.server.person_events import Changed, Noticed, PersonEvent, PersonEvents, Reminded, Thing
from frontmind.server.replies import Reply, ReplyDone, ReplyFailed
from frontmind.server.sessions import Sessions, Setting
from frontmind.stores.sqlite import SqliteStore, conversations
from frontmind.values.message import Message, Role, user
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.people import PersonSettings
from frontmind.values.records import TurnState
from frontmind.values.tool import Tool
from server.serving import GatedModel, Served, served
from support import HandClock, remember

if TYPE_CHECKING:
    from frontmind.recall.embedding import Embedder, Vectors

ANNA, BEN = Person("anna"), Person("ben")


class CountingEmbedder:
    """Counts what it embeds; two texts are alike when they begin with the same letter."""

    name = "letters@1"
    dimensions = 26

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.closed = 0

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        np = pytest.importorskip("numpy")
        self.embedded += texts
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            vectors[row, (ord(text.strip()[:1].lower() or "a") - ord("a")) % 26] = 1
        return vectors  # type: ignore[no-any-return]

    async def close(self) -> None:
        self.closed += 1


class CountingSource:
    """Counts how often the embedder is opened."""

    def __init__(self) -> None:
        self.opened: list[CountingEmbedder] = []

    async def open(self) -> Embedder | None:
        self.opened.append(CountingEmbedder())
        return self.opened[-1]

    async def former(self, name: str) -> Embedder | None:
        return None


async def turn(server: Served, person: Person, conversation: str, text: str = "Hi") -> None:
    reply = await server.hub.begin(person, conversation, user(text))
    await reply.report()
    assert server.hub.running(person, conversation) is None


async def test_all_conversations_of_all_people_share_one_embedder_and_each_person_has_one_index() -> None:
    source = CountingSource()
    shared = SharedEmbedder(source)
    async with served(recall=RecallOptions(source=shared), people=("anna", "ben")) as server:
        for person in (ANNA, BEN):
            await remember(server.hub.store_of(person), f"You live in {person.name}'s house", server.clock.now())
            for conversation in ("one", "two", "three"):
                await turn(server, person, conversation)
        async with (
            server.hub.session(ANNA, "one") as one,
            server.hub.session(ANNA, "two") as two,
            server.hub.session(BEN, "one") as other,
            server.hub.home(ANNA) as home,
        ):
            assert one.mind.recalling.indexer is two.mind.recalling.indexer is home.recalling.indexer
            assert one.mind.recalling.recall is two.mind.recalling.recall
            assert one.mind.recalling.indexer is not other.mind.recalling.indexer
            await home.recalling.indexer.catch_up()
            found = await home.recalling.recall.search("live house", now=server.clock.now(), limit=5)
        assert any("anna's house" in find.hit.passage.text for find in found)
        assert not any("ben's house" in find.hit.passage.text for find in found)
    assert len(source.opened) == 1
    (embedder,) = source.opened
    assert embedder.closed == 0
    # Nothing is embedded twice, however many conversations there are.
    stored = [text for text in embedder.embedded if "You live in" in text]
    assert sorted(stored) == ["You live in anna's house", "You live in ben's house"]
    await shared.close()
    assert embedder.closed == 1


async def test_those_that_were_used_last_stay_open_and_one_in_use_is_never_closed() -> None:
    async with served(most_sessions=2) as server:
        person = server.person()
        async with server.hub.session(person, "used") as used:
            for name in ("a", "b", "c", "d"):
                async with server.hub.session(person, name):
                    pass
            assert server.hub.sessions.open == 2
            async with server.hub.session(person, "used") as again:
                assert again is used
        async with server.hub.session(person, "d") as kept:
            pass
        async with server.hub.session(person, "d") as kept_too:
            assert kept_too is kept
        async with server.hub.session(person, "used") as still:
            assert still is used


async def test_a_session_that_nobody_used_for_long_is_closed_and_one_that_waits_for_its_caller_later() -> None:
    seconds = [0.0]
    store = SqliteStore.open(":memory:")
    sessions = Sessions(Setting(store=store, model=ScriptedModel(["x"]), clock=HandClock()), timer=lambda: seconds[0])
    for name in ("plain", "waits"):
        async with sessions.session(ANNA, name) as session:
            sessions.note_waiting(session, name == "waits")
    await session.mind.recalling.background.wait()
    seconds[0] += 599
    sessions.let_go()
    assert sessions.open == 2
    seconds[0] += 1
    sessions.let_go()
    assert sessions.open == 1
    async with sessions.session(ANNA, "waits") as again:
        assert again is session
    seconds[0] += 3600
    sessions.let_go()
    assert sessions.open == 0
    await sessions.aclose()
    await store.close()


async def test_new_settings_hold_from_the_next_turn_on() -> None:
    requests: list[str] = []

    def reply(request: object) -> str:
        requests.append(str(request))
        return "Yes."

    async with served(ScriptedModel(reply)) as server:
        person = server.person()
        await turn(server, person, "main")
        async with server.hub.session(person, "main") as before:
            await server.hub.save_settings(person, PersonSettings("Asia/Tokyo", "Call me Captain."))
            async with server.hub.session(person, "main") as after:
                assert after is not before
                assert str(after.clock.zone) == "Asia/Tokyo"
        server.clock.advance(hours=2)
        await turn(server, person, "main")
    assert "Call me Captain." not in requests[0]
    assert "Call me Captain." in requests[1] and "19:15" in requests[1]


async def test_two_who_open_a_conversation_at_once_get_the_same() -> None:
    async with served() as server:

        async def opened() -> int:
            async with server.hub.session(server.person(), "main") as session:
                return id(session)

        assert len(set(await asyncio.gather(*(opened() for _ in range(10))))) == 1


async def test_a_turn_of_another_process_is_waited_for(tmp_path: Path) -> None:
    db = str(tmp_path / "mind.db")
    async with served(db=db) as server:
        other = SqliteStore.open(db)
        async with other.turn_lock("main"):
            begun = asyncio.create_task(server.hub.begin(server.person(), "main", user("Hi"), wait=False))
            elsewhere = await server.hub.begin(server.person(), "free", user("Hi"))
            await elsewhere.report()
            assert not begun.done() and await other.turns("main") == []
        reply = await begun
        assert (await reply.report()).reply == "Hello."
        await other.close()


async def test_a_turn_that_waits_for_its_callers_tool_goes_on_with_the_result() -> None:
    asks = Message(Role.ASSISTANT, (ToolCall("c1", "weather", "{}"),))
    caller = Caller(tools=(Tool("weather", '{"type":"object","properties":{}}', "The weather."),))
    async with served(ScriptedModel([asks, "It rains."]), most_sessions=1) as server:
        person = server.person()
        first = await server.hub.begin(person, "main", user("Weather?"), caller=caller)
        assert [call.name for call in (await first.report()).waits_for] == ["weather"]
        second = await server.hub.resume(person, "main", [ToolResult("c1", "rain")], caller=caller, wait=True)
        assert (await second.report()).reply == "It rains."
        assert await second.accepted() == await first.accepted() == 1
        assert server.hub.reply(person, "main", 1) is second


async def test_what_a_server_holds_does_not_grow_with_what_it_has_done() -> None:
    async with served(ScriptedModel(lambda _: "Yes."), most_sessions=8) as server:
        for number in range(200):
            await turn(server, Person(f"p{number % 50}"), f"c{number % 20}")
        hub = server.hub
        assert hub.sessions.open <= 8
        assert (
            sum(hub.reply(Person(f"p{n % 50}"), f"c{n % 20}", t) is not None for n in range(200) for t in (1, 2)) <= 256
        )
        hub.forget_replies()
        assert hub.kept == 0
        assert hub.events.owners == ()


async def _heard(events: PersonEvents, owner: str, count: int, ready: asyncio.Event) -> list[PersonEvent]:
    found: list[PersonEvent] = []
    with events.listening(owner) as listener:
        ready.set()
        while len(found) < count and (event := await listener.next()) is not None:
            found.append(event)
    return found


async def test_a_reminder_is_told_once_to_all_pages_of_its_person_and_to_nobody_else() -> None:
    async with served(people=("anna", "ben")) as server:
        store = server.hub.store_of(ANNA)
        at = server.clock.now()
        await store.add_reminder("Call <b>Eve</b>", at, zone="Europe/Berlin", at=at)
        events = server.hub.events
        with events.listening("ben") as ben:
            server.hub.telling.wake()
            # Nobody of hers listens: the slot stays for the terminal.
            await server.hub.telling.tell("anna")
            assert await store.deliveries() == []
            ready = [asyncio.Event(), asyncio.Event()]
            pages = [asyncio.create_task(_heard(events, "anna", 2, each)) for each in ready]
            first, second = await asyncio.gather(*pages)
            await server.hub.telling.tell("anna")
            events.publish("ben", Changed(Thing.SETTINGS))
            assert await ben.next() == Changed(Thing.SETTINGS)
        assert first == second
        told = first[0]
        assert isinstance(told, Reminded)
        assert (told.id, told.text, told.due) == (1, "Call <b>Eve</b>", at.isoformat())
        assert first[1] == Changed(Thing.REMINDERS)
        assert len(await store.deliveries()) == 1


async def test_what_goes_on_beside_the_turns_is_told_while_a_page_is_open() -> None:
    async with served() as server, server.hub.home(server.person()) as home:
        home.notices.add("the summary of segment 1: written")
        with server.hub.events.listening("") as listener:
            assert await listener.next() == Noticed("the summary of segment 1: written")


async def test_a_page_that_reads_nothing_is_let_go_and_hears_the_end() -> None:
    events = PersonEvents()
    with events.listening("anna") as slow, events.listening("anna") as quick:
        for _ in range(300):
            events.publish("anna", Changed(Thing.MEMORIES))
            await quick.next()
        heard = 0
        while await slow.next() is not None:
            heard += 1
        assert heard == 200
        assert await slow.next() is None
        assert events.is_heard("anna")
    assert not events.is_heard("anna") and events.owners == ()


async def test_an_error_of_the_store_leaves_the_conversation_free() -> None:
    async with served() as server:
        with pytest.raises(Problem) as raised:
            await (await server.hub.begin(server.person(), "main", user("Hi"), place=InPlaceOf(7))).accepted()
        assert raised.value.status == 422
        await turn(server, server.person(), "main")
        assert [each.state for each in await server.store.turns("main")] == [TurnState.DONE]


async def test_who_gives_up_before_the_message_is_accepted_has_said_nothing(tmp_path: Path) -> None:
    db = str(tmp_path / "mind.db")
    async with served(db=db) as server:
        other = SqliteStore.open(db)
        async with other.turn_lock("main"):
            # One waits for the other process, the other behind that one.
            both = [
                asyncio.create_task(server.hub.begin(server.person(), "main", user(text), wait=True))
                for text in ("One", "Two")
            ]
            while server.hub.waiting(server.person(), "main") < 2 or not server.hub.running(server.person(), "main"):
                await asyncio.wait(both, timeout=0.01)
            for each in both:
                each.cancel()
            await asyncio.wait(both)
            assert [each.cancelled() for each in both] == [True, True]
        await turn(server, server.person(), "main", "Three")
        assert [each.user.text for each in await server.store.turns("main")] == ["Three"]
        await other.close()


class Held:
    """Holds back the database's own thread in the middle of `begin_turn`, as a slow disk does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self._go_on = threading.Event(), threading.Event()
        really = conversations.begin_turn

        def begin_turn(*arguments: Any) -> Any:
            self.entered.set()
            assert self._go_on.wait(30)
            return really(*arguments)

        monkeypatch.setattr(conversations, "begin_turn", begin_turn)

    async def until_entered(self) -> None:
        assert await asyncio.to_thread(self.entered.wait, 30)

    def go_on(self) -> None:
        self._go_on.set()


@pytest.mark.parametrize("way", ["stopped", "given up", "the server ends"])
async def test_a_message_that_is_being_stored_was_said_and_its_client_is_told_so(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    async with served() as server:
        begun = asyncio.create_task(server.hub.begin(server.person(), "main", user("Hi"), wait=True))
        await held.until_entered()
        running = server.hub.running(server.person(), "main")
        assert running is not None
        ending = None
        if way == "stopped":
            running.stop()
        elif way == "given up":
            begun.cancel()
        else:
            ending = asyncio.create_task(server.hub.shut_down(0.0))
        await asyncio.wait({begun}, timeout=0.05)
        held.go_on()
        reply = await begun
        assert (reply.turn, [each.user.text for each in await server.store.turns("main")]) == (1, ["Hi"])
        await reply.finished()
        if way == "given up":
            # Nobody stopped it: it was said, and is answered.
            assert (await reply.report()).reply == "Hello."
        if ending is not None:
            await ending


async def test_a_client_whose_time_is_up_while_its_message_is_stored_is_not_told_that_it_was_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub_module, "_ELSEWHERE_SECONDS", 0.05)
    held = Held(monkeypatch)
    async with served() as server:
        begun = asyncio.create_task(server.hub.begin(server.person(), "main", user("Hi")))
        await held.until_entered()
        await asyncio.wait({begun}, timeout=0.2)
        held.go_on()
        assert (await (await begun).report()).reply == "Hello."


async def test_what_a_turn_came_to_is_noted_before_the_next_begins_and_before_the_server_has_ended() -> None:
    order: list[str] = []
    model = GatedModel()
    async with served(model) as server:

        async def note(reply: Reply, last: ReplyDone | ReplyFailed) -> None:
            assert not reply.ended
            (first, *_) = await server.store.turns("main")
            order.append(f"{first.state} {len(await server.store.turns('main'))}")

        reply = await server.hub.begin(server.person(), "main", user("One"), noting=note)
        queued = asyncio.create_task(server.hub.begin(server.person(), "main", user("Two"), wait=True))
        await model.until_began(1)
        model.open()
        await (await queued).report()
        assert order == ["done 1"]
        last = await server.hub.begin(server.person(), "other", user("One"), noting=note)
        await server.hub.shut_down(0.0)
        assert len(order) == 2 and last.ended
        assert reply.ended_at is not None and last.ended_at is not None and reply.ended_at <= last.ended_at
