"""The seams of persistence that recall stands on: memories, passages and vectors.

The promises that `frontmind.stores.protocols` makes hold here too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import Protocol

from frontmind.values.memories import Extraction, Memory, MemoryChanges, MemoryLink, MemoryUse, NewMemory
from frontmind.values.passages import NewPassage, Passage, PassageKind, VectorSpace


class MemoryStore(Protocol):
    """Memories, their links and uses. One that is stored is searchable from then on."""

    async def add_memories(self, memories: Sequence[NewMemory], at: datetime) -> Sequence[Memory]:
        """Store all of them, in their order."""
        ...

    async def memory(self, memory_id: int) -> Memory:
        """The memory, also one that is superseded.

        Raises:
            UsageError: there is none with this id.
        """
        ...

    async def memories(self, ids: Sequence[int] | None = None) -> Sequence[Memory]:
        """These, or all of them, by id, those that are superseded as well. Ids that are not there say nothing."""
        ...

    async def change_memories(
        self,
        changes: MemoryChanges,
        at: datetime,
        *,
        extraction: Extraction | None = None,
        told_by: Collection[int] = (),
    ) -> Sequence[Memory]:
        """Carry out all of the changes, and note how far the extraction of a segment has come with them.

        Args:
            told_by: the ids of the turns that the changes were read from.

        Returns:
            Those that were added, in their order.

        Raises:
            TurnsReplaced: a turn of ``told_by`` is REFUSED or REPLACED. Nothing is changed.
            Conflict: a stored memory has another version than the changed one, one that is named is gone, there is one
                newer than ``changes.newest``, or the segment was read as far already (when the extraction failed:
                further). Nothing is changed.
            UsageError: a negative id stands for none that is added, or the segment is not there. Nothing is changed.
        """
        ...

    async def extractions(self) -> Sequence[Extraction]:
        """How far the extraction of each segment has come that was tried, by conversation and segment."""
        ...

    async def save_memory(self, memory: Memory, *, links: Sequence[MemoryLink] = ()) -> Memory:
        """Store the changed memory under its id, with further links; its version grows by one. Its text is searched as
        it is now. A link that is there already is not doubled.

        Raises:
            Conflict: the stored memory has another version than this one. Nothing is changed.
            UsageError: there is none with this id, or a link names one that is not there.
        """
        ...

    async def remove_memory(self, memory_id: int) -> Memory:
        """Delete it for good: from the search, with its links and uses. One that it has superseded stays superseded.

        Raises:
            UsageError: there is none with this id.
        """
        ...

    async def memory_links(self, memory_ids: Sequence[int]) -> Sequence[MemoryLink]:
        """The links from or to any of these, by source, target and kind."""
        ...

    async def note_memory_uses(self, memory_ids: Sequence[int], at: datetime) -> None:
        """Note that the model used these now: once a day at most. Ids that are not there say nothing."""
        ...

    async def memory_uses(self, memory_ids: Sequence[int]) -> Sequence[MemoryUse]:
        """The uses of these, by memory and day."""
        ...

    async def active_days(self) -> Sequence[date]:
        """The days, on the person's calendar, on which a message was accepted, in order. What was imported is none."""
        ...


class PassageStore(Protocol):
    """What can be searched for: exchanges of DONE turns, memories and documents, from when they are stored until they
    are removed.
    """

    @property
    def owner(self) -> str:
        """Whose they are."""
        ...

    async def search_words(
        self,
        words: Sequence[str],
        *,
        kind: PassageKind,
        limit: int,
        excluded: Collection[int] = (),
        context_weight: float = 0.5,
        within: Collection[int] | None = None,
        after: int = 0,
    ) -> Sequence[tuple[int, float]]:
        """The ids of passages of this kind that have any of the words in any of their English forms, and their BM25
        scores, best first, ties by id.

        Args:
            excluded: ids of passages that are left out.
            context_weight: what a word in the context counts beside one in the text.
            within: the ids among which is searched; None for all of this kind.
            after: only passages with a larger id are found.
        """
        ...

    async def add_passages(self, conversation: str, passages: Sequence[tuple[datetime, NewPassage]]) -> Sequence[int]:
        """Store exchanges of a conversation that was held elsewhere, such as the transcript of a meeting, each with its
        moment; gives back their ids. Each has a negative ref of its own and no turn.
        """
        ...

    async def passages(self, ids: Sequence[int]) -> Sequence[Passage]:
        """The passages of these ids that are there, in this order."""
        ...

    async def passages_after(
        self, passage_id: int, *, kind: PassageKind | None = None, limit: int
    ) -> Sequence[Passage]:
        """The passages of this kind, or of all kinds, with a larger id, by id."""
        ...

    async def newest_passage(self) -> int:
        """The largest id of a passage; 0 when there is none."""
        ...

    async def passages_between(
        self, kind: PassageKind, *, since: datetime | None, until: datetime | None, limit: int
    ) -> Sequence[int]:
        """The ids of the newest passages of this kind that were said from ``since`` on and before ``until``, the newest
        first, ties by id; None is no limit.
        """
        ...

    async def passages_since(self, conversation: str, number: int) -> frozenset[int]:
        """The ids of the passages of the conversation's turns from this number on."""
        ...

    async def passages_of(self, kind: PassageKind, refs: Sequence[int]) -> Sequence[Passage]:
        """The passages that were made of these turns, memories or documents, by id."""
        ...

    async def count_passages(self, kind: PassageKind, *, most: int | None = None) -> int:
        """How many there are, counted up to ``most``: counting all of a large store takes long."""
        ...


class VectorStore(Protocol):
    """Vectors of passages, in spaces: one for each embedding model. A passage's vectors go with it."""

    async def vector_spaces(self) -> Sequence[VectorSpace]:
        """The spaces by name."""
        ...

    async def begin_space(self, name: str, dimensions: int) -> VectorSpace:
        """The space of this name, made when it is not there.

        Raises:
            UsageError: it is there with other dimensions.
        """
        ...

    async def drop_space(self, name: str) -> None:
        """Delete the space with its vectors; nothing where there is none."""
        ...

    def filling(self) -> AbstractContextManager[bool]:
        """Be the only one that embeds this owner's passages: True, or False at once where another process does.

        Raises:
            StoreError: the lock among processes cannot be taken.
        """
        ...

    async def save_vectors(self, space: str, rows: Sequence[tuple[int, bytes]], *, embedded_to: int) -> None:
        """Keep vectors of passages: little-endian float16, ``dimensions`` of them. Of passages that are gone, nothing
        is kept.

        Args:
            embedded_to: how far the space has come; one that is behind where it is changes nothing.

        Raises:
            UsageError: there is no such space, or a vector has another length.
        """
        ...

    async def vectors_after(
        self, space: str, passage_id: int, *, kind: PassageKind, limit: int
    ) -> Sequence[tuple[int, bytes]]:
        """The vectors of the passages of this kind with a larger id, by id."""
        ...

    async def vectors(self, space: str, ids: Sequence[int]) -> Sequence[tuple[int, bytes]]:
        """The vectors of these passages that are there, in this order."""
        ...
