"""The documents that the user keeps in the system prompt, each as its sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final, Protocol

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.budget import OMITTED
from frontmind.trinkets.markup import Body, Element, render
from frontmind.values.outline import outline
from frontmind.values.records import Document
from frontmind.values.tokens import BYTES_PER_TOKEN, estimate_tokens

_CUT_TRIES: Final = 40


class DocumentSource(Protocol):
    async def documents(self) -> Sequence[Document]: ...


class DomaindocTrinket(EventAwareTrinket):
    """The enabled documents by name.

    The bytes change only when a document does: its time is absolute and in UTC, so that a journey to another zone
    changes nothing. A change of one section changes one element, and the version and time of its document.
    """

    section_name = "domaindoc"
    cache_policy = True
    tells_its_time = True
    # What the person chose to have in each window is not cut for a few thousand tokens that the cache holds.
    token_budget = 20_000

    def __init__(self, source: DocumentSource) -> None:
        self._source = source

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        documents = await self._source.documents()
        return [document_element(document) for document in documents if document.enabled]

    def shorten(self, body: Body, budget: int) -> Body:
        """Sections are collapsed from the largest on; then whole documents are, and then left out from the end."""
        return body if isinstance(body, str) else shorten_documents(body, budget)


def document_element(document: Document) -> Element:
    """A document: its text where it has no headings, else the own text of each section, one after the other.

    Of a collapsed section only the name and its number of characters are shown, its subsections included.
    """
    attributes = {
        "name": document.name,
        "version": str(document.version),
        "updated": f"{document.updated_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
    }
    sections = outline(document.text)
    if all(section.level == 0 and section.name not in document.collapsed for section in sections):
        return Element("document", document.text, attributes)
    return Element("document", tuple(_section_elements(document)), attributes)


def shorten_documents(documents: Sequence[Element], budget: int) -> Sequence[Element]:
    """The documents in about ``budget`` tokens: the same documents always give the same elements.

    The largest texts are collapsed first. The last one is cut at a line end rather than collapsed.
    """
    pieces = [[document] if isinstance(document.body, str) else list(document.body) for document in documents]
    texts = [
        _Text(number, index, _tokens(piece)) for number, held in enumerate(pieces) for index, piece in enumerate(held)
    ]
    texts.sort(key=lambda text: -text.tokens)
    excess = sum(text.tokens for text in texts) + sum(_tokens(replace(document, body="")) for document in documents)
    excess -= budget
    for number, text in enumerate(texts):
        if excess <= 0:
            break
        piece = pieces[text.document][text.piece]
        shorter = _collapsed(piece)
        if number == len(texts) - 1:
            shorter = _cut(piece, text.tokens - excess) or shorter
        saved = text.tokens - _tokens(shorter)
        if saved > 0:
            excess -= saved
            pieces[text.document][text.piece] = shorter
    if excess > 0:
        return _without_sections(documents, budget)
    return [
        held[0] if isinstance(document.body, str) else replace(document, body=tuple(held))
        for document, held in zip(documents, pieces, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Text:
    """Where a text stands, and its size: the index of its document, and of the piece in that."""

    document: int
    piece: int
    tokens: int


def _section_elements(document: Document) -> Iterator[Element]:
    hidden_until = 0
    for section in outline(document.text):
        if section.start < hidden_until:
            continue
        if section.name in document.collapsed:
            hidden_until = section.end
            characters = {"collapsed": "true", "characters": str(section.end - section.start)}
            yield Element("section", "", {"name": section.name, **characters})
        else:
            yield Element("section", document.text[section.start : section.own_end], {"name": section.name})


def _tokens(element: Element) -> int:
    return estimate_tokens(render(element)) + 1


def _collapsed(element: Element) -> Element:
    """The element without its text; one that is collapsed already stays."""
    if "collapsed" in element.attributes:
        return element
    characters = {"collapsed": "true", "characters": str(_characters(element))}
    return replace(element, body="", attributes={**element.attributes, **characters})


def _characters(element: Element) -> int:
    if "characters" in element.attributes:
        return int(element.attributes["characters"])
    return len(element.body) if isinstance(element.body, str) else sum(_characters(child) for child in element.body)


def _cut(element: Element, budget: int) -> Element | None:
    """The element with only the beginning of its text; None where nothing of it fits."""
    text = str(element.body)
    attributes = {**element.attributes, "cut": "true", "characters": str(len(text))}
    text = text[: max(0, budget) * BYTES_PER_TOKEN]
    for _ in range(_CUT_TRIES):
        lines, end, _ = text.rpartition("\n")
        text = lines + end if len(lines) > len(text) // 2 else text
        shorter = replace(element, body=text, attributes=attributes)
        if not text.strip():
            return None
        if _tokens(shorter) <= budget:
            return shorter
        text = text[: len(text) * 4 // 5]
    return None


def _without_sections(documents: Sequence[Element], budget: int) -> Sequence[Element]:
    """Each document as one collapsed element, and from the one that no longer fits only how many there are."""
    kept: list[Element] = []
    left = budget - _tokens(Element(OMITTED, f"{len(documents)} more"))
    for document in documents:
        sections = {"sections": str(len(document.body))} if isinstance(document.body, tuple) else {}
        element = _collapsed(replace(document, attributes={**document.attributes, **sections}))
        left -= _tokens(element)
        if left < 0:
            break
        kept.append(element)
    missing = len(documents) - len(kept)
    return [*kept, Element(OMITTED, f"{missing} more")] if missing else kept
