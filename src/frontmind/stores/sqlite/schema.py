"""The tables, as numbered migrations. Data only: `opening` runs them.

A migration that was released is never edited; a change is a new one at the end. ANY columns hold what
`codec.to_text` gives. The segments have no table: which turns of one count can change, and its title
and its times with that. They run without the check of foreign keys, because a table that others refer to can only be
rebuilt without it.
"""

from __future__ import annotations

from typing import Final

from frontmind.stores.sqlite.ledger_tables import LEDGER
from frontmind.stores.sqlite.line_tables import LINES

APPLICATION_ID: Final = int.from_bytes(b"FrMd")
"""Stands in the header of every file of ours (`PRAGMA application_id`)."""

# Columns that are read to choose rows stand before the messages: SQLite need not follow a long row for them.
_CONVERSATIONS: Final = (
    """
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY,
        name ANY NOT NULL UNIQUE,
        window_start INTEGER NOT NULL DEFAULT 1
    ) STRICT
    """,
    """
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        number INTEGER NOT NULL,
        segment INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'done', 'refused')),
        asked_at TEXT NOT NULL,
        answered_at TEXT,
        request ANY,
        model ANY,
        usage_input INTEGER,
        usage_cached INTEGER,
        usage_written INTEGER,
        usage_output INTEGER,
        usage_estimated INTEGER,
        interrupted INTEGER NOT NULL DEFAULT 0,
        system_fingerprint ANY NOT NULL DEFAULT '{}',
        user_message ANY NOT NULL,
        reply_message ANY,
        UNIQUE (conversation, number),
        CHECK ((state = 'done') = (reply_message IS NOT NULL)),
        CHECK ((state = 'done') = (answered_at IS NOT NULL))
    ) STRICT
    """,
    # Covers the queries about segments, so that they do not read the messages.
    """
    CREATE INDEX turns_by_segment ON turns (conversation, segment, number, state, asked_at, answered_at)
    """,
)

# AUTOINCREMENT: the id of a removed note is not given again, so that an old "forget 3" cannot hit a new note.
_RECORDS: Final = (
    """
    CREATE TABLE reminders (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        text ANY NOT NULL,
        due TEXT NOT NULL,
        zone ANY NOT NULL,
        created_at TEXT NOT NULL,
        done_at TEXT
    ) STRICT
    """,
    "CREATE INDEX active_reminders ON reminders (id) WHERE done_at IS NULL",
    """
    CREATE TABLE notes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        text ANY NOT NULL,
        created_at TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE domaindocs (
        name ANY NOT NULL PRIMARY KEY,
        enabled INTEGER NOT NULL,
        updated_at TEXT NOT NULL,
        text ANY NOT NULL
    ) STRICT
    """,
)

# note_index.rowid is the note's id. message_index.rowid is twice the turn's id, plus one for the reply; it keeps
# no text, since no message is ever removed.
_SEARCH: Final = (
    "CREATE VIRTUAL TABLE note_index USING fts5 (text, tokenize = 'porter unicode61')",
    "CREATE VIRTUAL TABLE message_index USING fts5 (text, content = '', tokenize = 'porter unicode61')",
)

_REQUESTS: Final = (
    """
    CREATE TABLE request_blobs (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        data ANY NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE request_messages (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        parent INTEGER REFERENCES request_messages (id),
        blob INTEGER NOT NULL REFERENCES request_blobs (id)
    ) STRICT
    """,
    """
    CREATE TABLE requests (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        envelope INTEGER NOT NULL REFERENCES request_blobs (id),
        last_message INTEGER REFERENCES request_messages (id)
    ) STRICT
    """,
)

# What the framings that keep their notices have sent, and which sections stood beside a turn.
_SENT: Final = (
    "ALTER TABLE turns ADD COLUMN sent ANY",
    "ALTER TABLE turns ADD COLUMN usage_written_by_ttl ANY",
)

_STEPS: Final = (
    """
    CREATE TABLE steps (
        turn INTEGER NOT NULL REFERENCES turns (id),
        number INTEGER NOT NULL,
        request ANY NOT NULL,
        model ANY NOT NULL,
        usage ANY NOT NULL,
        said ANY NOT NULL,
        results ANY,
        PRIMARY KEY (turn, number)
    ) STRICT
    """,
    """
    CREATE TABLE texts (
        owner ANY NOT NULL,
        id TEXT NOT NULL,
        text ANY NOT NULL,
        PRIMARY KEY (owner, id)
    ) STRICT
    """,
)

_RECURRENCE: Final = (
    "ALTER TABLE reminders ADD COLUMN rrule ANY NOT NULL DEFAULT ''",
    "ALTER TABLE reminders ADD COLUMN exdates TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE reminders ADD COLUMN start TEXT",
    "ALTER TABLE reminders ADD COLUMN snoozed_until TEXT",
    "ALTER TABLE reminders ADD COLUMN delivered TEXT",
    "ALTER TABLE reminders ADD COLUMN uid ANY NOT NULL DEFAULT ''",
    "ALTER TABLE reminders ADD COLUMN version INTEGER NOT NULL DEFAULT 1",
    # The id gives the order in which they were said; a slot is said once.
    """
    CREATE TABLE deliveries (
        id INTEGER PRIMARY KEY,
        reminder INTEGER NOT NULL REFERENCES reminders (id) ON DELETE CASCADE,
        slot TEXT NOT NULL,
        at TEXT NOT NULL,
        missed INTEGER NOT NULL,
        UNIQUE (reminder, slot)
    ) STRICT
    """,
)

# A name belongs to its owner from here on. What was there belongs to the owner without a name.
_OWNERS: Final = (
    """
    CREATE TABLE owned_conversations (
        id INTEGER PRIMARY KEY,
        owner ANY NOT NULL,
        name ANY NOT NULL,
        window_start INTEGER NOT NULL DEFAULT 1,
        UNIQUE (owner, name)
    ) STRICT
    """,
    "INSERT INTO owned_conversations SELECT id, '', name, window_start FROM conversations",
    "DROP TABLE conversations",
    "ALTER TABLE owned_conversations RENAME TO conversations",
    "ALTER TABLE reminders ADD COLUMN owner ANY NOT NULL DEFAULT ''",
    "ALTER TABLE notes ADD COLUMN owner ANY NOT NULL DEFAULT ''",
    "DROP INDEX active_reminders",
    "CREATE INDEX active_reminders ON reminders (owner, id) WHERE done_at IS NULL",
    "CREATE INDEX notes_by_owner ON notes (owner, id)",
    """
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY,
        owner ANY NOT NULL,
        name ANY NOT NULL,
        enabled INTEGER NOT NULL,
        version INTEGER NOT NULL,
        collapsed ANY NOT NULL DEFAULT '[]',
        source ANY NOT NULL DEFAULT '',
        UNIQUE (owner, name)
    ) STRICT
    """,
    """
    CREATE TABLE document_versions (
        document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        version INTEGER NOT NULL,
        parent INTEGER,
        at TEXT NOT NULL,
        author TEXT NOT NULL,
        text ANY NOT NULL,
        PRIMARY KEY (document, version)
    ) STRICT
    """,
    "INSERT INTO documents (owner, name, enabled, version) SELECT '', name, enabled, 1 FROM domaindocs",
    """
    INSERT INTO document_versions
    SELECT documents.id, 1, NULL, domaindocs.updated_at, 'person', domaindocs.text
    FROM documents JOIN domaindocs ON domaindocs.name = documents.name
    """,
    "DROP TABLE domaindocs",
)

# What is searched: passages made of turns, memories and documents; no text is kept twice, the index reads the table.
# A scope stands for an owner and a kind: a word of digits, so that no stemmer changes it.
_PASSAGES: Final = (
    "DROP TABLE note_index",
    "DROP TABLE message_index",
    """
    CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        scope TEXT NOT NULL,
        ref INTEGER NOT NULL,
        part INTEGER NOT NULL,
        conversation INTEGER REFERENCES conversations (id),
        number INTEGER NOT NULL,
        at TEXT NOT NULL,
        text TEXT NOT NULL,
        context TEXT NOT NULL,
        UNIQUE (scope, ref, part)
    ) STRICT
    """,
    "CREATE INDEX passages_by_scope ON passages (scope, id)",
    "CREATE INDEX passages_by_time ON passages (scope, at)",
    "CREATE INDEX passages_by_turn ON passages (conversation, number) WHERE conversation IS NOT NULL",
    """
    CREATE VIRTUAL TABLE passage_index USING fts5 (
        scope, text, context, content = 'passages', content_rowid = 'id', tokenize = 'porter unicode61'
    )
    """,
    """
    CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
        INSERT INTO passage_index (rowid, scope, text, context) VALUES (new.id, new.scope, new.text, new.context);
    END
    """,
    """
    CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
        INSERT INTO passage_index (passage_index, rowid, scope, text, context)
        VALUES ('delete', old.id, old.scope, old.text, old.context);
        DELETE FROM vectors WHERE passage = old.id;
    END
    """,
    """
    CREATE TABLE vector_spaces (
        id INTEGER PRIMARY KEY,
        owner ANY NOT NULL,
        name ANY NOT NULL,
        dimensions INTEGER NOT NULL,
        embedded_to INTEGER NOT NULL DEFAULT 0,
        UNIQUE (owner, name)
    ) STRICT
    """,
    """
    CREATE TABLE vectors (
        passage INTEGER NOT NULL,
        space INTEGER NOT NULL REFERENCES vector_spaces (id),
        vector BLOB NOT NULL,
        UNIQUE (passage, space)
    ) STRICT
    """,
)

_MEMORIES: Final = (
    """
    CREATE TABLE memories (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner ANY NOT NULL,
        text ANY NOT NULL,
        origin TEXT NOT NULL,
        observed_at TEXT NOT NULL,
        recorded_at TEXT NOT NULL,
        conversation ANY NOT NULL DEFAULT '',
        turn INTEGER,
        confidence REAL NOT NULL DEFAULT 1,
        happens_at TEXT,
        valid_until TEXT,
        superseded_by INTEGER,
        superseded_at TEXT,
        version INTEGER NOT NULL DEFAULT 1
    ) STRICT
    """,
    "CREATE INDEX memories_by_owner ON memories (owner, id)",
    """
    INSERT INTO memories (id, owner, text, origin, observed_at, recorded_at)
    SELECT id, owner, text, 'person', created_at, created_at FROM notes
    """,
    # An id of a removed note is not given again, now as before.
    """
    INSERT INTO sqlite_sequence (name, seq) SELECT 'memories', 0
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'memories')
    """,
    """
    UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'notes'), 0))
    WHERE name = 'memories'
    """,
    "DROP TABLE notes",
    """
    CREATE TABLE memory_links (
        source INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        target INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        PRIMARY KEY (source, target, kind)
    ) STRICT
    """,
    "CREATE INDEX memory_links_by_target ON memory_links (target)",
    """
    CREATE TABLE memory_uses (
        memory INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
        day TEXT NOT NULL,
        PRIMARY KEY (memory, day)
    ) STRICT
    """,
    """
    CREATE TABLE extractions (
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        segment INTEGER NOT NULL,
        last INTEGER NOT NULL,
        author ANY NOT NULL,
        at TEXT NOT NULL,
        failures INTEGER NOT NULL,
        problem ANY NOT NULL,
        kept INTEGER NOT NULL,
        dropped INTEGER NOT NULL,
        PRIMARY KEY (conversation, segment)
    ) STRICT
    """,
    "CREATE TABLE active_days (owner ANY NOT NULL, day TEXT NOT NULL, PRIMARY KEY (owner, day)) STRICT",
    """
    INSERT OR IGNORE INTO active_days
    SELECT conversations.owner, substr(turns.asked_at, 1, 10)
    FROM turns JOIN conversations ON conversations.id = turns.conversation
    """,
)

_SEGMENTS: Final = (
    """
    CREATE TABLE segment_summaries (
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        segment INTEGER NOT NULL,
        title ANY NOT NULL,
        text ANY NOT NULL,
        author ANY NOT NULL,
        made_at TEXT NOT NULL,
        PRIMARY KEY (conversation, segment)
    ) STRICT
    """,
    "ALTER TABLE conversations ADD COLUMN opening ANY NOT NULL DEFAULT ''",
    """
    CREATE TABLE imported_turns (
        owner ANY NOT NULL,
        source ANY NOT NULL,
        key ANY NOT NULL,
        turn INTEGER NOT NULL REFERENCES turns (id),
        PRIMARY KEY (owner, source, key)
    ) STRICT
    """,
)

MIGRATIONS: Final = (
    (*_CONVERSATIONS, *_RECORDS, *_SEARCH, *_REQUESTS),
    _SENT,
    (*_STEPS, *_RECURRENCE, *_OWNERS),
    (*_PASSAGES, *_MEMORIES, *_SEGMENTS),
    LEDGER,
    LINES,
)
"""Migration ``i`` leads from version ``i`` to ``i + 1``; each is the statements of one transaction."""

SCHEMA_VERSION: Final = len(MIGRATIONS)

PASSAGES_VERSION: Final = 4
"""The version from which on the passages are as this Frontmind makes them; those of older tables are made anew."""
