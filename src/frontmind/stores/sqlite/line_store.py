"""`SqliteLines`: one owner's list of conversations, lines, threads and settings in a SQLite database. Only says which
work runs in which transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from frontmind.stores.sqlite import lines, overviews, person_settings, threads
from frontmind.stores.sqlite.codec import StoredText
from frontmind.stores.sqlite.connection import Database
from frontmind.stores.thread_protocol import ThreadPlace
from frontmind.values.people import PersonSettings
from frontmind.values.records import ConversationOverview, TurnState


class SqliteLines:
    """The `ThreadStore` and `SettingsStore` of one owner, and what its conversations are as a whole."""

    _database: Database
    _owner: StoredText

    async def conversations(
        self, *, newest: int | None = None, before: tuple[datetime, str] | None = None
    ) -> Sequence[ConversationOverview]:
        """The conversations that have a turn which counts, the one with the newest message first, ties by name."""
        return await self._database.read(lambda db: overviews.conversations(db, self._owner, newest, before))

    async def line(self, conversation: str) -> Mapping[int, TurnState]:
        """The state of each turn of the conversation, by number, in order."""
        return await self._database.read(lambda db: lines.line(db, self._owner, conversation))

    async def set_line(self, conversation: str, numbers: Collection[int]) -> None:
        """Let these turns be what was said; the others are REPLACED."""
        await self._database.write(lambda db: lines.set_line(db, self._owner, conversation, numbers))

    async def note_thread(self, key: str, *, parent: str, conversation: str, number: int) -> None:
        """Note that a thread ends with this turn."""
        await self._database.write(
            lambda db: threads.note_thread(
                db, self._owner, key, parent=parent, conversation=conversation, number=number
            )
        )

    async def find_thread(self, key: str) -> ThreadPlace | None:
        """Where the thread with this key stands."""
        return await self._database.read(lambda db: threads.find_thread(db, self._owner, key))

    async def thread_turns(self, conversation: str) -> Sequence[int]:
        """The numbers of the conversation's turns that have a key, in order."""
        return await self._database.read(lambda db: threads.thread_turns(db, self._owner, conversation))

    async def settings(self) -> PersonSettings:
        """What the owner has set."""
        return await self._database.read(lambda db: person_settings.settings(db, self._owner))

    async def save_settings(self, settings: PersonSettings) -> None:
        """Keep what the owner has set, in the place of what was there."""
        await self._database.write(lambda db: person_settings.save_settings(db, self._owner, settings))
