"""Reminders as the API takes and gives them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from frontmind.server.schemas.sent import Sent
from frontmind.server.schemas.texts import Shown
from frontmind.server.schemas.times import Version, slot_text
from frontmind.values import records
from frontmind.values.due import Urgency, describe_rule, describe_slot, effective, urgency_of

LONGEST_PHRASE = 1_000
_Phrase = Annotated[str, Field(min_length=1, max_length=LONGEST_PHRASE)]


class Reminder(BaseModel):
    """A reminder.

    Attributes:
        due: the slot that is open: a moment in the person's zone, or a day.
        when: when it is said, in words.
        zone: the IANA zone in which it was meant.
        rrule: the value of an RFC 5545 RRULE; empty for one that comes once.
        repeats: the rule in words.
        done_at: when it was completed for good.
        snoozed_until: when it is said in place of ``due``.
        version: counts its changes, from 1.
    """

    id: int
    text: Shown
    due: str
    when: Shown
    zone: str
    rrule: str
    repeats: Shown
    done_at: str | None
    snoozed_until: str | None
    overdue: bool
    version: int


class ReminderList(BaseModel):
    """The reminders by id."""

    reminders: list[Reminder]


class NewReminder(Sent):
    """What to remember and when, in one phrase: "call Anna tomorrow at 9am"."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"phrase": "call Anna tomorrow at 9am"}]})

    phrase: _Phrase


class ReminderChange(Sent):
    """What becomes of a reminder.

    Attributes:
        when: a phrase such as "every monday at 8"; one time in place of a rule ends the rule.
        version: the version that must hold; none for any.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"when": "every monday at 8am"}]})

    text: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    when: _Phrase | None = None
    version: Version | None = None


class Snooze(Sent):
    """Until when a reminder is put off, as a phrase."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"until": "tomorrow at 8am"}]})

    until: _Phrase
    version: Version | None = None


class Completed(Sent):
    """Which version of a reminder is done; none for any."""

    version: Version | None = None


def reminder_view(reminder: records.Reminder, now: datetime) -> Reminder:
    """The reminder as it is told at ``now``, in its zone."""
    return Reminder(
        id=reminder.id,
        text=reminder.text,
        due=slot_text(reminder.due, now.tzinfo),
        when=describe_slot(effective(reminder), reminder.zone, now),
        zone=reminder.zone,
        rrule=reminder.rrule,
        repeats=describe_rule(reminder.rrule, now.tzinfo) if reminder.rrule else "",
        done_at=slot_text(reminder.done_at, now.tzinfo),
        snoozed_until=slot_text(reminder.snoozed_until, now.tzinfo),
        overdue=reminder.done_at is None and urgency_of(reminder, now) is Urgency.OVERDUE,
        version=reminder.version,
    )
