"""Making the passages of turns, memories and documents, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from frontmind.stores.sqlite.codec import StoredText, decoding, from_message, from_text, to_moment
from frontmind.stores.sqlite.scopes import scope
from frontmind.stores.sqlite.steps import steps_of
from frontmind.values.outline import outline
from frontmind.values.passages import NewPassage, PassageKind, exchange_passages, text_passages
from frontmind.values.records import TurnState


def searchable(text: str) -> str:
    """The text as the full-text index takes it: only what UTF-8 can carry. No word is lost with the rest."""
    return text.replace("\0", " ").encode("utf-8", errors="replace").decode("utf-8")


def index_turn(connection: sqlite3.Connection, turn_id: int) -> None:
    """Make the passages of a DONE turn, with the messages that waited in front of it."""
    turn = connection.execute(
        """
        SELECT turns.*, conversations.owner FROM turns JOIN conversations ON conversations.id = turns.conversation
        WHERE turns.id = ?
        """,
        (turn_id,),
    ).fetchone()
    place = {"conversation": turn["conversation"], "number": turn["number"], "done": TurnState.DONE.value}
    before = connection.execute(
        """
        SELECT number, reply_message FROM turns
        WHERE conversation = :conversation AND number < :number AND state = :done ORDER BY number DESC LIMIT 1
        """,
        place,
    ).fetchone()
    waiting = connection.execute(
        """
        SELECT user_message FROM turns
        WHERE conversation = :conversation AND number > :since AND number < :number AND state = :open ORDER BY number
        """,
        {**place, "since": 0 if before is None else before["number"], "open": TurnState.OPEN.value},
    )
    with decoding("a turn"):
        said = [from_message(row["user_message"]).text for row in (*waiting, turn)]
        replies = [step.said.text for step in steps_of(connection, turn_id)]
        replies.append(from_message(turn["reply_message"]).text)
        context = "" if before is None else from_message(before["reply_message"]).text
    passages = exchange_passages("\n\n".join(text for text in said if text.strip()), replies, before=context)
    _replace(
        connection,
        scope(turn["owner"], PassageKind.EXCHANGE),
        turn_id,
        passages,
        at=turn["asked_at"],
        conversation=turn["conversation"],
        number=turn["number"],
    )


def index_memory(connection: sqlite3.Connection, memory_id: int) -> None:
    """Make the passages of a memory as it is now; none where it is gone."""
    row = connection.execute("SELECT owner, text, observed_at FROM memories WHERE id = ?", (memory_id,)).fetchone()
    with decoding("a memory"):
        text = from_text(row["text"])
    _replace(connection, scope(row["owner"], PassageKind.MEMORY), memory_id, text_passages(text), at=row["observed_at"])


def index_document(connection: sqlite3.Connection, document_id: int) -> None:
    """Make the passages of the version of a document that holds, section by section. Those that are as they were before
    keep their ids, their vectors with them, and the moment at which they were written.
    """
    row = connection.execute(
        """
        SELECT documents.owner, document_versions.text, document_versions.at
        FROM documents JOIN document_versions
        ON document_versions.document = documents.id AND document_versions.version = documents.version
        WHERE documents.id = ?
        """,
        (document_id,),
    ).fetchone()
    with decoding("a document"):
        text = from_text(row["text"])
    passages = [
        NewPassage(passage.text, f"{section.name} {passage.context}".strip())
        for section in outline(text)
        for passage in text_passages(text[section.start : section.own_end])
    ]
    _take_over(connection, scope(row["owner"], PassageKind.DOCUMENT), document_id, passages, at=row["at"])


def index_elsewhere(
    connection: sqlite3.Connection,
    owner: StoredText,
    conversation: int,
    passages: Sequence[tuple[datetime, NewPassage]],
) -> list[int]:
    """Make passages of what was said in no turn of ours, under negative refs; their ids."""
    place = scope(owner, PassageKind.EXCHANGE)
    lowest = connection.execute("SELECT min(ref) FROM passages WHERE scope = ?", (place,)).fetchone()[0] or 0
    first = min(lowest, 0) - 1
    for number, (at, passage) in enumerate(passages):
        _replace(connection, place, first - number, [passage], at=to_moment(at), conversation=conversation)
    rows = connection.execute("SELECT id FROM passages WHERE scope = ? AND ref <= ? ORDER BY id", (place, first))
    return [row["id"] for row in rows]


def forget_passages(connection: sqlite3.Connection, owner: StoredText, kind: PassageKind, ref: int) -> None:
    """Take what was made of this turn, memory or document out of the search."""
    connection.execute("DELETE FROM passages WHERE scope = ? AND ref = ?", (scope(owner, kind), ref))


def rebuild_passages(connection: sqlite3.Connection) -> None:
    """Make all passages anew."""
    connection.execute("DELETE FROM passages")
    done = "SELECT id FROM turns WHERE state = 'done' ORDER BY id"
    for query, index in (
        (done, index_turn),
        ("SELECT id FROM memories ORDER BY id", index_memory),
        ("SELECT id FROM documents ORDER BY id", index_document),
    ):
        for row in connection.execute(query).fetchall():
            index(connection, row["id"])


def _take_over(
    connection: sqlite3.Connection, scope: str, ref: int, passages: Sequence[NewPassage], *, at: str
) -> None:
    stored = connection.execute(
        "SELECT id, part, text, context FROM passages WHERE scope = ? AND ref = ? ORDER BY part", (scope, ref)
    ).fetchall()
    wanted = [(searchable(passage.text), searchable(passage.context)) for passage in passages]
    missing = Counter(wanted)
    gone: list[tuple[int]] = []
    for row in stored:
        if missing[row["text"], row["context"]]:
            missing[row["text"], row["context"]] -= 1
        else:
            gone.append((row["id"],))
    connection.executemany("DELETE FROM passages WHERE id = ?", gone)
    first = max((row["part"] for row in stored), default=-1) + 1
    _insert(connection, scope, ref, list(missing.elements()), first=first, at=at)


def _replace(
    connection: sqlite3.Connection,
    scope: str,
    ref: int,
    passages: Sequence[NewPassage],
    *,
    at: str,
    conversation: int | None = None,
    number: int = 0,
) -> None:
    connection.execute("DELETE FROM passages WHERE scope = ? AND ref = ?", (scope, ref))
    texts = [(searchable(passage.text), searchable(passage.context)) for passage in passages]
    _insert(connection, scope, ref, texts, at=at, conversation=conversation, number=number)


def _insert(
    connection: sqlite3.Connection,
    scope: str,
    ref: int,
    texts: Sequence[tuple[str, str]],
    *,
    at: str,
    first: int = 0,
    conversation: int | None = None,
    number: int = 0,
) -> None:
    connection.executemany(
        """
        INSERT INTO passages (scope, ref, part, conversation, number, at, text, context)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (scope, ref, part, conversation, number, at, text, context)
            for part, (text, context) in enumerate(texts, first)
        ],
    )
