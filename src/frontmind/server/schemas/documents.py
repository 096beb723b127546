"""Documents as the API takes and gives them. No file of the server's disk is named."""

from __future__ import annotations

from datetime import tzinfo
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from frontmind.domaindocs.files import TEXT_LIMIT
from frontmind.server.schemas.sent import Sent
from frontmind.server.schemas.texts import Shown
from frontmind.server.schemas.times import LARGEST_NUMBER, Version, slot_text
from frontmind.values import records
from frontmind.values.outline import outline
from frontmind.values.tokens import estimate_tokens

MOST_SECTIONS: Final = 1_000
_FOLLOWS_FILE: Final = "file"


class Section(BaseModel):
    """A section of a document.

    Attributes:
        name: unique in the document: the titles from the outermost section to it.
        level: 1 to 6; 0 for the text before the first heading.
    """

    name: Shown
    title: Shown
    level: int


class Document(BaseModel):
    """A document.

    Attributes:
        enabled: whether it stands in the system prompt.
        version: the number of the version that holds.
        collapsed: the sections of which only the title is shown to the model.
        source: "file" for one that follows a file of the server's machine, which alone changes its text; else empty.
        tokens: about how many.
        sections: the first thousand.
    """

    name: Shown
    enabled: bool
    updated_at: str
    version: int
    collapsed: list[Shown]
    source: str
    tokens: int
    sections: list[Section]


class DocumentText(Document):
    """A document with its text."""

    text: Shown


class DocumentList(BaseModel):
    """The documents by name."""

    documents: list[Document]


class NewText(Sent):
    """A text for a document.

    Attributes:
        expected: the version that must hold; 0 for a document that is not there yet.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "# House", "expected": 0}]})

    text: Annotated[str, Field(min_length=1, max_length=TEXT_LIMIT)]
    expected: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class DocumentChange(Sent):
    """How a document is shown to the model; what is not given stays.

    Attributes:
        collapsed: all sections of which only the title is shown.
    """

    enabled: bool | None = None
    collapsed: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=MOST_SECTIONS)] | None = None


class Undo(Sent):
    """Which version is taken back: the one that must hold."""

    expected: Version


class DocumentVersion(BaseModel):
    """A text that a document has or had.

    Attributes:
        parent: the version that it was made from.
        by: who wrote it: person, assistant or file.
    """

    version: int
    parent: int | None
    at: str
    by: str
    text: Shown


class DocumentVersions(BaseModel):
    """The newest versions of a document, by number."""

    versions: list[DocumentVersion]


def document_view(document: records.Document, zone: tzinfo) -> Document:
    """The document without its text."""
    return Document(**_fields(document, zone).model_dump(exclude={"text"}))


def document_text_view(document: records.Document, zone: tzinfo) -> DocumentText:
    """The document with its text."""
    return _fields(document, zone)


def version_view(version: records.DocumentVersion, zone: tzinfo) -> DocumentVersion:
    """The version with its moment in the zone."""
    return DocumentVersion(
        version=version.version,
        parent=version.parent,
        at=slot_text(version.at, zone),
        by=version.by,
        text=version.text,
    )


def _fields(document: records.Document, zone: tzinfo) -> DocumentText:
    return DocumentText(
        name=document.name,
        enabled=document.enabled,
        updated_at=slot_text(document.updated_at, zone),
        version=document.version,
        collapsed=list(document.collapsed),
        source=_FOLLOWS_FILE if document.source else "",
        tokens=estimate_tokens(document.text),
        sections=[
            Section(name=section.name, title=section.title, level=section.level)
            for section in outline(document.text)[:MOST_SECTIONS]
        ],
        text=document.text,
    )
