"""The list of conversations, read inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from frontmind.stores.sqlite.codec import StoredText, decoding, from_moment, from_text, to_moment, to_text
from frontmind.stores.sqlite.conversations import MOMENT
from frontmind.stores.sqlite.segments import opening_title
from frontmind.values.records import ConversationOverview

_ALL: Final = -1
_COUNTS: Final = "state IN ('open', 'done')"

# Materialized: what is told of a conversation is read only of those that were chosen.
_SELECT: Final = f"""
    WITH dated AS MATERIALIZED (
        SELECT id, name, (
            SELECT {MOMENT} FROM turns INDEXED BY turns_by_moment
            WHERE conversation = conversations.id AND {_COUNTS} ORDER BY {MOMENT} DESC LIMIT 1
        ) AS last_at
        FROM conversations WHERE owner = :owner
    ),
    chosen AS MATERIALIZED (
        SELECT id, name, last_at FROM dated
        WHERE last_at IS NOT NULL
          AND (:last_at IS NULL OR last_at < :last_at OR (last_at = :last_at AND name > :name))
        ORDER BY last_at DESC, name LIMIT :newest
    ),
    told AS MATERIALIZED (
        SELECT id, name, last_at,
            (SELECT number FROM turns WHERE conversation = chosen.id AND {_COUNTS} ORDER BY number LIMIT 1) AS first,
            (SELECT number FROM turns WHERE conversation = chosen.id AND {_COUNTS} ORDER BY number DESC LIMIT 1)
                AS last,
            (SELECT count(*) FROM turns INDEXED BY turns_by_moment WHERE conversation = chosen.id AND {_COUNTS})
                AS turns
        FROM chosen
    )
    SELECT told.name, told.last_at, told.last, told.turns, opening.asked_at AS started_at,
           coalesce(summaries.title, opening.title) AS opening_title,
           iif(summaries.title IS NULL AND opening.title IS NULL, opening.user_message, NULL) AS user_message
    FROM told
    JOIN turns AS opening ON opening.conversation = told.id AND opening.number = told.first
    LEFT JOIN segment_summaries AS summaries
        ON summaries.conversation = told.id AND summaries.segment = opening.segment
    ORDER BY told.last_at DESC, told.name
"""


def conversations(
    connection: sqlite3.Connection, owner: StoredText, newest: int | None, before: tuple[datetime, str] | None
) -> Sequence[ConversationOverview]:
    """The conversations that have a turn which counts, the one with the newest message first, ties by name."""
    last_at, name = (None, "") if before is None else (to_moment(before[0]), to_text(before[1]))
    rows = connection.execute(
        _SELECT, {"owner": owner, "last_at": last_at, "name": name, "newest": _ALL if newest is None else newest}
    )
    return [_overview(row) for row in rows]


@decoding("a conversation")
def _overview(row: sqlite3.Row) -> ConversationOverview:
    return ConversationOverview(
        name=from_text(row["name"]),
        title=opening_title(row),
        started_at=from_moment(row["started_at"]),
        last_at=from_moment(row["last_at"]),
        turns=row["turns"],
        last=row["last"],
    )
