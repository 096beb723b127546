"""Texts by what they say, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import StoredText, decoding, from_text, to_text
from frontmind.window.canonical import digest

_ID_LENGTH: Final = 16


def save_texts(connection: sqlite3.Connection, owner: StoredText, texts: Sequence[str]) -> Sequence[str]:
    """Keep the texts; an id for each."""
    ids = [digest(text.encode("utf-8", "surrogatepass"))[:_ID_LENGTH] for text in texts]
    connection.executemany(
        "INSERT INTO texts (owner, id, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(owner, text_id, to_text(text)) for text_id, text in zip(ids, texts, strict=True)],
    )
    return ids


def load_text(connection: sqlite3.Connection, owner: StoredText, text_id: str) -> str:
    """The text of this id.

    Raises:
        UsageError: there is none.
    """
    row = connection.execute("SELECT text FROM texts WHERE owner = ? AND id = ?", (owner, to_text(text_id))).fetchone()
    if row is None:
        raise UsageError(f"no stored text has the id {text_id!r}; pass one that was named before")
    with decoding("a text"):
        return from_text(row["text"])
