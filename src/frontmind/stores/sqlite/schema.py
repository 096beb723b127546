"""The tables, as numbered migrations. Data only: `opening` runs them.

A migration that was released is never edited; a change is a new one at the end. ANY columns hold what
`codec.to_text` gives. The segments have no table: which turns of one are REFUSED can change, and its title
and its times with that. They run without the check of foreign keys, because a table that others refer to can only be
rebuilt without it.
"""

from __future__ import annotations

from typing import Final

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

MIGRATIONS: Final = (
    (*_CONVERSATIONS, *_RECORDS, *_SEARCH, *_REQUESTS),
    _SENT,
    (*_STEPS, *_RECURRENCE, *_OWNERS),
)
"""Migration ``i`` leads from version ``i`` to ``i + 1``; each is the statements of one transaction."""

SCHEMA_VERSION: Final = len(MIGRATIONS)
