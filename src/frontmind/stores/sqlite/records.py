"""Reminders, notes and documents, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import date, datetime

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import decoding, from_due, from_moment, from_text, to_due, to_moment, to_text
from frontmind.stores.sqlite.search import forget_note, index_note
from frontmind.values.records import Document, Note, Reminder


def add_reminder(connection: sqlite3.Connection, text: str, due: datetime | date, zone: str, at: datetime) -> Reminder:
    """Store a new active reminder."""
    reminder_id = connection.execute(
        "INSERT INTO reminders (text, due, zone, created_at) VALUES (?, ?, ?, ?)",
        (to_text(text), to_due(due), to_text(zone), to_moment(at)),
    ).lastrowid
    return _reminder(connection.execute("SELECT * FROM reminders WHERE id = ?", (reminder_id,)).fetchone())


def active_reminders(connection: sqlite3.Connection) -> Sequence[Reminder]:
    """Those not done, by id."""
    rows = connection.execute("SELECT * FROM reminders WHERE done_at IS NULL ORDER BY id")
    return [_reminder(row) for row in rows]


def complete_reminder(connection: sqlite3.Connection, reminder_id: int, at: datetime) -> Reminder:
    """Mark an active reminder as done.

    Raises:
        UsageError: there is no active reminder with this id.
    """
    changed = connection.execute(
        "UPDATE reminders SET done_at = ? WHERE id = ? AND done_at IS NULL", (to_moment(at), reminder_id)
    )
    if changed.rowcount == 0:
        raise UsageError(f"no active reminder has the id {reminder_id}; pass one from the list of reminders")
    return _reminder(connection.execute("SELECT * FROM reminders WHERE id = ?", (reminder_id,)).fetchone())


def add_note(connection: sqlite3.Connection, text: str, at: datetime) -> Note:
    """Store a new note and make it searchable."""
    note_id = connection.execute(
        "INSERT INTO notes (text, created_at) VALUES (?, ?)", (to_text(text), to_moment(at))
    ).lastrowid
    note = _note(connection.execute("SELECT * FROM notes WHERE id = ?", (note_id,)).fetchone())
    index_note(connection, note.id, text)
    return note


def notes(connection: sqlite3.Connection) -> Sequence[Note]:
    """All notes by id."""
    return [_note(row) for row in connection.execute("SELECT * FROM notes ORDER BY id")]


def remove_note(connection: sqlite3.Connection, note_id: int) -> Note:
    """Delete a note, also from the search.

    Raises:
        UsageError: there is no note with this id.
    """
    row = connection.execute("SELECT * FROM notes WHERE id = ?", (note_id,)).fetchone()
    if row is None:
        raise UsageError(f"no note has the id {note_id}; pass one from the list of notes")
    connection.execute("DELETE FROM notes WHERE id = ?", (note_id,))
    forget_note(connection, note_id)
    return _note(row)


def put_document(connection: sqlite3.Connection, name: str, text: str, at: datetime) -> Document:
    """Store a document, enabled, in the place of an earlier one of its name."""
    connection.execute(
        """
        INSERT INTO domaindocs (name, enabled, updated_at, text) VALUES (?, 1, ?, ?)
        ON CONFLICT (name) DO UPDATE
        SET enabled = excluded.enabled, updated_at = excluded.updated_at, text = excluded.text
        """,
        (to_text(name), to_moment(at), to_text(text)),
    )
    return _document(connection.execute("SELECT * FROM domaindocs WHERE name = ?", (to_text(name),)).fetchone())


def documents(connection: sqlite3.Connection) -> Sequence[Document]:
    """All documents by name."""
    found = [_document(row) for row in connection.execute("SELECT * FROM domaindocs")]
    # Not by SQLite, which puts the names that are stored as TEXT before those that are stored as BLOB.
    return sorted(found, key=lambda document: document.name)


def enable_document(connection: sqlite3.Connection, name: str, enabled: bool) -> Document:
    """Switch a document on or off.

    Raises:
        UsageError: there is no document of this name.
    """
    changed = connection.execute("UPDATE domaindocs SET enabled = ? WHERE name = ?", (enabled, to_text(name)))
    if changed.rowcount == 0:
        raise UsageError(f"no document has the name {name!r}; pass one from the list of documents")
    return _document(connection.execute("SELECT * FROM domaindocs WHERE name = ?", (to_text(name),)).fetchone())


@decoding("a reminder")
def _reminder(row: sqlite3.Row) -> Reminder:
    return Reminder(
        id=row["id"],
        text=from_text(row["text"]),
        due=from_due(row["due"]),
        zone=from_text(row["zone"]),
        created_at=from_moment(row["created_at"]),
        done_at=None if row["done_at"] is None else from_moment(row["done_at"]),
    )


@decoding("a note")
def _note(row: sqlite3.Row) -> Note:
    return Note(id=row["id"], text=from_text(row["text"]), created_at=from_moment(row["created_at"]))


@decoding("a document")
def _document(row: sqlite3.Row) -> Document:
    return Document(
        name=from_text(row["name"]),
        text=from_text(row["text"]),
        enabled=bool(row["enabled"]),
        updated_at=from_moment(row["updated_at"]),
    )
