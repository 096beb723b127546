"""Reading passages and searching them by words, each function inside one transaction.

A word is found in any of its English forms (Porter's stems). Text in a script without spaces between words
is one long word to this index and is found only as a whole.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from frontmind.stores.sqlite.codec import StoredText, decoding, from_moment, from_text, to_moment, to_text
from frontmind.stores.sqlite.scopes import kind_of, scope
from frontmind.values.passages import Passage, PassageKind

_WORD: Final = re.compile(r"[^\W_]+")

# Behind every moment as it is stored.
_AFTER_ALL: Final = "~"

_SELECT: Final = """
    SELECT passages.*, coalesce(conversations.name, documents.name, '') AS name
    FROM passages
    LEFT JOIN conversations ON conversations.id = passages.conversation
    LEFT JOIN documents ON passages.conversation IS NULL AND passages.scope = :documents AND documents.id = passages.ref
"""


def search_words(
    connection: sqlite3.Connection,
    owner: StoredText,
    words: Sequence[str],
    *,
    kind: PassageKind,
    limit: int,
    excluded: Collection[int],
    context_weight: float,
    within: Collection[int] | None = None,
    after: int = 0,
) -> Sequence[tuple[int, float]]:
    """The passages of this owner and kind that have any of the words: their ids and BM25 scores, best first."""
    found = match_expression(words)
    if found is None or limit < 1:
        return []
    # With a plus in front of it, a rowid is compared with what matches; without, FTS5 would match each of them anew.
    rows = connection.execute(
        """
        SELECT rowid AS id, bm25(passage_index, 0.0, 1.0, :context_weight) AS distance
        FROM passage_index
        WHERE passage_index MATCH :expression AND rowid > :after
          AND rowid NOT IN (SELECT value FROM json_each(:excluded))
          AND (:within IS NULL OR +rowid IN (SELECT value FROM json_each(:within)))
        ORDER BY distance, id
        LIMIT :limit
        """,
        {
            "expression": f'scope : "{scope(owner, kind)}" AND {{text context}} : ({found})',
            "excluded": json.dumps(sorted(excluded)),
            "within": None if within is None else json.dumps(sorted(within)),
            "context_weight": context_weight,
            "after": after,
            "limit": limit,
        },
    )
    return [(row["id"], -row["distance"]) for row in rows]


def match_expression(words: Sequence[str]) -> str | None:
    """Any of the words, in FTS5's language; None when there is none."""
    # Composed, since a combining mark would end the word for the pattern, but not for the index.
    tokens = [token for word in words for token in _WORD.findall(unicodedata.normalize("NFC", word))]
    return " OR ".join(f'"{token}"' for token in dict.fromkeys(tokens)) or None


def passages(connection: sqlite3.Connection, owner: StoredText, ids: Sequence[int]) -> Sequence[Passage]:
    """The passages of these ids, in this order."""
    rows = connection.execute(
        f"""
        {_SELECT} WHERE passages.id IN (SELECT value FROM json_each(:ids))
          AND passages.scope IN (SELECT value FROM json_each(:scopes))
        """,
        {**_owned(owner), "ids": json.dumps(list(ids))},
    )
    found = {passage.id: passage for passage in _passages(rows)}
    return [found[passage_id] for passage_id in ids if passage_id in found]


def passages_after(
    connection: sqlite3.Connection, owner: StoredText, passage_id: int, kind: PassageKind | None, limit: int
) -> Sequence[Passage]:
    """The passages of this kind, or of all, with a larger id, by id."""
    # With a plus the rows are read in the order of their ids; the index by scope would give all of them to be sorted.
    scopes = "passages.scope = :scope" if kind else "+passages.scope IN (SELECT value FROM json_each(:scopes))"
    rows = connection.execute(
        f"{_SELECT} WHERE {scopes} AND passages.id > :after ORDER BY passages.id LIMIT :limit",
        {**_owned(owner), "scope": scope(owner, kind) if kind else "", "after": passage_id, "limit": limit},
    )
    return _passages(rows)


def passages_between(
    connection: sqlite3.Connection,
    owner: StoredText,
    kind: PassageKind,
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> Sequence[int]:
    """The ids of the newest passages of this kind that were said in this time, the newest first, ties by id."""
    rows = connection.execute(
        """
        SELECT id FROM passages WHERE scope = ? AND at >= ? AND at < ? ORDER BY at DESC, id LIMIT ?
        """,
        (
            scope(owner, kind),
            "" if since is None else to_moment(since),
            _AFTER_ALL if until is None else to_moment(until),
            limit,
        ),
    )
    return [row["id"] for row in rows]


def passages_since(connection: sqlite3.Connection, owner: StoredText, conversation: str, number: int) -> frozenset[int]:
    """The ids of the passages of the conversation's turns from this number on."""
    rows = connection.execute(
        """
        SELECT passages.id FROM passages JOIN conversations ON conversations.id = passages.conversation
        WHERE conversations.owner = ? AND conversations.name = ? AND passages.number >= ?
        """,
        (owner, to_text(conversation), number),
    )
    return frozenset(row["id"] for row in rows)


def passages_of(
    connection: sqlite3.Connection, owner: StoredText, kind: PassageKind, refs: Sequence[int]
) -> Sequence[Passage]:
    """The passages that were made of these, by id."""
    rows = connection.execute(
        f"""
        {_SELECT} WHERE passages.scope = :scope AND passages.ref IN (SELECT value FROM json_each(:refs))
        ORDER BY passages.id
        """,
        {**_owned(owner), "scope": scope(owner, kind), "refs": json.dumps(list(refs))},
    )
    return _passages(rows)


def count_passages(connection: sqlite3.Connection, owner: StoredText, kind: PassageKind, most: int | None) -> int:
    """How many there are, counted up to ``most``."""
    row = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM passages WHERE scope = ? LIMIT ?)",
        (scope(owner, kind), -1 if most is None else most),
    ).fetchone()
    return int(row[0])


def newest_passage(connection: sqlite3.Connection, owner: StoredText) -> int:
    """The largest id of a passage; 0 when there is none."""
    row = connection.execute(
        """
        SELECT max((SELECT coalesce(max(id), 0) FROM passages WHERE scope = value)) FROM json_each(:scopes)
        """,
        _owned(owner),
    ).fetchone()
    return int(row[0])


def _owned(owner: StoredText) -> dict[str, StoredText]:
    return {
        "documents": scope(owner, PassageKind.DOCUMENT),
        "scopes": json.dumps([scope(owner, kind) for kind in PassageKind]),
    }


def _passages(rows: Iterable[sqlite3.Row]) -> list[Passage]:
    with decoding("a passage"):
        return [
            Passage(
                id=row["id"],
                kind=kind_of(row["scope"]),
                ref=row["ref"],
                part=row["part"],
                conversation=from_text(row["name"]),
                number=row["number"],
                at=from_moment(row["at"]),
                text=row["text"],
                context=row["context"],
            )
            for row in rows
        ]
