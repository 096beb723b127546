"""What time it is for the user. Reads no clock: the moment comes with the turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.values.section import Author


class TimeManager(EventAwareTrinket):
    """Weekday, date, local time to the minute with its zone, and how long ago the last message was."""

    section_name = "datetime_section"
    author = Author.APPLICATION
    tells_its_time = True

    async def generate_content(self, context: TurnContext) -> str:
        now = context.now
        lines = [f"It is {now:%A}, {now.day} {now:%B %Y}, {now:%H:%M} ({describe_zone(now)})."]
        if context.previous_message_at is not None:
            # In UTC: between two moments of one zone Python subtracts the wall clocks, and summer time begins or ends.
            passed = now.astimezone(UTC) - context.previous_message_at.astimezone(UTC)
            if passed < -timedelta(minutes=1):
                lines.append("The clock was set back since the previous message.")
            else:
                lines.append(f"The previous message was {describe_duration(passed)} ago.")
        return "\n".join(lines)


def describe_zone(moment: datetime) -> str:
    """The zone of an aware moment with its offset, such as ``Europe/Berlin, UTC+01:00``."""
    offset = f"UTC{moment:%z}"
    offset = f"{offset[:-2]}:{offset[-2:]}"
    key = getattr(moment.tzinfo, "key", None)
    return f"{key}, {offset}" if key else offset


def describe_duration(duration: timedelta) -> str:
    """A duration in its one or two largest units; a negative one (a clock set back) counts as none."""
    minutes = max(0, int(duration.total_seconds() // 60))
    if minutes == 0:
        return "less than a minute"
    days, rest = divmod(minutes, 24 * 60)
    hours, minutes = divmod(rest, 60)
    units = [(days, "day"), (hours, "hour"), (minutes, "minute")]
    shown = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in units if count]
    return " and ".join(shown[:2])
