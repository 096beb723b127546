"""An embedder for tests: texts are near each other when they speak of the same things, in whatever words.

What it does can be counted, held up and made to fail.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from frontmind.recall.embedding import Vectors

CONCEPTS = (
    {"dog", "puppy", "hound", "pet", "pets"},
    {"car", "vehicle", "automobile", "drive", "driving"},
    {"doctor", "physician", "clinic"},
    {"home", "flat", "apartment", "lodging"},
    {"tea", "beverage", "drink", "drinks"},
    {"money", "salary", "wage", "income"},
)


class ConceptEmbedder:
    """An `Embedder`.

    Attributes:
        embedded: the texts that were embedded, queries aside, in their order.
        failure: raised in place of an answer.
        refuses: a text that has this cannot be embedded, and ``refusal`` is raised.
        gate: while it is not set, nothing is answered.
        hold_after: after so many embedded texts the gate closes by itself.
        held: set once somebody waits at the gate.
    """

    dimensions = len(CONCEPTS) + 1

    def __init__(self, name: str = "concepts@1") -> None:
        self.name = name
        self.embedded: list[str] = []
        self.queries: list[str] = []
        self.failure: Exception | None = None
        self.refuses: str | None = None
        self.refusal: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.hold_after: int | None = None
        self.held = asyncio.Event()
        self.closed = False

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        if self.hold_after is not None and len(self.embedded) >= self.hold_after:
            self.hold_after = None
            self.gate.clear()
        if not self.gate.is_set():
            self.held.set()
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        if self.refusal is not None and self.refuses is not None and any(self.refuses in text for text in texts):
            raise self.refusal
        (self.queries if query else self.embedded).extend(texts)
        vectors = np.array([_direction(text) for text in texts], np.float32).reshape(-1, len(CONCEPTS) + 1)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    async def close(self) -> None:
        self.closed = True


def _direction(text: str) -> list[float]:
    words = re.findall(r"\w+", text.lower())
    # A text of none of them still has a direction, and not that of any concept.
    return [*(float(sum(word in concept for word in words)) for concept in CONCEPTS), 0.1]
