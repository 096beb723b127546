"""Conversations, turns and segments: the work of `ConversationStore`, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
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
from frontmind.stores.sqlite.lines import set_line
from frontmind.stores.sqlite.passage_making import index_elsewhere, index_turn
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message
from frontmind.values.passages import NewPassage
from frontmind.values.records import (
    Completion,
    Line,
    Sent,
    Step,
    Turn,
    TurnState,
    WindowOpening,
)
from frontmind.values.titles import title
from frontmind.values.usage import Usage

IMPORT_PAUSE: Final = timedelta(minutes=60)
"""How long nothing was said before a new segment of an imported conversation begins."""

LARGEST_NUMBER: Final = 2**63 - 1
"""No turn has a larger one."""

MOMENT: Final = "max(asked_at, coalesce(answered_at, asked_at))"
"""When a turn's last message was stored, spelled as the index by it spells it."""

_BEHIND_ALL: Final = "A"
"""Sorts behind each moment as it is stored."""

_SELECT_TURN: Final = """
    SELECT turns.*, conversations.name AS conversation_name
    FROM turns JOIN conversations ON conversations.id = turns.conversation
"""


@dataclass(frozen=True, slots=True)
class _End:
    """Where a conversation ends: its last turn and segment, and the moment, as it is stored, up to which it was said;
    empty where there is none.
    """

    number: int = 0
    segment: int = 0
    newest: str = ""


def begin_turn(
    connection: sqlite3.Connection,
    owner: StoredText,
    conversation: str,
    message: Message,
    at: datetime,
    segment_pause: timedelta,
    line: Line | None,
) -> Turn:
    """Accept a user message as a new OPEN turn behind this line.

    Raises:
        UsageError: there is no such line.
    """
    if line is not None:
        set_line(connection, owner, conversation, line.numbers)
        if line.imports:
            import_turns(connection, owner, conversation, line.imports, line.source)
    asked_at = to_moment(at)
    conversation_id = _enter(connection, owner, conversation)
    number, segment = _next_place(_end(connection, conversation_id, asked_at), at, segment_pause)
    turn_id = connection.execute(
        """
        INSERT INTO turns (conversation, number, segment, state, asked_at, title, user_message)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (conversation_id, number, segment, TurnState.OPEN.value, asked_at, _title(message), to_message(message)),
    ).lastrowid
    connection.execute("INSERT OR IGNORE INTO active_days VALUES (?, ?)", (owner, at.date().isoformat()))
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
        UPDATE conversations SET window_start = :start, opening = :summary
        WHERE id = (SELECT conversation FROM turns WHERE id = :turn) AND window_start < :start
        """,
        {"start": completion.opening.start, "summary": to_text(completion.opening.summary), "turn": turn_id},
    )
    index_turn(connection, turn_id)
    return _turn_with(connection, turn_id)


def turns(
    connection: sqlite3.Connection, owner: StoredText, conversation: str, since: int, until: int | None
) -> Sequence[Turn]:
    """The turns from the number ``since`` to the number ``until``, by number; None for all from there on."""
    last = LARGEST_NUMBER if until is None else until
    rows = connection.execute(
        f"""
        {_SELECT_TURN} WHERE conversations.owner = ? AND conversations.name = ? AND turns.number BETWEEN ? AND ?
        ORDER BY turns.number
        """,
        (owner, to_text(conversation), since, last),
    )
    known = steps.steps_between(connection, owner, to_text(conversation), since, last)
    return [_turn(row, known.get(row["id"], ())) for row in rows]


def window_opening(connection: sqlite3.Connection, owner: StoredText, conversation: str) -> WindowOpening:
    """Where the window begins."""
    row = connection.execute(
        "SELECT window_start, opening FROM conversations WHERE owner = ? AND name = ?", (owner, to_text(conversation))
    ).fetchone()
    with decoding("a conversation"):
        return WindowOpening() if row is None else WindowOpening(row["window_start"], from_text(row["opening"]))


def import_turns(
    connection: sqlite3.Connection, owner: StoredText, conversation: str, turns: Sequence[ImportedTurn], source: str
) -> int:
    """Store the exchanges whose keys are not known yet behind those that are there; gives back how many."""
    keys = [to_text(turn.key) for turn in turns]
    home = _home_of_imported(connection, owner, to_text(source), keys)
    conversation_id = _enter(connection, owner, conversation) if home is None else home
    end, new = _end(connection, conversation_id, _BEHIND_ALL), 0
    for turn in turns:
        key = (owner, to_text(source), to_text(turn.key))
        if connection.execute(
            "SELECT 1 FROM imported_turns WHERE owner = ? AND source = ? AND key = ?", key
        ).fetchone():
            continue
        number, segment = _next_place(end, turn.asked_at, IMPORT_PAUSE)
        asked_at, answered_at = to_moment(turn.asked_at), to_moment(turn.answered_at)
        end = _End(number, segment, max(asked_at, answered_at))
        turn_id = connection.execute(
            """
            INSERT INTO turns
                (conversation, number, segment, state, asked_at, title, user_message, answered_at, reply_message)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (
                conversation_id,
                number,
                segment,
                TurnState.DONE.value,
                asked_at,
                _title(turn.user),
                to_message(turn.user),
                answered_at,
                to_message(turn.reply),
            ),
        ).lastrowid
        connection.execute("INSERT INTO imported_turns VALUES (?, ?, ?, ?)", (*key, turn_id))
        index_turn(connection, turn_id or 0)
        new += 1
    return new


def add_passages(
    connection: sqlite3.Connection,
    owner: StoredText,
    conversation: str,
    passages: Sequence[tuple[datetime, NewPassage]],
) -> Sequence[int]:
    """Store exchanges of a conversation that was held elsewhere; their ids."""
    return index_elsewhere(connection, owner, _enter(connection, owner, conversation), passages)


def _home_of_imported(
    connection: sqlite3.Connection, owner: StoredText, source: StoredText, keys: Sequence[StoredText]
) -> int | None:
    """The conversation that has the first known of these exchanges: a chat may have been renamed since."""
    for key in keys:
        row = connection.execute(
            """
            SELECT turns.conversation AS id FROM imported_turns JOIN turns ON turns.id = imported_turns.turn
            WHERE owner = ? AND source = ? AND key = ?
            """,
            (owner, source, key),
        ).fetchone()
        if row is not None:
            return int(row["id"])
    return None


def _end(connection: sqlite3.Connection, conversation_id: int, by: str) -> _End:
    """Where it ends; of what is REPLACED only the number counts. What was said after ``by`` does not count: the clock
    was wrong then, or is wrong now, and a pause must be seen all the same.
    """
    # Each is found at the end of an index: what this costs does not grow with the conversation.
    row = connection.execute(
        f"""
        SELECT (SELECT max(number) FROM turns WHERE conversation = :conversation) AS number,
               (
                   SELECT segment FROM turns WHERE conversation = :conversation AND state <> :replaced
                   ORDER BY segment DESC LIMIT 1
               ) AS segment,
               (
                   SELECT {MOMENT} FROM turns
                   WHERE conversation = :conversation AND state <> :replaced AND {MOMENT} <= :by
                   ORDER BY {MOMENT} DESC LIMIT 1
               ) AS newest,
               (
                   SELECT max(max(iif(asked_at <= :by, asked_at, ''), iif(answered_at <= :by, answered_at, '')))
                   FROM turns WHERE conversation = :conversation AND state <> :replaced AND {MOMENT} > :by
               ) AS half
        """,
        {"by": by, "conversation": conversation_id, "replaced": TurnState.REPLACED.value},
    ).fetchone()
    newest = max(row["newest"] or "", row["half"] or "")
    return _End(row["number"] or 0, row["segment"] or 0, newest)


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


def _title(message: Message) -> StoredText:
    return to_text(title(message.text))


@decoding("a turn")
def _next_place(end: _End, at: datetime, segment_pause: timedelta) -> tuple[int, int]:
    if not end.segment:
        return end.number + 1, 1
    paused = bool(end.newest) and at - from_moment(end.newest) >= segment_pause
    return end.number + 1, end.segment + (1 if paused else 0)


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
