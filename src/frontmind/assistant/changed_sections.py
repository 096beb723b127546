"""Which sections of the notification center are no longer as a window says them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from frontmind.values.section import PLACEMENT_NOTIFICATION, Section
from frontmind.window.framing import section_digest
from frontmind.window.window import Window


def changed_sections(window: Window, sections: Sequence[Section]) -> tuple[Section, ...]:
    """Those of the sections that the window says otherwise, or not at all; one that is gone comes without text.

    Args:
        window: as it is now, with its updates so far.
        sections: as they are now.
    """
    fresh = {section.name: section for section in sections if section.placement == PLACEMENT_NOTIFICATION}
    said = {section.name: section for section in window.sections if section.placement == PLACEMENT_NOTIFICATION}
    said |= {section.name: section for update in window.updates for section in update.sections}
    changed = [
        section
        for name, section in fresh.items()
        if name not in said or section_digest(section) != section_digest(said[name])
    ]
    gone = [replace(section, content="", state="") for name, section in said.items() if name not in fresh]
    return (*changed, *(section for section in gone if said[section.name].content))
