"""What the model saw, over HTTP: windows of the past and of the next turn, calls, trinkets and the ledger."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from caching_model import CachingModel
from frontmind.providers.protocol import Request, StreamEvent
from frontmind.providers.scripted import ScriptedModel
from frontmind.values.calls import CallEnd, NewCall, Purpose
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message, assistant, user
from frontmind.values.usage import Usage
from server.serving import Served, served
from support import HandClock, calling

LONG = "Tell me about tea and mountains and what to pack for a long walk. " * 90
LOOK = calling(("list_reminders", {}), said="One moment.")
MAIN = "/api/conversations/main"


async def say(at: Served, text: str, conversation: str = "main", name: str = "") -> None:
    """Let a person say something, and wait for the reply."""
    reply = await at.hub.begin(at.person(name), conversation, user(text), wait=True)
    await reply.report()
    at.clock.advance(minutes=1)


@asynccontextmanager
async def talked(*messages: str, script: list[str | Message] | None = None) -> AsyncIterator[Served]:
    """A server with a conversation in which this was said."""
    clock = HandClock()
    model = CachingModel(script or ["Yes, I see. " * 20] * 20, clock)
    async with served(model, clock=clock) as at:
        for message in messages:
            await say(at, message)
        yield at


async def got(at: Served, path: str, **query: Any) -> Any:
    """The JSON of an answer that is well."""
    answer = await at.client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refused(at: Served, path: str, status: int, code: str, **query: Any) -> str:
    answer = await at.client.get(path, params=query)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["code"] == code
    message: str = error["message"]
    return message


def assert_adds_up(window: Any, usage: Any) -> None:
    blocks = window["blocks"]
    assert sum(block["tokens"] for block in blocks) == window["total"] == usage["input"]
    assert all(block["read"] + block["written"] + block["fresh"] == block["tokens"] for block in blocks)
    assert sum(block["read"] for block in blocks) == usage["cached"]
    assert sum(block["written"] for block in blocks) == usage["written"]
    assert sum(block["fresh"] for block in blocks) == usage["fresh"]


@pytest.mark.requirement("WEB-5")
@pytest.mark.requirement("WEB-6")
async def test_every_window_of_a_conversation_is_given_out_as_it_was_sent() -> None:
    async with talked(LONG, "What is due?", "And then?", script=["Yes. " * 300, LOOK, "Nothing.", "No."]) as at:
        calls = (await got(at, f"{MAIN}/calls"))["calls"]
        assert [(call["turn"], call["step"]) for call in calls] == [(1, 0), (2, 0), (2, 1), (3, 0)]
        for call in calls:
            window = await got(at, f"{MAIN}/windows/{call['turn']}", step=call["step"])
            assert_adds_up(window, call["usage"])
            assert window["usage"] == call["usage"]
            assert (window["request"], window["framing"]) == (call["request"], call["layout"])
            request = await at.client.get(f"{MAIN}/windows/{call['turn']}/request", params={"step": call["step"]})
            assert request.headers["content-type"] == "application/json"
            assert hashlib.sha256(request.content).hexdigest() == call["request"]
            said = [block["text"] for block in window["blocks"] if block["kind"] == "text"]
            strings = set(_strings(request.json()))
            assert all(any(text in string for string in strings) for text in said)
        last = await got(at, f"{MAIN}/windows/2")
        assert (last["step"], last["steps"]) == (1, 2)
        assert last == await got(at, f"{MAIN}/windows/2", step="last")
        assert [block["id"] for block in last["blocks"]] == list(range(len(last["blocks"])))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in inner for text in _strings(item)]


async def test_a_call_that_lost_much_is_marked_as_missed_and_one_that_kept_the_cache_alive_is_listed() -> None:
    async with talked(LONG, LONG) as at:
        at.clock.advance(hours=3)
        await say(at, "Hello again")
        new = NewCall("main", 3, 1, Purpose.KEEP_ALIVE, "m", "assistant", "", at.clock.now())
        kept = await at.store.begin_call(new)
        await at.store.finish_call(kept, CallEnd(at.clock.now(), Usage(10, 10, 0, 1)))
        await at.store.begin_call(new)
        calls = (await got(at, f"{MAIN}/calls"))["calls"]
        assert [(call["purpose"], call["missed"], call["cause"]) for call in calls] == [
            ("turn", False, "first"),
            ("turn", False, "nothing"),
            ("turn", True, "expired"),
            ("keep_alive", False, "nothing"),
            ("keep_alive", False, "nothing"),
        ]
        assert calls[2]["lost"] > 2000
        assert calls[2]["sent_at"].endswith("+01:00")
        assert calls[4]["usage"] is None


async def test_a_diff_says_what_was_new_and_where_the_cache_found_an_end() -> None:
    async with talked("First", "Second") as at:
        found = await got(at, f"{MAIN}/windows/2/diff")
        assert (found["turn"], found["with"]) == (2, 1)
        assert found["common"] > 0
        changes = {(change["name"], change["kind"]): change for change in found["changes"]}
        time = changes["datetime_section", "changed"]
        assert {line["op"] for line in time["lines"]} == {" ", "-", "+"}
        same = await got(at, f"{MAIN}/windows/2/diff", **{"with": 2})
        assert (same["with"], same["changes"], same["omitted"]) == (2, [], 0)
        first = await got(at, f"{MAIN}/windows/1/diff")
        assert first["with"] is None
        assert {change["kind"] for change in first["changes"]} == {"added"}
        await refused(at, f"{MAIN}/windows/2/diff", 404, "not_found", **{"with": 9})


async def test_a_preview_is_the_window_that_the_turn_then_has() -> None:
    async with talked("First", "Second") as at:
        answer = await at.client.post(f"{MAIN}/preview", json={"text": "Third"})
        assert answer.status_code == 200, answer.text
        looked = answer.json()
        assert (looked["turn"], looked["request"], looked["usage"], looked["sent_at"]) == (3, "", None, None)
        assert_adds_up(looked, looked["expected"])
        assert len(await at.store.turns("main")) == 2
        assert len(await at.store.calls()) == 2
        await say(at, "Third")
        sent = await got(at, f"{MAIN}/windows/3")
        shown = ("area", "name", "place", "text", "age", "change", "trinket")
        assert [[block[key] for key in shown] for block in looked["blocks"]] == [
            [block[key] for key in shown] for block in sent["blocks"]
        ]
        other = await at.client.post(f"{MAIN}/preview", json={"text": "Else", "replaces": 2})
        assert not {"Second", "Third"} & {block["text"] for block in other.json()["blocks"]}


@pytest.mark.parametrize(
    "body", [{"text": ""}, {"text": "  "}, {}, {"text": "x", "replaces": 7}, {"text": "x", "replaces": 0}]
)
async def test_a_preview_of_nothing_or_from_nowhere_is_refused(body: dict[str, object]) -> None:
    async with talked("First") as at:
        answer = await at.client.post(f"{MAIN}/preview", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")


async def test_while_a_turn_runs_its_window_is_shown_and_nobody_looks_ahead() -> None:
    class Waiting(ScriptedModel):
        begun = asyncio.Event()
        goes_on = asyncio.Event()

        async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
            self.begun.set()
            await self.goes_on.wait()
            async for event in super().stream(request):
                yield event

    model = Waiting(["Yes."])
    async with served(model) as at:
        reply = await at.hub.begin(at.person(), "main", user("Hello"))
        await model.begun.wait()
        window = await got(at, f"{MAIN}/windows/1")
        assert window["usage"] is None
        assert "Hello" in [block["text"] for block in window["blocks"]]
        assert (await at.client.post(f"{MAIN}/preview", json={"text": "x"})).status_code == 409
        await refused(at, f"{MAIN}/trinkets", 409, "conversation_busy")
        model.goes_on.set()
        await reply.report()
        assert (await got(at, f"{MAIN}/windows/1"))["usage"] is not None


async def test_the_trinkets_say_what_they_would_say_now() -> None:
    async with talked("First") as at:
        before = {state["section"]: state for state in (await got(at, f"{MAIN}/trinkets"))["trinkets"]}
        assert before["active_reminders"]["empty"]
        assert before["datetime_section"]["author"] == "application"
        await at.store.add_reminder("call Anna", at.clock.now(), zone="Europe/Berlin", at=at.clock.now())
        states = (await got(at, f"{MAIN}/trinkets"))["trinkets"]
        after = {state["section"]: state for state in states}
        assert len(after) == len(states)
        assert "call Anna" in after["active_reminders"]["content"]
        assert after["active_reminders"]["trinket"] == "ReminderManager"
        assert after["active_reminders"]["placement"] == "notification"
        assert after["active_reminders"]["observed_at"].startswith("2026-11-30T09:16")
        assert after["base_prompt"]["placement"] == "system"
        assert after["base_prompt"]["tokens"] > 0
        assert (await got(at, "/api/conversations/another/trinkets"))["trinkets"]
        assert len(await at.store.turns("main")) == 1


async def test_a_long_window_is_given_out_in_a_size_that_a_page_can_take() -> None:
    long = "tea and mountains " * 2_000
    async with talked(*[long] * 40, script=[long] * 40) as at:
        answer = await at.client.get(f"{MAIN}/windows/40")
        assert len(answer.content) < 2_500_000
        blocks = answer.json()["blocks"]
        history = [block for block in blocks if block["area"] == "history" and block["text"].startswith("tea")]
        assert {len(block["text"]) for block in history} == {5_000}
        assert {block["length"] for block in history} == {len(long)}
        asked = next(block for block in blocks if block["area"] == "turn")
        assert len(asked["text"]) == 20_000
        whole = await got(at, f"{MAIN}/windows/40/blocks/{asked['id']}")
        assert whole == {"id": asked["id"], "text": long, "length": len(long)}
        await refused(at, f"{MAIN}/windows/40/blocks/{len(blocks) + 1}", 404, "not_found")


async def test_texts_that_utf_8_cannot_say_and_markup_are_given_out_as_texts() -> None:
    async with talked("<script>\ud800\u202e</script>\x00") as at:
        window = await got(at, f"{MAIN}/windows/1")
        assert "<script>\ufffd\u202e</script>\x00" in [block["text"] for block in window["blocks"]]
        answer = await at.client.post(
            f"{MAIN}/preview", content=b'{"text": "\\ud800"}', headers={"content-type": "application/json"}
        )
        assert answer.status_code == 422, answer.text
        assert (await at.client.get(f"{MAIN}/windows/1/diff")).status_code == 200
        assert (await at.client.get(f"{MAIN}/trinkets")).status_code == 200


async def test_what_is_not_there_is_not_found_and_what_was_never_sent_says_so() -> None:
    async with talked("First") as at:
        for path in ("windows/2", "windows/2/request", "windows/2/diff", "windows/2/blocks/0"):
            await refused(at, f"{MAIN}/{path}", 404, "not_found")
        await refused(at, "/api/conversations/nothing/windows/1", 404, "not_found")
        await refused(at, f"{MAIN}/windows/1", 404, "not_found", step=1)
        for step in ("-1", "first", "1.5", ""):
            await refused(at, f"{MAIN}/windows/1", 422, "invalid_request", step=step)
        await refused(at, f"{MAIN}/windows/0", 422, "invalid_request")
        now = at.clock.now()
        turn = ImportedTurn(key="1", user=user("Hi"), reply=assistant("Hi"), asked_at=now, answered_at=now)
        await at.store.import_turns("main", [turn], source="test")
        said = await refused(at, f"{MAIN}/windows/2", 422, "invalid_request")
        assert "turn 2 was imported" in said
        assert (await got(at, "/api/conversations/nothing/calls"))["calls"] == []


@pytest.mark.parametrize("by", ["model", "day", "conversation", "trinket", "layout"])
async def test_the_rows_of_the_ledger_add_up_to_all_of_it(by: str) -> None:
    async with talked(LONG, LONG) as at:
        at.clock.advance(hours=26)
        await say(at, LONG)
        await say(at, "Hello", "another")
        found = await got(at, "/api/ledger", by=by)
        total = found["total"]
        assert (total["calls"], total["misses"], total["key"]) == (4, 1, "")
        for name in ("input", "cached", "written", "fresh", "output"):
            assert sum(row[name] for row in found["rows"]) == total[name], name
        keys = {
            "model": ["anthropic:claude-sonnet-4-5"],
            "day": ["2026-11-30", "2026-12-01"],
            "conversation": ["main", "another"],
            "layout": ["assistant"],
        }
        if by in keys:
            assert [row["key"] for row in found["rows"]] == keys[by]
            assert sum(row["misses"] for row in found["rows"]) == 1
        else:
            assert {"history", "ReminderManager", "TimeManager", "reply"} & {row["key"] for row in found["rows"]}
        if total["cost"] is not None:
            assert float(total["saved"]) == pytest.approx(float(total["full_price"]) - float(total["cost"]))


async def test_the_ledger_is_asked_for_days_that_are_included() -> None:
    async with talked("First") as at:
        at.clock.advance(hours=26)
        await say(at, "Second")
        assert (await got(at, "/api/ledger", until="2026-11-30"))["total"]["calls"] == 1
        assert (await got(at, "/api/ledger", since="2026-12-01"))["total"]["calls"] == 1
        assert (await got(at, "/api/ledger", since="2026-11-30T09:20", until="2026-12-01"))["total"]["calls"] == 1
        assert (await got(at, "/api/ledger", since="2027-01-01")) == {
            "rows": [],
            "total": {**dict.fromkeys(("input", "cached", "written", "fresh", "output", "calls", "misses"), 0)}
            | {"key": "", "cost": None, "full_price": None, "saved": None},
        }
        await refused(at, "/api/ledger", 422, "invalid_request", since="yesterday")
        await refused(at, "/api/ledger", 422, "invalid_request", by="turn")


async def test_nobody_sees_the_windows_of_another() -> None:
    clock = HandClock()
    async with served(CachingModel(["Yes."] * 4, clock), clock=clock, people=("anna", "bert")) as at:
        await say(at, "My secret", name="anna")
        assert (await at.client.get(f"{MAIN}/windows/1")).status_code == 200
        bert = await at.client_of("bert")
        for path in ("windows/1", "windows/1/request", "windows/1/diff", "windows/1/blocks/0"):
            assert (await bert.get(f"{MAIN}/{path}")).status_code == 404
        assert (await bert.get(f"{MAIN}/calls")).json() == {"calls": []}
        assert (await bert.get("/api/ledger")).json()["total"]["calls"] == 0
        assert "My secret" not in (await bert.get(f"{MAIN}/trinkets")).text
        assert "My secret" not in (await bert.post(f"{MAIN}/preview", json={"text": "x"})).text
