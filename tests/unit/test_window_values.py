"""The values: the window refuses what cannot be sent, clocks tell local time, and all are equal by content."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import (
    FrontmindError,
    ModelError,
    ModelUnavailable,
    RequestRefused,
    RequiredSectionFailed,
    RunError,
    StoreError,
    UsageError,
    WindowTooLarge,
)
from frontmind.values.clock import FixedClock, SystemClock, find_zone, parse_moment
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import RULE, Section
from frontmind.values.tokens import estimate_tokens
from frontmind.values.usage import Usage
from frontmind.window.window import Window

BERLIN = ZoneInfo("Europe/Berlin")
CALL = Message(Role.ASSISTANT, (ToolCall("c1", "search", "{}"),))
RESULT = Message(Role.USER, (ToolResult("c1", "found"),))


OTHER_CALL = Message(Role.ASSISTANT, (ToolCall("c2", "search", "{}"),))
OTHER_RESULT = Message(Role.USER, (ToolResult("c2", "found"),))


def window(*, history: tuple[Message, ...] = (), turn: tuple[Message, ...] = (user("q"),)) -> Window:
    return Window("P", "", history, "", turn)


# --- the window --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "history",
    [
        (),
        (user("a"), assistant("b")),
        (user("a"), assistant("b"), user("c"), assistant("d")),
        (user("a"), CALL, RESULT, assistant("d")),
    ],
    ids=len,
)
@pytest.mark.parametrize("turn", [(user("q"),), (user("q"), OTHER_CALL, OTHER_RESULT)], ids=len)
def test_a_window_takes_alternating_messages(history: tuple[Message, ...], turn: tuple[Message, ...]) -> None:
    made = window(history=history, turn=turn)
    assert (made.history, made.turn) == (history, turn)


@pytest.mark.parametrize(
    ("history", "turn", "complaint"),
    [
        ((assistant("a"),), (user("q"),), "message 0 of the history has the role 'assistant'"),
        ((user("a"), user("b")), (user("q"),), "message 1 of the history has the role 'user'"),
        (
            (user("a"), assistant("b"), assistant("c")),
            (user("q"),),
            "message 2 of the history has the role 'assistant'",
        ),
        ((user("a"),), (user("q"),), "the history ends with a message of the user"),
        ((), (), "needs a current user message"),
        ((), (assistant("a"),), "message 0 of the turn has the role 'assistant'"),
        ((), (user("q"), CALL), "the turn ends with a message of the assistant"),
        ((), (user("q"), RESULT), "message 1 of the turn has the role 'user'"),
        ((), (RESULT,), "the turn begins with a tool result"),
        ((), (Message(Role.USER, (Text("q"), ToolResult("c1", "found"))),), "the turn begins with a tool result"),
        ((), (Message(Role.USER, ()),), "message 0 of the turn is empty"),
        ((), (user(" \n"),), "message 0 of the turn is empty"),
        ((user("a"), assistant("", " ")), (user("q"),), "message 1 of the history is empty"),
    ],
)
def test_a_window_that_no_provider_takes_is_refused_in_words(
    history: tuple[Message, ...], turn: tuple[Message, ...], complaint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        window(history=history, turn=turn)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.requirement("RULE-6")
def test_the_next_step_of_a_turn_has_the_same_bytes_and_then_the_new_messages() -> None:
    section = Section("datetime_section", "<datetime_section>t</datetime_section>", "notification", cache_policy=False)
    first = Window("P", "U", (user("a"), assistant("b")), "center", (user("q"),), (section,))
    second = first.extended(CALL, RESULT)
    assert second.turn == (user("q"), CALL, RESULT)
    assert dataclasses.replace(second, turn=first.turn) == first
    assert second.extended(OTHER_CALL, OTHER_RESULT).turn[: len(second.turn)] == second.turn
    with pytest.raises(UsageError, match="message 3 of the turn, part 0: the id 'c1' was used"):
        second.extended(CALL, RESULT)


@pytest.mark.parametrize("messages", [(CALL,), (RESULT,), (assistant("a"), assistant("b"), user("c"))], ids=len)
def test_a_step_that_would_not_end_with_the_user_is_refused(messages: tuple[Message, ...]) -> None:
    with pytest.raises(UsageError):
        window().extended(*messages)


def test_windows_and_messages_are_equal_by_content_and_cannot_be_changed() -> None:
    assert window(history=(user("a"), assistant("b"))) == window(history=(user("a"), assistant("b")))
    assert window() != window(turn=(user("other"),))
    assert hash(user("a", "b")) == hash(Message(Role.USER, (Text("a"), Text("b"))))
    values: tuple[tuple[Any, str], ...] = (
        (window(), "turn"),
        (user("a"), "parts"),
        (Text("a"), "text"),
        (CALL.parts[0], "arguments"),
        (RESULT.parts[0], "text"),
        (Usage(1, 0, 0, 1), "input"),
        (Section("a", "b", "system", cache_policy=True), "content"),
    )
    for value, field in values:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field, None)


def test_the_text_of_a_message_is_its_text_parts_with_a_blank_line_between() -> None:
    assert user("a", "b").text == "a\n\nb"
    assert Message(Role.ASSISTANT, (Text("a"), ToolCall("c", "n", "{}"), Text("b"))).text == "a\n\nb"
    assert RESULT.text == ""


def test_the_evaluated_tokens_are_those_that_did_not_come_from_the_cache() -> None:
    assert Usage(input=100, cached=80, written=15, output=7).evaluated == 20


# --- clocks ------------------------------------------------------------------------------------------------------


def test_a_fixed_clock_stands_still_and_shows_the_time_of_its_zone() -> None:
    clock = FixedClock(datetime(2026, 11, 30, 8, 15, tzinfo=UTC), BERLIN)
    assert clock.now() == clock.now() == datetime(2026, 11, 30, 9, 15, tzinfo=BERLIN)
    assert (clock.now().hour, clock.now().tzinfo) == (9, BERLIN)


def test_the_system_clock_shows_the_present_moment_in_its_zone() -> None:
    before = datetime.now(UTC)
    now = SystemClock(BERLIN).now()
    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is BERLIN


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"])
def test_a_zone_is_found_by_its_iana_name(name: str) -> None:
    assert find_zone(name).key == name


@pytest.mark.parametrize(
    "name",
    ["localtime", "posixrules", "Factory", "factory", "right/Europe/Berlin", "posix/Europe/Berlin", "Right/UTC"],
)
def test_what_a_zone_database_has_beside_its_zones_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="IANA name such as Europe/Berlin"):
        find_zone(name)


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus", "Europe", "../../etc/passwd", "/etc/localtime", "a\0b", "\ud800", " UTC", "x" * 5000]
)
def test_an_unknown_zone_is_refused_with_examples(name: str) -> None:
    with pytest.raises(UsageError, match="Europe/Berlin"):
        find_zone(name)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-30T09:15", datetime(2026, 11, 30, 8, 15, tzinfo=UTC)),
        ("2026-11-30 09:15:30", datetime(2026, 11, 30, 8, 15, 30, tzinfo=UTC)),
        ("2026-07-01T09:15", datetime(2026, 7, 1, 7, 15, tzinfo=UTC)),
        ("2026-11-30T09:15Z", datetime(2026, 11, 30, 9, 15, tzinfo=UTC)),
        ("2026-11-30T09:15+05:30", datetime(2026, 11, 30, 3, 45, tzinfo=UTC)),
        ("2026-11-30", datetime(2026, 11, 29, 23, 0, tzinfo=UTC)),
    ],
)
def test_a_moment_without_an_offset_is_local_and_one_with_an_offset_is_not(text: str, moment: datetime) -> None:
    parsed = parse_moment(text, BERLIN)
    assert parsed.astimezone(UTC) == moment
    assert parsed.tzinfo is BERLIN


@pytest.mark.parametrize(
    "text",
    ["", "now", "30.11.2026", "2026-13-01", "2026-11-30T25:00"],
)
def test_what_is_no_moment_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="2026-11-30T09:15"):
        parse_moment(text, BERLIN)


@pytest.mark.parametrize("text", ["0001-01-01T00:00+14:00", "1899-12-31", "3000-01-01", "9999-12-31T23:59-10:00"])
def test_a_moment_that_sums_could_carry_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="too far away"):
        parse_moment(text, BERLIN)


@settings(deadline=None, max_examples=200)
@given(
    st.integers(0, 60 * 24 * 366 * 60).map(lambda count: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(minutes=count)),
    st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours))),
)
def test_a_moment_comes_back_from_its_iso_text(moment: datetime, zone: timezone) -> None:
    parsed = parse_moment(moment.astimezone(zone).isoformat(), BERLIN)
    # In UTC: Python finds no two moments of different zones equal in the hour that comes twice.
    assert parsed.astimezone(UTC) == moment


# --- errors ------------------------------------------------------------------------------------------------------


def test_errors_are_sorted_by_who_can_do_something_about_them() -> None:
    run_errors = (StoreError, ModelError, ModelUnavailable, RequestRefused, WindowTooLarge, RequiredSectionFailed)
    assert all(issubclass(kind, RunError) for kind in run_errors)
    assert issubclass(RunError, FrontmindError) and issubclass(UsageError, FrontmindError)
    assert not issubclass(UsageError, RunError) and not issubclass(RunError, UsageError)


def test_errors_carry_their_facts_as_attributes() -> None:
    assert StoreError("m", path="p").path == "p"
    assert ModelUnavailable("m", model="echo").model == "echo"
    refused = RequestRefused("m", model="echo", status=400)
    assert (refused.model, refused.status) == ("echo", 400)
    large = WindowTooLarge("m", model="echo", tokens=9, limit=8)
    assert (large.model, large.tokens, large.limit, large.status) == ("echo", 9, 8, None)
    failed = RequiredSectionFailed("weather", "ValueError: no")
    assert (failed.section, failed.reason) == ("weather", "ValueError: no")
    assert str(failed).startswith("the required section 'weather' is unavailable (ValueError: no); ")


def test_a_rule_is_estimated_as_the_few_tokens_that_it_is() -> None:
    assert estimate_tokens(RULE) == 15
    assert estimate_tokens(f"{RULE}\nfour") == 17
