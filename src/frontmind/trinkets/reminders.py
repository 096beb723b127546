"""What the user asked to be reminded of, as far as it matters now."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.budget import shortened
from frontmind.trinkets.markup import Body, Element
from frontmind.values.due import Urgency, describe_due, effective, moment_of, urgency_of
from frontmind.values.records import Reminder


class ReminderSource(Protocol):
    async def active_reminders(self) -> Sequence[Reminder]: ...


class ReminderManager(EventAwareTrinket):
    """The reminders that are overdue, due today, or due in the next seven days."""

    section_name = "active_reminders"
    shows_last_good = True

    def __init__(self, source: ReminderSource) -> None:
        self._source = source

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        now = context.now
        reminders = await self._source.active_reminders()
        urgent = [(urgency, item) for item in reminders if (urgency := urgency_of(item, now)) is not None]
        urgent.sort(key=lambda pair: (moment_of(effective(pair[1]), now.tzinfo), pair[1].id))
        return [
            Element(
                "reminder",
                item.text,
                {"id": f"r{item.id}", "due": describe_due(item, now), "status": urgency.value},
            )
            for urgency, item in urgent
        ]

    def shorten(self, body: Body, budget: int) -> Body:
        """The reminders farthest from now are left out, in the past and in the future alike, so that neither a pile of
        old ones nor a full week hides what is due today.
        """
        if isinstance(body, str):
            return shortened(body, budget)
        overdue = [item for item in body if item.attributes.get("status") == Urgency.OVERDUE]
        # A date of today stands before the moments of today that have passed.
        ahead = [item for item in body if item.attributes.get("status") != Urgency.OVERDUE]
        nearest = chain.from_iterable(zip_longest(reversed(overdue), ahead))
        kept = shortened([item for item in nearest if item is not None], budget)
        if isinstance(kept, str):
            return kept
        place = {item.attributes.get("id", ""): number for number, item in enumerate(body)}
        return sorted(kept, key=lambda item: place.get(item.attributes.get("id", ""), len(place)))
