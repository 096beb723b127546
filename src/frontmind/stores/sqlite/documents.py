"""Documents and their versions, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from frontmind.errors import Conflict, UsageError
from frontmind.stores.sqlite.codec import (
    StoredText,
    decoding,
    from_json,
    from_moment,
    from_text,
    to_json,
    to_moment,
    to_text,
)
from frontmind.stores.sqlite.passage_making import forget_passages, index_document
from frontmind.values.passages import PassageKind
from frontmind.values.records import Document, DocumentVersion

_SELECT = """
    SELECT documents.*, document_versions.text, document_versions.at AS updated_at, document_versions.parent
    FROM documents JOIN document_versions
    ON document_versions.document = documents.id AND document_versions.version = documents.version
    WHERE documents.owner = ?
"""


def put_document(
    connection: sqlite3.Connection,
    owner: StoredText,
    name: str,
    text: str,
    at: datetime,
    *,
    by: str,
    enable: bool | None,
    source: str | None,
    expected: int | None,
) -> Document:
    """Store a text as the newest version, unless it is the text that holds.

    Raises:
        Conflict: another version than the expected one holds.
    """
    row = _row(connection, owner, name)
    holds = 0 if row is None else int(row["version"])
    _require(expected, holds, name)
    if row is None:
        connection.execute(
            "INSERT INTO documents (owner, name, enabled, version) VALUES (?, ?, 1, 0)", (owner, to_text(name))
        )
    document_id = _id(connection, owner, name)
    if row is None or from_text(row["text"]) != text:
        _add_version(connection, document_id, holds or None, text, at, by)
        index_document(connection, document_id)
    if enable is not None:
        connection.execute("UPDATE documents SET enabled = ? WHERE id = ?", (enable, document_id))
    if source is not None:
        connection.execute("UPDATE documents SET source = ? WHERE id = ?", (to_text(source), document_id))
    return _existing(connection, owner, name)


def documents(connection: sqlite3.Connection, owner: StoredText) -> Sequence[Document]:
    """All documents by name."""
    found = [_document(row) for row in connection.execute(_SELECT, (owner,))]
    # Not by SQLite, which puts the names that are stored as TEXT before those that are stored as BLOB.
    return sorted(found, key=lambda document: document.name)


def enable_document(connection: sqlite3.Connection, owner: StoredText, name: str, enabled: bool) -> Document:
    """Switch a document on or off.

    Raises:
        UsageError: there is no document of this name.
    """
    document_id = _id(connection, owner, name)
    connection.execute("UPDATE documents SET enabled = ? WHERE id = ?", (enabled, document_id))
    return _existing(connection, owner, name)


def collapse_document(
    connection: sqlite3.Connection, owner: StoredText, name: str, collapsed: tuple[str, ...]
) -> Document:
    """Set the sections of which only the title is shown.

    Raises:
        UsageError: there is no document of this name.
    """
    document_id = _id(connection, owner, name)
    spelled = to_json(sorted(set(collapsed)))
    connection.execute("UPDATE documents SET collapsed = ? WHERE id = ?", (spelled, document_id))
    return _existing(connection, owner, name)


def document_versions(connection: sqlite3.Connection, owner: StoredText, name: str) -> Sequence[DocumentVersion]:
    """Every text that it has or had, by number."""
    rows = connection.execute(
        """
        SELECT document_versions.* FROM document_versions JOIN documents ON documents.id = document_versions.document
        WHERE documents.owner = ? AND documents.name = ? ORDER BY document_versions.version
        """,
        (owner, to_text(name)),
    )
    return [_version(row, name) for row in rows]


def undo_document(connection: sqlite3.Connection, owner: StoredText, name: str, expected: int | None) -> Document:
    """Let the version hold that the present one was made from.

    Raises:
        Conflict: another version than the expected one holds.
        UsageError: there is no document of this name, or its first version holds.
    """
    document_id = _id(connection, owner, name)
    row = _row(connection, owner, name)
    if row is not None:
        _require(expected, int(row["version"]), name)
    if row is None or row["parent"] is None:
        raise UsageError(f"the document {name!r} has no earlier version; there is nothing to undo")
    connection.execute("UPDATE documents SET version = ? WHERE id = ?", (row["parent"], document_id))
    index_document(connection, document_id)
    return _existing(connection, owner, name)


def remove_document(connection: sqlite3.Connection, owner: StoredText, name: str) -> Document:
    """Delete it with all its versions.

    Raises:
        UsageError: there is no document of this name.
    """
    document_id = _id(connection, owner, name)
    removed = _existing(connection, owner, name)
    connection.execute("DELETE FROM documents WHERE id = ?", (document_id,))
    forget_passages(connection, owner, PassageKind.DOCUMENT, document_id)
    return removed


def _require(expected: int | None, holds: int, name: str) -> None:
    if expected is not None and expected != holds:
        raise Conflict(f"the document {name!r} was changed meanwhile; read it again")


def _add_version(
    connection: sqlite3.Connection, document_id: int, parent: int | None, text: str, at: datetime, by: str
) -> None:
    newest = connection.execute(
        "SELECT coalesce(max(version), 0) FROM document_versions WHERE document = ?", (document_id,)
    ).fetchone()[0]
    connection.execute(
        "INSERT INTO document_versions (document, version, parent, at, author, text) VALUES (?, ?, ?, ?, ?, ?)",
        (document_id, newest + 1, parent, to_moment(at), by, to_text(text)),
    )
    connection.execute("UPDATE documents SET version = ? WHERE id = ?", (newest + 1, document_id))


def _row(connection: sqlite3.Connection, owner: StoredText, name: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(f"{_SELECT} AND documents.name = ?", (owner, to_text(name))).fetchone()
    return row


def _id(connection: sqlite3.Connection, owner: StoredText, name: str) -> int:
    row = connection.execute("SELECT id FROM documents WHERE owner = ? AND name = ?", (owner, to_text(name))).fetchone()
    if row is None:
        raise UsageError(f"no document has the name {name!r}; pass one from the list of documents")
    return int(row["id"])


def _existing(connection: sqlite3.Connection, owner: StoredText, name: str) -> Document:
    row = _row(connection, owner, name)
    assert row is not None
    return _document(row)


@decoding("a document")
def _document(row: sqlite3.Row) -> Document:
    return Document(
        name=from_text(row["name"]),
        text=from_text(row["text"]),
        enabled=bool(row["enabled"]),
        updated_at=from_moment(row["updated_at"]),
        version=row["version"],
        collapsed=tuple(from_json(row["collapsed"])),
        source=from_text(row["source"]),
    )


@decoding("a version of a document")
def _version(row: sqlite3.Row, name: str) -> DocumentVersion:
    return DocumentVersion(
        name=name,
        version=row["version"],
        parent=row["parent"],
        text=from_text(row["text"]),
        at=from_moment(row["at"]),
        by=row["author"],
    )
