"""Reminder phrases: what is understood exactly, what is refused, and that nothing is ever due in the past."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.reminders.phrases import FORMS, Understood, parse_reminder, parse_when, read_when
from frontmind.reminders.schedule import check_rule

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
KOLKATA = ZoneInfo("Asia/Kolkata")
AUCKLAND = ZoneInfo("Pacific/Auckland")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
ZONES = (BERLIN, NEW_YORK, KOLKATA, AUCKLAND, KATHMANDU, LORD_HOWE, ZoneInfo("UTC"))

MONDAY = datetime(2026, 11, 30, 9, 15, tzinfo=BERLIN)


def berlin(month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN)


def refusal(phrase: str, now: datetime = MONDAY) -> str:
    with pytest.raises(UsageError) as caught:
        parse_reminder(phrase, now)
    message = str(caught.value)
    assert "\n" not in message
    return message


# On Monday, 30 November 2026, at 09:15 in Berlin.
UNDERSTOOD: tuple[tuple[str, datetime | date], ...] = (
    ("in 20 minutes", berlin(11, 30, 9, 35)),
    ("in 1 minute", berlin(11, 30, 9, 16)),
    ("in 5 min", berlin(11, 30, 9, 20)),
    ("in an hour", berlin(11, 30, 10, 15)),
    ("in 36 hours", berlin(12, 1, 21, 15)),
    ("in half an hour", berlin(11, 30, 9, 45)),
    ("in an hour and a half", berlin(11, 30, 10, 45)),
    ("in 1 hour and 20 minutes", berlin(11, 30, 10, 35)),
    ("in twenty minutes", berlin(11, 30, 9, 35)),
    ("20 minutes from now", berlin(11, 30, 9, 35)),
    ("in a day", date(2026, 12, 1)),
    ("in two days", date(2026, 12, 2)),
    ("in one week", date(2026, 12, 7)),
    ("In 2 Weeks", date(2026, 12, 14)),
    ("in a month", date(2026, 12, 30)),
    ("in 3 months", date(2027, 2, 28)),
    ("a week from tomorrow", date(2026, 12, 8)),
    ("two weeks before christmas", date(2026, 12, 11)),
    ("in 2 days at 9am", berlin(12, 2, 9)),
    ("at 17:30", berlin(11, 30, 17, 30)),
    ("at 9am", berlin(12, 1, 9)),
    ("at 9:15", berlin(12, 1, 9, 15)),
    ("at 9:16", berlin(11, 30, 9, 16)),
    ("at 9 PM", berlin(11, 30, 21)),
    ("at 9 p.m.", berlin(11, 30, 21)),
    ("at 10 A.M.", berlin(11, 30, 10)),
    ("at 12am", berlin(12, 1, 0)),
    ("at 12pm", berlin(11, 30, 12)),
    ("at 12:30 am", berlin(12, 1, 0, 30)),
    ("at 0:05", berlin(12, 1, 0, 5)),
    ("at 7", berlin(12, 1, 7)),
    ("at 18", berlin(11, 30, 18)),
    ("at 3:15", berlin(11, 30, 15, 15)),
    ("at 03:15", berlin(12, 1, 3, 15)),
    ("at 9.30", berlin(11, 30, 9, 30)),
    ("at 17:30:15", berlin(11, 30, 17, 30).replace(second=15)),
    ("at noon", berlin(11, 30, 12)),
    ("at midnight", berlin(12, 1, 0)),
    ("today at midnight", berlin(12, 1, 0)),
    ("tonight", berlin(11, 30, 21)),
    ("tonight at 8", berlin(11, 30, 20)),
    ("tonight at 1am", berlin(12, 1, 1)),
    ("this evening", berlin(11, 30, 18)),
    ("this afternoon at 4:30", berlin(11, 30, 16, 30)),
    ("in the afternoon at 4", berlin(11, 30, 16)),
    ("at 9 in the evening", berlin(11, 30, 21)),
    ("at half past seven", berlin(12, 1, 7, 30)),
    ("quarter past 9", berlin(12, 1, 9, 15)),
    ("at a quarter to ten", berlin(11, 30, 9, 45)),
    ("at twenty to ten in the evening", berlin(11, 30, 21, 40)),
    ("9 o'clock", berlin(12, 1, 9)),
    ("today", date(2026, 11, 30)),
    ("today at 9:15", berlin(11, 30, 21, 15)),
    ("today at 18:00", berlin(11, 30, 18)),
    ("today 18:00", berlin(11, 30, 18)),
    ("today 6pm", berlin(11, 30, 18)),
    ("tomorrow", date(2026, 12, 1)),
    ("TOMORROW AT 9AM", berlin(12, 1, 9)),
    ("the day after tomorrow", date(2026, 12, 2)),
    ("tomorrow morning", berlin(12, 1, 9)),
    ("tomorrow night", berlin(12, 1, 21)),
    ("end of tomorrow", berlin(12, 1, 23, 59).replace(second=59)),
    ("next week", date(2026, 12, 7)),
    ("next month", date(2026, 12, 1)),
    ("next year at 6pm", datetime(2027, 1, 1, 18, tzinfo=BERLIN)),
    ("end of month", date(2026, 11, 30)),
    ("at the end of next month", date(2026, 12, 31)),
    ("tomorrow at 9", berlin(12, 1, 9)),
    ("tomorrow 9:05", berlin(12, 1, 9, 5)),
    ("at 9am tomorrow", berlin(12, 1, 9)),
    ("at 18:00 on friday", berlin(12, 4, 18)),
    ("on friday", date(2026, 12, 4)),
    ("friday", date(2026, 12, 4)),
    ("this friday", date(2026, 12, 4)),
    ("on fri", date(2026, 12, 4)),
    ("next week friday", date(2026, 12, 11)),
    ("friday next week", date(2026, 12, 11)),
    ("next monday", date(2026, 12, 7)),
    ("on friday evening at 7", berlin(12, 4, 19)),
    ("friday the 11th", date(2026, 12, 11)),
    ("on the 24th", date(2026, 12, 24)),
    ("on the 15th of next month", date(2026, 12, 15)),
    ("on the second friday of december", date(2026, 12, 11)),
    ("on the last monday in december at noon", berlin(12, 28, 12)),
    ("24 December", date(2026, 12, 24)),
    ("on December 24th", date(2026, 12, 24)),
    ("on 24 Dec 2027", date(2027, 12, 24)),
    ("the 4th of july", date(2027, 7, 4)),
    ("christmas eve at 6pm", berlin(12, 24, 18)),
    ("12/24", date(2026, 12, 24)),
    ("on 24/12", date(2026, 12, 24)),
    ("on 1/2", date(2027, 1, 2)),
    ("on 24.12.2026", date(2026, 12, 24)),
    ("20261224", date(2026, 12, 24)),
    ("on Friday at 9am", berlin(12, 4, 9)),
    ("on monday", date(2026, 12, 7)),
    ("on monday at 9:15", berlin(12, 7, 9, 15)),
    ("on monday at 9:16", berlin(11, 30, 9, 16)),
    ("on sunday", date(2026, 12, 6)),
    ("on 2026-12-24", date(2026, 12, 24)),
    ("2026-12-24", date(2026, 12, 24)),
    ("2026-11-30", date(2026, 11, 30)),
    ("2026-12-24 18:00", berlin(12, 24, 18)),
    ("2026-12-24T18:00", berlin(12, 24, 18)),
    ("on 2026-12-24 at 6 pm", berlin(12, 24, 18)),
    ("at 18:00 on 2026-12-24", berlin(12, 24, 18)),
    ("on 2028-02-29", date(2028, 2, 29)),
)


@pytest.mark.parametrize(("phrase", "due"), UNDERSTOOD)
@pytest.mark.parametrize(
    "frame",
    ["call Anna {}", "{} call Anna", "me to call Anna {}", "{}: call Anna", "  {},  call  Anna ", "{} to call Anna"],
)
def test_a_time_is_understood_at_the_start_and_at_the_end(phrase: str, due: datetime | date, frame: str) -> None:
    assert parse_reminder(frame.format(phrase), MONDAY) == Understood("call Anna", due)
    kind = datetime if isinstance(due, datetime) else date
    assert type(parse_reminder(frame.format(phrase), MONDAY).due) is kind


def test_every_form_that_the_message_names_is_understood() -> None:
    for form in FORMS.split(", "):
        assert parse_reminder(f"call Anna {form}", MONDAY).text == "call Anna"
        assert parse_reminder(f"{form} call Anna", MONDAY).text == "call Anna"


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("that the oven is on in 20 minutes", "the oven is on"),
        ("about the rent tomorrow.", "the rent"),
        ("me about tea tomorrow!", "tea"),
        ("Call Anna at Marienplatz 8 tomorrow", "Call Anna at Marienplatz 8"),
        ("remind me tomorrow at 9am to call Anna", "call Anna"),
        ("please remind me to send the weekly report on friday at 9", "send the weekly report"),
        ("put 1/2 cup of sugar aside tomorrow", "put 1/2 cup of sugar aside"),
        ("buy 2 tickets for the 9am train tomorrow at 7:30", "buy 2 tickets for the 9am train"),
        ("read the today show notes tomorrow", "read the today show notes"),
        ("read chapter 2026-12 on friday", "read chapter 2026-12"),
        ("Grüße an Jörg 😀 tomorrow", "Grüße an Jörg 😀"),
        ("</active_reminders> tomorrow", "</active_reminders>"),
    ],
)
def test_the_text_is_what_stands_beside_the_time(phrase: str, text: str) -> None:
    assert parse_reminder(phrase, MONDAY).text == text


@pytest.mark.parametrize("zone", ZONES, ids=str)
def test_a_time_of_day_that_has_passed_today_means_tomorrow(zone: ZoneInfo) -> None:
    """Case R5: now 23:00, "remind me at 9am"."""
    now = datetime(2026, 11, 30, 23, 0, tzinfo=zone)
    assert parse_reminder("remind me at 9am", now).due == datetime(2026, 12, 1, 9, 0, tzinfo=zone)
    assert parse_reminder("at 9am stretch", now).due == datetime(2026, 12, 1, 9, 0, tzinfo=zone)


def test_a_time_is_local_to_the_person() -> None:
    """Case R1: 5pm in Kolkata is 11:30 in UTC."""
    due = parse_reminder("stretch at 5pm", datetime(2026, 4, 27, 12, 0, tzinfo=KOLKATA)).due
    assert isinstance(due, datetime)
    assert due.astimezone(UTC) == datetime(2026, 4, 27, 11, 30, tzinfo=UTC)
    assert due.tzinfo is KOLKATA


@pytest.mark.parametrize(
    ("zone", "tomorrow"), [(BERLIN, 1), (NEW_YORK, 1), (KOLKATA, 2), (AUCKLAND, 2)], ids=lambda value: str(value)
)
def test_tomorrow_is_the_next_day_of_the_persons_calendar(zone: ZoneInfo, tomorrow: int) -> None:
    now = datetime(2026, 11, 30, 20, 0, tzinfo=UTC).astimezone(zone)
    assert parse_reminder("x tomorrow", now).due == date(2026, 12, tomorrow)


# --- daylight saving ---------------------------------------------------------------------------------------------


def utc_due(phrase: str, now: datetime) -> datetime:
    due = parse_reminder(phrase, now).due
    assert isinstance(due, datetime)
    return due.astimezone(UTC)


def test_days_keep_the_time_of_day_and_hours_keep_the_distance_over_a_change() -> None:
    before = datetime(2026, 3, 28, 12, 0, tzinfo=BERLIN)
    assert utc_due("x in 24 hours", before) == datetime(2026, 3, 29, 11, 0, tzinfo=UTC)
    assert utc_due("x in 1 week at 12:00", before) == datetime(2026, 4, 4, 10, 0, tzinfo=UTC)
    assert utc_due("x tomorrow at 12:00", before) == datetime(2026, 3, 29, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize("phrase", ["x tomorrow at 02:30", "x on sunday at 2:30am", "x 2026-03-29 02:30"])
def test_a_time_that_the_change_skips_becomes_a_time_that_exists(phrase: str) -> None:
    due = parse_reminder(phrase, datetime(2026, 3, 28, 2, 30, tzinfo=BERLIN)).due
    assert isinstance(due, datetime)
    assert due.isoformat() == "2026-03-29T03:30:00+02:00"


@pytest.mark.parametrize(
    ("hour", "minute", "fold", "phrase", "expected"),
    [
        # 02:00 to 03:00 comes twice on 25 October: first at UTC+2, then at UTC+1.
        (1, 50, 0, "x at 02:30", "2026-10-25T00:30"),
        (2, 10, 0, "x at 02:30", "2026-10-25T00:30"),
        (2, 50, 0, "x at 02:30", "2026-10-25T01:30"),
        (2, 10, 1, "x at 02:30", "2026-10-25T01:30"),
        (2, 10, 1, "x today at 02:30", "2026-10-25T01:30"),
        (2, 10, 1, "x on sunday at 02:30", "2026-10-25T01:30"),
        (2, 50, 1, "x at 02:30", "2026-10-26T01:30"),
        (2, 50, 1, "x on sunday at 02:30", "2026-11-01T01:30"),
        (2, 50, 0, "x in 20 minutes", "2026-10-25T01:10"),
        (2, 50, 1, "x in 20 minutes", "2026-10-25T02:10"),
    ],
)
def test_a_time_that_comes_twice_means_the_first_that_is_still_to_come(
    hour: int, minute: int, fold: int, phrase: str, expected: str
) -> None:
    now = datetime(2026, 10, 25, hour, minute, tzinfo=BERLIN, fold=fold)
    assert utc_due(phrase, now) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(
    "phrase",
    [
        "call Anna",
        "call Anna soon",
        "call Anna sometime",
        "call Anna twice a week at best",
        "call Anna biweekly",
        "at 17:3 call Anna",
        "2026-12-24T18:00Z call Anna",
        "call Anna in 1.5 hours",
        "call Anna in a few days",
        "call Anna in 99999999999 years",
        "install version 5.12",
        "call Anna at 5pm PT",
        "call Anna on 2026-12-24-25",
        "today's paper",
        "call Anna in 5 m\u0131nutes",
        "call Anna in \u0665 minutes",
        "call Anna on \u017funday",
    ],
)
def test_what_is_not_understood_is_refused_and_never_guessed(phrase: str) -> None:
    message = refusal(phrase)
    assert message.startswith("no time is understood in ")
    assert FORMS in message


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(
    "phrase",
    [
        "tomorrow",
        "tomorrow at 9am",
        "at 9am tomorrow",
        "tomorrow at 9am!",
        "in 20 minutes",
        "at 9",
        "every monday",
        "on friday.",
        "me to  tomorrow",
    ],
)
def test_a_time_without_anything_to_remember_is_refused(phrase: str) -> None:
    assert refusal(phrase).startswith("what should be remembered")


@pytest.mark.parametrize("phrase", ["", "   ", "\n"])
def test_an_empty_phrase_is_answered_with_an_example(phrase: str) -> None:
    assert "/remind call Anna tomorrow at 9am" in refusal(phrase)


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(
    "wrong",
    [
        "on 2026-02-30",
        "on 2027-02-29",
        "2026-13-01",
        "2026-00-10",
        "on 0000-01-01",
        "at 25:00",
        "at 24:00",
        "at 12:60",
        "at 13pm",
        "at 0am",
        "tomorrow at 99",
        "2026-12-24 24:30",
        "on friday 2026-12-24",
        "at 9am in the evening",
        "in 99999999 minutes",
        "every feb 30",
        "every day at 25:00",
        "every day until 2026-11-01",
        "every 5000 days",
        "in 99999 weeks",
        "in 99999 days",
    ],
)
def test_a_time_that_does_not_exist_is_named_and_refused(wrong: str) -> None:
    for phrase in (f"call Anna {wrong}", f"{wrong} call Anna"):
        message = refusal(phrase)
        assert message.startswith(f"'{wrong}' is not a time that exists")


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize(
    "passed",
    [
        "today at 09:15",
        "today at 8am",
        "yesterday",
        "last friday",
        "2 days ago",
        "now",
        "on 2 May 1990",
        "on 2026-11-29",
        "2026-11-30 09:00",
        "2025-12-24",
        "in 0 minutes",
    ],
)
def test_a_time_that_has_passed_is_named_and_refused(passed: str) -> None:
    assert refusal(f"call Anna {passed}") == f"'{passed}' has passed already; name a later time"


# --- for all phrases ---------------------------------------------------------------------------------------------

moments = st.builds(
    lambda minutes, zone: (datetime(2000, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)).astimezone(zone),
    st.integers(0, 60 * 24 * 366 * 60),
    st.sampled_from(ZONES),
)
# The hours around the changes of 2026 in Berlin and on Lord Howe, where it is half an hour.
changes = st.builds(
    lambda start, minutes, zone: (datetime.fromisoformat(start) + timedelta(minutes=minutes)).astimezone(zone),
    st.sampled_from(["2026-03-29T01:00Z", "2026-10-25T01:00Z", "2026-04-04T15:00Z", "2026-10-03T15:30Z"]),
    st.integers(-180, 180),
    st.sampled_from([BERLIN, LORD_HOWE]),
)
WORDS = ("call", "Anna", "me", "to", "at", "on", "in", "next", "a", "an", "one", ":", ".", "!", ",", "\ud800", "\n")
TIMES = ("0", "2", "5", "12", "30", "99", "99999", "2:30", "02:30", "9am", "12 pm", "T18:00", "\u0661", "m\u0131n")
DAYS = ("today", "tomorrow", "monday", "sunday", "2026-10-25", "2026-12-24", "9999-12-31", "0001-01-01")
UNITS = ("minutes", "hour", "days", "weeks", "month", "years")
RULES = (
    "every",
    "other",
    "first",
    "last",
    "of",
    "each",
    "until",
    "except",
    "for",
    "times",
    "twice",
    "daily",
    "weekends",
)
PARTS = ("noon", "midnight", "tonight", "evening", "half", "past", "to", "and", "3rd", "feb", "may 5", "1/2", "31.12.")
pieces = (
    st.sampled_from(WORDS) | st.sampled_from(TIMES) | st.sampled_from(DAYS) | st.sampled_from(UNITS + RULES + PARTS)
)
phrases = st.one_of(
    st.text(st.characters(codec=None), max_size=40),
    st.lists(pieces, max_size=12).map(" ".join),
    st.lists(pieces, max_size=5).map("".join),
    st.builds(
        "{} {}:{:02} x".format,
        st.sampled_from(["at", "today", "tomorrow", "on sunday at"]),
        st.integers(0, 24),
        st.integers(0, 60),
    ),
    st.builds("x in {} {}".format, st.integers(0, 99999), st.sampled_from(["minutes", "hours", "days", "weeks"])),
)


@settings(deadline=None, max_examples=800)
@given(phrases, moments | changes)
@example("x 9999-12-31 23:59", datetime(2026, 1, 1, tzinfo=NEW_YORK))
@example("x 0001-01-01 00:00", datetime(2026, 1, 1, tzinfo=AUCKLAND))
@example("x tomorrow", datetime(9999, 12, 31, 23, 0, tzinfo=UTC))
@example("x at 0:00", datetime(9999, 12, 31, 23, 0, tzinfo=UTC))
def test_any_phrase_is_refused_in_words_or_due_later_than_now(phrase: str, now: datetime) -> None:
    try:
        found = parse_reminder(phrase, now)
    except UsageError:
        return
    assert found.text == found.text.strip() != ""
    if isinstance(found.due, datetime):
        assert found.due.astimezone(UTC) > now.astimezone(UTC)
        assert found.due.tzinfo is now.tzinfo
        # It exists on the clocks of the person, so that it is the same when it comes back from the store.
        assert found.due.astimezone(UTC).astimezone(now.tzinfo).isoformat() == found.due.isoformat()
    else:
        assert found.due >= now.date()


@pytest.mark.parametrize(
    "phrase",
    [
        "tomorrow call Anna at 9am",
        "at 9am call Anna tomorrow",
        "friday the report is due on monday at 9am",
        "at 9am and at 5pm call Anna",
        "in 10 minutes look at 2026-12-24",
        "every day water the plants at 9am",
    ],
)
def test_of_two_times_neither_is_guessed(phrase: str) -> None:
    with pytest.raises(UsageError, match=r"two times|unsure"):
        parse_reminder(phrase, datetime(2026, 11, 30, 8, 0, tzinfo=BERLIN))


@pytest.mark.parametrize(
    "phrase",
    [
        "call Anna at 9am and at 5pm",
        "call Anna next to Friday",
        "call Anna before friday",
        "call Anna on friday or saturday",
        "call Anna by tomorrow",
        "mid december be away on friday or so at 9 to 10",
        "at 9 to 10 meet Bob",
        "at 9 or 10 call Anna",
        "at 5pm PT call Anna",
        "mondays are free",
        "put the towel in the sun",
        "call Anna next friday",
        "call Anna on friday at midnight",
        "every friday at midnight call Anna",
        "every second call Anna",
        "every 2 hours at 9am call Anna",
    ],
)
@pytest.mark.requirement("REMIND-3")
def test_what_may_mean_two_things_is_asked_back(phrase: str) -> None:
    refusal(phrase, datetime(2026, 11, 30, 8, 0, tzinfo=BERLIN))


@pytest.mark.parametrize(("phrase", "frequency"), [("every 20 minutes", "MINUTELY"), ("every 30 seconds", "SECONDLY")])
def test_what_comes_too_often_is_refused_as_a_rule_is(phrase: str, frequency: str) -> None:
    now = datetime(2026, 11, 30, 8, 0, tzinfo=BERLIN)
    with pytest.raises(UsageError) as of_a_rule:
        check_rule(f"FREQ={frequency}", now, BERLIN)
    for parse, written in (
        (parse_reminder, f"stretch {phrase}"),
        (parse_reminder, f"{phrase} stretch"),
        (parse_when, phrase),
    ):
        with pytest.raises(UsageError) as of_a_phrase:
            parse(written, now)
        assert str(of_a_phrase.value) == str(of_a_rule.value)
    assert read_when(phrase, now).rrule.startswith(f"FREQ={frequency}")


# --- recurrences -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phrase", "first", "rrule"),
    [
        ("every day", date(2026, 12, 1), "FREQ=DAILY"),
        ("every day at 9am", berlin(12, 1, 9), "FREQ=DAILY"),
        ("every day at 9:16", berlin(11, 30, 9, 16), "FREQ=DAILY"),
        ("at 9am every day", berlin(12, 1, 9), "FREQ=DAILY"),
        ("every weekday at 8", berlin(12, 1, 8), "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("weekdays", date(2026, 12, 1), "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("mon-fri at 9am", berlin(12, 1, 9), "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("every monday", date(2026, 12, 7), "FREQ=WEEKLY;BYDAY=MO"),
        ("every other tuesday", date(2026, 12, 1), "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU"),
        ("every 2 weeks on tuesday and thursday at 9am", berlin(12, 1, 9), "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH"),
        ("every monday morning at 6", berlin(12, 7, 6), "FREQ=WEEKLY;BYDAY=MO"),
        ("first monday of each month", date(2026, 12, 7), "FREQ=MONTHLY;BYDAY=1MO"),
        ("every first monday of the month at noon", berlin(12, 7, 12), "FREQ=MONTHLY;BYDAY=1MO"),
        ("on the last day of every month", date(2026, 12, 31), "FREQ=MONTHLY;BYMONTHDAY=-1"),
        ("every month on the 1st", date(2026, 12, 1), "FREQ=MONTHLY;BYMONTHDAY=1"),
        ("every year on 24 December", date(2026, 12, 24), "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24"),
        ("every 24 December at 6pm", berlin(12, 24, 18), "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24"),
        ("daily until 24 Dec", date(2026, 12, 1), "FREQ=DAILY;UNTIL=20261224"),
        ("daily at 9am until 24 Dec", berlin(12, 1, 9), "FREQ=DAILY;UNTIL=20261224T225959Z"),
        ("daily for 4 times", date(2026, 12, 1), "FREQ=DAILY;COUNT=4"),
        ("every day except weekends at 8am", berlin(12, 1, 8), "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR"),
        ("every friday starting next month", date(2026, 12, 4), "FREQ=WEEKLY;BYDAY=FR"),
        ("every 2 hours", berlin(11, 30, 11, 15), "FREQ=HOURLY;INTERVAL=2"),
    ],
)
@pytest.mark.parametrize("frame", ["call Anna {}", "{} call Anna", "remind me {} to call Anna"])
def test_a_recurrence_is_a_rule_with_its_first_time_after_now(
    phrase: str, first: datetime | date, rrule: str, frame: str
) -> None:
    assert parse_reminder(frame.format(phrase), MONDAY) == Understood("call Anna", first, rrule)


def test_what_a_recurrence_leaves_out_is_never_its_first_time() -> None:
    found = parse_reminder("call Anna every day except tomorrow and 24 December at 9am", MONDAY)
    assert found == Understood("call Anna", berlin(12, 2, 9), "FREQ=DAILY", (berlin(12, 24, 9),))


def test_the_first_time_of_a_rule_that_a_change_skips_is_a_time_that_exists() -> None:
    due = parse_reminder("x every day at 02:30", datetime(2026, 3, 28, 12, 0, tzinfo=BERLIN)).due
    assert due == datetime.fromisoformat("2026-03-29T03:30+02:00")


# --- a time alone ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "due", "rrule"),
    [
        ("tomorrow 9am", berlin(12, 1, 9), ""),
        ("until tomorrow", None, ""),
        ("in 20 minutes", berlin(11, 30, 9, 35), ""),
        ("friday.", date(2026, 12, 4), ""),
        ("every monday at 8", berlin(12, 7, 8), "FREQ=WEEKLY;BYDAY=MO"),
        ("tomorrow at 9am to call Anna", None, ""),
        ("yesterday", None, ""),
        ("", None, ""),
    ],
)
def test_a_time_alone_is_read_only_as_a_whole(text: str, due: datetime | date | None, rrule: str) -> None:
    if due is None:
        with pytest.raises(UsageError):
            parse_when(text, MONDAY)
    else:
        assert parse_when(text, MONDAY) == Understood("", due, rrule)


def test_a_time_within_a_sentence_is_found_also_when_it_has_passed() -> None:
    found = read_when("Where were you on 2 May 1990, my friend?", MONDAY)
    assert (found.text, found.due) == ("on 2 May 1990", date(1990, 5, 2))


# --- hostile texts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "piece",
    [
        "every ",
        "1 ",
        "and ",
        "1/",
        "at 9 ",
        "first and ",
        "2 days and ",
        "a",
        "1",
        "fri 31 ",
        "every minute except in may ",
        "every second for 9999 times ",
        "every feb 29 ",
        "\ud800",
        "\x00",
        ".",
        "monday, ",
        "in ",
    ],
)
@pytest.mark.parametrize("length", [3_900, 100_000])
def test_a_long_text_is_answered_within_a_second(piece: str, length: int) -> None:
    text = piece * (length // len(piece))
    for read in (parse_reminder, parse_when, read_when):
        # The better of two: a collection of garbage in between belongs to whatever ran before.
        assert min(seconds_of(read, text) for _ in range(2)) < 1


def seconds_of(read: Callable[[str, datetime], object], text: str) -> float:
    started = time.process_time()
    with suppress(UsageError):
        read(text, MONDAY)
    return time.process_time() - started
