"""Which passages of documents stand in the system prompt anyway. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from frontmind.values.outline import outline
from frontmind.values.passages import Passage, PassageKind
from frontmind.values.records import Document


class PromptDocuments:
    """The documents as the system prompt shows them: those that are enabled, but for their collapsed sections."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._collapsed = {document.name: _collapsed(document) for document in documents if document.enabled}

    def show(self, passage: Passage) -> bool:
        """Whether the passage is a piece of a document that can be read in the system prompt."""
        if passage.kind is not PassageKind.DOCUMENT or passage.conversation not in self._collapsed:
            return False
        return not any(passage.text in text for text in self._collapsed[passage.conversation])

    def hold_back(self, passage: Passage) -> bool:
        """Whether the passage is a piece of a document that the person has taken away from the assistant: it is found
        when it is searched for, and does not come by itself.
        """
        return passage.kind is PassageKind.DOCUMENT and passage.conversation not in self._collapsed


def _collapsed(document: Document) -> tuple[str, ...]:
    """The texts of which only the titles are shown."""
    return tuple(
        document.text[section.start : section.end]
        for section in outline(document.text)
        if section.name in document.collapsed
    )
