"""The documents that the user keeps in the system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.markup import Element
from frontmind.values.records import Document


class DocumentSource(Protocol):
    async def documents(self) -> Sequence[Document]: ...


class DomaindocTrinket(EventAwareTrinket):
    """The enabled documents by name. Without relative times: the bytes change only when a document does."""

    section_name = "domaindoc"
    cache_policy = True

    def __init__(self, source: DocumentSource) -> None:
        self._source = source

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        documents = await self._source.documents()
        return [
            Element("document", document.text, {"name": document.name}) for document in documents if document.enabled
        ]
