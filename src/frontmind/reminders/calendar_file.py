"""Reminders from and to calendar files (iCalendar, RFC 5545). Pure: bytes in, bytes out.

icalendar reads and writes the entries; this module decides what of an entry is a reminder. An entry that cannot be used
is left out by name with the reason, and never costs the others. Knows no store.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from icalendar import Alarm, Calendar, Component, Event, Timezone, Todo, vDDDLists, vDDDTypes, vRecur

from frontmind.errors import UsageError
from frontmind.reminders.calendar_entries import Entry, read_entries, shortened
from frontmind.reminders.changes import LONGEST_TEXT, checked_slot
from frontmind.reminders.recurrence import Slot, canonical_rule
from frontmind.reminders.schedule import check_rule, first_slot, has_come, is_slot, localised
from frontmind.values.clock import find_zone
from frontmind.values.due import effective
from frontmind.values.records import NewReminder, Reminder

_OWN_ZONE = "X-FRONTMIND-ZONE"
_OPEN_SLOT = "X-FRONTMIND-DUE"
_LARGEST_UID = 500
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# What icalendar raises for entries that no calendar would write.
_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError)


@dataclass(frozen=True, slots=True)
class CalendarContents:
    """What a calendar file holds.

    Attributes:
        reminders: in the order of the file.
        skipped: what was left out and why, a line each; it holds names that others wrote.
        past: how many entries were over before now.
        closed: how many entries are done or cancelled.
    """

    reminders: tuple[NewReminder, ...]
    skipped: tuple[str, ...] = ()
    past: int = 0
    closed: int = 0


@dataclass(frozen=True, slots=True)
class CalendarFile:
    """A calendar file that was written.

    Attributes:
        data: its bytes.
        count: how many reminders are in it.
        skipped: which were left out and why, a line each; it holds what people wrote.
    """

    data: bytes
    count: int
    skipped: tuple[str, ...] = ()


def export_calendar(reminders: Iterable[Reminder]) -> CalendarFile:
    """A calendar file with the reminders that are not done: an event with an alarm for each.

    The same reminders give the same bytes. One whose zone or rule this machine cannot read is left out.
    """
    calendar = Calendar()
    calendar.add("PRODID", "-//Frontmind//Reminders//EN")
    calendar.add("VERSION", "2.0")
    years: list[int] = []
    skipped: list[str] = []
    for reminder in reminders:
        if reminder.done_at is not None:
            continue
        try:
            calendar.add_component(_event(reminder))
            years.append(_beginning(reminder).year)
        except UsageError as error:
            skipped.append(" ".join(f"r{reminder.id} {shortened(reminder.text)}: {error}".split()))
    for name in sorted(calendar.get_missing_tzids(), reverse=True):
        # icalendar lists the changes of the clocks one by one; calendars go by the name where they know the zone.
        first, last = date(min(years) - 1, 1, 1), date(max(*years, 2040) + 10, 1, 1)
        calendar.subcomponents.insert(0, Timezone.from_tzid(name, first_date=first, last_date=last))
    return CalendarFile(calendar.to_ical(), len(years), tuple(skipped))


def _beginning(reminder: Reminder) -> Slot:
    """The first time in the file: of a rule what it counts from, otherwise when it is to be said."""
    return (reminder.start or reminder.due) if reminder.rrule else effective(reminder)


def _event(reminder: Reminder) -> Event:
    zone = find_zone(reminder.zone)
    text = _UNWRITABLE.sub("\ufffd", reminder.text.replace("\r\n", "\n"))
    event = Event()
    event.add("UID", _UNWRITABLE.sub("\ufffd", reminder.calendar_uid))
    event.add("DTSTAMP", reminder.created_at.astimezone(UTC))
    event.add("SEQUENCE", reminder.version - 1)
    event.add("SUMMARY", text)
    event.add("DTSTART", _on_the_clock(_beginning(reminder), zone))
    if reminder.rrule:
        event.add("RRULE", vRecur.from_ical(canonical_rule(reminder.rrule)))
    if reminder.exdates:
        event.add("EXDATE", [_on_the_clock(slot, zone) for slot in reminder.exdates])
    event.add("TRANSP", "TRANSPARENT")
    event.add(_OWN_ZONE, reminder.zone)
    event.add(_OPEN_SLOT, _as_text(reminder.due))
    alarm = Alarm()
    alarm.add("ACTION", "DISPLAY")
    alarm.add("DESCRIPTION", text)
    alarm.add("TRIGGER", timedelta(0))
    event.add_component(alarm)
    return event


def _on_the_clock(slot: Slot, zone: ZoneInfo) -> Slot:
    """The slot as a calendar writes it: on the wall clock, or in UTC where the wall clock does not tell which it is."""
    if not isinstance(slot, datetime):
        return slot
    here = slot.astimezone(zone)
    return slot.astimezone(UTC) if here.fold else here


def _as_text(slot: Slot) -> str:
    return f"{slot.astimezone(UTC):%Y%m%dT%H%M%SZ}" if isinstance(slot, datetime) else f"{slot:%Y%m%d}"


def read_calendar(data: bytes, now: datetime) -> CalendarContents:
    """The reminders in a calendar file: its events and tasks that are still to come.

    Times without a zone are in the zone of ``now``, the person's. What Frontmind wrote comes back as it was, overdue
    reminders included.

    Raises:
        UsageError: it is no calendar file, or too large.
    """
    entries, zones = read_entries(data)
    reading = _Reading(zones, now)
    for entry in entries:
        reading.prepare(entry)
    return reading.contents()


class _Left(Exception):
    """The entry is no reminder any more."""


class _Reading:
    """One reading of one file."""

    def __init__(self, zones: Mapping[str, str], now: datetime) -> None:
        assert isinstance(now.tzinfo, ZoneInfo)
        self._zones = zones
        self._now = now
        self._here = now.tzinfo
        self._components: list[tuple[Entry, Component]] = []
        self._moved: dict[str, list[Slot]] = {}
        self._skipped: list[str] = []

    def prepare(self, entry: Entry) -> None:
        """Read an entry, and note which slot of a recurring one it stands in for."""
        try:
            if entry.problem:
                raise UsageError(entry.problem)
            component = (Event if entry.kind == "VEVENT" else Todo).from_ical(entry.text)
            if component.get("RECURRENCE-ID") is not None:
                moved, _ = self._slot(component, "RECURRENCE-ID")
                self._moved.setdefault(_uid(entry, component), []).append(moved)
            self._components.append((entry, component))
        except UsageError as error:
            self._skip(entry, str(error))
        except _UNREADABLE as error:
            self._skip(entry, f"it cannot be read ({error})")

    def contents(self) -> CalendarContents:
        """The reminders of all entries that were prepared."""
        reminders: list[NewReminder] = []
        past = closed = 0
        for entry, component in self._components:
            try:
                if _is_closed(component):
                    closed += 1
                    continue
                reminders.append(self._reminder(entry, component))
            except _Left:
                past += 1
            except UsageError as error:
                self._skip(entry, str(error))
            except _UNREADABLE as error:
                self._skip(entry, f"it cannot be read ({error})")
        return CalendarContents(tuple(reminders), tuple(self._skipped), past, closed)

    def _skip(self, entry: Entry, reason: str) -> None:
        self._skipped.append(" ".join(f"{entry.title}: {reason}".split()))

    def _reminder(self, entry: Entry, component: Component) -> NewReminder:
        text = _title(component)
        uid = _uid(entry, component)
        name = "DTSTART" if component.get("DTSTART") is not None or entry.kind == "VEVENT" else "DUE"
        if component.get(name) is None:
            raise UsageError("it has no time; give it one in the calendar")
        start, own = self._slot(component, name)
        zone = self._zone(component, start, own)
        for additional in ("RDATE", "EXRULE"):
            if component.get(additional) is not None:
                self._skip(entry, f"its {additional} is left out; add those times as reminders of their own")
        if component.get("RECURRENCE-ID") is not None:
            if "RANGE" in component["RECURRENCE-ID"].params:
                raise UsageError("it changes all later times of a recurring entry; change that one instead")
            moved, _ = self._slot(component, "RECURRENCE-ID")
            return self._once(component, NewReminder(text, start, str(zone), uid=f"{uid}#{_as_text(moved)}"))
        if component.get("RRULE") is None:
            return self._once(component, NewReminder(text, start, str(zone), uid=uid))
        if own == "UTC" and _OWN_ZONE not in component:
            zone = ZoneInfo("UTC")
        return self._recurring(component, NewReminder(text, start, str(zone), uid=uid), zone)

    def _once(self, component: Component, new: NewReminder) -> NewReminder:
        passed = has_come(new.due, self._now) and new.due != self._now.date()
        if passed and _OPEN_SLOT not in component:
            raise _Left
        return new

    def _recurring(self, component: Component, new: NewReminder, zone: ZoneInfo) -> NewReminder:
        rule = component["RRULE"]
        if isinstance(rule, list):
            raise UsageError("it has several rules, and a reminder has one; divide it in the calendar")
        if not isinstance(rule, vRecur):
            raise UsageError("its RRULE cannot be read")
        start = new.due
        canonical = check_rule(rule.to_ical().decode(), start, zone)  # type: ignore[no-untyped-call]
        # Entries that stand in for a slot are told by the uid of the recurring one.
        moved = self._moved.get(new.uid, [])
        exdates = tuple(_of_kind(slot, start, zone) for slot in (*self._slots(component, "EXDATE"), *moved))
        exdates = tuple(sorted(set(exdates), key=_as_text))
        due = self._open_slot(component, canonical, start, zone)
        if due is None or due in exdates:
            due = first_slot(canonical, start, zone, exdates, self._now)
        if due is None:
            raise _Left
        return NewReminder(new.text, due, str(zone), canonical, exdates, start, new.uid)

    def _open_slot(self, component: Component, rule: str, start: Slot, zone: ZoneInfo) -> Slot | None:
        """The slot that was open when Frontmind wrote the entry; None where the entry was changed since."""
        try:
            text = str(component.get(_OPEN_SLOT, ""))
            due = checked_slot(datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text))
        except (ValueError, UsageError):
            return None
        same_kind = isinstance(due, datetime) == isinstance(start, datetime)
        return due if same_kind and is_slot(rule, start, zone, due) else None

    def _zone(self, component: Component, start: Slot, own: str) -> ZoneInfo:
        """The zone in which an entry is meant; one without a zone of its own says it where Frontmind wrote it."""
        if isinstance(start, datetime) and own not in ("", "UTC"):
            return find_zone(own)
        try:
            return find_zone(str(component.get(_OWN_ZONE, "")))
        except UsageError:
            return self._here

    def _slot(self, component: Component, name: str) -> tuple[Slot, str]:
        """A time of an entry, and the zone that it names; "UTC" for a time in UTC, empty for none."""
        value = component[name]
        if isinstance(value, list):
            raise UsageError(f"it has several {name}")
        if not isinstance(value, vDDDTypes):
            raise UsageError(f"its {name} cannot be read")
        return self._resolved(value.dt, str(value.params.get("X-TZID", "")))

    def _slots(self, component: Component, name: str) -> Iterator[Slot]:
        values = component.get(name, [])
        for value in values if isinstance(values, list) else [values]:
            if not isinstance(value, vDDDLists):
                raise UsageError(f"its {name} cannot be read")
            for item in value.dts:
                yield self._resolved(item.dt, str(value.params.get("X-TZID", "")))[0]

    def _resolved(self, value: object, tzid: str) -> tuple[Slot, str]:
        if isinstance(value, date):
            checked_slot(value.replace(tzinfo=UTC) if isinstance(value, datetime) else value)
        if isinstance(value, datetime):
            if value.tzinfo is not None:
                return value.astimezone(UTC), "UTC"
            if not tzid:
                return localised(value, self._here), str(self._here)
            zone = self._zones.get(tzid)
            if zone is None:
                raise UsageError(f"its time zone {tzid[:80]!r} is not known; use an IANA zone in the calendar")
            return localised(value, find_zone(zone)), zone
        if isinstance(value, date):
            return value, ""
        raise UsageError("it has a time of day without a date")


def _is_closed(component: Component) -> bool:
    status = str(component.get("STATUS", "")).upper()
    return status in ("CANCELLED", "COMPLETED") or "COMPLETED" in component


def _title(component: Component) -> str:
    for name in ("SUMMARY", "DESCRIPTION"):
        value = component.get(name, "")
        text = str(value[0] if isinstance(value, list) else value).strip()
        if text:
            text = text if name == "SUMMARY" else text.splitlines()[0].strip()
            return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    raise UsageError("it has no title; give it one in the calendar")


def _uid(entry: Entry, component: Component) -> str:
    """What makes the entry known again when the file is read a second time."""
    uid = str(component.get("UID", "")).strip()
    if uid and len(uid) <= _LARGEST_UID:
        return uid
    return hashlib.sha256((uid or entry.text).encode("utf-8", "surrogatepass")).hexdigest()


def _of_kind(slot: Slot, start: Slot, zone: ZoneInfo) -> Slot:
    """A slot that is left out, as a moment or a date like the slots of the rule."""
    if isinstance(start, datetime):
        if isinstance(slot, datetime):
            return slot.astimezone(UTC)
        return localised(datetime.combine(slot, start.astimezone(zone).time()), zone)
    return slot.astimezone(zone).date() if isinstance(slot, datetime) else slot
