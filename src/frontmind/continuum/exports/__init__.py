"""Histories that other programs have exported, read as conversations that can be stored.

A module for each program's format; `reading` opens a file and goes through its entries. Pure: whoever calls opens the
file. It knows no stores.
"""

from frontmind.continuum.exports.reading import Export
from frontmind.continuum.exports.value import Entry, ExportKind, ImportedConversation, Problem

__all__ = ["Entry", "Export", "ExportKind", "ImportedConversation", "Problem"]
