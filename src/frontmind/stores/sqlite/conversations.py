"""Conversations, turns and segments: the work of `ConversationStore`, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from frontmind.errors import UsageError
from frontmind.stores.sqlite import steps
from frontmind.stores.sqlite.codec import (
    StoredText,
    decoding,
    from_json,
    from_message,
    from_moment,
    from_sent,
    from_text,
    to_json,
    to_message,
    to_moment,
    to_sent,
    to_text,
)
from frontmind.stores.sqlite.search import index_turn
from frontmind.values.message import Message
from frontmind.values.records import Completion, Segment, Sent, Step, Turn, TurnState
from frontmind.values.usage import Usage

_TITLE_LENGTH: Final = 60
_ELLIPSIS: Final = "…"
_NO_TITLE: Final = "(no text)"

_SELECT_TURN: Final = """
    SELECT turns.*, conversations.name AS conversation_name
    FROM turns JOIN conversations ON conversations.id = turns.conversation
"""


def begin_turn(
    connection: sqlite3.Connection,
    owner: StoredText,
    conversation: str,
    message: Message,
    at: datetime,
    segment_pause: timedelta,
) -> Turn:
    """Accept a user message as a new OPEN turn."""
    asked_at = to_moment(at)
    conversation_id = _enter(connection, owner, conversation)
    last = connection.execute(
        """
        SELECT max(number) AS number, max(segment) AS segment,
               max(max(asked_at, coalesce(answered_at, asked_at))) AS newest
        FROM turns WHERE conversation = ?
        """,
        (conversation_id,),
    ).fetchone()
    number, segment = _next_place(last, at, segment_pause)
    turn_id = connection.execute(
        """
        INSERT INTO turns (conversation, number, segment, state, asked_at, user_message)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (conversation_id, number, segment, TurnState.OPEN.value, asked_at, to_message(message)),
    ).lastrowid
    return _turn_with(connection, turn_id or 0)


def begin_step(connection: sqlite3.Connection, turn_id: int, step: Step, sent: Sent) -> Turn:
    """Store what the model said in an OPEN turn, before its tools run, and what was sent beside it."""
    steps.begin_step(connection, turn_id, step)
    connection.execute("UPDATE turns SET sent = ? WHERE id = ?", (to_sent(sent), turn_id))
    return _turn_with(connection, turn_id)


def finish_step(connection: sqlite3.Connection, turn_id: int, results: Message, step: int | None) -> Turn:
    """Store the results of a step of an OPEN turn, of the last one without a number."""
    steps.finish_step(connection, turn_id, results, step)
    return _turn_with(connection, turn_id)


def complete_turn(connection: sqlite3.Connection, turn_id: int, completion: Completion) -> Turn:
    """Make an OPEN turn DONE, and searchable; refuse those that the reply came without, and move the window's start.

    Raises:
        UsageError: there is no such OPEN turn, a step of it has no results, or one that is to be refused is no other
            OPEN turn of its conversation.
    """
    if steps.is_waiting(connection, turn_id):
        raise UsageError(f"a step of the turn {turn_id} has no results; finish it first")
    usage = completion.usage
    changed = connection.execute(
        """
        UPDATE turns
        SET state = ?, answered_at = ?, request = ?, model = ?, usage_input = ?, usage_cached = ?,
            usage_written = ?, usage_output = ?, usage_estimated = ?, usage_written_by_ttl = ?, interrupted = ?,
            system_fingerprint = ?, sent = ?, reply_message = ?
        WHERE id = ? AND state = ?
        """,
        (
            TurnState.DONE.value,
            to_moment(completion.answered_at),
            to_text(completion.request),
            to_text(completion.model),
            usage.input,
            usage.cached,
            usage.written,
            usage.output,
            usage.estimated,
            to_json(dict(usage.written_by_ttl)),
            completion.interrupted,
            to_json(completion.system_fingerprint),
            None if completion.sent is None else to_sent(completion.sent),
            to_message(completion.reply),
            turn_id,
            TurnState.OPEN.value,
        ),
    )
    if changed.rowcount == 0:
        raise _not_open(turn_id)
    for refused in completion.refuses:
        _refuse(connection, refused, because_of=turn_id)
    connection.execute(
        """
        UPDATE conversations SET window_start = max(window_start, ?)
        WHERE id = (SELECT conversation FROM turns WHERE id = ?)
        """,
        (completion.window_start, turn_id),
    )
    turn = _turn_with(connection, turn_id)
    index_turn(connection, turn_id, turn.user, completion.reply)
    return turn


def turns(connection: sqlite3.Connection, owner: StoredText, conversation: str, since: int) -> Sequence[Turn]:
    """The turns from the number ``since`` on, by number."""
    rows = connection.execute(
        f"""
        {_SELECT_TURN} WHERE conversations.owner = ? AND conversations.name = ? AND turns.number >= ?
        ORDER BY turns.number
        """,
        (owner, to_text(conversation), since),
    )
    known = steps.steps_since(connection, owner, to_text(conversation), since)
    return [_turn(row, known.get(row["id"], ())) for row in rows]


def segments(
    connection: sqlite3.Connection, owner: StoredText, conversation: str, before: int | None
) -> Sequence[Segment]:
    """The segments as their turns that are not REFUSED make them, by number; turns from ``before`` on do not count."""
    rows = connection.execute(
        """
        SELECT kept.segment, kept.turns, kept.ended_at, opening.asked_at AS started_at, opening.user_message
        FROM (
            SELECT turns.conversation, turns.segment, count(*) AS turns, min(turns.number) AS opening,
                   max(max(turns.asked_at, coalesce(turns.answered_at, turns.asked_at))) AS ended_at
            FROM turns JOIN conversations ON conversations.id = turns.conversation
            WHERE conversations.owner = ? AND conversations.name = ? AND turns.state <> ?
              AND (? IS NULL OR turns.number < ?)
            GROUP BY turns.conversation, turns.segment
        ) AS kept
        JOIN turns AS opening ON opening.conversation = kept.conversation AND opening.number = kept.opening
        ORDER BY kept.segment
        """,
        (owner, to_text(conversation), TurnState.REFUSED.value, before, before),
    )
    return [_segment(row, conversation) for row in rows]


def title(text: str) -> str:
    """The beginning of the text on one line."""
    line = " ".join(text.split())
    if len(line) <= _TITLE_LENGTH:
        return line or _NO_TITLE
    room = _TITLE_LENGTH - len(_ELLIPSIS)
    # One more character than there is room for: a word may end exactly there.
    whole_words, _, _ = line[: room + 1].rpartition(" ")
    return (whole_words or line[:room]) + _ELLIPSIS


def window_start(connection: sqlite3.Connection, owner: StoredText, conversation: str) -> int:
    """The number of the first turn that is still sent."""
    row = connection.execute(
        "SELECT window_start FROM conversations WHERE owner = ? AND name = ?", (owner, to_text(conversation))
    ).fetchone()
    return 1 if row is None else int(row["window_start"])


def _refuse(connection: sqlite3.Connection, turn_id: int, *, because_of: int) -> None:
    changed = connection.execute(
        """
        UPDATE turns SET state = ?
        WHERE id = ? AND state = ? AND conversation = (SELECT conversation FROM turns WHERE id = ?)
        """,
        (TurnState.REFUSED.value, turn_id, TurnState.OPEN.value, because_of),
    )
    if changed.rowcount == 0:
        raise _not_open(turn_id)


def _enter(connection: sqlite3.Connection, owner: StoredText, conversation: str) -> int:
    place = (owner, to_text(conversation))
    connection.execute("INSERT INTO conversations (owner, name) VALUES (?, ?) ON CONFLICT DO NOTHING", place)
    row = connection.execute("SELECT id FROM conversations WHERE owner = ? AND name = ?", place).fetchone()
    return int(row["id"])


def _turn_with(connection: sqlite3.Connection, turn_id: int) -> Turn:
    row = connection.execute(f"{_SELECT_TURN} WHERE turns.id = ?", (turn_id,)).fetchone()
    return _turn(row, steps.steps_of(connection, turn_id))


def _not_open(turn_id: int) -> UsageError:
    return UsageError(f"no open turn has the id {turn_id}; a turn is completed or refused once")


@decoding("a turn")
def _next_place(last: sqlite3.Row, at: datetime, segment_pause: timedelta) -> tuple[int, int]:
    if last["number"] is None:
        return 1, 1
    paused = at - from_moment(last["newest"]) >= segment_pause
    return last["number"] + 1, last["segment"] + (1 if paused else 0)


@decoding("a turn")
def _turn(row: sqlite3.Row, steps: tuple[Step, ...]) -> Turn:
    reply = row["reply_message"]
    return Turn(
        id=row["id"],
        conversation=from_text(row["conversation_name"]),
        number=row["number"],
        segment=row["segment"],
        state=TurnState(row["state"]),
        user=from_message(row["user_message"]),
        asked_at=from_moment(row["asked_at"]),
        reply=None if reply is None else from_message(reply),
        answered_at=None if row["answered_at"] is None else from_moment(row["answered_at"]),
        request=None if row["request"] is None else from_text(row["request"]),
        model=None if row["model"] is None else from_text(row["model"]),
        usage=_usage(row),
        interrupted=bool(row["interrupted"]),
        system_fingerprint=from_json(row["system_fingerprint"]),
        sent=None if row["sent"] is None else from_sent(row["sent"]),
        steps=steps,
    )


@decoding("a segment")
def _segment(row: sqlite3.Row, conversation: str) -> Segment:
    return Segment(
        conversation=conversation,
        number=row["segment"],
        title=title(from_message(row["user_message"]).text),
        started_at=from_moment(row["started_at"]),
        ended_at=from_moment(row["ended_at"]),
        turns=row["turns"],
    )


def _usage(row: sqlite3.Row) -> Usage | None:
    if row["usage_input"] is None:
        return None
    return Usage(
        input=row["usage_input"],
        cached=row["usage_cached"],
        written=row["usage_written"],
        output=row["usage_output"],
        estimated=bool(row["usage_estimated"]),
        written_by_ttl=tuple(from_json(row["usage_written_by_ttl"] or "{}").items()),
    )
