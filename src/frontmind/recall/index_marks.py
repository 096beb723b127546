"""Whether an index was made of this store: some passages are remembered in it by what they said.

Ids alone do not tell: a database that was deleted, or restored from an older copy, gives them again to other passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frontmind.recall.index_files import Mark
from frontmind.stores.recall_protocols import PassageStore
from frontmind.values.passages import Passage
from frontmind.window.canonical import canonical_json, digest

_MARKS: Final = 16


async def marks_of(store: PassageStore, ids: Sequence[int]) -> tuple[Mark, ...]:
    """Marks of some of these passages, which stand evenly among them; the last one is of them."""
    step = max(1, len(ids) // _MARKS)
    chosen = sorted({*ids[::-1][::step][:_MARKS]})
    return tuple((passage.id, _said(passage)) for passage in await store.passages(chosen))


async def made_of(store: PassageStore, marks: Sequence[Mark]) -> bool:
    """Whether passages with these marks are in the store; some may be gone, but not all, and none may be another."""
    expected = dict(marks)
    found = await store.passages(list(expected))
    return bool(found) and all(expected[passage.id] == _said(passage) for passage in found)


def _said(passage: Passage) -> str:
    return digest(canonical_json([passage.text, passage.context]))[:16]
