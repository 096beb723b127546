"""A section of the composed prompt, and the two places where it can stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PLACEMENT_SYSTEM: Final = "system"
PLACEMENT_NOTIFICATION: Final = "notification"

RULE_CHARACTER: Final = "═"
RULE: Final = RULE_CHARACTER * 60
"""The line that frames the notification center: 60 times U+2550."""

HEADER: Final = (
    "NOTIFICATION CENTER\n"
    "This section moves to the front of your context each turn\n"
    "to keep important information front-of-mind."
)


class Author(StrEnum):
    """Whose words a section carries.

    APPLICATION: only what this program wrote, such as the time; it may be said with the operator's authority.
    OTHERS: also what people or documents wrote. It may try to give orders and is never said with authority.
    """

    APPLICATION = "application"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Section:
    """One named piece of the prompt as it was composed.

    Attributes:
        name: the section's name, which is also the name of the element that wraps it.
        content: the rendered text, element included.
        placement: `PLACEMENT_SYSTEM` or `PLACEMENT_NOTIFICATION`.
        cache_policy: for a system section, whether it stands in front of the cache marker.
        author: whose words it carries.
        state: the content without the moment at which it was observed: what decides whether the section has changed.
            Empty where the content has none.
    """

    name: str
    content: str
    placement: str
    cache_policy: bool
    author: Author = Author.OTHERS
    state: str = ""


def join_sections(sections: Iterable[Section]) -> str:
    """The sections as they stand in a prompt, a blank line between."""
    return "\n\n".join(section.content for section in sections)


def render_notification_center(sections: Iterable[Section]) -> str:
    """Header, rule, sections, rule; empty where there is no section."""
    body = join_sections(sections)
    return "\n".join((HEADER, RULE, body, RULE)) if body else ""


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
