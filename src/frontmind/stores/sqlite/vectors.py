"""Vectors of passages in their spaces, each function inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import StoredText, decoding, from_text, to_text
from frontmind.stores.sqlite.scopes import scope
from frontmind.values.passages import PassageKind, VectorSpace

_BYTES: Final = 2
"""The size of a float16."""


def vector_spaces(connection: sqlite3.Connection, owner: StoredText) -> Sequence[VectorSpace]:
    """The spaces by name."""
    rows = connection.execute("SELECT * FROM vector_spaces WHERE owner = ?", (owner,)).fetchall()
    return sorted((_space(row) for row in rows), key=lambda space: space.name)


def begin_space(connection: sqlite3.Connection, owner: StoredText, name: str, dimensions: int) -> VectorSpace:
    """The space of this name, made when it is not there.

    Raises:
        UsageError: it is there with other dimensions.
    """
    connection.execute(
        "INSERT INTO vector_spaces (owner, name, dimensions) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (owner, to_text(name), dimensions),
    )
    space = _space(_row(connection, owner, name))
    if space.dimensions != dimensions:
        raise UsageError(
            f"the vectors of {name!r} have {space.dimensions} dimensions, and the model gives {dimensions}; "
            "give the model another name"
        )
    return space


def drop_space(connection: sqlite3.Connection, owner: StoredText, name: str) -> None:
    """Delete the space with its vectors."""
    place = (owner, to_text(name))
    connection.execute(
        "DELETE FROM vectors WHERE space = (SELECT id FROM vector_spaces WHERE owner = ? AND name = ?)", place
    )
    connection.execute("DELETE FROM vector_spaces WHERE owner = ? AND name = ?", place)


def save_vectors(
    connection: sqlite3.Connection,
    owner: StoredText,
    space: str,
    vectors: Sequence[tuple[int, bytes]],
    embedded_to: int,
) -> None:
    """Keep vectors of those passages that are there and of this owner, and note how far the space has come.

    Raises:
        UsageError: there is no such space, or a vector has another length.
    """
    row = _row(connection, owner, space)
    length = row["dimensions"] * _BYTES
    for passage_id, vector in vectors:
        if len(vector) != length:
            raise UsageError(f"the vector of passage {passage_id} has {len(vector)} bytes; {length} are expected")
    connection.executemany(
        """
        INSERT INTO vectors (passage, space, vector)
        SELECT :passage, :space, :vector WHERE EXISTS (
            SELECT 1 FROM passages WHERE id = :passage AND scope IN (SELECT value FROM json_each(:scopes))
        )
        ON CONFLICT DO UPDATE SET vector = excluded.vector
        """,
        [
            {"passage": passage_id, "space": row["id"], "vector": vector, "scopes": _scopes(owner)}
            for passage_id, vector in vectors
        ],
    )
    connection.execute(
        "UPDATE vector_spaces SET embedded_to = max(embedded_to, ?) WHERE id = ?", (embedded_to, row["id"])
    )


def vectors_after(
    connection: sqlite3.Connection, owner: StoredText, space: str, passage_id: int, kind: PassageKind, limit: int
) -> Sequence[tuple[int, bytes]]:
    """The vectors of the passages of this kind with a larger id, by id."""
    rows = connection.execute(
        """
        SELECT passages.id, vectors.vector FROM passages
        JOIN vectors ON vectors.passage = passages.id
        WHERE passages.scope = ? AND passages.id > ?
          AND vectors.space = (SELECT id FROM vector_spaces WHERE owner = ? AND name = ?)
        ORDER BY passages.id LIMIT ?
        """,
        (scope(owner, kind), passage_id, owner, to_text(space), limit),
    )
    return [(row["id"], row["vector"]) for row in rows]


def vectors(
    connection: sqlite3.Connection, owner: StoredText, space: str, ids: Sequence[int]
) -> Sequence[tuple[int, bytes]]:
    """The vectors of these passages, in this order."""
    rows = connection.execute(
        """
        SELECT passage, vector FROM vectors
        WHERE passage IN (SELECT value FROM json_each(?))
          AND space = (SELECT id FROM vector_spaces WHERE owner = ? AND name = ?)
        """,
        (json.dumps(list(ids)), owner, to_text(space)),
    )
    found = {row["passage"]: row["vector"] for row in rows}
    return [(passage_id, found[passage_id]) for passage_id in ids if passage_id in found]


def _row(connection: sqlite3.Connection, owner: StoredText, name: str) -> sqlite3.Row:
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM vector_spaces WHERE owner = ? AND name = ?", (owner, to_text(name))
    ).fetchone()
    if row is None:
        raise UsageError(f"there are no vectors of {name!r}; begin their space first")
    return row


def _scopes(owner: StoredText) -> str:
    return json.dumps([scope(owner, kind) for kind in PassageKind])


@decoding("a space of vectors")
def _space(row: sqlite3.Row) -> VectorSpace:
    return VectorSpace(from_text(row["name"]), row["dimensions"], row["embedded_to"])
