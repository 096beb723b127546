"""The system prompt of a turn as it was sent, read back from the store. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from frontmind.stores.protocols import TextStore
from frontmind.values.records import SentSection
from frontmind.values.section import PLACEMENT_SYSTEM, Section


class SentSections:
    """Reads sections that were sent; those of the last prompt that was read are kept at hand."""

    def __init__(self, store: TextStore) -> None:
        self._store = store
        self._texts: dict[str, str] = {}

    async def read(self, sections: Sequence[SentSection]) -> list[Section]:
        """The sections with their texts, in their order.

        Raises:
            UsageError: a text of them is not in the store.
        """
        for section in sections:
            if section.text not in self._texts:
                self._texts[section.text] = await self._store.load_text(section.text)
        known = self._texts = {section.text: self._texts[section.text] for section in sections}
        return [
            Section(section.name, known[section.text], PLACEMENT_SYSTEM, section.cache_policy) for section in sections
        ]
