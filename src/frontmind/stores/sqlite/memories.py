"""Memories, their links and uses, each function inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, datetime

from frontmind.errors import Conflict, TurnsReplaced, UsageError
from frontmind.stores.sqlite.codec import (
    StoredText,
    decoding,
    from_due,
    from_moment,
    from_text,
    to_due,
    to_moment,
    to_text,
)
from frontmind.stores.sqlite.passage_making import forget_passages, index_memory
from frontmind.values.memories import (
    Extraction,
    LinkKind,
    Memory,
    MemoryChanges,
    MemoryLink,
    MemoryOrigin,
    MemoryUse,
    NewMemory,
)
from frontmind.values.passages import PassageKind
from frontmind.values.records import TurnState


def add_memories(
    connection: sqlite3.Connection, owner: StoredText, memories: Sequence[NewMemory], at: datetime
) -> Sequence[Memory]:
    """Store new memories and make them searchable."""
    return [_added(connection, owner, memory, at) for memory in memories]


def memory_of(connection: sqlite3.Connection, owner: StoredText, memory_id: int) -> Memory:
    """The memory of this id.

    Raises:
        UsageError: there is none.
    """
    row = connection.execute("SELECT * FROM memories WHERE id = ? AND owner = ?", (memory_id, owner)).fetchone()
    if row is None:
        raise UsageError(f"no memory has the id m{memory_id}; pass one from the list of memories")
    return _memory(row)


def memories(connection: sqlite3.Connection, owner: StoredText, ids: Sequence[int] | None) -> Sequence[Memory]:
    """These memories, or all of them, by id."""
    if ids is None:
        rows = connection.execute("SELECT * FROM memories WHERE owner = ? ORDER BY id", (owner,))
    else:
        # The plus keeps SQLite from reading all of the owner's for a few ids.
        rows = connection.execute(
            "SELECT * FROM memories WHERE id IN (SELECT value FROM json_each(?)) AND +owner = ? ORDER BY id",
            (json.dumps(list(ids)), owner),
        )
    return [_memory(row) for row in rows]


def change_memories(
    connection: sqlite3.Connection,
    owner: StoredText,
    changes: MemoryChanges,
    at: datetime,
    extraction: Extraction | None,
    told_by: Collection[int],
) -> Sequence[Memory]:
    """Carry out all of the changes, and note how far an extraction has come.

    Raises:
        TurnsReplaced: a turn that they were read from no longer counts.
        Conflict: a stored memory was changed or removed, one that must not be was added, or the segment was read
            meanwhile.
        UsageError: a negative id stands for no memory, or the segment is not there.
    """
    _require_counting(connection, owner, told_by)
    if changes.newest is not None:
        _require_no_newer(connection, owner, changes.newest)
    there = _those_there(connection, owner, changes)
    added = [_added(connection, owner, memory, at).id for memory in changes.added]

    def meant(memory_id: int) -> int:
        if memory_id >= 0:
            if memory_id not in there:
                raise Conflict(f"the memory m{memory_id} was removed meanwhile; read the memories again")
            return memory_id
        if -memory_id > len(added):
            raise UsageError(f"the id {memory_id} stands for none of the {len(added)} added; pass -1 for the first")
        return added[-memory_id - 1]

    for memory in changes.changed:
        # The id of one that was removed stays: what it had superseded stays superseded.
        by = (
            memory.superseded_by
            if memory.superseded_by is None or memory.superseded_by >= 0
            else meant(memory.superseded_by)
        )
        save_memory(connection, owner, replace(memory, id=meant(memory.id), superseded_by=by), ())
    for older, newer, since in changes.superseded:
        connection.execute(
            "UPDATE memories SET superseded_by = ?, superseded_at = ? WHERE id = ?",
            (newer and meant(newer), to_moment(since), meant(older)),
        )
    _add_links(
        connection, [replace(link, source=meant(link.source), target=meant(link.target)) for link in changes.links]
    )
    _add_uses(connection, [(meant(memory_id), day) for memory_id, day in changes.uses])
    if extraction is not None:
        _note_extraction(connection, owner, extraction)
    return [memory_of(connection, owner, memory_id) for memory_id in added]


def _require_counting(connection: sqlite3.Connection, owner: StoredText, turn_ids: Collection[int]) -> None:
    wanted = json.dumps(sorted(set(turn_ids)))
    (counting,) = connection.execute(
        """
        SELECT count(*) FROM turns JOIN conversations ON conversations.id = turns.conversation
        WHERE turns.id IN (SELECT value FROM json_each(?)) AND conversations.owner = ? AND turns.state IN (?, ?)
        """,
        (wanted, owner, TurnState.OPEN.value, TurnState.DONE.value),
    ).fetchone()
    if counting < len(set(turn_ids)):
        raise TurnsReplaced("turns that this was read from were replaced meanwhile; read the conversation again")


def extractions(connection: sqlite3.Connection, owner: StoredText) -> Sequence[Extraction]:
    """How far the extraction of each segment has come, by conversation and segment."""
    rows = connection.execute(
        """
        SELECT extractions.*, conversations.name FROM extractions
        JOIN conversations ON conversations.id = extractions.conversation
        WHERE conversations.owner = ? ORDER BY conversations.name, extractions.segment
        """,
        (owner,),
    )
    return [_extraction(row) for row in rows]


def save_memory(
    connection: sqlite3.Connection, owner: StoredText, memory: Memory, links: Sequence[MemoryLink]
) -> Memory:
    """Store the changed memory and further links.

    Raises:
        Conflict: the stored one has another version.
        UsageError: there is none with this id, or a link names one that is not there.
    """
    stored = memory_of(connection, owner, memory.id)
    if stored.version != memory.version:
        raise Conflict(f"the memory m{memory.id} was changed meanwhile; read it again")
    connection.execute(
        """
        UPDATE memories
        SET text = ?, observed_at = ?, origin = ?, conversation = ?, turn = ?, confidence = ?, happens_at = ?,
            valid_until = ?, superseded_by = ?, superseded_at = ?, version = version + 1
        WHERE id = ?
        """,
        (
            to_text(memory.text),
            to_moment(memory.observed_at),
            memory.origin.value,
            to_text(memory.conversation),
            memory.turn,
            memory.confidence,
            _optional_due(memory.happens_at),
            _optional_due(memory.valid_until),
            memory.superseded_by,
            None if memory.superseded_at is None else to_moment(memory.superseded_at),
            memory.id,
        ),
    )
    if (stored.text, stored.observed_at) != (memory.text, memory.observed_at):
        index_memory(connection, memory.id)
    for link in links:
        for end in (link.source, link.target):
            memory_of(connection, owner, end)
    _add_links(connection, links)
    return memory_of(connection, owner, memory.id)


def remove_memory(connection: sqlite3.Connection, owner: StoredText, memory_id: int) -> Memory:
    """Delete it for good.

    Raises:
        UsageError: there is none with this id.
    """
    removed = memory_of(connection, owner, memory_id)
    connection.execute("DELETE FROM memories WHERE id = ?", (memory_id,))
    forget_passages(connection, owner, PassageKind.MEMORY, memory_id)
    return removed


def memory_links(connection: sqlite3.Connection, owner: StoredText, memory_ids: Sequence[int]) -> Sequence[MemoryLink]:
    """The links from or to any of these."""
    rows = connection.execute(
        """
        WITH
            meant (id) AS (SELECT value FROM json_each(:ids)),
            found AS (
                SELECT source, target, kind FROM memory_links WHERE source IN meant
                UNION
                SELECT source, target, kind FROM memory_links WHERE target IN meant
            )
        SELECT found.* FROM found CROSS JOIN memories ON memories.id = found.source
        WHERE memories.owner = :owner ORDER BY found.source, found.target, found.kind
        """,
        {"owner": owner, "ids": json.dumps(list(memory_ids))},
    )
    return [MemoryLink(row["source"], row["target"], LinkKind(row["kind"])) for row in rows]


def note_memory_uses(
    connection: sqlite3.Connection, owner: StoredText, memory_ids: Sequence[int], at: datetime
) -> None:
    """Note that these were used on the day of this moment."""
    _add_uses(connection, [(memory.id, at.date()) for memory in memories(connection, owner, memory_ids)])


def memory_uses(connection: sqlite3.Connection, owner: StoredText, memory_ids: Sequence[int]) -> Sequence[MemoryUse]:
    """The uses of these, by memory and day."""
    rows = connection.execute(
        """
        SELECT memory_uses.memory, memory_uses.day
        FROM memory_uses CROSS JOIN memories ON memories.id = memory_uses.memory
        WHERE memory_uses.memory IN (SELECT value FROM json_each(:ids)) AND memories.owner = :owner
        ORDER BY memory_uses.memory, memory_uses.day
        """,
        {"owner": owner, "ids": json.dumps(list(memory_ids))},
    )
    with decoding("a use of a memory"):
        return [MemoryUse(row["memory"], date.fromisoformat(row["day"])) for row in rows]


def active_days(connection: sqlite3.Connection, owner: StoredText) -> Sequence[date]:
    """The days on which a message was accepted, in order."""
    rows = connection.execute("SELECT day FROM active_days WHERE owner = ? ORDER BY day", (owner,))
    with decoding("an active day"):
        return [date.fromisoformat(row["day"]) for row in rows]


def _added(connection: sqlite3.Connection, owner: StoredText, memory: NewMemory, at: datetime) -> Memory:
    memory_id = connection.execute(
        """
        INSERT INTO memories
            (owner, text, origin, observed_at, recorded_at, conversation, turn, confidence, happens_at, valid_until)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            owner,
            to_text(memory.text),
            memory.origin.value,
            to_moment(memory.observed_at),
            to_moment(memory.recorded_at or at),
            to_text(memory.conversation),
            memory.turn,
            memory.confidence,
            _optional_due(memory.happens_at),
            _optional_due(memory.valid_until),
        ),
    ).lastrowid
    index_memory(connection, memory_id or 0)
    return memory_of(connection, owner, memory_id or 0)


def _require_no_newer(connection: sqlite3.Connection, owner: StoredText, newest: int) -> None:
    if connection.execute("SELECT 1 FROM memories WHERE owner = ? AND id > ?", (owner, newest)).fetchone():
        raise Conflict("a memory was added meanwhile; read the memories again")


def _those_there(connection: sqlite3.Connection, owner: StoredText, changes: MemoryChanges) -> frozenset[int]:
    """Which of the stored memories that the changes name are there."""
    named = {memory.id for memory in changes.changed}
    named |= {memory_id for older, newer, _ in changes.superseded for memory_id in (older, newer)}
    named |= {end for link in changes.links for end in (link.source, link.target)}
    named |= {memory_id for memory_id, _ in changes.uses}
    rows = connection.execute(
        "SELECT id FROM memories WHERE id IN (SELECT value FROM json_each(?)) AND +owner = ?",
        (json.dumps(sorted(named)), owner),
    )
    return frozenset(row["id"] for row in rows)


def _add_links(connection: sqlite3.Connection, links: Sequence[MemoryLink]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO memory_links VALUES (?, ?, ?)",
        [(link.source, link.target, link.kind.value) for link in links],
    )


def _add_uses(connection: sqlite3.Connection, uses: Sequence[tuple[int, date]]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO memory_uses VALUES (?, ?)", [(memory_id, day.isoformat()) for memory_id, day in uses]
    )


def _note_extraction(connection: sqlite3.Connection, owner: StoredText, extraction: Extraction) -> None:
    row = connection.execute(
        """
        SELECT conversations.id, extractions.last FROM conversations
        JOIN turns ON turns.conversation = conversations.id
        LEFT JOIN extractions ON extractions.conversation = conversations.id AND extractions.segment = turns.segment
        WHERE conversations.owner = ? AND conversations.name = ? AND turns.segment = ? LIMIT 1
        """,
        (owner, to_text(extraction.conversation), extraction.segment),
    ).fetchone()
    if row is None:
        raise UsageError(
            f"the conversation {extraction.conversation!r} has no segment {extraction.segment}; "
            "pass one from its segments"
        )
    if row["last"] is not None and (
        row["last"] > extraction.last or (row["last"] == extraction.last and not extraction.problem)
    ):
        raise Conflict(f"the segment {extraction.segment} of {extraction.conversation!r} was read meanwhile")
    connection.execute(
        "INSERT OR REPLACE INTO extractions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row["id"],
            extraction.segment,
            extraction.last,
            to_text(extraction.author),
            to_moment(extraction.at),
            extraction.failures,
            to_text(extraction.problem),
            extraction.kept,
            extraction.dropped,
        ),
    )


def _optional_due(moment: datetime | date | None) -> str | None:
    return None if moment is None else to_due(moment)


@decoding("a memory")
def _memory(row: sqlite3.Row) -> Memory:
    return Memory(
        id=row["id"],
        text=from_text(row["text"]),
        observed_at=from_moment(row["observed_at"]),
        recorded_at=from_moment(row["recorded_at"]),
        origin=MemoryOrigin(row["origin"]),
        conversation=from_text(row["conversation"]),
        turn=row["turn"],
        confidence=row["confidence"],
        happens_at=None if row["happens_at"] is None else from_due(row["happens_at"]),
        valid_until=None if row["valid_until"] is None else from_due(row["valid_until"]),
        superseded_by=row["superseded_by"],
        superseded_at=None if row["superseded_at"] is None else from_moment(row["superseded_at"]),
        version=row["version"],
    )


@decoding("an extraction")
def _extraction(row: sqlite3.Row) -> Extraction:
    return Extraction(
        conversation=from_text(row["name"]),
        segment=row["segment"],
        last=row["last"],
        author=from_text(row["author"]),
        at=from_moment(row["at"]),
        failures=row["failures"],
        problem=from_text(row["problem"]),
        kept=row["kept"],
        dropped=row["dropped"],
    )
