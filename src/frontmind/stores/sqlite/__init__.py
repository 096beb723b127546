"""The default store: SQLite, in one file or in memory."""

from frontmind.stores.sqlite.store import IN_MEMORY, SqliteStore

__all__ = ["IN_MEMORY", "SqliteStore"]
