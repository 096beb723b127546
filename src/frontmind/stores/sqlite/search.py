"""The full-text indexes: what goes into them, and how a query in plain words is asked.

A word is found in any of its English forms (Porter's stems). Text in a script without spaces between words
is one long word to this index and is found only as a whole.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from typing import Final

from frontmind.stores.sqlite.codec import StoredText, decoding, from_message, from_moment, from_text, to_text
from frontmind.values.message import Message
from frontmind.values.records import HitKind, SearchHit

# Only words that tell nothing about what a text is about; one that may ("will", "may", "us") stays. The pieces of
# "don't" and its like are words here.
_STOP_WORDS_LINES: Final = """
    a about all am an and any are aren as at be been but by can could couldn d did didn do does doesn don
    for from had has hasn have haven he her him his how i if in into is isn it its ll m me my not of on or
    our re s she should shouldn so t than that the their them then there these they this those to ve was
    wasn we were weren what when where which who why with would wouldn you your
"""
_STOP_WORDS: Final = frozenset(_STOP_WORDS_LINES.split())

_WORD: Final = re.compile(r"[^\W_]+")

# A pasted text can have thousands of words, and each costs a look-up in the index. The question that belongs to
# it stands at its beginning or at its end.
_WORDS_AT_EACH_END: Final = 32


def match_expression(query: str) -> str | None:
    """The query in FTS5's language: any of its words. None when it has no word."""
    # Composed, since a combining mark would end the word for the pattern, but not for the index.
    found = _WORD.findall(unicodedata.normalize("NFC", query))
    words = list({word.lower(): word for word in found}.items())
    telling = [word for key, word in words if key not in _STOP_WORDS] or [word for _, word in words]
    if len(telling) > 2 * _WORDS_AT_EACH_END:
        telling = telling[:_WORDS_AT_EACH_END] + telling[-_WORDS_AT_EACH_END:]
    return " OR ".join(f'"{word}"' for word in telling) or None


def index_note(connection: sqlite3.Connection, note_id: int, text: str) -> None:
    """Make a note searchable."""
    connection.execute("INSERT INTO note_index (rowid, text) VALUES (?, ?)", (note_id, _searchable(text)))


def forget_note(connection: sqlite3.Connection, note_id: int) -> None:
    """Take a note out of the index."""
    connection.execute("DELETE FROM note_index WHERE rowid = ?", (note_id,))


def index_turn(connection: sqlite3.Connection, turn_id: int, user: Message, reply: Message) -> None:
    """Make both messages of a turn searchable."""
    connection.executemany(
        "INSERT INTO message_index (rowid, text) VALUES (?, ?)",
        [(2 * turn_id, _searchable(user.text)), (2 * turn_id + 1, _searchable(reply.text))],
    )


def search_notes(connection: sqlite3.Connection, owner: StoredText, query: str, limit: int) -> Sequence[SearchHit]:
    """The notes that share a word with the query, best first, ties by id."""
    expression = match_expression(query)
    if expression is None or limit < 1:
        return []
    rows = connection.execute(
        """
        SELECT notes.id, notes.text, notes.created_at, bm25(note_index) AS distance
        FROM note_index JOIN notes ON notes.id = note_index.rowid
        WHERE note_index MATCH ? AND notes.owner = ?
        ORDER BY distance, notes.id
        LIMIT ?
        """,
        (expression, owner, limit),
    )
    return [_note_hit(row) for row in rows]


def search_messages(
    connection: sqlite3.Connection,
    owner: StoredText,
    query: str,
    limit: int,
    conversation: str | None,
    before: int | None,
) -> Sequence[SearchHit]:
    """The messages of DONE turns that share a word with the query, best first, ties by id."""
    expression = match_expression(query)
    if expression is None or limit < 1:
        return []
    # The best are chosen before any message is read: a common word matches most of them.
    places = connection.execute(
        """
        SELECT rowid AS place, bm25(message_index) AS distance
        FROM message_index
        WHERE message_index MATCH :expression
          AND rowid / 2 NOT IN (
            SELECT turns.id FROM turns JOIN conversations ON conversations.id = turns.conversation
            WHERE conversations.owner = :owner AND conversations.name = :conversation AND turns.number >= :before
          )
          AND EXISTS (
            SELECT 1 FROM turns JOIN conversations ON conversations.id = turns.conversation
            WHERE turns.id = message_index.rowid / 2 AND conversations.owner = :owner
          )
        ORDER BY distance, place
        LIMIT :limit
        """,
        {
            "expression": expression,
            "owner": owner,
            "conversation": None if conversation is None else to_text(conversation),
            "before": before,
            "limit": limit,
        },
    ).fetchall()
    return [_message_hit(connection, row["place"], -row["distance"]) for row in places]


def _message_hit(connection: sqlite3.Connection, place: int, score: float) -> SearchHit:
    turn_id, is_reply = divmod(place, 2)
    columns = "reply_message AS message, answered_at AS at" if is_reply else "user_message AS message, asked_at AS at"
    row = connection.execute(f"SELECT {columns} FROM turns WHERE id = ?", (turn_id,)).fetchone()
    with decoding("a message"):
        message = from_message(row["message"])
        return SearchHit(
            kind=HitKind.MESSAGE,
            ref=turn_id,
            speaker=message.role.value,
            text=message.text,
            at=from_moment(row["at"]),
            score=score,
        )


@decoding("a note")
def _note_hit(row: sqlite3.Row) -> SearchHit:
    return SearchHit(
        kind=HitKind.NOTE,
        ref=row["id"],
        speaker="",
        text=from_text(row["text"]),
        at=from_moment(row["created_at"]),
        score=-row["distance"],
    )


def _searchable(text: str) -> str:
    # FTS5 takes only what UTF-8 can carry; no word is lost with the rest.
    return text.replace("\0", " ").encode("utf-8", errors="replace").decode("utf-8")
