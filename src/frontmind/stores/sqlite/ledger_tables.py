"""The table of the ledger, as the statements of its migration. Data only; `schema` says when they run."""

from __future__ import annotations

from typing import Final

# The conversation stands by its name: a call outside of any turn needs none that exists. Money is the text of a
# decimal, since a REAL would round it. Parts are read with their call and never without, so they have no table.
LEDGER: Final = (
    """
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner ANY NOT NULL,
        conversation ANY NOT NULL,
        turn INTEGER NOT NULL,
        step INTEGER NOT NULL,
        purpose TEXT NOT NULL,
        model ANY NOT NULL,
        layout ANY NOT NULL,
        request ANY NOT NULL,
        sent_at TEXT NOT NULL,
        expected ANY,
        ended_at TEXT,
        usage ANY,
        cost TEXT,
        full_price TEXT,
        cause TEXT,
        lost_tokens INTEGER,
        reason ANY,
        place ANY,
        text_before ANY,
        text_after ANY,
        diagnosis ANY,
        parts ANY,
        CHECK ((ended_at IS NULL) = (usage IS NULL))
    ) STRICT
    """,
    "CREATE INDEX calls_by_conversation ON calls (owner, conversation, id)",
    "CREATE INDEX calls_by_time ON calls (owner, sent_at)",
)
