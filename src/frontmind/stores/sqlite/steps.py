"""The steps of a turn: what the model said before its last call, and what its tools gave back.

Each function works inside one transaction. Whether a turn is open is checked here: only an open one gets steps.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import (
    StoredText,
    decoding,
    from_message,
    from_text,
    from_usage,
    to_message,
    to_text,
    to_usage,
)
from frontmind.values.message import Message
from frontmind.values.records import Step, TurnState


def begin_step(connection: sqlite3.Connection, turn_id: int, step: Step) -> None:
    """Store what the model said, before its tools run.

    Raises:
        UsageError: the turn is not open, its last step has no results yet, or this one has some already.
    """
    _require_open(connection, turn_id)
    if step.results is not None:
        raise UsageError("a step begins without results; store them with finish_step when the tools are done")
    if is_waiting(connection, turn_id):
        raise UsageError(f"the last step of the turn {turn_id} has no results yet; finish it first")
    number = connection.execute("SELECT count(*) FROM steps WHERE turn = ?", (turn_id,)).fetchone()[0] + 1
    connection.execute(
        "INSERT INTO steps (turn, number, request, model, usage, said) VALUES (?, ?, ?, ?, ?, ?)",
        (
            turn_id,
            number,
            to_text(step.request),
            to_text(step.model),
            to_usage(step.usage),
            to_message(step.said),
        ),
    )


def finish_step(connection: sqlite3.Connection, turn_id: int, results: Message, step: int | None) -> None:
    """Store the results of the step of that number, or of the last one, in the place of those that it has.

    Raises:
        UsageError: the turn is not open, or has no such step.
    """
    _require_open(connection, turn_id)
    changed = connection.execute(
        """
        UPDATE steps SET results = :results
        WHERE turn = :turn AND number = coalesce(:step, (SELECT max(number) FROM steps WHERE turn = :turn))
        """,
        {"results": to_message(results), "turn": turn_id, "step": step},
    )
    if changed.rowcount == 0:
        which = "step" if step is None else f"step {step}"
        raise UsageError(f"the turn {turn_id} has no {which} that could get results; begin it first")


def is_waiting(connection: sqlite3.Connection, turn_id: int) -> bool:
    """Whether a step of the turn has no results."""
    row = connection.execute("SELECT 1 FROM steps WHERE turn = ? AND results IS NULL", (turn_id,)).fetchone()
    return row is not None


def steps_of(connection: sqlite3.Connection, turn_id: int) -> tuple[Step, ...]:
    """The steps of a turn, in order."""
    rows = connection.execute("SELECT * FROM steps WHERE turn = ? ORDER BY number", (turn_id,))
    return tuple(_step(row) for row in rows)


def steps_between(
    connection: sqlite3.Connection, owner: StoredText, conversation: StoredText, since: int, until: int
) -> Mapping[int, tuple[Step, ...]]:
    """The steps of the turns of a conversation from the number ``since`` to ``until``, by the turn's id."""
    rows = connection.execute(
        """
        SELECT steps.* FROM steps
        JOIN turns ON turns.id = steps.turn
        JOIN conversations ON conversations.id = turns.conversation
        WHERE conversations.owner = ? AND conversations.name = ? AND turns.number BETWEEN ? AND ?
        ORDER BY steps.turn, steps.number
        """,
        (owner, conversation, since, until),
    )
    found: dict[int, tuple[Step, ...]] = defaultdict(tuple)
    for row in rows:
        found[row["turn"]] += (_step(row),)
    return found


def _require_open(connection: sqlite3.Connection, turn_id: int) -> None:
    row = connection.execute("SELECT state FROM turns WHERE id = ?", (turn_id,)).fetchone()
    if row is None or row["state"] != TurnState.OPEN.value:
        raise UsageError(f"no open turn has the id {turn_id}; a turn that has ended gets no further steps")


@decoding("a step of a turn")
def _step(row: sqlite3.Row) -> Step:
    return Step(
        said=from_message(row["said"]),
        request=from_text(row["request"]),
        model=from_text(row["model"]),
        usage=from_usage(row["usage"]),
        results=None if row["results"] is None else from_message(row["results"]),
    )
