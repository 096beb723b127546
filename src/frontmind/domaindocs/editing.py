"""Changing a Markdown text by its sections. Pure: it knows neither documents nor files.

A section stands for its own text, without its subsections; only deleting takes those along. Whatever the new text is,
the other sections keep their bytes: a code block that the new text leaves open is closed, and a heading that follows
begins a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from frontmind.errors import UsageError
from frontmind.values.outline import BEGINNING, DocumentSection, clean_title, open_fence, outline

_LISTED: Final = 20
_LINE_END = re.compile(r"\r\n|\r|\n")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_HEADING = re.compile(r"[ ]{0,3}(?P<hashes>#{1,6})(?=[ \t])")


class Operation(StrEnum):
    """What can be done to a document."""

    REPLACE_SECTION = "replace_section"
    APPEND_TO_SECTION = "append_to_section"
    INSERT_AFTER = "insert_after"
    INSERT_BEFORE = "insert_before"
    INSERT_AT_END = "insert_at_end"
    DELETE_SECTION = "delete_section"
    RENAME_SECTION = "rename_section"
    REPLACE_TEXT = "replace_text"


@dataclass(frozen=True, slots=True)
class Edit:
    """An operation with its arguments; which of them it needs is said by `apply_edit`.

    Attributes:
        section: the name of the section.
        text: the new text; for the three insertions its first line is the heading, for a renaming the new heading.
        old: the text that is replaced.
    """

    operation: Operation
    section: str | None = None
    text: str | None = None
    old: str | None = None


def apply_edit(text: str, edit: Edit) -> str:
    """The text after the edit.

    Raises:
        UsageError: an argument is missing or names nothing in the text.
    """
    match edit.operation:
        case Operation.REPLACE_SECTION:
            return replace_section(text, _section(text, edit), _needed(edit, "text"))
        case Operation.APPEND_TO_SECTION:
            return append_to_section(text, _section(text, edit), _needed(edit, "text"))
        case Operation.INSERT_AFTER | Operation.INSERT_BEFORE | Operation.INSERT_AT_END:
            level, heading, body = _split_heading(_needed(edit, "text"))
            after = _needed(edit, "section") if edit.operation is Operation.INSERT_AFTER else None
            before = _needed(edit, "section") if edit.operation is Operation.INSERT_BEFORE else None
            return insert_section(text, heading, body, after=after, before=before, level=level)
        case Operation.DELETE_SECTION:
            return delete_section(text, _section(text, edit))
        case Operation.RENAME_SECTION:
            return rename_section(text, _needed(edit, "section"), _needed(edit, "text"))
        case Operation.REPLACE_TEXT:
            return replace_text(text, _needed(edit, "old"), _needed(edit, "text"))


def find_section(text: str, name: str) -> DocumentSection:
    """The section of that name, or the only one with that title.

    Raises:
        UsageError: there is none, or several have the title.
    """
    sections = outline(text)
    wanted = name.strip().lstrip("#").strip()
    for section in sections:
        if section.name in (name, wanted):
            return section
    alike = [section for section in sections if section.title == clean_title(wanted)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise UsageError(f"several sections are called {_shown(name)}; use one of these names: {_names(alike)}")
    there = f"the sections are: {_names(sections)}" if sections else "it has no text at all"
    raise UsageError(f"there is no section {_shown(name)}; {there}")


def replace_section(text: str, section: str, new: str) -> str:
    """The text with the section's own text replaced; its heading and its subsections stay.

    A heading at the start of ``new`` takes the place of the old one when it is of the same level, and is left out when
    it only says the old one again.

    Raises:
        UsageError: there is no such section.
    """
    found = _find_or_beginning(text, section)
    heading, body = text[found.start : found.body], _in_line_ends_of(text, new).strip("\r\n")
    opening = next(iter(outline(body)), None)
    if found.level and opening is not None and opening.level and not body[: opening.start].strip():
        if opening.level == found.level and opening.title != found.title:
            heading = body[opening.start : opening.body]
        if opening.level == found.level or opening.title == found.title:
            body = body[opening.body :].strip("\r\n")
    return _with_body(text, found, heading, body)


def append_to_section(text: str, section: str, addition: str) -> str:
    """The text with something added at the end of the section's own text, before its subsections.

    Raises:
        UsageError: there is no such section.
    """
    found = _find_or_beginning(text, section)
    end = _line_end_of(text)
    body = text[found.body : found.own_end].strip("\r\n")
    more = _in_line_ends_of(text, addition).strip("\r\n")
    if not more.strip():
        return text
    if body:
        body = _closed(body, end)
        last = _LINE_END.split(body)[-1]
        body += end if _LIST_ITEM.match(last) and _LIST_ITEM.match(more) else end + end
    return _with_body(text, found, text[found.start : found.body], body + more)


def insert_section(
    text: str, heading: str, body: str, *, after: str | None = None, before: str | None = None, level: int | None = None
) -> str:
    """The text with a new section: behind another and all its subsections, before another, or at the end.

    Args:
        level: 1 to 6; the level of the section beside it when None, and at the end that of the outermost sections
            below a title.

    Raises:
        UsageError: the heading says nothing, or the section beside it cannot be used.
    """
    title = _heading_text(heading)
    if after is not None:
        beside = _find_or_beginning(text, after)
        place, near = beside.end, beside.level
    elif before is not None:
        beside = find_section(text, before)
        if beside.level == 0:
            raise UsageError(f"nothing can stand before {BEGINNING}; insert behind it")
        place, near = beside.start, beside.level
    else:
        place, near = len(text), 0
    end = _line_end_of(text)
    line = "#" * (level or near or _outermost_level(text)) + f" {title}{end}"
    content = _in_line_ends_of(text, body).strip("\r\n")
    piece = f"{line}{end}{_closed(content, end)}{end}" if content.strip() else line
    head, tail = text[:place], text[place:]
    if head:
        head = _closed(head, end)
        head += end * max(0, 2 - _line_ends_behind(head))
    return head + piece + (end if tail else "") + tail


def delete_section(text: str, section: str) -> str:
    """The text without the section and its subsections.

    Raises:
        UsageError: there is no such section.
    """
    found = find_section(text, section)
    return text[: found.start] + text[found.end :]


def rename_section(text: str, section: str, heading: str) -> str:
    """The text with another heading of the same level.

    Raises:
        UsageError: there is no such section, it has no heading, or the new one says nothing.
    """
    found = find_section(text, section)
    if found.level == 0:
        raise UsageError(f"{BEGINNING} has no heading; insert a section instead")
    line = text[found.start : found.body]
    end = line[len(line.rstrip("\r\n")) :]
    return f"{text[: found.start]}{'#' * found.level} {_heading_text(heading)}{end}{text[found.body :]}"


def replace_text(text: str, old: str, new: str) -> str:
    """The text with ``old``, which must stand in it exactly once, replaced.

    Raises:
        UsageError: it is not there, or more than once.
    """
    old, new = _in_line_ends_of(text, old), _in_line_ends_of(text, new)
    if not old:
        raise UsageError("the old text is empty; pass the text that is to be replaced")
    place = text.find(old)
    if place < 0:
        raise UsageError("the old text does not stand in the document; read it again and copy the text exactly")
    if text.find(old, place + 1) >= 0:
        raise UsageError("the old text stands more than once in the document; pass more of what is around it")
    return text[:place] + new + text[place + len(old) :]


def _section(text: str, edit: Edit) -> str:
    if edit.section is None and all(section.level == 0 for section in outline(text)):
        return BEGINNING
    return _needed(edit, "section")


def _needed(edit: Edit, argument: str) -> str:
    value = {"section": edit.section, "text": edit.text, "old": edit.old}[argument]
    if value is None:
        raise UsageError(f"the operation {edit.operation.value} needs {argument!r}; pass it as well")
    return value


def _find_or_beginning(text: str, name: str) -> DocumentSection:
    """As `find_section`; the text before the first heading can be named also where there is none yet."""
    if name == BEGINNING and all(section.level for section in outline(text)):
        return DocumentSection(BEGINNING, BEGINNING, 0, 0, 0, 0, 0)
    return find_section(text, name)


def _with_body(text: str, section: DocumentSection, heading: str, body: str) -> str:
    """The text with a new own text of the section; the empty lines around it stay as they were."""
    end, tail = _line_end_of(text), text[section.own_end :]
    old = text[section.body : section.own_end]
    filled = old.strip("\r\n")
    leading = old[: len(old) - len(old.lstrip("\r\n"))] if filled else ""
    trailing = old[len(old.rstrip("\r\n")) :] if filled else end + (end if tail else "")
    if heading and not heading.endswith(("\r", "\n")):
        heading += end
    if heading and not filled:
        leading = end
    if not body.strip():
        return text[: section.start] + heading + (end if heading and tail else "") + tail
    return text[: section.start] + heading + leading + _closed(body, end) + (trailing or (end if tail else "")) + tail


def _closed(text: str, end: str) -> str:
    """The text with the code block closed that it leaves open, which would swallow what follows."""
    fence = open_fence(text)
    if not fence:
        return text
    return text + fence if text.endswith(("\r", "\n")) else text + end + fence


def _split_heading(text: str) -> tuple[int | None, str, str]:
    first, body = (*_LINE_END.split(text.lstrip("\r\n"), maxsplit=1), "")[:2]
    marked = _HEADING.match(first)
    return (len(marked["hashes"]) if marked else None), first, body


def _heading_text(heading: str) -> str:
    text = " ".join(heading.split()).lstrip("#").strip()
    if not text:
        raise UsageError("the heading is empty; the first line of the text must be the heading of the new section")
    return text


def _outermost_level(text: str) -> int:
    levels = [section.level for section in outline(text) if section.level]
    return min(levels[1:], default=levels[0] if levels else 1)


def _line_end_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _in_line_ends_of(text: str, new: str) -> str:
    return _LINE_END.sub(_line_end_of(text), new)


def _line_ends_behind(text: str) -> int:
    return len(_LINE_END.findall(text[len(text.rstrip("\r\n")) :]))


def _names(sections: list[DocumentSection] | tuple[DocumentSection, ...]) -> str:
    more = len(sections) - _LISTED
    listed = ", ".join(_shown(section.name) for section in sections[:_LISTED])
    return f"{listed} and {more} more" if more > 0 else listed


def _shown(name: str) -> str:
    return repr(clean_title(name))
