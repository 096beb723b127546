"""The reminders as a model uses them: through the runner, with the arguments as JSON text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta

import pytest

from frontmind.reminders.book import ReminderBook
from frontmind.stores.sqlite import SqliteStore
from frontmind.tools.reminder_tools import reminder_tools
from frontmind.tools.runner import ToolRunner
from frontmind.values.parts import ToolCall
from frontmind.window.canonical import Json
from support import BERLIN, START, HandClock

HOUR = timedelta(hours=1)


class Desk:
    """The tools with what they work on."""

    def __init__(self) -> None:
        self.store = SqliteStore.open(":memory:")
        self.clock = HandClock()
        self.book = ReminderBook(self.store, self.clock)
        self.tools = {tool.name: tool for tool in reminder_tools(self.book)}
        self.runner = ToolRunner(self.tools, clock=self.clock)

    async def call(self, name: str, **arguments: Json) -> str:
        """What the model is told by a call that succeeds, without the line that says when it was observed."""
        (text,) = await self.calls((name, arguments))
        return text

    async def calls(self, *calls: tuple[str, dict[str, Json]]) -> list[str]:
        results = await self.runner.run_calls(
            [ToolCall(f"call{n}", name, json.dumps(arguments)) for n, (name, arguments) in enumerate(calls)]
        )
        return [f"{'ERROR ' if result.is_error else ''}{result.text.partition(chr(10))[2]}" for result in results]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    yield desk
    await desk.store.close()


async def test_the_model_is_told_of_every_tool_and_argument(desk: Desk) -> None:
    definitions = [tool.definition for tool in desk.tools.values()]
    names = [definition.name for definition in definitions]
    assert names == sorted(names)
    assert names == [
        *("add_reminder", "change_reminder", "complete_reminder", "delete_reminder"),
        *("list_reminders", "snooze_reminder"),
    ]
    for definition in definitions:
        schema = json.loads(definition.parameters)
        assert definition.description
        assert schema["additionalProperties"] is False
        assert all(field["description"] for field in schema["properties"].values()), definition.name
    add = json.loads(definitions[0].parameters)
    assert (sorted(add["properties"]), add["required"]) == (["date", "due", "rrule", "text", "zone"], ["text"])


@pytest.mark.parametrize(
    ("arguments", "told", "due"),
    [
        ({"due": "2026-12-01T09:00"}, "Tue 1 Dec 2026, 09:00", datetime(2026, 12, 1, 9, tzinfo=BERLIN)),
        ({"due": "2026-12-01T09:00Z"}, "Tue 1 Dec 2026, 10:00", datetime(2026, 12, 1, 9, tzinfo=UTC)),
        (
            {"due": "2026-12-01T09:00", "zone": "Asia/Kolkata"},
            "Tue 1 Dec 2026, 04:30 (09:00 Asia/Kolkata)",
            datetime(2026, 12, 1, 3, 30, tzinfo=UTC),
        ),
        ({"date": "2026-12-01"}, "Tue 1 Dec 2026", date(2026, 12, 1)),
        (
            {"due": "2026-11-30T08:00", "rrule": "FREQ=WEEKLY;BYDAY=MO"},
            "Mon 7 Dec 2026, 08:00, every Monday",
            datetime(2026, 12, 7, 8, tzinfo=BERLIN),
        ),
        ({"date": "2026-11-30", "rrule": "freq=daily"}, "Mon 30 Nov 2026, every day", date(2026, 11, 30)),
        ({"due": "2027-03-28T02:30"}, "Sun 28 Mar 2027, 03:30", datetime(2027, 3, 28, 1, 30, tzinfo=UTC)),
    ],
)
async def test_a_reminder_is_added_and_told_back_as_understood(
    desk: Desk, arguments: dict[str, Json], told: str, due: datetime | date
) -> None:
    assert await desk.call("add_reminder", text="call Anna", **arguments) == f"Added r1, due {told}: call Anna"
    (kept,) = await desk.book.list()
    assert (kept.due, type(kept.due)) == (due, type(due))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "pass due"),
        ({"due": "2026-12-01T09:00", "date": "2026-12-01"}, "not both"),
        ({"due": "2026-12-01"}, 'date="2026-12-01"'),
        ({"due": "tomorrow at 9"}, "ISO 8601"),
        ({"date": "tomorrow"}, "2026-12-01"),
        ({"date": "2026-12-01T09:00"}, "2026-12-01"),
        ({"due": "2026-11-30T09:15"}, "passed already"),
        ({"date": "2026-11-29"}, "passed already"),
        ({"date": "2026-12-01", "rrule": "FREQ=MINUTELY"}, "HOURLY"),
        ({"date": "2026-12-01", "rrule": "every day"}, "FREQ=WEEKLY"),
        ({"date": "2026-12-01", "zone": "Mars/Olympus"}, "IANA"),
        ({"date": "2026-12-01", "at": "noon"}, "at"),
        ({"date": "2026-12-01", "text": " "}, "text"),
        ({"date": 20261201}, "date"),
    ],
)
async def test_what_cannot_be_added_is_explained_and_nothing_is_kept(
    desk: Desk, arguments: dict[str, Json], said: str
) -> None:
    told = await desk.call("add_reminder", **{"text": "call Anna", **arguments})
    assert told.startswith("ERROR ")
    assert said in told
    assert "\n" not in told
    assert not await desk.book.list()


async def test_reminders_are_listed_with_how_urgent_they_are(desk: Desk) -> None:
    assert await desk.call("list_reminders") == "There are no reminders."
    for text, day in (("la\nte", 1), ("soon", 2), ("far", 20), ("over", 3)):
        await desk.book.add(text, START + timedelta(days=day))
    desk.clock.advance(days=1, hours=1)
    await desk.book.complete(4)
    lines = [
        "r1, due Tue 1 Dec 2026, 09:15: la te (overdue)",
        "r2, due Wed 2 Dec 2026, 09:15: soon (coming)",
        "r3, due Sun 20 Dec 2026, 09:15: far (later)",
    ]
    assert (await desk.call("list_reminders")).splitlines() == lines
    everything = (await desk.call("list_reminders", include_done=True)).splitlines()
    assert everything == [*lines, "r4, due Thu 3 Dec 2026, 09:15: over (done)"]


async def test_a_completed_reminder_is_gone_from_the_list(desk: Desk) -> None:
    await desk.book.add("call Anna", START + HOUR)
    assert await desk.call("complete_reminder", id="r1") == "Done: r1: call Anna"
    assert await desk.call("list_reminders") == "There are no reminders."
    assert (await desk.call("complete_reminder", id="r1")).startswith("ERROR r1 is done already")


async def test_two_calls_in_one_step_complete_one_slot(desk: Desk) -> None:
    await desk.book.add("water the plants", START + HOUR, rrule="FREQ=DAILY")
    desk.clock.advance(hours=2)
    done: tuple[str, dict[str, Json]] = ("complete_reminder", {"id": "r1"})
    told = sorted(await desk.calls(done, done))
    assert told == [
        "Done for this time; next: r1, due Tue 1 Dec 2026, 10:15, every day: water the plants",
        "ERROR r1 was completed just now; nothing is changed, it is next due Tue 1 Dec 2026, 10:15, every day",
    ]


async def test_a_reminder_is_put_off_changed_and_deleted(desk: Desk) -> None:
    await desk.book.add("call Anna", START + HOUR)
    assert await desk.call("snooze_reminder", id="r1", until="2026-11-30T17:00") == (
        "Put off: r1, due Mon 30 Nov 2026, 17:00: call Anna"
    )
    assert "due Tue 1 Dec 2026, 00:00" in await desk.call("snooze_reminder", id="r1", until="2026-12-01")
    assert await desk.call("change_reminder", id="r1", text="call Bert") == (
        "Changed r1, due Tue 1 Dec 2026, 00:00: call Bert"
    )
    assert await desk.call("change_reminder", id="r1", date="2026-12-03", rrule="FREQ=YEARLY") == (
        "Changed r1, due Thu 3 Dec 2026, every year: call Bert"
    )
    assert await desk.call("change_reminder", id="r1", rrule="") == "Changed r1, due Thu 3 Dec 2026: call Bert"
    assert await desk.call("delete_reminder", id="r1") == "Deleted r1: call Bert"
    assert not await desk.book.list(include_done=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("complete_reminder", {"id": "r9"}),
        ("complete_reminder", {"id": "Anna"}),
        ("complete_reminder", {}),
        ("snooze_reminder", {"id": "r1", "until": "later"}),
        ("snooze_reminder", {"id": "r1", "until": "2026-11-30T09:00"}),
        ("change_reminder", {"id": "r1"}),
        ("change_reminder", {"id": "r1", "due": "2020-01-01T09:00"}),
        ("delete_reminder", {"id": "r9"}),
    ],
)
async def test_what_cannot_be_done_is_an_error_and_changes_nothing(
    desk: Desk, name: str, arguments: dict[str, Json]
) -> None:
    added = await desk.book.add("call Anna", START + HOUR)
    assert (await desk.call(name, **arguments)).startswith("ERROR ")
    assert list(await desk.book.list()) == [added]
