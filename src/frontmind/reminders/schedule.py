"""When a reminder is due, and what has to be said of it now. Pure: no store, no clock.

The slots of a rule are computed on the wall clock of the reminder's own zone, so 09:00 stays 09:00 there. A time that
does not exist is taken with the offset from before the gap (02:30 becomes 03:30), one that comes twice is the first
(RFC 5545, section 3.3.5). Slots that are moments are in UTC: Python compares two moments of one zone by wall clocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from heapq import heappop, heappush
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from frontmind.errors import UsageError
from frontmind.reminders.recurrence import (
    Slot,
    canonical_rule,
    has_times_of_day,
    limit_of,
    occurrences,
    with_limit,
)
from frontmind.values.clock import find_zone
from frontmind.values.due import effective, moment_of
from frontmind.values.records import Delivery, Reminder

_LAST_YEAR = 2999
MOST_MISSED = 10_000
"""Up to so many missed slots are counted; each takes some ten microseconds. One more stands for any larger number."""
# A clock that is set right steps back by seconds, and the clocks of two machines differ by as much.
_JITTER = timedelta(minutes=1)
# The zone in which a day begins first.
_EARLIEST_ZONE = timezone(timedelta(hours=14))
_RECENT = timedelta(days=30)


def check_rule(rrule: str, start: Slot, zone: ZoneInfo) -> str:
    """The rule in its one form, with UNTIL in UTC for moments and as a date for dates.

    Args:
        start: the first time, or one before it; a date for a rule of dates.
        zone: in which the rule is meant.

    Raises:
        UsageError: it is no rule, it comes oftener than every 15 minutes, or it has no occurrence from ``start`` on.
    """
    rule = canonical_rule(rrule)
    dated = not isinstance(start, datetime)
    if dated and has_times_of_day(rule):
        raise UsageError(f"the rule {rule} has a time of day, and the reminder only a date; give it a time as well")
    limit = limit_of(rule, zone, dated=dated)
    rule = with_limit(rule, limit)
    if limit is not None and _is_later(_plain(start), limit):
        raise UsageError(f"the rule {rule} ends before it begins; use a later UNTIL")
    if next(_of_rule(rule, start, zone, None), None) is None:
        raise UsageError(f"the rule {rule} has no occurrence from its beginning on; change it")
    return rule


def slots(reminder: Reminder, after: Slot | None = None) -> Iterator[Slot]:
    """The slots of a reminder in order, those left out aside; one for a reminder that comes once.

    Args:
        after: only slots later than this; for a reminder of dates a moment stands for its day, and for one of moments
            a date for the beginning of that day in the reminder's zone.

    Raises:
        UsageError: the stored rule or zone cannot be read.
    """
    start = reminder.start or reminder.due
    if after is not None and isinstance(start, datetime):
        after = moment_of(after, find_zone(reminder.zone))
    elif isinstance(after, datetime):
        after = after.date()
    if not reminder.rrule:
        if after is None or _is_later(_plain(reminder.due), after):
            yield _plain(reminder.due)
        return
    left_out = frozenset(map(_plain, reminder.exdates))
    for slot in _of_rule(reminder.rrule, start, find_zone(reminder.zone), after):
        if slot not in left_out:
            yield slot


def next_slot(reminder: Reminder, after: Slot | None) -> Slot | None:
    """The first slot later than ``after``; None when there is none."""
    return next(slots(reminder, after), None)


def has_come(slot: Slot, now: datetime) -> bool:
    """Whether it is due at ``now``; a date is from the first moment of that day in the zone of ``now``."""
    if isinstance(slot, datetime):
        return slot.astimezone(UTC) <= now.astimezone(UTC)
    return slot <= now.date()


def pending(reminder: Reminder, now: datetime) -> Iterator[Slot]:
    """The slots that were not delivered yet, those still to come as well, in order.

    A delivery of a slot that is still to come says nothing: a clock was wrong then. All are pending from the open one
    on, also those that were delivered before.

    One that was put off comes first at that moment; the slots of its rule before that are passed over.
    """
    if reminder.done_at is not None:
        return
    first, delivered = _plain(effective(reminder)), _delivered(reminder, now)
    if _is_undelivered(first, delivered, now):
        yield first
    if not reminder.rrule:
        return
    here = first if _is_undelivered(first, delivered, now) or delivered is None else delivered
    for slot in slots(reminder, here.astimezone(now.tzinfo) if isinstance(here, datetime) else here):
        if _is_undelivered(slot, delivered, now):
            yield slot


def delivery_of(reminder: Reminder, now: datetime) -> tuple[Reminder, Delivery] | None:
    """What must be said now: the newest slot that has come and was not delivered; None when there is none.

    Returns:
        The reminder as it is to be stored, and the delivery, which counts the earlier slots that nobody was told of, up
        to `MOST_MISSED` + 1; none where a wrong clock makes that unknown.
    """
    most = MOST_MISSED + 2
    come = list(islice(takewhile(lambda slot: has_come(slot, now), pending(reminder, now)), most))
    if not come:
        return None
    newest = come[-1] if len(come) < most else _newest(reminder, now)
    missed = len(come) - 1 if _delivered(reminder, now) == reminder.delivered else 0
    return _replaced(reminder, newest), Delivery(reminder.id, newest, now, missed=missed)


def _delivered(reminder: Reminder, now: datetime) -> Slot | None:
    """The slot that was delivered last; None for none, and for one that has come nowhere yet."""
    delivered = reminder.delivered
    if isinstance(delivered, datetime):
        return delivered if delivered - now.astimezone(UTC) <= _JITTER else None
    # On a trip a date that was delivered may be the next day's again.
    return delivered if delivered is not None and delivered <= now.astimezone(_EARLIEST_ZONE).date() else None


def _newest(reminder: Reminder, now: datetime) -> Slot:
    """The newest slot that has come, of a reminder that has had thousands."""
    begin = now
    while True:
        begin -= _RECENT
        if come := list(takewhile(lambda slot: has_come(slot, now), slots(reminder, begin))):
            return come[-1]


def upcoming(reminder: Reminder, now: datetime) -> datetime | None:
    """When `delivery_of` has something to say next, in UTC; not before ``now``; None for never."""
    slot = next(pending(reminder, now), None)
    if slot is None:
        return None
    return max(moment_of(slot, now.tzinfo), now.astimezone(UTC))


def first_slot(rule: str, start: Slot, zone: ZoneInfo, exdates: tuple[Slot, ...], now: datetime) -> Slot | None:
    """The first slot of a checked rule that is still to come (a date: today's too); None when there is none."""
    left_out = frozenset(map(_plain, exdates))
    for slot in _of_rule(rule, start, zone, None if _is_to_come(start, now) else _before(start, now)):
        if slot not in left_out and _is_to_come(slot, now):
            return slot
    return None


def _is_to_come(slot: Slot, now: datetime) -> bool:
    return not has_come(slot, now) or slot == now.date()


def _before(start: Slot, now: datetime) -> Slot:
    """What a slot that is still to come is later than, of the kind of ``start``."""
    return now.astimezone(UTC) if isinstance(start, datetime) else now.date() - timedelta(days=1)


def _replaced(reminder: Reminder, newest: Slot) -> Reminder:
    # Once a later slot of the rule has been said, putting off an earlier one is over.
    over = reminder.snoozed_until is not None and newest != reminder.snoozed_until
    return replace(reminder, delivered=newest, snoozed_until=None if over else reminder.snoozed_until)


def _is_undelivered(slot: Slot, delivered: Slot | None, now: datetime) -> bool:
    if delivered is None:
        return True
    if isinstance(delivered, datetime):
        # A date after a moment: a rule of dates goes on behind a time that it was put off to.
        return moment_of(slot, now.tzinfo) > delivered
    # A moment after a date: it was put off, or given a time of day, after that date had been said.
    return isinstance(slot, datetime) or slot > delivered


def _plain(slot: Slot) -> Slot:
    return slot.astimezone(UTC) if isinstance(slot, datetime) else slot


def _is_later(one: Slot, other: Slot) -> bool:
    """Of two slots of one kind."""
    if isinstance(one, datetime):
        return isinstance(other, datetime) and one > other
    return not isinstance(other, datetime) and one > other


def _of_rule(rule: str, start: Slot, zone: ZoneInfo, after: Slot | None) -> Iterator[Slot]:
    rule = canonical_rule(rule)
    found: Iterator[Slot]
    if isinstance(start, datetime):
        found = _moments(rule, start, zone, after if isinstance(after, datetime) else None)
    else:
        since = None if after is None else datetime.combine(after, time.min)
        found = (wall.date() for wall in occurrences(rule, datetime.combine(start, time.min), since))
    limit = limit_of(rule, zone, dated=not isinstance(start, datetime))
    for slot in found:
        if slot.year > _LAST_YEAR or (limit is not None and _is_later(slot, limit)):
            return
        if after is None or _is_later(slot, after):
            yield slot


def _moments(rule: str, start: datetime, zone: ZoneInfo, after: datetime | None) -> Iterator[datetime]:
    """The moments of a rule, in UTC, in order, each once."""
    begin = _wall(start, zone)
    since = None if after is None else _wall(after, zone)
    waiting: list[datetime] = []
    newest: datetime | None = None
    for wall in occurrences(rule, begin, since):
        # The start is what it is, also when it is the second 02:30 of a night.
        moment = start.astimezone(UTC) if wall == begin.replace(microsecond=0) else localised(wall, zone)
        heappush(waiting, moment)
        # A time in a gap is moved behind others of the rule; it waits until those have been said.
        while waiting and _wall(waiting[0], zone) <= wall:
            earliest = heappop(waiting)
            if newest is None or earliest > newest:
                newest = earliest
                yield earliest
    yield from sorted(moment for moment in set(waiting) if newest is None or moment > newest)


def localised(wall: datetime, zone: tzinfo) -> datetime:
    """The moment of a time on the wall clock of ``zone``, in UTC.

    A time that comes twice is the first; one in a gap is taken with the offset from before the gap.
    """
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def _wall(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def is_slot(rule: str, start: Slot, zone: ZoneInfo, slot: Slot) -> bool:
    """Whether a checked rule comes at that time, which is of the kind of ``start``."""
    before = slot - (timedelta(seconds=1) if isinstance(slot, datetime) else timedelta(days=1))
    return next(_of_rule(rule, start, zone, _plain(before)), None) == slot
