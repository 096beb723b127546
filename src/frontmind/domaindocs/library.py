"""The documents of a person: added, edited, undone, and kept in step with the files that they follow.

Knows nothing of Markdown (`frontmind.domaindocs.editing` does) or of prompts. The file on disk is the person's: what
stands in it holds, and an edit is written into it before it is stored, so that neither is ever ahead of what a
person can see.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from frontmind.domaindocs.editing import Edit, Operation, apply_edit, find_section
from frontmind.domaindocs.files import TEXT_LIMIT, FileStamp, FileText, read_file, write_file
from frontmind.domaindocs.locks import writing
from frontmind.errors import Conflict, UsageError
from frontmind.stores.protocols import DocumentStore
from frontmind.values.clock import Clock
from frontmind.values.outline import clean_title, outline
from frontmind.values.records import Document, DocumentVersion

_ATTEMPTS: Final = 5
_LISTED: Final = 20
_NAME_LIMIT: Final = 100
# What no UTF-8 file can hold, and what would make it a binary one.
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was last read; a stamp counts from the second time on, since two changes may share a tick."""

    source: str
    stamp: FileStamp
    confirmed: bool


class DocumentLibrary:
    """The documents in a store. Two libraries, also of two processes, may share one.

    Args:
        store: where the documents are kept.
        clock: tells when a version was stored.
        locks: a folder of the person, made where it is missing, in which processes see that one of them writes a
            document's file; without it nothing keeps another library from writing the same file.
    """

    def __init__(self, store: DocumentStore, clock: Clock, *, locks: Path | None = None) -> None:
        self._store = store
        self._clock = clock
        self._locks = locks
        self._editing = asyncio.Lock()
        self._seen: dict[str, _Seen] = {}
        self._problems: dict[str, str] = {}
        self._untold: list[str] = []

    async def documents(self) -> Sequence[Document]:
        """All documents by name."""
        return await self._store.documents()

    async def document(self, name: str) -> Document:
        """The document of that name.

        Raises:
            UsageError: there is none.
        """
        documents = await self._store.documents()
        for document in documents:
            if document.name == name:
                return document
        names = ", ".join(repr(clean_title(document.name)) for document in documents[:_LISTED])
        there = f"there are: {names}" if names else "there are none yet"
        raise UsageError(f"no document has the name {clean_title(name)!r}; {there}")

    async def current(self, name: str) -> Document:
        """The document of that name as its file has it now.

        Raises:
            UsageError: there is none.
        """
        async with self._editing:
            return await self._current(name)

    async def add(self, name: str, text: str) -> Document:
        """Add a document that follows no file, or a new version of one; it is enabled.

        Raises:
            UsageError: the name or the text cannot be used, or the document of that name follows a file.
        """
        document = await self._named(checked_name(name))
        if document is not None and document.source:
            raise _taken(name)
        expected = document.version if document is not None else 0
        text, at = _checked_text(text), self._clock.now()
        return await self._store.put_document(name, text, at, by="person", enable=True, expected=expected)

    async def put(self, name: str, text: str, *, expected: int) -> Document:
        """Store the person's text of a document that follows no file; a new one is enabled, another stays as it is.

        Args:
            expected: the version that must hold; 0 for a document that is not there yet.

        Raises:
            UsageError: the name or the text cannot be used, or the document follows a file.
            Conflict: another version holds.
        """
        before = await self._named(checked_name(name))
        if before is not None and before.source:
            raise UsageError(f"{clean_title(name)!r} follows a file; change the file")
        text, at = _checked_text(_NO_TEXT.sub("\ufffd", text)), self._clock.now()
        return await self._store.put_document(name, text, at, by="person", expected=expected)

    async def add_file(self, path: Path, name: str | None = None) -> Document:
        """Add a document that follows the file, named as the file without its ending unless told otherwise.

        Adding a file again reads it again and enables its document.

        Raises:
            UsageError: the file cannot be a document, or the name is taken by another document.
        """
        source = await asyncio.to_thread(path.absolute)
        name = _name_of(source) if name is None else checked_name(name)
        file = await asyncio.to_thread(read_file, source)
        assert file is not None
        document = await self._named(name)
        if document is not None and document.source != str(source) and document.text != file.text:
            raise _taken(name)
        if document is not None and document.source not in ("", str(source)):
            raise _taken(name)
        expected = document.version if document is not None else 0
        added = await self._store.put_document(
            name, file.text, self._clock.now(), by="person", enable=True, source=str(source), expected=expected
        )
        self._saw(added, file)
        return added

    async def edit(self, name: str, edit: Edit, *, by: str = "assistant") -> Document:
        """Change a document, and the file that it follows.

        Args:
            by: who does it: "person" or "assistant".

        Raises:
            UsageError: there is no such document, the edit names nothing in it or leaves nothing of it, or its file
                cannot be written; nothing is changed.
            Conflict: others changed it five times meanwhile.
        """
        edit = replace(edit, text=_storable(edit.text), old=_storable(edit.old))
        async with self._editing:
            async with self._writing(await self.document(name)):
                for _ in range(_ATTEMPTS):
                    document = await self._current(name)
                    text = apply_edit(document.text, edit)
                    if text == document.text:
                        return document
                    try:
                        return await self._keep(document, _checked_text(text), edit, by)
                    except Conflict:
                        if await self._was_read_from_file(document, text):
                            return await self.document(name)
            raise Conflict(f"the document {clean_title(name)!r} is being changed all the time; try again later")

    async def undo(self, name: str, *, only_by: str | None = None, expected: int | None = None) -> Document:
        """Let the version hold that the present one was made from, also in the file that the document follows.

        Args:
            only_by: whose version may be undone; None for anybody's.
            expected: the version that must hold; None for any.

        Raises:
            UsageError: there is no such document, no earlier version, or the present one is somebody else's.
            Conflict: somebody else changed it meanwhile; what they wrote holds.
        """
        async with self._editing, self._writing(await self.document(name)):
            document = await self._current(name)
            if expected is not None and document.version != expected:
                raise Conflict(f"the document {clean_title(name)!r} was changed meanwhile; read it again")
            versions = {version.version: version for version in await self._store.document_versions(name)}
            present = versions[document.version]
            if only_by is not None and present.by != only_by:
                raise UsageError(
                    f"version {present.version} of {clean_title(name)!r} was written by the {present.by}, not by the "
                    f"{only_by}; it stays unless the person undoes it"
                )
            text = document.text if present.parent is None else versions[present.parent].text
            await self._write(document, text)
            try:
                return await self._store.undo_document(name, expected=document.version)
            except Conflict:
                if not await self._was_read_from_file(document, text):
                    raise
                return await self.document(name)

    async def collapse(self, name: str, section: str) -> Document:
        """Show only the name of the section, its subsections included.

        Raises:
            UsageError: there is no such document or section.
        """
        document = await self.document(name)
        found = find_section(document.text, section)
        return await self._store.collapse_document(name, tuple(sorted({*document.collapsed, found.name})))

    async def collapse_only(self, name: str, sections: Collection[str]) -> Document:
        """Show of these sections only the name, and all of the others. One that is collapsed and gone may stay so.

        Raises:
            UsageError: there is no such document or section.
        """
        document = await self.document(name)
        kept = {each if each in document.collapsed else find_section(document.text, each).name for each in sections}
        return await self._store.collapse_document(name, tuple(sorted(kept)))

    async def expand(self, name: str, section: str) -> Document:
        """Show a collapsed section again.

        Raises:
            UsageError: there is no such document or section, or it is hidden with another one.
        """
        document = await self.document(name)
        collapsed = set(document.collapsed)
        if section not in collapsed:
            found = find_section(document.text, section)
            hiding = [
                other.name
                for other in outline(document.text)
                if other.name in collapsed and other.start < found.start < other.end
            ]
            if hiding and found.name not in collapsed:
                raise UsageError(f"{found.name!r} is hidden in {hiding[0]!r}; expand that one")
            section = found.name
        return await self._store.collapse_document(name, tuple(sorted(collapsed - {section})))

    async def enable(self, name: str, enabled: bool) -> Document:
        """Put the document into the system prompt, or take it out.

        Raises:
            UsageError: there is no such document.
        """
        await self.document(name)
        return await self._store.enable_document(name, enabled)

    async def versions(self, name: str) -> Sequence[DocumentVersion]:
        """Every text that the document has or had, by number.

        Raises:
            UsageError: there is no such document.
        """
        await self.document(name)
        return await self._store.document_versions(name)

    async def remove(self, name: str) -> Document:
        """Delete the document with its versions; the file that it follows stays.

        Raises:
            UsageError: there is no such document.
        """
        await self.document(name)
        self._forget(name)
        return await self._store.remove_document(name)

    async def refresh_files(self) -> tuple[str, ...]:
        """Read the files that were changed; called before each turn.

        A file that is gone or can no longer be a document leaves the last text as it is, see `take_problems`.

        Returns:
            The names of the documents that have a new text.
        """
        async with self._editing:
            refreshed = [(document, await self._refresh(document)) for document in await self._store.documents()]
        return tuple(after.name for before, after in refreshed if after.version != before.version)

    @property
    def problems(self) -> Mapping[str, str]:
        """Why a document does not follow its file at present: its name, and one line."""
        return dict(self._problems)

    def take_problems(self) -> tuple[str, ...]:
        """The problems that were not told yet, a line each. Each is given out once."""
        untold, self._untold = tuple(self._untold), []
        return untold

    async def _named(self, name: str) -> Document | None:
        return next((document for document in await self._store.documents() if document.name == name), None)

    async def _current(self, name: str) -> Document:
        return await self._refresh(await self.document(name))

    async def _refresh(self, document: Document) -> Document:
        """The document as its file has it; as it is, when that cannot be read or somebody else was faster."""
        if not document.source:
            return document
        seen = self._seen.get(document.name)
        known = seen.stamp if seen is not None and seen.source == document.source and seen.confirmed else None
        try:
            file = await asyncio.to_thread(read_file, Path(document.source), known)
        except UsageError as error:
            self._report(document.name, str(error))
            return document
        self._problems.pop(document.name, None)
        if file is None:
            return document
        if file.text == document.text:
            self._saw(document, file)
            return document
        try:
            changed = await self._store.put_document(
                document.name, file.text, self._clock.now(), by="file", expected=document.version
            )
        except Conflict:
            return document
        self._saw(changed, file)
        return changed

    async def _keep(self, document: Document, text: str, edit: Edit, by: str) -> Document:
        await self._write(document, text)
        kept = await self._store.put_document(document.name, text, self._clock.now(), by=by, expected=document.version)
        if edit.operation is Operation.RENAME_SECTION and document.collapsed:
            renamed = dict(zip(_names(document.text), _names(text), strict=True))
            collapsed = sorted(renamed.get(section, section) for section in document.collapsed)
            kept = await self._store.collapse_document(document.name, tuple(collapsed))
        return kept

    async def _write(self, document: Document, text: str) -> None:
        """Write the text into the file that the document follows; a file that cannot be followed is left alone."""
        if document.source and document.name not in self._problems and text != document.text:
            stamp = await asyncio.to_thread(write_file, Path(document.source), document.text, text)
            self._seen[document.name] = _Seen(document.source, stamp, confirmed=False)

    def _writing(self, document: Document) -> AbstractAsyncContextManager[None]:
        return writing(self._locks) if document.source and self._locks is not None else nullcontext()

    async def _was_read_from_file(self, document: Document, text: str) -> bool:
        """Whether somebody else read our text from the file, between its writing and its storing."""
        return bool(document.source) and any(
            version.version > document.version and version.by == "file" and version.text == text
            for version in await self._store.document_versions(document.name)
        )

    def _saw(self, document: Document, file: FileText) -> None:
        seen = self._seen.get(document.name)
        again = seen is not None and (seen.source, seen.stamp) == (document.source, file.stamp)
        self._seen[document.name] = _Seen(document.source, file.stamp, again and file.text == document.text)

    def _report(self, name: str, problem: str) -> None:
        self._seen.pop(name, None)
        if self._problems.get(name) != problem:
            self._problems[name] = problem
            self._untold.append(f"the document {clean_title(name)!r} keeps its last text: {problem}")

    def _forget(self, name: str) -> None:
        self._seen.pop(name, None)
        self._problems.pop(name, None)


def checked_name(name: str) -> str:
    """The name, if a document can have it.

    Raises:
        UsageError: it is empty, too long, or holds what cannot be seen.
    """
    if not name.strip() or len(name) > _NAME_LIMIT or name != clean_title(name):
        raise UsageError(
            f"a document cannot be called {clean_title(name)!r}; use a name of one line and at most {_NAME_LIMIT} "
            "characters"
        )
    return name


def _name_of(path: Path) -> str:
    return clean_title(path.stem)[:_NAME_LIMIT].strip()


def _names(text: str) -> list[str]:
    return [section.name for section in outline(text)]


def _storable(text: str | None) -> str | None:
    return None if text is None else _NO_TEXT.sub("\ufffd", text)


def _checked_text(text: str) -> str:
    if not text.strip():
        raise UsageError("nothing would be left of the document; remove it instead")
    if len(text) > TEXT_LIMIT:
        raise UsageError(f"the document would be larger than {TEXT_LIMIT:,} characters; make it smaller")
    return text


def _taken(name: str) -> UsageError:
    return UsageError(
        f"another document is called {clean_title(name)!r}; choose another name (add FILE as NAME), or remove that one"
    )
