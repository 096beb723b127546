"""The Protocol that recognises what a client says was said before: clients of the usual chat APIs name no conversation
and send all of it again in every request.

A *thread key* stands for everything that was said up to and including a reply; whoever makes it decides how
(`frontmind.server.compat`). Knows nothing of how it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ThreadPlace:
    """Where a thread stands in the store.

    Attributes:
        numbers: the numbers of the turns that the client has seen, in the order of the thread.
    """

    conversation: str
    numbers: tuple[int, ...]


class ThreadStore(Protocol):
    """Thread keys of one owner."""

    async def note_thread(self, key: str, *, parent: str, conversation: str, number: int) -> None:
        """Note that a thread ends with this turn.

        Args:
            parent: the key of what was said before; empty where this is the first turn of the thread.

        The same key again takes the newer place.
        """
        ...

    async def find_thread(self, key: str) -> ThreadPlace | None:
        """Where the thread with this key stands; None where nobody noted it."""
        ...

    async def thread_turns(self, conversation: str) -> Sequence[int]:
        """The numbers of the conversation's turns that have a key, in order."""
        ...
