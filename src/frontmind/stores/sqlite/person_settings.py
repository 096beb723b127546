"""How one owner wants to be served, each function inside one transaction."""

from __future__ import annotations

import sqlite3

from frontmind.stores.sqlite.codec import StoredText, decoding, from_text, to_text
from frontmind.values.people import PersonSettings


def settings(connection: sqlite3.Connection, owner: StoredText) -> PersonSettings:
    """What the owner has set; the defaults where nothing was saved."""
    row = connection.execute("SELECT * FROM person_settings WHERE owner = ?", (owner,)).fetchone()
    if row is None:
        return PersonSettings()
    with decoding("a person's settings"):
        return PersonSettings(timezone=from_text(row["timezone"]), instructions=from_text(row["instructions"]))


def save_settings(connection: sqlite3.Connection, owner: StoredText, settings: PersonSettings) -> None:
    """Keep them in the place of what was there."""
    connection.execute(
        "INSERT OR REPLACE INTO person_settings (owner, timezone, instructions) VALUES (?, ?, ?)",
        (owner, to_text(settings.timezone), to_text(settings.instructions)),
    )
