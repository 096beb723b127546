"""What /doc does: the documents in the system prompt, by name and section. Knows no session and prints nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from frontmind.cli.options import named_path
from frontmind.domaindocs.editing import find_section
from frontmind.domaindocs.library import DocumentLibrary
from frontmind.errors import UsageError
from frontmind.values.records import Document

USAGE: Final = (
    "[list | add FILE [as NAME] | on NAME | off NAME | show NAME [SECTION] | collapse NAME SECTION | "
    "expand NAME SECTION | versions NAME | undo NAME | remove NAME]"
)
_FORMS: Final = (
    "write /doc, /doc add FILE [as NAME], /doc on|off NAME, /doc show NAME [SECTION], "
    "/doc collapse|expand NAME SECTION, /doc versions|undo|remove NAME"
)
_Action: TypeAlias = Callable[[DocumentLibrary, str, ZoneInfo], Awaitable[str]]


async def doc(library: DocumentLibrary, arguments: str, zone: ZoneInfo) -> str:
    """Carry out ``/doc`` with what stands behind it.

    Args:
        arguments: may be quoted text of anybody; a name may hold spaces.
        zone: the zone in which moments are told.

    Returns:
        What the person is told. It holds names and texts of others: make it `printable`.

    Raises:
        UsageError: the arguments cannot be read, or name no file, document or section.
    """
    verb, *rest = arguments.split(maxsplit=1) or ["list"]
    verb = verb.lower()
    action = _ACTIONS.get(verb)
    if verb == "list" and not rest:
        return await _list(library)
    if action is None or (verb == "list" and rest):
        raise UsageError(f"cannot read {arguments[:80]!r}; {_FORMS}")
    if not rest:
        which = "file? Write /doc add FILE" if action is _add else f"document? Write /doc {verb} NAME; /doc lists them"
        raise UsageError(f"which {which}")
    return await action(library, rest[0].strip(), zone)


async def _list(library: DocumentLibrary) -> str:
    lines = []
    await library.refresh_files()
    for document in await library.documents():
        collapsed = f"  {len(document.collapsed)} collapsed" if document.collapsed else ""
        file = f"  {_on_one_line(document.source)}" if document.source else ""
        state = "on" if document.enabled else "off"
        lines.append(
            f"{document.name}  {state}  {len(document.text):,} characters  v{document.version}{collapsed}{file}"
        )
        problem = library.problems.get(document.name)
        if problem is not None:
            lines.append(f"  keeps its last text: {problem}")
    return "\n".join(lines) or "No documents. Add one: /doc add FILE.md"


async def _add(library: DocumentLibrary, rest: str, zone: ZoneInfo) -> str:
    file, name = rest, None
    if not named_path(rest).exists():
        # A file may be called "a as b": only one that is not there is read as two.
        before, separator, after = rest.rpartition(" as ")
        if separator and before.strip() and after.strip():
            file, name = before.strip(), after.strip()
    document = await library.add_file(named_path(file), name)
    return f"{document.name} ({len(document.text):,} characters) is before the assistant from your next message on."


async def _on(library: DocumentLibrary, name: str, zone: ZoneInfo) -> str:
    document = await library.enable(name, True)
    return f"{document.name} is before the assistant from your next message on."


async def _off(library: DocumentLibrary, name: str, zone: ZoneInfo) -> str:
    document = await library.enable(name, False)
    return f"{document.name} is no longer before the assistant from your next message on."


async def _show(library: DocumentLibrary, rest: str, zone: ZoneInfo) -> str:
    document, section = await _named(library, rest)
    if not section:
        return document.text
    found = find_section(document.text, section)
    return document.text[found.start : found.end]


async def _collapse(library: DocumentLibrary, rest: str, zone: ZoneInfo) -> str:
    document, section = await _named(library, rest)
    found = find_section(document.text, _needed(section, "collapse"))
    await library.collapse(document.name, found.name)
    return f"Of {found.name} in {document.name} only the name is before the assistant from your next message on."


async def _expand(library: DocumentLibrary, rest: str, zone: ZoneInfo) -> str:
    document, section = await _named(library, rest)
    await library.expand(document.name, _needed(section, "expand"))
    return f"{section} of {document.name} is before the assistant from your next message on."


async def _versions(library: DocumentLibrary, name: str, zone: ZoneInfo) -> str:
    document = await library.document(name)
    lines = []
    for version in await library.versions(name):
        origin = f", made from v{version.parent}" if version.parent is not None else ""
        holds = "  (holds)" if version.version == document.version else ""
        at = f"{version.at.astimezone(zone):%Y-%m-%d %H:%M}"
        lines.append(f"v{version.version}  {at}  by the {version.by}{origin}  {len(version.text):,} characters{holds}")
    return "\n".join(lines)


async def _undo(library: DocumentLibrary, name: str, zone: ZoneInfo) -> str:
    document = await library.undo(name)
    return f"{document.name}: v{document.version} holds again ({len(document.text):,} characters)."


async def _remove(library: DocumentLibrary, name: str, zone: ZoneInfo) -> str:
    document = await library.remove(name)
    kept = f" The file {_on_one_line(document.source)} stays." if document.source else ""
    return f"{document.name} and its versions are deleted.{kept}"


async def _named(library: DocumentLibrary, rest: str) -> tuple[Document, str]:
    """The document whose name the text begins with (the longest such name), as its file has it now, and what follows
    the name.
    """
    documents = await library.documents()
    fitting = [document for document in documents if rest == document.name or rest.startswith(f"{document.name} ")]
    if fitting:
        document = max(fitting, key=lambda candidate: len(candidate.name))
        return await library.current(document.name), rest[len(document.name) :].strip()
    return await library.current(rest), ""


def _needed(section: str, verb: str) -> str:
    if not section:
        raise UsageError(f"which section? Write /doc {verb} NAME SECTION; /doc show NAME shows the headings")
    return section


def _on_one_line(path: str) -> str:
    return path if path.isprintable() else repr(path)


_ACTIONS: Final[dict[str, _Action]] = {
    "add": _add,
    "on": _on,
    "off": _off,
    "show": _show,
    "collapse": _collapse,
    "expand": _expand,
    "versions": _versions,
    "undo": _undo,
    "remove": _remove,
}
