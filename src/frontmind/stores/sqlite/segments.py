"""Segments of conversations and what they were about, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import (
    StoredText,
    decoding,
    from_message,
    from_moment,
    from_text,
    to_moment,
    to_text,
)
from frontmind.values.records import Segment, SegmentSummary, TurnState
from frontmind.values.titles import title

_BEHIND_ALL: Final = 2**63 - 1
_MADE_BY_TURNS: Final = """
    FROM turns JOIN conversations ON conversations.id = turns.conversation
    WHERE conversations.owner = :owner AND conversations.name = :name AND turns.state IN (:open, :done)
        AND +turns.number < :before
"""
# The plus keeps SQLite at the index by segments, which covers all of this; there is another one by numbers.


def segments(
    connection: sqlite3.Connection, owner: StoredText, conversation: str, before: int | None, newest: int | None
) -> Sequence[Segment]:
    """The segments as their turns that are OPEN or DONE make them, by number; turns from ``before`` on do not count.

    Args:
        newest: only so many, the newest; None for all.
    """
    chosen = _chosen(owner, conversation, before)
    oldest = 0 if newest is None else _number_of_newest(connection, chosen, newest)
    return _read(connection, conversation, "turns.segment >= :oldest", {**chosen, "oldest": oldest})


def count_segments(connection: sqlite3.Connection, owner: StoredText, conversation: str, before: int | None) -> int:
    """How many segments the turns in front of ``before`` make that are OPEN or DONE."""
    found = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 {_MADE_BY_TURNS} GROUP BY turns.conversation, turns.segment)",
        _chosen(owner, conversation, before),
    )
    return int(found.fetchone()[0])


def without_summary(connection: sqlite3.Connection, owner: StoredText, conversation: str) -> Sequence[Segment]:
    """The segments that have no summary, by number."""
    condition = f"""
        turns.segment IN (
            SELECT turns.segment {_MADE_BY_TURNS}
            EXCEPT
            SELECT segment_summaries.segment
            FROM segment_summaries JOIN conversations ON conversations.id = segment_summaries.conversation
            WHERE conversations.owner = :owner AND conversations.name = :name
        )
    """
    return _read(connection, conversation, condition, _chosen(owner, conversation, None))


def save_summary(
    connection: sqlite3.Connection, owner: StoredText, conversation: str, segment: int, summary: SegmentSummary
) -> None:
    """Store what a segment was about.

    Raises:
        UsageError: there is no such segment.
    """
    row = connection.execute(
        """
        SELECT conversations.id FROM conversations JOIN turns ON turns.conversation = conversations.id
        WHERE conversations.owner = ? AND conversations.name = ? AND turns.segment = ? LIMIT 1
        """,
        (owner, to_text(conversation), segment),
    ).fetchone()
    if row is None:
        raise UsageError(f"the conversation {conversation!r} has no segment {segment}; pass one from its segments")
    connection.execute(
        """
        INSERT OR REPLACE INTO segment_summaries (conversation, segment, title, text, author, made_at)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (
            row["id"],
            segment,
            to_text(summary.title),
            to_text(summary.text),
            to_text(summary.author),
            to_moment(summary.made_at),
        ),
    )


def _chosen(owner: StoredText, conversation: str, before: int | None) -> dict[str, StoredText | int]:
    return {
        "owner": owner,
        "name": to_text(conversation),
        "open": TurnState.OPEN.value,
        "done": TurnState.DONE.value,
        "before": _BEHIND_ALL if before is None else before,
    }


def _number_of_newest(connection: sqlite3.Connection, chosen: Mapping[str, StoredText | int], newest: int) -> int:
    """The number of the oldest of so many newest segments, found step by step from the end of the index."""
    step = f"SELECT max(turns.segment) {_MADE_BY_TURNS}"
    number: int | None = None
    for _ in range(newest):
        found = connection.execute(
            f"{step} AND turns.segment < :above", {**chosen, "above": _BEHIND_ALL if number is None else number}
        ).fetchone()[0]
        if found is None:
            break
        number = found
    return _BEHIND_ALL if number is None else number


def _read(
    connection: sqlite3.Connection, conversation: str, condition: str, chosen: Mapping[str, StoredText | int]
) -> Sequence[Segment]:
    rows = connection.execute(
        f"""
        SELECT kept.segment, kept.turns, kept.ended_at, kept.opening AS first, kept.last,
               opening.asked_at AS started_at, opening.title AS opening_title,
               iif(opening.title IS NULL, opening.user_message, NULL) AS user_message,
               summaries.title, summaries.text, summaries.author, summaries.made_at
        FROM (
            SELECT turns.conversation, turns.segment, count(*) AS turns, min(turns.number) AS opening,
                   max(turns.number) AS last,
                   max(max(turns.asked_at, coalesce(turns.answered_at, turns.asked_at))) AS ended_at
            {_MADE_BY_TURNS} AND {condition}
            GROUP BY turns.conversation, turns.segment
        ) AS kept
        JOIN turns AS opening ON opening.conversation = kept.conversation AND opening.number = kept.opening
        LEFT JOIN segment_summaries AS summaries
            ON summaries.conversation = kept.conversation AND summaries.segment = kept.segment
        ORDER BY kept.segment
        """,
        dict(chosen),
    )
    return [_segment(row, conversation) for row in rows]


def opening_title(row: sqlite3.Row) -> str:
    """The title that a message gives: stored with it, or, from before that was done, made of the message."""
    stored = row["opening_title"]
    return title(from_message(row["user_message"]).text) if stored is None else from_text(stored)


@decoding("a segment")
def _segment(row: sqlite3.Row, conversation: str) -> Segment:
    summary = None
    if row["made_at"] is not None:
        summary = SegmentSummary(
            title=from_text(row["title"]),
            text=from_text(row["text"]),
            author=from_text(row["author"]),
            made_at=from_moment(row["made_at"]),
        )
    return Segment(
        conversation=conversation,
        number=row["segment"],
        title=opening_title(row) if summary is None else summary.title,
        started_at=from_moment(row["started_at"]),
        ended_at=from_moment(row["ended_at"]),
        turns=row["turns"],
        first=row["first"],
        last=row["last"],
        summary=summary,
    )
