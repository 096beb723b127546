"""The bus: order, failures, and the closed vocabulary."""

from __future__ import annotations

import asyncio
from dataclasses import FrozenInstanceError, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast, get_args

import pytest

from frontmind import events
from frontmind.errors import UsageError
from frontmind.events import (
    ComposeSystemPromptEvent,
    Event,
    EventBus,
    SystemPromptComposedEvent,
    TrinketContentEvent,
    TurnCompletedEvent,
    TurnContext,
    UpdateTrinketEvent,
)

CONTEXT = TurnContext("main", 1, datetime(2026, 11, 30, 9, 15, tzinfo=UTC))
UPDATE = UpdateTrinketEvent("datetime_section", CONTEXT)
CONTENT = TrinketContentEvent("datetime_section", "text", "notification")


async def test_subscribers_are_called_in_the_order_of_subscription() -> None:
    bus = EventBus()
    seen: list[str] = []

    async def second(event: UpdateTrinketEvent) -> None:
        await asyncio.sleep(0)
        seen.append("second")

    def first(event: UpdateTrinketEvent) -> None:
        seen.append("first")

    def third(event: UpdateTrinketEvent) -> None:
        seen.append("third")

    bus.subscribe(UpdateTrinketEvent, first)
    bus.subscribe(UpdateTrinketEvent, second)
    bus.subscribe(UpdateTrinketEvent, third)
    assert await bus.publish(UPDATE) == ()
    assert seen == ["first", "second", "third"]


async def test_a_subscriber_gets_only_its_type_of_event_and_the_very_event() -> None:
    bus = EventBus()
    updates: list[UpdateTrinketEvent] = []
    contents: list[TrinketContentEvent] = []
    bus.subscribe(UpdateTrinketEvent, updates.append)
    bus.subscribe(TrinketContentEvent, contents.append)
    await bus.publish(UPDATE)
    await bus.publish(CONTENT)
    assert updates == [UPDATE] and updates[0] is UPDATE
    assert contents == [CONTENT] and contents[0] is CONTENT


async def test_publishing_without_subscribers_does_nothing() -> None:
    assert await EventBus().publish(UPDATE) == ()


async def test_an_event_published_by_a_subscriber_arrives_before_the_next_subscriber_is_called() -> None:
    bus = EventBus()
    seen: list[str] = []

    async def answer(event: UpdateTrinketEvent) -> None:
        await bus.publish(CONTENT)

    bus.subscribe(UpdateTrinketEvent, answer)
    bus.subscribe(UpdateTrinketEvent, lambda event: seen.append("update"))
    bus.subscribe(TrinketContentEvent, lambda event: seen.append("content"))
    await bus.publish(UPDATE)
    assert seen == ["content", "update"]


async def test_unsubscribing_ends_the_calls_and_doing_it_twice_does_nothing() -> None:
    bus = EventBus()
    seen: list[UpdateTrinketEvent] = []
    unsubscribe = bus.subscribe(UpdateTrinketEvent, seen.append)
    await bus.publish(UPDATE)
    unsubscribe()
    unsubscribe()
    await bus.publish(UPDATE)
    assert seen == [UPDATE]


async def test_a_handler_subscribed_twice_is_called_twice_and_each_subscription_ends_by_itself() -> None:
    bus = EventBus()
    seen: list[UpdateTrinketEvent] = []
    end_first = bus.subscribe(UpdateTrinketEvent, seen.append)
    bus.subscribe(UpdateTrinketEvent, seen.append)
    await bus.publish(UPDATE)
    assert len(seen) == 2
    end_first()
    end_first()
    await bus.publish(UPDATE)
    assert len(seen) == 3


async def test_a_subscriber_may_unsubscribe_itself_while_it_is_called() -> None:
    bus = EventBus()
    seen: list[str] = []

    def once(event: UpdateTrinketEvent) -> None:
        seen.append("once")
        unsubscribe()

    unsubscribe = bus.subscribe(UpdateTrinketEvent, once)
    bus.subscribe(UpdateTrinketEvent, lambda event: seen.append("always"))
    await bus.publish(UPDATE)
    await bus.publish(UPDATE)
    assert seen == ["once", "always", "always"]


async def test_a_subscriber_that_an_earlier_one_unsubscribed_is_not_called_any_more() -> None:
    bus = EventBus()
    seen: list[str] = []
    bus.subscribe(UpdateTrinketEvent, lambda event: end_second())
    end_second = bus.subscribe(UpdateTrinketEvent, lambda event: seen.append("second"))
    bus.subscribe(UpdateTrinketEvent, lambda event: seen.append("third"))
    await bus.publish(UPDATE)
    assert seen == ["third"]


async def test_a_subscriber_added_during_an_event_gets_the_next_one() -> None:
    bus = EventBus()
    late: list[UpdateTrinketEvent] = []

    def add(event: UpdateTrinketEvent) -> None:
        bus.subscribe(UpdateTrinketEvent, late.append)

    end = bus.subscribe(UpdateTrinketEvent, add)
    await bus.publish(UPDATE)
    end()
    assert late == []
    await bus.publish(UPDATE)
    assert late == [UPDATE]


async def test_a_raising_subscriber_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    bus = EventBus()
    seen: list[UpdateTrinketEvent] = []
    broken = ValueError("no disk")
    gone = RuntimeError("no network")

    def raise_at_once(event: UpdateTrinketEvent) -> None:
        raise broken

    async def raise_later(event: UpdateTrinketEvent) -> None:
        await asyncio.sleep(0)
        raise gone

    bus.subscribe(UpdateTrinketEvent, raise_at_once)
    bus.subscribe(UpdateTrinketEvent, raise_later)
    bus.subscribe(UpdateTrinketEvent, seen.append)
    failures = await bus.publish(UPDATE)
    assert seen == [UPDATE]
    assert [failure.error for failure in failures] == [broken, gone]
    assert all(failure.event is UPDATE for failure in failures)
    assert failures[0].handler.endswith("raise_at_once")
    assert failures[1].handler.endswith("raise_later")
    assert "raise_at_once raised on UpdateTrinketEvent" in caplog.text


async def test_a_failing_subscriber_without_a_name_is_reported_by_its_repr(caplog: pytest.LogCaptureFixture) -> None:
    def fail(reason: str, event: UpdateTrinketEvent) -> None:
        raise ValueError(reason)

    bus = EventBus()
    handler = partial(fail, "nameless")
    bus.subscribe(UpdateTrinketEvent, handler)
    (failure,) = await bus.publish(UPDATE)
    assert failure.handler == repr(handler)
    assert "nameless" in caplog.text


async def test_cancellation_is_not_held_up() -> None:
    bus = EventBus()
    started = asyncio.Event()
    seen: list[UpdateTrinketEvent] = []

    async def wait_for_ever(event: UpdateTrinketEvent) -> None:
        started.set()
        await asyncio.Event().wait()

    bus.subscribe(UpdateTrinketEvent, wait_for_ever)
    bus.subscribe(UpdateTrinketEvent, seen.append)
    publishing = asyncio.create_task(bus.publish(UPDATE))
    await started.wait()
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    assert seen == []


@pytest.mark.requirement("SEED-7")
def test_the_vocabulary_is_exactly_the_five_events_of_the_data_flow() -> None:
    assert {kind.__name__ for kind in get_args(Event)} == {
        "ComposeSystemPromptEvent",
        "UpdateTrinketEvent",
        "TrinketContentEvent",
        "SystemPromptComposedEvent",
        "TurnCompletedEvent",
    }
    assert {kind.__name__ for kind in get_args(Event)} <= set(events.__all__)


@dataclass(frozen=True, slots=True)
class _Stranger:
    text: str


@dataclass(frozen=True, slots=True)
class _OwnUpdate(UpdateTrinketEvent):
    """A subclass would pass unseen by the subscribers of its parent; so it is refused as well."""


@pytest.mark.parametrize("kind", [_Stranger, _OwnUpdate, str, object])
def test_subscribing_to_a_stranger_is_refused_and_names_the_vocabulary(kind: type) -> None:
    with pytest.raises(UsageError, match="UpdateTrinketEvent") as caught:
        EventBus().subscribe(cast(Any, kind), print)
    assert kind.__name__ in str(caught.value)


@pytest.mark.parametrize("event", [_Stranger("x"), _OwnUpdate("datetime_section", CONTEXT), "text", None])
async def test_publishing_a_stranger_is_refused(event: object) -> None:
    with pytest.raises(UsageError, match="is not an event of Frontmind"):
        await EventBus().publish(cast(Any, event))


@pytest.mark.parametrize(
    ("event", "field"),
    [
        (CONTEXT, "now"),
        (UPDATE, "section"),
        (CONTENT, "content"),
        (ComposeSystemPromptEvent(CONTEXT, "base"), "base_prompt"),
        (SystemPromptComposedEvent(CONTEXT, "", "", ""), "notification_center"),
    ],
)
def test_events_cannot_be_changed_by_a_subscriber(event: object, field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(event, field, "other")


def test_every_event_has_slots_so_that_nothing_can_be_hung_onto_it() -> None:
    for kind in (*get_args(Event), TurnContext):
        assert "__slots__" in vars(kind), kind
    assert TurnCompletedEvent in get_args(Event)
