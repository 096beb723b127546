"""`SqliteMemories`: one owner's memories in a SQLite database. Only says which work runs in which transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime

from frontmind.stores.sqlite import memories as stored
from frontmind.stores.sqlite.codec import StoredText
from frontmind.stores.sqlite.connection import Database
from frontmind.values.memories import Extraction, Memory, MemoryChanges, MemoryLink, MemoryUse, NewMemory


class SqliteMemories:
    """The `MemoryStore` of one owner."""

    _database: Database
    _owner: StoredText

    async def add_memories(self, memories: Sequence[NewMemory], at: datetime) -> Sequence[Memory]:
        """Store new memories, searchable from now on."""
        return await self._database.write(lambda db: stored.add_memories(db, self._owner, memories, at))

    async def memory(self, memory_id: int) -> Memory:
        """The memory, also one that is superseded."""
        return await self._database.read(lambda db: stored.memory_of(db, self._owner, memory_id))

    async def memories(self, ids: Sequence[int] | None = None) -> Sequence[Memory]:
        """These memories, or all of them, by id."""
        return await self._database.read(lambda db: stored.memories(db, self._owner, ids))

    async def change_memories(
        self,
        changes: MemoryChanges,
        at: datetime,
        *,
        extraction: Extraction | None = None,
        told_by: Collection[int] = (),
    ) -> Sequence[Memory]:
        """Carry out all of the changes or none; the added ones come back."""
        return await self._database.write(
            lambda db: stored.change_memories(db, self._owner, changes, at, extraction, told_by)
        )

    async def extractions(self) -> Sequence[Extraction]:
        """How far the extraction of each segment has come, by conversation and segment."""
        return await self._database.read(lambda db: stored.extractions(db, self._owner))

    async def save_memory(self, memory: Memory, *, links: Sequence[MemoryLink] = ()) -> Memory:
        """Store the changed memory, unless somebody was faster, with further links."""
        return await self._database.write(lambda db: stored.save_memory(db, self._owner, memory, links))

    async def remove_memory(self, memory_id: int) -> Memory:
        """Delete a memory for good."""
        return await self._database.write(lambda db: stored.remove_memory(db, self._owner, memory_id))

    async def memory_links(self, memory_ids: Sequence[int]) -> Sequence[MemoryLink]:
        """The links from or to any of these."""
        return await self._database.read(lambda db: stored.memory_links(db, self._owner, memory_ids))

    async def note_memory_uses(self, memory_ids: Sequence[int], at: datetime) -> None:
        """Note that the model used these now."""
        await self._database.write(lambda db: stored.note_memory_uses(db, self._owner, memory_ids, at))

    async def memory_uses(self, memory_ids: Sequence[int]) -> Sequence[MemoryUse]:
        """The uses of these, by memory and day."""
        return await self._database.read(lambda db: stored.memory_uses(db, self._owner, memory_ids))

    async def active_days(self) -> Sequence[date]:
        """The days on which a message was accepted, in order."""
        return await self._database.read(lambda db: stored.active_days(db, self._owner))
