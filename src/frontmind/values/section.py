"""A section of the composed prompt, and the two places where it can stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PLACEMENT_SYSTEM: Final = "system"
PLACEMENT_NOTIFICATION: Final = "notification"

RULE_CHARACTER: Final = "═"
RULE: Final = RULE_CHARACTER * 60
"""The line that frames the notification center: 60 times U+2550."""


@dataclass(frozen=True, slots=True)
class Section:
    """One named piece of the prompt as it was composed.

    Attributes:
        name: the section's name, which is also the name of the element that wraps it.
        content: the rendered text, element included.
        placement: `PLACEMENT_SYSTEM` or `PLACEMENT_NOTIFICATION`.
        cache_policy: for a system section, whether it stands in front of the cache marker.
    """

    name: str
    content: str
    placement: str
    cache_policy: bool


@dataclass(frozen=True, slots=True)
class SectionFailure:
    """A section whose trinket raised or took too long in this turn.

    Attributes:
        section: the name of the section.
        reason: one line, for the person who reads the report.
        since: when it began to fail, ISO 8601 to the minute.
        required: whether the turn must fail with it.
    """

    section: str
    reason: str
    since: str
    required: bool = False
