"""Reminders, memories, documents and the search over HTTP: what is changed there is what the model is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from frontmind.domaindocs.library import DocumentLibrary
from frontmind.providers.protocol import Request
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.person_events import Changed, Thing
from frontmind.values.imports import ImportedTurn
from frontmind.values.memories import Memory
from frontmind.values.message import assistant, user
from frontmind.window.canonical import canonical_text
from server.serving import Served, served
from support import shared

REMINDERS, MEMORIES, DOCUMENTS = "/api/reminders", "/api/memories", "/api/documents"


async def reminder(at: Served, phrase: str = "call Anna tomorrow at 9am") -> dict[str, Any]:
    reply = await at.client.post(REMINDERS, json={"phrase": phrase})
    assert reply.status_code == 201, reply.text
    return made(reply)


async def memory(at: Served, text: str = "You prefer tea") -> dict[str, Any]:
    reply = await at.client.post(MEMORIES, json={"text": text})
    assert reply.status_code == 201, reply.text
    return made(reply)


async def document(at: Served, name: str = "plan", text: str = "# One\nfirst\n# Two\nsecond\n") -> dict[str, Any]:
    reply = await at.client.put(f"{DOCUMENTS}/{name}", json={"text": text, "expected": 0})
    assert reply.status_code == 200, reply.text
    return made(reply)


def made(reply: httpx2.Response) -> dict[str, Any]:
    assert reply.is_success, reply.text
    assert reply.headers["content-type"] == "application/json"
    value: dict[str, Any] = reply.json()
    return value


def refused(reply: httpx2.Response, status: int, code: str) -> str:
    assert reply.status_code == status, reply.text
    error = reply.json()["error"]
    assert error["code"] == code
    assert "\n" not in error["message"]
    return str(error["message"])


@asynccontextmanager
async def tells(at: Served, thing: Thing) -> AsyncIterator[None]:
    """Whoever listens for the person is told that this has changed."""
    with at.hub.events.listening(at.person().owner) as heard:
        yield
        assert await asyncio.wait_for(heard.next(), 5) == Changed(thing)


async def test_a_phrase_becomes_a_reminder() -> None:
    async with served() as at:
        async with tells(at, Thing.REMINDERS):
            added = await reminder(at, "water the plants every monday at 8am")
        assert added == {
            "id": added["id"],
            "text": "water the plants",
            "due": "2026-12-07T08:00:00+01:00",
            "when": "Mon 7 Dec 2026, 08:00",
            "zone": "Europe/Berlin",
            "rrule": "FREQ=WEEKLY;BYDAY=MO",
            "repeats": "every Monday",
            "done_at": None,
            "snoozed_until": None,
            "overdue": False,
            "version": 1,
        }
        assert made(await at.client.get(REMINDERS)) == {"reminders": [added]}


async def test_a_completed_reminder_is_not_listed_among_the_open_ones() -> None:
    async with served() as at:
        added = await reminder(at)
        async with tells(at, Thing.REMINDERS):
            done = made(await at.client.post(f"{REMINDERS}/{added['id']}/done"))
        assert done["done_at"] == at.clock.now().isoformat()
        assert made(await at.client.get(REMINDERS)) == {"reminders": []}
        assert made(await at.client.get(REMINDERS, params={"all": "true"})) == {"reminders": [done]}
        refused(await at.client.post(f"{REMINDERS}/{added['id']}/done"), 422, "invalid_request")


async def test_a_click_that_comes_twice_completes_one_slot_of_a_reminder_that_comes_again() -> None:
    async with served() as at:
        added = await reminder(at, "water the plants every monday at 8am")
        path = f"{REMINDERS}/{added['id']}/done"
        done = made(await at.client.post(path, json={"version": added["version"]}))
        assert done["due"] == "2026-12-14T08:00:00+01:00"
        refused(await at.client.post(path, json={"version": added["version"]}), 409, "conflict")
        assert made(await at.client.get(REMINDERS))["reminders"] == [done]


async def test_a_reminder_is_changed_put_off_and_deleted() -> None:
    async with served() as at:
        path = f"{REMINDERS}/{(await reminder(at))['id']}"
        async with tells(at, Thing.REMINDERS):
            changed = made(await at.client.patch(path, json={"text": "call Bert", "when": "tomorrow at 10am"}))
        assert (changed["text"], changed["due"]) == ("call Bert", "2026-12-01T10:00:00+01:00")
        async with tells(at, Thing.REMINDERS):
            later = made(await at.client.post(f"{path}/snooze", json={"until": "tomorrow at 5pm"}))
        assert later["snoozed_until"] == "2026-12-01T17:00:00+01:00"
        assert later["when"] == "Tue 1 Dec 2026, 17:00"
        async with tells(at, Thing.REMINDERS):
            assert (await at.client.delete(path)).status_code == 204
        assert made(await at.client.get(REMINDERS)) == {"reminders": []}


async def test_a_reminder_is_not_changed_in_a_version_that_nobody_saw() -> None:
    async with served() as at:
        added = await reminder(at)
        path = f"{REMINDERS}/{added['id']}"
        changed = made(await at.client.patch(path, json={"text": "call Bert", "version": added["version"]}))
        message = refused(await at.client.patch(path, json={"text": "call C", "version": 1}), 409, "conflict")
        assert "read it again" in message
        body = {"until": "tomorrow at 5pm", "version": 1}
        refused(await at.client.post(f"{path}/snooze", json=body), 409, "conflict")
        assert made(await at.client.get(REMINDERS))["reminders"] == [changed]


async def test_a_reminder_that_is_due_is_overdue_afterwards() -> None:
    async with served() as at:
        await reminder(at, "call Anna in 20 minutes")
        at.clock.advance(hours=1)
        (found,) = made(await at.client.get(REMINDERS))["reminders"]
        assert found["overdue"] is True


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", REMINDERS, {"phrase": "nothing that has a time"}),
        ("POST", REMINDERS, {"phrase": "call Anna yesterday"}),
        ("POST", REMINDERS, {"phrase": "x" * 1_001}),
        ("POST", REMINDERS, {"phrase": ""}),
        ("POST", REMINDERS, {"phrase": "call Anna tomorrow", "due": "2026-12-01"}),
        ("POST", REMINDERS, {}),
        ("PATCH", f"{REMINDERS}/1", {}),
        ("PATCH", f"{REMINDERS}/1", {"when": "sometime"}),
        ("PATCH", f"{REMINDERS}/1", {"text": "x" * 2_001}),
        ("PATCH", f"{REMINDERS}/1", {"version": 0}),
        ("PATCH", f"{REMINDERS}/zero", {"text": "x"}),
        ("DELETE", f"{REMINDERS}/99999999999999999999", None),
        ("POST", f"{REMINDERS}/1/snooze", {"until": "every monday"}),
        ("POST", f"{REMINDERS}/1/snooze", {"until": "in 10 minutes"}),
        ("POST", MEMORIES, {"text": " "}),
        ("POST", MEMORIES, {"text": "x" * 10_001}),
        ("POST", MEMORIES, {"text": 5}),
        ("PATCH", f"{MEMORIES}/1", {"text": "y"}),
        ("PATCH", f"{MEMORIES}/1", {"version": 1}),
        ("PATCH", f"{MEMORIES}/1", {"version": 1, "text": None}),
        ("PATCH", f"{MEMORIES}/1", {"version": 1, "valid_until": "sometime"}),
        ("PATCH", f"{MEMORIES}/1", {"version": 1, "happens_at": "9999-01-01T00:00"}),
        ("GET", f"{MEMORIES}?limit=501", None),
        ("GET", f"{MEMORIES}?limit=0", None),
        ("PUT", f"{DOCUMENTS}/plan", {"text": " \n", "expected": 1}),
        ("PUT", f"{DOCUMENTS}/plan", {"text": "x" * 1_000_001, "expected": 1}),
        ("PUT", f"{DOCUMENTS}/plan", {"text": "x"}),
        ("PUT", f"{DOCUMENTS}/plan", {"text": "x", "expected": 1, "source": "/etc/passwd"}),
        ("PUT", f"{DOCUMENTS}/%20", {"text": "x", "expected": 0}),
        ("PUT", f"{DOCUMENTS}/{'n' * 101}", {"text": "x", "expected": 0}),
        ("PATCH", f"{DOCUMENTS}/plan", {"collapsed": ["No such section"]}),
        ("PATCH", f"{DOCUMENTS}/plan", {"source": "/etc/passwd"}),
        ("POST", f"{DOCUMENTS}/plan/undo", {"expected": 1}),
        ("GET", "/api/search", None),
        ("GET", "/api/search?q=", None),
        ("GET", f"/api/search?q={'x' * 1_001}", None),
        ("GET", "/api/search?q=tea&limit=51", None),
    ],
)
async def test_what_cannot_be_used_is_refused_and_changes_nothing(method: str, path: str, body: object) -> None:
    async with served() as at:
        await reminder(at)
        await memory(at)
        await document(at)
        before = [made(await at.client.get(each)) for each in (REMINDERS, MEMORIES, f"{DOCUMENTS}/plan")]
        refused(await at.client.request(method, path, json=body), 422, "invalid_request")
        after = [made(await at.client.get(each)) for each in (REMINDERS, MEMORIES, f"{DOCUMENTS}/plan")]
        assert after == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", f"{REMINDERS}/7", {"text": "x"}),
        ("POST", f"{REMINDERS}/7/done", None),
        ("POST", f"{REMINDERS}/7/snooze", {"until": "tomorrow"}),
        ("DELETE", f"{REMINDERS}/7", None),
        ("PATCH", f"{MEMORIES}/7", {"text": "x", "version": 1}),
        ("POST", f"{MEMORIES}/7/restore", None),
        ("DELETE", f"{MEMORIES}/7", None),
        ("GET", f"{DOCUMENTS}/none", None),
        ("PATCH", f"{DOCUMENTS}/none", {"enabled": False}),
        ("POST", f"{DOCUMENTS}/none/undo", {"expected": 1}),
        ("GET", f"{DOCUMENTS}/none/versions", None),
        ("DELETE", f"{DOCUMENTS}/none", None),
    ],
)
async def test_what_is_not_there_is_not_found(method: str, path: str, body: object) -> None:
    async with served() as at:
        refused(await at.client.request(method, path, json=body), 404, "not_found")


async def test_what_is_another_persons_is_not_found_and_stays() -> None:
    async with served(people=("anna", "ben")) as at:
        kept = await reminder(at), await memory(at), await document(at)
        ben = await at.client_of("ben")
        for method, path, body in (
            ("PATCH", f"{REMINDERS}/{kept[0]['id']}", {"text": "x"}),
            ("POST", f"{REMINDERS}/{kept[0]['id']}/done", {}),
            ("POST", f"{REMINDERS}/{kept[0]['id']}/snooze", {"until": "tomorrow at 5pm"}),
            ("DELETE", f"{REMINDERS}/{kept[0]['id']}", {}),
            ("PATCH", f"{MEMORIES}/{kept[1]['id']}", {"text": "x", "version": 1}),
            ("POST", f"{MEMORIES}/{kept[1]['id']}/restore", {}),
            ("DELETE", f"{MEMORIES}/{kept[1]['id']}", {}),
            ("GET", f"{DOCUMENTS}/plan", {}),
            ("PATCH", f"{DOCUMENTS}/plan", {"enabled": False}),
            ("POST", f"{DOCUMENTS}/plan/undo", {"expected": 1}),
            ("DELETE", f"{DOCUMENTS}/plan", {}),
        ):
            refused(await ben.request(method, path, json=body), 404, "not_found")
        assert made(await ben.get(MEMORIES)) == {"memories": [], "total": 0}
        assert made(await ben.get("/api/search", params={"q": "tea"})) == {"finds": []}
        assert made(await at.client.get(REMINDERS)) == {"reminders": [kept[0]]}
        assert made(await at.client.get(MEMORIES))["memories"] == [kept[1]]
        assert made(await at.client.get(f"{DOCUMENTS}/plan")) == kept[2]


async def test_a_memory_is_kept_changed_and_forgotten() -> None:
    async with served() as at:
        async with tells(at, Thing.MEMORIES):
            kept = await memory(at)
        assert kept == {
            "id": kept["id"],
            "text": "You prefer tea",
            "created_at": "2026-11-30T09:15:00+01:00",
            "observed_at": "2026-11-30T09:15:00+01:00",
            "happens_at": None,
            "valid_until": None,
            "superseded_by": None,
            "importance": 0.5,
            "source": "person",
            "version": 1,
        }
        path = f"{MEMORIES}/{kept['id']}"
        body = {"text": "You prefer green tea", "valid_until": "2027-03-14", "happens_at": "tomorrow at 9am"}
        async with tells(at, Thing.MEMORIES):
            changed = made(await at.client.patch(path, json={**body, "version": 1}))
        assert (changed["text"], changed["valid_until"]) == ("You prefer green tea", "2027-03-14")
        assert (changed["happens_at"], changed["version"]) == ("2026-12-01T09:00:00+01:00", 2)
        cleared = made(await at.client.patch(path, json={"valid_until": None, "version": 2}))
        assert (cleared["valid_until"], cleared["happens_at"]) == (None, changed["happens_at"])
        async with tells(at, Thing.MEMORIES):
            assert (await at.client.delete(path)).status_code == 204
        assert made(await at.client.get(MEMORIES)) == {"memories": [], "total": 0}


async def test_a_memory_is_not_changed_in_a_version_that_nobody_saw() -> None:
    async with served() as at:
        path = f"{MEMORIES}/{(await memory(at))['id']}"
        changed = made(await at.client.patch(path, json={"text": "You prefer green tea", "version": 1}))
        refused(await at.client.patch(path, json={"text": "You prefer coffee", "version": 1}), 409, "conflict")
        assert made(await at.client.get(MEMORIES))["memories"] == [changed]


async def test_memories_are_found_by_their_words_newest_first_page_by_page() -> None:
    async with served() as at:
        for text in ("You prefer tea", "Your sister Anna drinks coffee", "Your Tea shop is in Ulm", "You own a boat"):
            await memory(at, text)
        found = made(await at.client.get(MEMORIES, params={"q": "tEA"}))
        assert [each["text"] for each in found["memories"]] == ["Your Tea shop is in Ulm", "You prefer tea"]
        page = made(await at.client.get(MEMORIES, params={"limit": "1"}))
        assert ([each["text"] for each in page["memories"]], page["total"]) == (["You own a boat"], 4)


async def test_a_superseded_memory_can_hold_again() -> None:
    async with served() as at:
        older, newer = await memory(at), await memory(at, "You have a dog called Rex")
        (stored,) = await at.store.memories([older["id"]])
        await at.store.save_memory(superseded(stored, newer["id"], at))
        held = made(await at.client.get(MEMORIES))["memories"]
        assert [each["id"] for each in held] == [newer["id"]]
        everything = made(await at.client.get(MEMORIES, params={"all": "true"}))
        assert everything["memories"][1]["superseded_by"] == newer["id"]
        async with tells(at, Thing.MEMORIES):
            restored = made(await at.client.post(f"{MEMORIES}/{older['id']}/restore"))
        assert restored["superseded_by"] is None
        again = made(await at.client.post(f"{MEMORIES}/{older['id']}/restore"))
        assert again == restored


def superseded(memory: Memory, by: int, at: Served) -> Memory:
    return replace(memory, superseded_by=by, superseded_at=at.clock.now())


async def test_a_document_is_written_shown_and_taken_back() -> None:
    async with served() as at:
        async with tells(at, Thing.DOCUMENTS):
            first = await document(at)
        assert first == {
            "name": "plan",
            "enabled": True,
            "updated_at": "2026-11-30T09:15:00+01:00",
            "version": 1,
            "collapsed": [],
            "source": "",
            "tokens": 7,
            "sections": [{"name": "One", "title": "One", "level": 1}, {"name": "Two", "title": "Two", "level": 1}],
            "text": "# One\nfirst\n# Two\nsecond\n",
        }
        path = f"{DOCUMENTS}/plan"
        second = made(await at.client.put(path, json={"text": "# One\nnew\n", "expected": 1}))
        assert second["version"] == 2
        refused(await at.client.put(path, json={"text": "# lost\n", "expected": 1}), 409, "conflict")
        refused(await at.client.put(path, json={"text": "# lost\n", "expected": 0}), 409, "conflict")
        refused(await at.client.post(f"{path}/undo", json={"expected": 1}), 409, "conflict")
        async with tells(at, Thing.DOCUMENTS):
            undone = made(await at.client.post(f"{path}/undo", json={"expected": 2}))
        assert undone == first
        versions = made(await at.client.get(f"{path}/versions"))["versions"]
        assert [(each["version"], each["parent"], each["by"]) for each in versions] == [
            (1, None, "person"),
            (2, 1, "person"),
        ]
        assert versions[1]["text"] == "# One\nnew\n"
        async with tells(at, Thing.DOCUMENTS):
            assert (await at.client.delete(path)).status_code == 204
        assert made(await at.client.get(DOCUMENTS)) == {"documents": []}


async def test_a_document_is_collapsed_and_taken_out_and_stays_out_when_it_is_written() -> None:
    async with served() as at:
        await document(at)
        path = f"{DOCUMENTS}/plan"
        async with tells(at, Thing.DOCUMENTS):
            changed = made(await at.client.patch(path, json={"enabled": False, "collapsed": ["Two"]}))
        assert (changed["enabled"], changed["collapsed"]) == (False, ["Two"])
        assert "text" not in changed
        written = made(await at.client.put(path, json={"text": "# One\nnew\n", "expected": 1}))
        assert written["enabled"] is False
        # "Two" is gone by now; what stands in the list may be given back.
        assert made(await at.client.patch(path, json={"collapsed": ["Two"]}))["collapsed"] == ["Two"]
        assert made(await at.client.patch(path, json={"collapsed": []}))["collapsed"] == []


async def test_a_document_may_have_a_name_with_a_slash() -> None:
    async with served() as at:
        written = await document(at, "plans%2F2027")
        assert written["name"] == "plans/2027"
        assert made(await at.client.get(f"{DOCUMENTS}/plans%2F2027")) == written


async def test_a_file_that_a_document_follows_is_neither_named_nor_read_nor_written(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Old\n", encoding="utf-8")
    async with served() as at:
        await DocumentLibrary(at.store, at.clock).add_file(file)
        file.write_text("# Secret\n", encoding="utf-8")
        path = f"{DOCUMENTS}/notes"
        for url in (DOCUMENTS, path, f"{path}/versions"):
            reply = await at.client.get(url)
            assert reply.is_success
            assert str(tmp_path) not in reply.text
            assert "Secret" not in reply.text
        shown = made(await at.client.get(path))
        assert (shown["source"], shown["text"]) == ("file", "# Old\n")
        for reply in (
            await at.client.put(path, json={"text": "# Mine\n", "expected": 1}),
            await at.client.post(f"{path}/undo", json={"expected": 1}),
        ):
            message = refused(reply, 422, "invalid_request")
            assert "follows a file" in message
            assert str(tmp_path) not in message
        assert made(await at.client.patch(path, json={"enabled": False}))["enabled"] is False
        assert (await at.client.delete(path)).status_code == 204
        assert file.read_text(encoding="utf-8") == "# Secret\n"


async def test_a_search_finds_what_was_said_and_kept() -> None:
    async with served() as at:
        said = ImportedTurn(
            key="1",
            user=user("Which mountain is the highest of Austria?"),
            reply=assistant("The Grossglockner."),
            asked_at=at.clock.now(),
            answered_at=at.clock.now(),
        )
        await at.store.import_turns("old", [said], source="test")
        await memory(at, "You want to climb the Grossglockner")
        finds = made(await at.client.get("/api/search", params={"q": "Grossglockner"}))["finds"]
        assert {(each["kind"], each["conversation"], each["turn"]) for each in finds} == {
            ("memory", "", 0),
            ("exchange", "old", 1),
        }
        assert all(each["at"] == "2026-11-30T09:15:00+01:00" and not each["superseded"] for each in finds)
        one = made(await at.client.get("/api/search", params={"q": "Grossglockner", "limit": "1"}))["finds"]
        assert len(one) == 1


@pytest.mark.requirement("WEB-8")
async def test_what_is_changed_on_a_page_is_what_the_model_is_told_in_the_next_turn() -> None:
    requests: list[str] = []

    def reply(request: Request) -> str:
        requests.append(canonical_text(request))
        return "Yes."

    async with served(ScriptedModel(reply)) as at:

        async def told() -> str:
            turn = await at.hub.begin(at.person(), "main", user("What about my boat?"), wait=True)
            await turn.report()
            return requests[-1]

        assert "harbour" not in await told()
        added = await reminder(at, "pay the harbour fee today at 5pm")
        kept = await memory(at, "Your boat is called Undine")
        await document(at, "boats", "# Engine\nIt needs oil.\n")
        text = await told()
        assert "pay the harbour fee" in text
        assert "Undine" in text
        assert "It needs oil." in text
        made(await at.client.post(f"{REMINDERS}/{added['id']}/done"))
        made(await at.client.patch(f"{MEMORIES}/{kept['id']}", json={"text": "Your boat is Melusine", "version": 1}))
        made(await at.client.put(f"{DOCUMENTS}/boats", json={"text": "# Engine\nIt is mended.\n", "expected": 1}))
        text = await told()
        assert "pay the harbour fee" not in text
        assert "Melusine" in text
        assert "Undine" not in text
        assert "It is mended." in text


@pytest.mark.requirement("WEB-7")
async def test_a_text_that_attacks_comes_back_as_the_data_that_it_is() -> None:
    texts = [
        json.loads(line)["text"]
        for name in ("delimiter_cases.jsonl", "bastioncorpus_injections.jsonl")
        for line in shared("injection", name).read_text("utf-8").splitlines()
    ][::4]
    async with served() as at:
        kept = 0
        for number, text in enumerate(texts):
            for method, path, body, status in (
                ("PUT", f"{DOCUMENTS}/d{number}", {"text": text, "expected": 0}, 200),
                ("POST", MEMORIES, {"text": text}, 201),
            ):
                reply = await at.client.request(method, path, json=body)
                if not text.strip():
                    refused(reply, 422, "invalid_request")
                    continue
                assert reply.status_code == status, reply.text
                assert reply.headers["content-type"] == "application/json"
                assert reply.headers["x-content-type-options"] == "nosniff"
                expected = text.replace("\x00", "\ufffd") if method == "PUT" else text.strip()
                # A memory that says the same as another one is that one.
                assert method == "POST" or reply.json()["text"] == expected
                kept += 1
        assert kept > 50
        assert made(await at.client.get(DOCUMENTS))["documents"]
        assert made(await at.client.get(MEMORIES, params={"limit": "500"}))["total"] > 20


async def test_half_a_character_in_a_body_is_refused() -> None:
    async with served() as at:
        reply = await at.client.post(
            MEMORIES, content=b'{"text": "\\ud800"}', headers={"content-type": "application/json"}
        )
        assert reply.status_code in (400, 422)
        assert made(await at.client.get(MEMORIES))["total"] == 0
