"""What a person is told once: also the one whose line was dead when it was told, and with what belongs to the slot."""

from __future__ import annotations

import pytest

from frontmind.assistant.recalling import RecallOptions
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.person_events import Changed, Noticed, PersonEvent, PersonEvents, Reminded, Thing
from frontmind.server.sessions import Sessions
from frontmind.values.message import user
from server.serving import Event, Served, read_events, served

EVENTS = "/api/events"
TEA = Reminded(1, "Tea", "Tea (due now)", "2026-11-30", 2)


async def heard(events: PersonEvents, after: int | None, owner: str = "anna") -> tuple[list[PersonEvent], int]:
    """What a listener hears before anything else happens, and the number that it then has."""
    found: list[PersonEvent] = []
    with events.listening(owner, after) as listener:
        listener.end()
        while (event := await listener.next()) is not None:
            found.append(event)
        return found, listener.number


async def test_what_was_told_to_a_dead_line_is_told_to_the_one_that_comes_back() -> None:
    events = PersonEvents(start=500)
    _, before = await heard(events, None)
    with events.listening("anna") as dead:
        events.publish("anna", TEA)
        events.publish("anna", Changed(Thing.SETTINGS))
        events.publish("anna", Noticed("summed up"))
        events.publish("ben", Noticed("his"))
        assert dead.number == before
    again, now = await heard(events, before)
    # What became of the reminder meanwhile is read behind it.
    assert again == [TEA, Noticed("summed up"), Changed(Thing.REMINDERS)]
    assert await heard(events, now) == ([], now)
    assert (await heard(events, before + 1))[0] == [Noticed("summed up")]
    assert await heard(events, None, "eve") == ([], before)


async def test_one_that_comes_anew_hears_nothing_of_before() -> None:
    events = PersonEvents()
    events.publish("anna", TEA)
    assert await heard(events, None) == ([], 1)


@pytest.mark.parametrize("number", [3, 99])
async def test_a_number_of_another_run_gets_all_of_this_one(number: int) -> None:
    events = PersonEvents(start=10)
    events.publish("anna", TEA)
    assert (await heard(events, number))[0][0] == TEA


async def test_of_very_many_the_newest_are_kept() -> None:
    events = PersonEvents()
    for number in range(300):
        events.publish("anna", Noticed(str(number)))
    told, number = await heard(events, 0)
    assert told == [Noticed(str(each)) for each in range(200, 300)]
    assert number == 300


async def _first(server: Served, name: str, headers: dict[str, str] | None = None) -> Event:
    async with server.talking() as client, client.stream("GET", EVENTS, headers=headers or {}) as stream:
        async for event in read_events(stream):
            if event.name == name:
                return event
    raise AssertionError(f"the stream ended without {name}")


async def test_a_reminder_is_told_again_to_a_page_that_was_cut_off_and_not_to_another() -> None:
    async with served() as server:
        async with server.talking() as client, client.stream("GET", EVENTS) as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == ": ping"
            name, _, place = (await anext(lines)).partition(": ")
            assert name == "id"
            at = server.clock.now()
            await server.store.add_reminder("Call Eve", at, zone="Europe/Berlin", at=at)
            # The line is there, and takes nothing any more.
            await server.hub.telling.tell("")
        assert len(await server.store.deliveries()) == 1
        again = await _first(server, "reminder", {"Last-Event-ID": place})
        assert (again.data["text"], again.id) == ("Call Eve", int(place) + 1)


async def test_done_with_the_version_of_a_notice_completes_its_slot_alone() -> None:
    async with served() as server:
        await server.client.post("/api/reminders", json={"phrase": "water the plants every day at 9am"})
        server.clock.advance(days=1)
        told = await _first(server, "reminder")
        done = f"/api/reminders/{told.data['id']}/done"
        first = await server.client.post(done, json={"version": told.data["version"]})
        server.clock.advance(minutes=5)
        second = await server.client.post(done, json={"version": told.data["version"]})
        assert (first.status_code, second.status_code) == (200, 409)
        (reminder,) = (await server.client.get("/api/reminders")).json()["reminders"]
        assert reminder["due"] == first.json()["due"]


async def test_an_error_that_nobody_foresaw_ends_one_persons_reminders_and_no_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def take(sessions: Sessions, owner: str) -> list[str]:
        if owner == "anna":
            raise KeyError("broken")
        return ["summed up"]

    async with served(people=("anna", "ben")) as server:
        monkeypatch.setattr(Sessions, "take_notices", take)
        events = server.hub.events
        # In the order of their names: hers fail first.
        with events.listening("anna"), events.listening("ben") as his:
            for _ in range(2):
                server.hub.telling.wake()
                assert await his.next() == Noticed("summed up")
    assert "KeyError: 'broken'" in caplog.text


MEMORY = '{"memories": [{"turn": 1, "text": "You prefer green tea", "confidence": 0.9}]}'


async def test_pages_are_told_of_memories_that_were_extracted() -> None:
    recall = RecallOptions(memory_model=ScriptedModel(lambda _: MEMORY))
    async with served(recall=recall) as server:
        person = server.person()
        await (await server.hub.begin(person, "main", user("I prefer green tea."))).report()
        server.clock.advance(hours=2)
        with server.hub.events.listening(person.owner) as listener:
            async with server.hub.session(person, "main") as session:
                session.mind.recalling.segments.start()
                await session.mind.recalling.segments.idle()
            listener.end()
            told = []
            while (event := await listener.next()) is not None:
                told.append(event)
        assert len(await server.store.memories()) == 1, session.home.notices.take()
        assert Changed(Thing.MEMORIES) in told


async def test_a_page_that_asks_for_an_old_turn_again_is_told_that_nothing_follows() -> None:
    async with served(ScriptedModel(["Hello."])) as server:
        await (await server.hub.begin(server.person(), "main", user("Hi"))).finished()
        server.hub.forget_replies()
        path = "/api/conversations/main/turns/1/events"
        whole = await server.client.get(path, headers={"Last-Event-ID": "3"})
        assert whole.text.startswith("id: end\nevent: done\n")
        again = await server.client.get(path, headers={"Last-Event-ID": "end"})
        assert (again.status_code, again.content) == (204, b"")
