"""Reads "call Anna tomorrow at 9am" and "every other tuesday": when, how often, and what remains of the text.

A strict grammar of English phrases and ISO 8601 over python-dateutil's rules. Times of day are local to the moment
that is passed in. It knows no stores and no clock.
"""

from frontmind.reminders.phrases.reading import Reading, read_when
from frontmind.reminders.phrases.reminder import FORMS, Understood, parse_reminder, parse_when

__all__ = ["FORMS", "Reading", "Understood", "parse_reminder", "parse_when", "read_when"]
