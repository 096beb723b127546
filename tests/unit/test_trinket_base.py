"""The base of every trinket: its placement, its answers, and what becomes of failures."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import inspect
import logging
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from frontmind import trinkets
from frontmind.errors import UsageError
from frontmind.events import EventBus, TrinketContentEvent, TurnContext, UpdateTrinketEvent
from frontmind.trinkets import (
    DomaindocTrinket,
    EventAwareTrinket,
    GetContextTrinket,
    ManifestTrinket,
    ProactiveMemoryTrinket,
    ReminderManager,
    TimeManager,
    ToolGuidanceTrinket,
    ToolHintsTrinket,
    TrinketPlacement,
)
from frontmind.trinkets import base as base_module
from frontmind.trinkets.budget import fits
from frontmind.trinkets.markup import Body, Element, parse
from frontmind.values.harmless import one_line
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM

NOW = datetime(2026, 11, 30, 9, 15, tzinfo=UTC)
SHORT = 0.05


def at(minutes: int) -> TurnContext:
    return TurnContext("main", minutes + 1, NOW + timedelta(minutes=minutes))


class Says(EventAwareTrinket):
    """Says, raises or runs what it was given, the last of it again and again."""

    section_name = "says"

    def __init__(self, *answers: Body | Exception | Callable[[], Body] | None) -> None:
        self._answers = list(answers)
        self.calls = 0

    async def generate_content(self, context: TurnContext) -> Body | None:
        return self._next()

    def _next(self) -> Body | None:
        self.calls += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer


class SaysInThread(Says):
    def generate_content(self, context: TurnContext) -> Body | None:  # type: ignore[override]
        return self._next()


class KeepsLastGood(Says):
    shows_last_good = True


async def answers(trinket: EventAwareTrinket, *contexts: TurnContext) -> list[TrinketContentEvent]:
    bus = EventBus()
    said: list[TrinketContentEvent] = []
    bus.subscribe(TrinketContentEvent, said.append)
    detach = trinket.attach(bus)
    for context in contexts or (at(0),):
        assert await bus.publish(UpdateTrinketEvent(trinket.section_name, context)) == ()
    detach()
    return said


async def answer(trinket: EventAwareTrinket, context: TurnContext | None = None) -> TrinketContentEvent:
    (said,) = await answers(trinket, context or at(0))
    return said


def notice(event: TrinketContentEvent) -> Element:
    return parse(event.content)


def join_threads() -> None:
    """Wait for the calls that were given up and may end now."""
    for thread in threading.enumerate():
        if thread.name in ("frontmind-generate_content", "frontmind-shorten"):
            thread.join(timeout=10)
            assert not thread.is_alive()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What a blocking trinket waits for; set at the end, so that no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()
    join_threads()


class HangsInThread(EventAwareTrinket):
    section_name = "hangs"
    time_limit = SHORT

    def __init__(self, release: threading.Event) -> None:
        self._release = release
        self.calls = 0

    def generate_content(self, context: TurnContext) -> str:
        self.calls += 1
        self._release.wait(timeout=60)
        return f"call {self.calls}"


class HangsForEver(EventAwareTrinket):
    section_name = "hangs"
    time_limit = SHORT

    def __init__(self) -> None:
        self.calls = 0

    async def generate_content(self, context: TurnContext) -> str:
        self.calls += 1
        if self.calls == 1:
            await asyncio.Event().wait()
        return f"call {self.calls}"


class SwallowsCancellation(EventAwareTrinket):
    section_name = "hangs"
    time_limit = SHORT

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.calls = 0

    async def generate_content(self, context: TurnContext) -> str:
        self.calls += 1
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue
        return f"call {self.calls}"

    async def end(self) -> None:
        self.release.set()
        await asyncio.wait(asyncio.all_tasks() - {cast("asyncio.Task[Any]", asyncio.current_task())}, timeout=10)


def is_timeout(event: TrinketContentEvent) -> bool:
    return event.failure is not None and event.failure.reason == "no answer within 0.05 s"


# --- placement ---------------------------------------------------------------------------------------------------


class EmptySource:
    async def documents(self) -> Sequence[Any]:
        return []

    async def segments(
        self, conversation: str, *, before: int | None = None, newest: int | None = None
    ) -> Sequence[Any]:
        return []

    async def count_segments(self, conversation: str, *, before: int | None = None) -> int:
        return 0

    async def active_reminders(self) -> Sequence[Any]:
        return []

    async def title_of(self, segment: Any) -> str:
        return ""

    async def surface(self, context: TurnContext) -> Sequence[Any]:
        return []


SOURCE = EmptySource()


@pytest.mark.requirement("SEED-3")
@pytest.mark.parametrize(
    "trinket",
    [
        TimeManager(),
        ManifestTrinket(SOURCE),
        ReminderManager(SOURCE),
        GetContextTrinket(),
        ProactiveMemoryTrinket(SOURCE),
    ],
    ids=lambda trinket: type(trinket).__name__,
)
def test_the_five_of_the_registry_stand_in_the_notification_center(trinket: EventAwareTrinket) -> None:
    assert trinket.placement is TrinketPlacement.NOTIFICATION_CENTER
    assert trinket.placement.value == PLACEMENT_NOTIFICATION


@pytest.mark.requirement("SEED-3")
@pytest.mark.parametrize(
    "trinket",
    [DomaindocTrinket(SOURCE), ToolGuidanceTrinket(()), ToolHintsTrinket(()), Says("x")],
    ids=lambda trinket: type(trinket).__name__,
)
def test_every_other_class_stands_in_the_system_prompt(trinket: EventAwareTrinket) -> None:
    assert trinket.placement is TrinketPlacement.SYSTEM
    assert trinket.placement.value == PLACEMENT_SYSTEM


@pytest.mark.requirement("SEED-3")
def test_the_registry_is_a_frozen_set_of_exactly_the_five_class_names() -> None:
    registry = base_module._NOTIFICATION_CENTER_TRINKETS
    assert isinstance(registry, frozenset)
    assert registry == {
        "TimeManager",
        "ManifestTrinket",
        "ReminderManager",
        "GetContextTrinket",
        "ProactiveMemoryTrinket",
    }
    assert registry <= set(trinkets.__all__)


@pytest.mark.requirement("SEED-3")
def test_a_subclass_of_a_built_in_stands_where_that_stands() -> None:
    class MyReminders(ReminderManager):
        pass

    class MoreOfMine(MyReminders):
        pass

    class MyDocuments(DomaindocTrinket):
        pass

    assert MyReminders(SOURCE).placement is TrinketPlacement.NOTIFICATION_CENTER
    assert MoreOfMine(SOURCE).placement is TrinketPlacement.NOTIFICATION_CENTER
    assert MyDocuments(SOURCE).placement is TrinketPlacement.SYSTEM


@pytest.mark.requirement("SEED-3")
def test_no_trinket_imports_or_declares_a_placement() -> None:
    folder = Path(inspect.getfile(trinkets)).parent
    sources = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert {"time.py", "reminders.py", "memory.py"} < sources.keys()
    for name, source in sources.items():
        if name not in ("base.py", "__init__.py"):
            assert "placement" not in source.lower(), name


@pytest.mark.requirement("SEED-5")
def test_the_placements_are_two_constants_and_the_enum_uses_them() -> None:
    assert (PLACEMENT_SYSTEM, PLACEMENT_NOTIFICATION) == ("system", "notification")
    assert {item.name: item.value for item in TrinketPlacement} == {
        "SYSTEM": PLACEMENT_SYSTEM,
        "NOTIFICATION_CENTER": PLACEMENT_NOTIFICATION,
    }


# --- answers -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SEED-7")
@pytest.mark.parametrize("kind", [Says, SaysInThread])
async def test_an_update_is_answered_with_the_rendered_section_and_its_placement(kind: type[Says]) -> None:
    event = await answer(kind("a < b"))
    assert event == TrinketContentEvent("says", "<says>\na &lt; b\n</says>", "system", observed_at=NOW)
    assert (await answer(kind([Element("item", "x", {"id": "1"})]))).content == (
        '<says>\n<item id="1">x</item>\n</says>'
    )


async def test_the_content_event_carries_the_class_s_placement_and_cache_policy() -> None:
    assert (await answer(TimeManager())).placement == "notification"
    tools = (trinkets.ToolDescription("remind", "Keeps a reminder."),)
    event = await answer(ToolHintsTrinket(tools))
    assert (event.placement, event.cache_policy) == ("system", True)


@pytest.mark.parametrize("kind", [Says, SaysInThread])
@pytest.mark.parametrize("nothing", [None, "", [], ()])
async def test_none_and_empty_mean_an_empty_section_and_no_failure(kind: type[Says], nothing: Body | None) -> None:
    event = await answer(kind(nothing))
    assert (event.content, event.failure) == ("", None)


async def test_updates_of_other_sections_are_ignored() -> None:
    bus = EventBus()
    said: list[TrinketContentEvent] = []
    bus.subscribe(TrinketContentEvent, said.append)
    trinket = Says("x")
    trinket.attach(bus)
    await bus.publish(UpdateTrinketEvent("other", at(0)))
    assert (said, trinket.calls) == ([], 0)


async def test_a_trinket_is_attached_once_and_again_only_after_it_was_detached() -> None:
    trinket = Says("x")
    detach = trinket.attach(EventBus())
    with pytest.raises(UsageError, match="'says' is already attached"):
        trinket.attach(EventBus())
    detach()
    assert (await answer(trinket)).content != ""


async def test_detaching_twice_does_not_detach_it_from_the_bus_it_went_to_since() -> None:
    trinket = Says("x")
    detach = trinket.attach(EventBus())
    detach()
    bus = EventBus()
    said: list[TrinketContentEvent] = []
    bus.subscribe(TrinketContentEvent, said.append)
    trinket.attach(bus)
    detach()
    await bus.publish(UpdateTrinketEvent("says", at(0)))
    assert len(said) == 1


async def test_a_detached_trinket_says_nothing() -> None:
    trinket = Says("x")
    bus = EventBus()
    trinket.attach(bus)()
    await bus.publish(UpdateTrinketEvent("says", at(0)))
    await trinket.handle_update(UpdateTrinketEvent("says", at(0)))
    assert trinket.calls == 0


def test_a_section_name_that_cannot_be_an_element_is_refused_when_it_is_attached() -> None:
    class Misnamed(Says):
        section_name = "my section"

    with pytest.raises(UsageError, match="'my section' cannot be the name"):
        Misnamed("x").attach(EventBus())


async def test_two_trinkets_that_wait_for_each_other_both_finish_in_threads() -> None:
    meeting = threading.Barrier(2)

    class Meets(EventAwareTrinket):
        def __init__(self, name: str) -> None:
            self.section_name = name  # type: ignore[misc]

        def generate_content(self, context: TurnContext) -> str:
            meeting.wait(timeout=10)
            return "met"

    one, other = await asyncio.gather(answer(Meets("one")), answer(Meets("other")))
    assert (one.failure, other.failure) == (None, None)


# --- failures ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("kind", [Says, SaysInThread])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no disk"), "ValueError: no disk"),
        (KeyError(), "KeyError"),
        (OSError("two\n  lines"), "OSError: two lines"),
        (TimeoutError("the database did not answer"), "TimeoutError: the database did not answer"),
        (RuntimeError("x" * 500), "RuntimeError: " + "x" * 185 + "…"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_trinket_that_raises_says_that_it_is_unavailable_and_since_when(
    kind: type[Says], error: Exception, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    event = await answer(kind(error))
    assert event.content == "<says>\nUnavailable since 2026-11-30 09:15.\n</says>"
    assert event.failure is not None
    assert (event.failure.section, event.failure.reason) == ("says", reason)
    assert (event.failure.since, event.failure.required) == ("2026-11-30T09:15+00:00", False)
    assert "the trinket of says raised" in caplog.text


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize(
    ("error", "named"), [(StopIteration(), "StopIteration"), (SystemExit(1), "SystemExit")], ids=["stop", "exit"]
)
async def test_what_a_thread_cannot_hand_over_is_a_failure_at_once_and_not_a_hang(
    error: BaseException, named: str
) -> None:
    class Raises(SaysInThread):
        def generate_content(self, context: TurnContext) -> Body | None:  # type: ignore[override]
            if self.calls == 0:
                self.calls += 1
                raise error
            return self._next()

    first, second = await answers(Raises("again"), at(0), at(1))
    assert first.failure is not None
    assert named in first.failure.reason
    assert second.failure is None


@pytest.mark.requirement("RULE-10")
async def test_a_trinket_that_is_cancelled_from_within_fails_and_does_not_cancel_the_turn() -> None:
    class CancelsItself(EventAwareTrinket):
        section_name = "cancels"

        async def generate_content(self, context: TurnContext) -> str:
            raise asyncio.CancelledError

    event = await answer(CancelsItself())
    assert event.failure is not None
    assert "cancelled from within" in event.failure.reason


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("wrong", [5, [1, 2], ["text"], {"a": 1}, [Element("two words", "x")]], ids=repr)
async def test_content_of_a_wrong_kind_is_a_failure_of_the_trinket(wrong: object) -> None:
    event = await answer(Says(cast(Any, wrong)))
    assert event.failure is not None
    assert notice(event).body == "Unavailable since 2026-11-30 09:15."


async def test_a_plain_function_that_returns_an_awaitable_is_told_to_be_async() -> None:
    class Later:
        def __await__(self) -> Iterator[Any]:
            return iter(())

    class Forgot(EventAwareTrinket):
        section_name = "forgot"

        def generate_content(self, context: TurnContext) -> Awaitable[str]:
            return cast("Awaitable[str]", Later())

    event = await answer(Forgot())
    assert event.failure is not None
    assert "async def" in event.failure.reason


@pytest.mark.requirement("RULE-10")
async def test_a_blocking_trinket_is_given_up_and_not_called_again_while_it_hangs(release: threading.Event) -> None:
    trinket = HangsInThread(release)
    first, second = await answers(trinket, at(0), at(1))
    assert is_timeout(first) and is_timeout(second)
    assert trinket.calls == 1
    release.set()
    join_threads()
    trinket.time_limit = 30
    third = await answer(trinket, at(2))
    assert (third.content, third.failure) == ("<hangs>\ncall 2\n</hangs>", None)


@pytest.mark.requirement("RULE-10")
async def test_a_trinket_that_awaits_for_ever_is_cancelled_and_can_answer_the_next_time() -> None:
    trinket = HangsForEver()
    first = await answer(trinket)
    assert is_timeout(first)
    await asyncio.sleep(0)
    second = await answer(trinket, at(1))
    assert (second.content, second.failure) == ("<hangs>\ncall 2\n</hangs>", None)


@pytest.mark.requirement("RULE-10")
async def test_a_trinket_that_swallows_its_cancellation_does_not_hold_up_the_turn() -> None:
    trinket = SwallowsCancellation()
    first, second = await answers(trinket, at(0), at(1))
    assert is_timeout(first) and is_timeout(second)
    assert trinket.calls == 1
    await trinket.end()
    third = await answer(trinket, at(2))
    assert (third.content, third.failure) == ("<hangs>\ncall 2\n</hangs>", None)


def test_a_blocking_trinket_recovers_also_when_the_event_loop_that_asked_it_is_closed(release: threading.Event) -> None:
    trinket = HangsInThread(release)
    assert is_timeout(asyncio.run(answer(trinket)))
    release.set()
    join_threads()
    trinket.time_limit = 30
    assert asyncio.run(answer(trinket)).failure is None


@pytest.mark.parametrize("in_thread", [True, False])
async def test_what_a_call_that_was_given_up_still_raises_disturbs_nobody(
    in_thread: bool, release: threading.Event
) -> None:
    class RaisesLateInThread(EventAwareTrinket):
        section_name = "late"
        time_limit = SHORT

        def generate_content(self, context: TurnContext) -> str:
            release.wait(timeout=60)
            raise ValueError("late")

    class RaisesWhenCancelled(EventAwareTrinket):
        section_name = "late"
        time_limit = SHORT

        async def generate_content(self, context: TurnContext) -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ValueError("late") from None
            return ""

    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, complaint: complaints.append(complaint))
    assert is_timeout(await answer(RaisesLateInThread() if in_thread else RaisesWhenCancelled()))
    release.set()
    join_threads()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gc.collect()
    assert complaints == []


async def test_cancelling_the_turn_cancels_the_trinket_with_it() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    class Waits(EventAwareTrinket):
        section_name = "waits"

        async def generate_content(self, context: TurnContext) -> str:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return ""

    turn = asyncio.create_task(answer(Waits()))
    await started.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await asyncio.wait_for(cancelled.wait(), timeout=10)


@pytest.mark.requirement("RULE-10")
async def test_unavailable_since_keeps_the_first_moment_until_it_recovers() -> None:
    broken = ValueError("no")
    trinket = Says(broken, KeyError("other"), "back", broken)
    first, second, third, fourth = await answers(trinket, at(0), at(5), at(6), at(7))
    assert notice(first).body == notice(second).body == "Unavailable since 2026-11-30 09:15."
    assert second.failure is not None and second.failure.since == "2026-11-30T09:15+00:00"
    assert (third.content, third.failure) == ("<says>\nback\n</says>", None)
    assert notice(fourth).body == "Unavailable since 2026-11-30 09:22."


@pytest.mark.requirement("RULE-10")
async def test_the_last_good_text_is_shown_with_its_time_where_the_trinket_allows_it() -> None:
    items = [Element("item", "a < b", {"id": "1"})]
    trinket = KeepsLastGood("older", items, ValueError("no"))
    _, good, failed, again = await answers(trinket, at(0), at(1), at(2), at(3))
    for event in (failed, again):
        assert event.failure is not None
        assert notice(event) == Element(
            "says",
            tuple(items),
            {"notice": "Unavailable since 2026-11-30 09:17. As of 2026-11-30 09:16:"},
        )
    assert good.failure is None


async def test_the_last_good_text_is_not_shown_where_the_trinket_does_not_allow_it() -> None:
    _, failed = await answers(Says("secret", ValueError("no")), at(0), at(1))
    assert failed.content == "<says>\nUnavailable since 2026-11-30 09:16.\n</says>"


async def test_a_section_that_was_empty_before_it_failed_shows_no_older_text() -> None:
    *_, failed = await answers(KeepsLastGood("old", None, ValueError("no")), at(0), at(1), at(2))
    assert failed.content == "<says>\nUnavailable since 2026-11-30 09:17.\n</says>"


async def test_the_last_good_text_stays_as_it_was_when_the_trinket_changes_its_own_list() -> None:
    items = [Element("item", "one")]

    def break_off() -> Body:
        items.append(Element("not a name", "two"))
        raise ValueError("no")

    _, failed = await answers(KeepsLastGood(items, break_off), at(0), at(1))
    assert notice(failed).body == (Element("item", "one"),)


class Shortens(EventAwareTrinket):
    """Says too much, and shortens it as it was told to."""

    section_name = "long"
    token_budget = 30

    def __init__(self, shorten: Callable[[], Body]) -> None:
        self._shorten = shorten
        self.calls = 0

    async def generate_content(self, context: TurnContext) -> str:
        self.calls += 1
        return "word " * 1000

    def shorten(self, body: Body, budget: int) -> Body:
        return self._shorten()


@pytest.mark.requirement("RULE-10")
async def test_a_rule_of_shortening_that_blocks_holds_neither_the_turn_nor_the_others(release: threading.Event) -> None:
    def block() -> str:
        release.wait(timeout=60)
        return "few words"

    trinket = Shortens(block)
    trinket.time_limit = SHORT
    first, other, again = await asyncio.gather(
        answer(trinket), answer(Says("fine")), asyncio.sleep(0, "the loop is free")
    )
    assert first.failure is not None
    assert first.failure.reason == "no answer within 0.05 s"
    assert (other.failure, again) == (None, "the loop is free")
    second = await answer(trinket, at(1))
    assert second.failure is not None
    assert trinket.calls == 1
    release.set()
    join_threads()
    trinket.time_limit = 30
    third = await answer(trinket, at(2))
    assert (third.content, third.failure, third.shortened) == ("<long>\nfew words\n</long>", None, True)


async def test_generating_and_shortening_have_one_time_limit_together(release: threading.Event) -> None:
    class Slow(Shortens):
        time_limit = 1.0

        async def generate_content(self, context: TurnContext) -> str:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.Event().wait(), timeout=0.9)
            return "word " * 1000

    def block() -> str:
        release.wait(timeout=60)
        return "few words"

    began = asyncio.get_running_loop().time()
    event = await answer(Slow(block))
    assert asyncio.get_running_loop().time() - began < 1.6
    assert event.failure is not None
    assert event.failure.reason == "no answer within 1 s"


async def test_a_rule_of_shortening_runs_in_a_thread_with_the_caller_s_context() -> None:
    asked = contextvars.ContextVar("asked", default="nobody")
    asked.set("the turn")
    where: list[tuple[bool, str]] = []

    def note() -> str:
        where.append((threading.current_thread() is threading.main_thread(), asked.get()))
        return "few words"

    await answer(Shortens(note))
    assert where == [(False, "the turn")]


@pytest.mark.requirement("RULE-10")
def test_a_blocking_trinket_does_not_keep_the_process_from_ending() -> None:
    program = """
import asyncio, threading
from datetime import UTC, datetime
from frontmind.events import EventBus, TurnContext, UpdateTrinketEvent
from frontmind.trinkets import EventAwareTrinket

class Hangs(EventAwareTrinket):
    section_name = "hangs"
    time_limit = 0.05

    def generate_content(self, context):
        threading.Event().wait()

bus = EventBus()
Hangs().attach(bus)
asyncio.run(bus.publish(UpdateTrinketEvent("hangs", TurnContext("main", 1, datetime.now(UTC)))))
"""
    ended = subprocess.run([sys.executable, "-c", program], timeout=30, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


# --- hints that are too many -------------------------------------------------------------------------------------


class Hints:
    """The tools of a server with many of them."""

    def __init__(self, number: int, summary: str) -> None:
        self.hints = tuple((f"server__tool_{index:04}", summary) for index in range(number))


async def hints_said(number: int, summary: str) -> str:
    tools = (trinkets.ToolDescription("/remind", "add a reminder"), trinkets.ToolDescription("/search", "search"))
    trinket = ToolHintsTrinket(tools, Hints(number, summary))
    event = await answer(trinket)
    body = notice(event).body
    assert isinstance(body, str)
    assert fits(body, trinket.token_budget)
    assert event.shortened == (len(body.splitlines()) != number + 2)
    return body


async def test_hints_that_fit_are_said_whole() -> None:
    body = await hints_said(50, "x" * 150)
    assert body.splitlines()[2] == f"server__tool_0000: {'x' * 150} (load_tool shows how)"


@pytest.mark.parametrize(("number", "length"), [(120, 100), (150, 60), (300, 30)])
async def test_hints_that_are_too_long_are_all_shortened_alike_and_all_named(number: int, length: int) -> None:
    body = await hints_said(number, "what it does " * 15)
    first, second, how, *lines = body.splitlines()
    assert (first, second) == ("/remind: add a reminder", "/search: search")
    assert how == "load_tool shows how to use each of these:"
    assert [line.partition(": ")[0] for line in lines] == [name for name, _ in Hints(number, "").hints]
    assert {line.partition(": ")[2] for line in lines} == {one_line("what it does " * 15, length)}


async def test_of_hundreds_of_tools_every_name_is_said() -> None:
    body = await hints_said(800, "what it does " * 15)
    assert body == (
        "/remind, /search\nload_tool shows how to use each of these:\n"
        + ", ".join(name for name, _ in Hints(800, "").hints)
    )


async def test_where_even_the_names_are_too_many_it_says_that_they_were_cut() -> None:
    assert (await hints_said(10_000, "what it does")).endswith("(cut here: it was too long)")
