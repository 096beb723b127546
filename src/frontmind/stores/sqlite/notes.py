"""Notes, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import StoredText, decoding, from_moment, from_text, to_moment, to_text
from frontmind.stores.sqlite.search import forget_note, index_note
from frontmind.values.records import Note


def add_note(connection: sqlite3.Connection, owner: StoredText, text: str, at: datetime) -> Note:
    """Store a new note and make it searchable."""
    note_id = connection.execute(
        "INSERT INTO notes (owner, text, created_at) VALUES (?, ?, ?)", (owner, to_text(text), to_moment(at))
    ).lastrowid
    note = _note(connection.execute("SELECT * FROM notes WHERE id = ?", (note_id,)).fetchone())
    index_note(connection, note.id, text)
    return note


def notes(connection: sqlite3.Connection, owner: StoredText) -> Sequence[Note]:
    """All notes by id."""
    return [_note(row) for row in connection.execute("SELECT * FROM notes WHERE owner = ? ORDER BY id", (owner,))]


def remove_note(connection: sqlite3.Connection, owner: StoredText, note_id: int) -> Note:
    """Delete a note, also from the search.

    Raises:
        UsageError: there is no note with this id.
    """
    row = connection.execute("SELECT * FROM notes WHERE id = ? AND owner = ?", (note_id, owner)).fetchone()
    if row is None:
        raise UsageError(f"no note has the id {note_id}; pass one from the list of notes")
    connection.execute("DELETE FROM notes WHERE id = ?", (note_id,))
    forget_note(connection, note_id)
    return _note(row)


@decoding("a note")
def _note(row: sqlite3.Row) -> Note:
    return Note(id=row["id"], text=from_text(row["text"]), created_at=from_moment(row["created_at"]))
