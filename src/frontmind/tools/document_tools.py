"""The tools with which the model reads and changes the documents. Knows nothing of files; the library does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from frontmind.domaindocs.editing import Edit, Operation, find_section
from frontmind.domaindocs.library import DocumentLibrary
from frontmind.errors import ToolError, UsageError
from frontmind.tools.function import tool
from frontmind.tools.tool import RunnableTool
from frontmind.values.outline import outline
from frontmind.values.records import Document

_Operation: TypeAlias = Literal[
    "replace_section",
    "append_to_section",
    "insert_after",
    "insert_before",
    "insert_at_end",
    "delete_section",
    "rename_section",
    "replace_text",
]
_Name: TypeAlias = Annotated[str, Field(description="the name of the document, as list_documents gives it")]


def document_tools(library: DocumentLibrary) -> list[RunnableTool]:
    """The tools for the documents of a library: list, read, edit and undo. Each tells its result in a few lines."""

    @tool
    async def list_documents() -> str:
        """List the documents: name, version, whether it is in the system prompt, and its sections."""
        await library.refresh_files()
        return "\n".join(_line(document) for document in await library.documents()) or "There are no documents."

    @tool
    async def read_document(name: _Name, section: str | None = None) -> str:
        """Read a document as it is now, or one section of it with its subsections.

        Args:
            section: the name of the section; all of the document without it.
        """
        with _told_to_the_model():
            document = await library.current(name)
            if section is None:
                return document.text
            found = find_section(document.text, section)
            return document.text[found.start : found.end]

    @tool
    async def edit_document(
        name: _Name, operation: _Operation, section: str | None = None, text: str | None = None, old: str | None = None
    ) -> str:
        """Change a document. The change can be undone, and reaches the system prompt at the next break.

        replace_section and append_to_section change a section's own text, without its subsections; delete_section
        takes those along. replace_text needs old, which must stand in the document exactly once.

        Args:
            section: the name of the section; for insert_after and insert_before, the section beside the new one.
            text: the new text; for the insertions its first line is the new heading, for rename_section the heading.
            old: the exact text that is replaced by replace_text.
        """
        with _told_to_the_model():
            before = await library.current(name)
            after = await library.edit(name, Edit(Operation(operation), section, text, old))
        if after.version == before.version:
            return f"{name} already says that; nothing was changed. It is at version {after.version}."
        what = operation.replace("_", " ") + (f" {section!r}" if section is not None else "")
        return f"Changed {name}: {what}. It is at version {after.version}, {_size(after)}.{_file_note(library, after)}"

    @tool
    async def undo_document(name: _Name) -> str:
        """Take back your newest change of a document. What the person wrote stays."""
        with _told_to_the_model():
            document = await library.undo(name, only_by="assistant")
        return f"Took back the newest change of {name}: version {document.version} holds again, {_size(document)}."

    return [list_documents, read_document, edit_document, undo_document]


@contextmanager
def _told_to_the_model() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise ToolError(str(error)) from error


def _line(document: Document) -> str:
    state = "in the system prompt" if document.enabled else "not in the system prompt"
    file = ", follows a file" if document.source else ""
    names = [section.name for section in outline(document.text)]
    listed = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return f"{document.name} (version {document.version}, {state}, {_size(document)}{file}): {listed}"


def _size(document: Document) -> str:
    return f"{len(document.text):,} characters"


def _file_note(library: DocumentLibrary, document: Document) -> str:
    problem = library.problems.get(document.name)
    return f" Its file was not changed: {problem}." if problem is not None else ""
