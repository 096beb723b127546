"""Which turns are what was said: the line of a conversation, each function inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import StoredText, to_text
from frontmind.stores.sqlite.passage_making import forget_passages, index_turn
from frontmind.values.passages import PassageKind
from frontmind.values.records import TurnState


def line(connection: sqlite3.Connection, owner: StoredText, conversation: str) -> Mapping[int, TurnState]:
    """The state of each turn of the conversation, by number, in order."""
    rows = connection.execute(
        """
        SELECT number, state FROM turns
        WHERE conversation = (SELECT id FROM conversations WHERE owner = ? AND name = ?)
        ORDER BY number
        """,
        (owner, to_text(conversation)),
    )
    return {row["number"]: TurnState(row["state"]) for row in rows}


def set_line(connection: sqlite3.Connection, owner: StoredText, conversation: str, numbers: Collection[int]) -> None:
    """Let these turns be what was said, and no longer search or sum up the others. Their memories stay.

    Raises:
        UsageError: there is no turn of one of the numbers, or it is REFUSED.
    """
    row = connection.execute(
        "SELECT id, window_start FROM conversations WHERE owner = ? AND name = ?", (owner, to_text(conversation))
    ).fetchone()
    chosen = {"conversation": 0 if row is None else row["id"], "wanted": json.dumps(sorted(set(numbers)))}
    _require_turns(connection, conversation, chosen)
    changed = _changed(connection, chosen)
    if not changed:
        return
    connection.executemany(
        "UPDATE turns SET state = ? WHERE id = ?", [(_other_state(turn).value, turn["id"]) for turn in changed]
    )
    for turn in changed:
        forget_passages(connection, owner, PassageKind.EXCHANGE, turn["id"])
    for turn_id in _to_index(connection, row["id"], changed):
        index_turn(connection, turn_id)
    # A summary tells of turns that do not count any more, or not of those that do again.
    connection.executemany(
        "DELETE FROM segment_summaries WHERE conversation = ? AND segment = ?",
        [(row["id"], segment) for segment in sorted({turn["segment"] for turn in changed})],
    )
    if row["window_start"] > changed[0]["number"]:
        connection.execute("UPDATE conversations SET window_start = 1, opening = '' WHERE id = ?", (row["id"],))


def _require_turns(connection: sqlite3.Connection, conversation: str, chosen: dict[str, int | str]) -> None:
    missing = connection.execute(
        """
        SELECT value FROM json_each(:wanted) WHERE value NOT IN (
            SELECT number FROM turns WHERE conversation = :conversation AND state <> :refused
        )
        ORDER BY value LIMIT 1
        """,
        {**chosen, "refused": TurnState.REFUSED.value},
    ).fetchone()
    if missing is not None:
        raise UsageError(
            f"the conversation {conversation!r} has no turn {missing[0]} that could be said; pass numbers of its turns"
        )


def _changed(connection: sqlite3.Connection, chosen: dict[str, int | str]) -> Sequence[sqlite3.Row]:
    """The turns whose state becomes another, by number."""
    return connection.execute(
        """
        SELECT id, number, segment, state, answered_at FROM turns
        WHERE conversation = :conversation
          AND iif(number IN (SELECT value FROM json_each(:wanted)), state = :replaced, state IN (:open, :done))
        ORDER BY number
        """,
        {
            **chosen,
            "replaced": TurnState.REPLACED.value,
            "open": TurnState.OPEN.value,
            "done": TurnState.DONE.value,
        },
    ).fetchall()


def _other_state(turn: sqlite3.Row) -> TurnState:
    if turn["state"] != TurnState.REPLACED.value:
        return TurnState.REPLACED
    return TurnState.OPEN if turn["answered_at"] is None else TurnState.DONE


def _to_index(connection: sqlite3.Connection, conversation_id: int, changed: Sequence[sqlite3.Row]) -> list[int]:
    """The ids of the turns that are searched again, and of those behind a change: what was said in front of a turn is
    in its passages.
    """
    answered = connection.execute(
        "SELECT number, id FROM turns WHERE conversation = ? AND state = ? AND number >= ? ORDER BY number",
        (conversation_id, TurnState.DONE.value, changed[0]["number"]),
    ).fetchall()
    numbers = [row["number"] for row in answered]
    found = {row["id"] for row in answered} & {turn["id"] for turn in changed}
    for turn in changed:
        behind = bisect_right(numbers, turn["number"])
        if behind < len(answered):
            found.add(answered[behind]["id"])
    return [row["id"] for row in answered if row["id"] in found]
