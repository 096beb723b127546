"""The composer: sections in, composed prompt out. Knows no trinket, no provider, no conversation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from frontmind.errors import UsageError
from frontmind.values.section import (
    HEADER,
    PLACEMENT_NOTIFICATION,
    PLACEMENT_SYSTEM,
    RULE_CHARACTER,
    Author,
    Section,
    join_sections,
    render_notification_center,
)

__all__ = [
    "BASE_PROMPT_SECTION",
    "HEADER",
    "NOTIFICATION_ORDER",
    "PLACEMENT_NOTIFICATION",
    "PLACEMENT_SYSTEM",
    "SYSTEM_ORDER",
    "ComposedPrompt",
    "SectionData",
    "SystemPromptComposer",
]

BASE_PROMPT_SECTION: Final = "base_prompt"

SYSTEM_ORDER: Final = (BASE_PROMPT_SECTION, "domaindoc", "tool_guidance", "tool_hints")
NOTIFICATION_ORDER: Final = (
    "datetime_section",
    "conversation_manifest",
    "active_reminders",
    "context_search_results",
    "relevant_memories",
)
_ORDER: Final = {PLACEMENT_SYSTEM: SYSTEM_ORDER, PLACEMENT_NOTIFICATION: NOTIFICATION_ORDER}


class SectionData(NamedTuple):
    """What the composer keeps of a section."""

    content: str
    cache_policy: bool
    placement: str
    author: Author = Author.OTHERS
    observed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ComposedPrompt:
    """The three texts of a composed prompt, each empty when nothing belongs there.

    Attributes:
        cached_content: system sections in front of the cache marker, with a blank line between.
        non_cached_content: system sections behind it.
        notification_center: the rendered notification center.
        sections: all of them in the order in which they stand.
    """

    cached_content: str
    non_cached_content: str
    notification_center: str
    sections: tuple[Section, ...]


class SystemPromptComposer:
    """Holds the sections by name and puts them in order.

    The same sections give the same bytes, whatever the order in which they were added. A section that no
    order list names goes to the end of its own placement, by name.
    """

    def __init__(self) -> None:
        self._sections: dict[str, SectionData] = {}

    def set_base_prompt(self, text: str) -> None:
        """Set the text that begins the system prompt; it is trusted and stands as it is."""
        self.add_section(
            BASE_PROMPT_SECTION, text, cache_policy=True, placement=PLACEMENT_SYSTEM, author=Author.APPLICATION
        )

    def add_section(
        self,
        name: str,
        content: str,
        *,
        cache_policy: bool = False,
        placement: str,
        author: Author = Author.OTHERS,
        observed_at: datetime | None = None,
    ) -> None:
        """Add a section, or replace the one of this name. Blank content removes it.

        Args:
            observed_at: when the content was true. In the notification center it is told in the opening tag; in the
                system prompt it would throw the prompt cache away, and is left out.

        Raises:
            UsageError: the placement is unknown.
        """
        if placement not in _ORDER:
            raise UsageError(
                f"unknown placement {placement!r} of section {name!r}; "
                f"use {PLACEMENT_SYSTEM!r} or {PLACEMENT_NOTIFICATION!r}"
            )
        if content.strip():
            self._sections[name] = SectionData(content, cache_policy, placement, author, observed_at)
        else:
            self.remove_section(name)

    def remove_section(self, name: str) -> None:
        """Remove the section of this name, if there is one."""
        self._sections.pop(name, None)

    def section(self, name: str) -> SectionData | None:
        """The section of this name as it would be composed now."""
        return self._sections.get(name)

    def compose(self) -> ComposedPrompt:
        """Put all sections in order."""
        system = self._ordered(PLACEMENT_SYSTEM)
        cached = [section for section in system if section.cache_policy]
        uncached = [section for section in system if not section.cache_policy]
        return ComposedPrompt(
            cached_content=join_sections(cached),
            non_cached_content=join_sections(uncached),
            notification_center=self._build_notification_center(),
            sections=(*cached, *uncached, *self._ordered(PLACEMENT_NOTIFICATION)),
        )

    def _build_notification_center(self) -> str:
        return render_notification_center(self._ordered(PLACEMENT_NOTIFICATION))

    def _ordered(self, placement: str) -> list[Section]:
        order = {name: position for position, name in enumerate(_ORDER[placement])}
        names = [name for name, data in self._sections.items() if data.placement == placement]
        names.sort(key=lambda name: (order.get(name, len(order)), name))
        return [self._as_section(name, self._sections[name]) for name in names]

    @staticmethod
    def _as_section(name: str, data: SectionData) -> Section:
        if data.placement != PLACEMENT_NOTIFICATION:
            return Section(name, data.content, data.placement, data.cache_policy, data.author)
        # Only the composer draws rules: one inside a section would look like the end of them all.
        state = data.content.replace(RULE_CHARACTER, f"&#x{ord(RULE_CHARACTER):X};")
        content = state
        opening = f"<{name}"
        if data.observed_at is not None and state.startswith(opening):
            content = f'{opening} observed="{data.observed_at:%Y-%m-%d %H:%M}"{state[len(opening) :]}'
        return Section(name, content, data.placement, data.cache_policy, data.author, state)
