"""The tables of version 6, as the statements of its migration: turns that can be replaced, threads, and the people of
the database. Data only; `schema` says when they run.
"""

from __future__ import annotations

from typing import Final

# SQLite changes no CHECK of a table that is there, so it is made anew. What its other columns hold stays as it was.
_TURNS: Final = (
    """
    CREATE TABLE turns_of_lines (
        id INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        number INTEGER NOT NULL,
        segment INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'done', 'refused', 'replaced')),
        asked_at TEXT NOT NULL,
        answered_at TEXT,
        request ANY,
        model ANY,
        usage_input INTEGER,
        usage_cached INTEGER,
        usage_written INTEGER,
        usage_output INTEGER,
        usage_estimated INTEGER,
        usage_written_by_ttl ANY,
        interrupted INTEGER NOT NULL DEFAULT 0,
        title ANY,
        system_fingerprint ANY NOT NULL DEFAULT '{}',
        sent ANY,
        user_message ANY NOT NULL,
        reply_message ANY,
        UNIQUE (conversation, number),
        CHECK ((reply_message IS NULL) = (answered_at IS NULL)),
        CHECK (state = 'replaced' OR (state = 'done') = (reply_message IS NOT NULL))
    ) STRICT
    """,
    # Titles of earlier turns are read out of their messages: a migration in SQL cannot make them.
    """
    INSERT INTO turns_of_lines (
        id, conversation, number, segment, state, asked_at, answered_at, request, model, usage_input, usage_cached,
        usage_written, usage_output, usage_estimated, usage_written_by_ttl, interrupted, system_fingerprint, sent,
        user_message, reply_message
    )
    SELECT
        id, conversation, number, segment, state, asked_at, answered_at, request, model, usage_input, usage_cached,
        usage_written, usage_output, usage_estimated, usage_written_by_ttl, interrupted, system_fingerprint, sent,
        user_message, reply_message
    FROM turns ORDER BY id
    """,
    "DROP TABLE turns",
    "ALTER TABLE turns_of_lines RENAME TO turns",
    "CREATE INDEX turns_by_segment ON turns (conversation, segment, number, state, asked_at, answered_at)",
    # Finds the newest message of a conversation without reading the others.
    "CREATE INDEX turns_by_moment ON turns (conversation, max(asked_at, coalesce(answered_at, asked_at)), state)",
)

# A key that is noted again has one more row, and the newest counts: what is said in two threads with the same beginning
# stays with the turns that it was said behind.
_THREADS: Final = (
    """
    CREATE TABLE threads (
        id INTEGER PRIMARY KEY,
        owner ANY NOT NULL,
        key ANY NOT NULL,
        turn INTEGER NOT NULL REFERENCES turns (id),
        parent INTEGER REFERENCES turns (id),
        UNIQUE (owner, key, turn)
    ) STRICT
    """,
    "CREATE INDEX threads_by_turn ON threads (turn)",
)

_PEOPLE: Final = (
    """
    CREATE TABLE accounts (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        created_at TEXT NOT NULL,
        revoked_at TEXT
    ) STRICT
    """,
    """
    CREATE TABLE api_keys (
        id INTEGER PRIMARY KEY,
        account INTEGER NOT NULL REFERENCES accounts (id),
        parent INTEGER REFERENCES api_keys (id),
        digest TEXT NOT NULL UNIQUE,
        label ANY NOT NULL,
        hint ANY NOT NULL,
        created_at TEXT NOT NULL,
        expires_at TEXT,
        revoked_at TEXT
    ) STRICT
    """,
    "CREATE INDEX api_keys_by_account ON api_keys (account)",
    "CREATE INDEX api_keys_by_parent ON api_keys (parent)",
    """
    CREATE TABLE person_settings (
        owner ANY NOT NULL PRIMARY KEY,
        timezone ANY NOT NULL,
        instructions ANY NOT NULL
    ) STRICT
    """,
)

LINES: Final = (*_TURNS, *_THREADS, *_PEOPLE)
