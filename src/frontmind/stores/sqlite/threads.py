"""Thread keys: which turn a thread ends with, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import StoredText, decoding, from_text, to_text
from frontmind.stores.thread_protocol import ThreadPlace


def note_thread(
    connection: sqlite3.Connection, owner: StoredText, key: str, *, parent: str, conversation: str, number: int
) -> None:
    """Note that a thread ends with this turn.

    Raises:
        UsageError: there is no such turn.
    """
    turn = connection.execute(
        """
        SELECT turns.id, turns.conversation FROM turns JOIN conversations ON conversations.id = turns.conversation
        WHERE conversations.owner = ? AND conversations.name = ? AND turns.number = ?
        """,
        (owner, to_text(conversation), number),
    ).fetchone()
    if turn is None:
        raise UsageError(f"the conversation {conversation!r} has no turn {number}; pass the number of one of its turns")
    # Only an earlier turn of the same conversation was said before: so no thread ever leads back to itself. A cross
    # join keeps SQLite from going through all of the conversation's turns for the few of the key.
    before = connection.execute(
        """
        SELECT threads.turn FROM threads CROSS JOIN turns ON turns.id = threads.turn
        WHERE threads.owner = ? AND threads.key = ? AND turns.conversation = ? AND turns.number < ?
        ORDER BY threads.id DESC LIMIT 1
        """,
        (owner, to_text(parent), turn["conversation"], number),
    ).fetchone()
    connection.execute(
        "INSERT OR REPLACE INTO threads (owner, key, turn, parent) VALUES (?, ?, ?, ?)",
        (owner, to_text(key), turn["id"], None if before is None else before["turn"]),
    )


def find_thread(connection: sqlite3.Connection, owner: StoredText, key: str) -> ThreadPlace | None:
    """Where the thread with this key stands."""
    rows = connection.execute(
        """
        WITH RECURSIVE thread (turn, depth) AS (
            SELECT * FROM (SELECT turn, 0 FROM threads WHERE owner = ? AND key = ? ORDER BY id DESC LIMIT 1)
            UNION ALL
            SELECT (SELECT parent FROM threads WHERE turn = thread.turn ORDER BY id DESC LIMIT 1), depth + 1
            FROM thread WHERE turn IS NOT NULL
        )
        SELECT turns.number, conversations.name
        FROM thread JOIN turns ON turns.id = thread.turn JOIN conversations ON conversations.id = turns.conversation
        ORDER BY thread.depth DESC
        """,
        (owner, to_text(key)),
    ).fetchall()
    if not rows:
        return None
    with decoding("a thread"):
        return ThreadPlace(from_text(rows[0]["name"]), tuple(row["number"] for row in rows))


def thread_turns(connection: sqlite3.Connection, owner: StoredText, conversation: str) -> Sequence[int]:
    """The numbers of the conversation's turns that have a key, in order."""
    rows = connection.execute(
        """
        SELECT number FROM turns
        WHERE conversation = (SELECT id FROM conversations WHERE owner = ? AND name = ?)
          AND EXISTS (SELECT 1 FROM threads WHERE threads.turn = turns.id)
        ORDER BY number
        """,
        (owner, to_text(conversation)),
    )
    return [row["number"] for row in rows]
