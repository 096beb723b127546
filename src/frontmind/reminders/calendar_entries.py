"""A calendar file taken apart into its entries, so that a broken one costs only itself. Pure.

Knows of iCalendar only lines, BEGIN and END, and which zone a TZID means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from frontmind.errors import UsageError
from frontmind.values.clock import find_zone

LARGEST_FILE = 10_000_000
"""The most bytes of a calendar file."""
_MOST_ENTRIES = 20_000
# An alarm in an event is the second; icalendar walks what is nested by recursion.
_DEEPEST = 4
_LONGEST_ENTRY = 200_000
_ENTRIES = ("VEVENT", "VTODO")
_TZID = re.compile(r'^([A-Za-z-]+(?:;[^:"]*(?:"[^"]*"[^:"]*)*)?);TZID=', re.ASCII | re.IGNORECASE)
_TITLE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a calendar file.

    Attributes:
        kind: ``VEVENT`` or ``VTODO``.
        text: its lines, unfolded, with each TZID as X-TZID: icalendar would look zones up in a table that all files
            share, and guess.
        title: what it is called in a message.
        problem: why it cannot be used; empty where it may.
    """

    kind: str
    text: str
    title: str
    problem: str = ""


def read_entries(data: bytes) -> tuple[list[Entry], dict[str, str]]:
    """The entries of a calendar file in their order, and the IANA zone of each TZID that is known.

    Raises:
        UsageError: it is no calendar file, or too large.
    """
    if len(data) > LARGEST_FILE:
        raise UsageError(f"the calendar file is larger than {LARGEST_FILE // 1_000_000} MB; pass a smaller one")
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = re.sub(r"\n[ \t]", "", text).split("\n")
    if not any(line.strip().upper() == "BEGIN:VCALENDAR" for line in lines):
        raise UsageError("this is no calendar file; pass one that begins with BEGIN:VCALENDAR")
    entries: list[Entry] = []
    locations: dict[str, str] = {}
    for kind, own, problem in _blocks(lines):
        if kind == "VTIMEZONE":
            locations[_value(own, "TZID")] = _value(own, "X-LIC-LOCATION")
            continue
        if len(entries) == _MOST_ENTRIES:
            raise UsageError(f"the calendar file has more than {_MOST_ENTRIES:,} entries; divide it")
        entries.append(_entry(kind, own, problem))
    named = {name for entry in entries for name in re.findall(r";X-TZID=(\"[^\"]*\"|[^;:]*)", entry.text)}
    zones = {name.strip('"'): zone_of(name.strip('"'), locations.get(name.strip('"'), "")) for name in named}
    return entries, {name: zone for name, zone in zones.items() if zone}


def zone_of(tzid: str, location: str = "") -> str:
    """The IANA zone that a TZID means: itself, a Windows name, the end of a vendor's path; empty for an unknown one.

    Args:
        location: what the file says beside its definition (X-LIC-LOCATION).
    """
    pieces = tzid.strip("/").split("/")[-8:]
    candidates = (tzid.strip("/"), WINDOWS_TO_OLSON.get(tzid, ""), location)
    vendor = ("/".join(pieces[start:]) for start in range(1, len(pieces))) if tzid.startswith("/") else ()
    for name in (*candidates, *vendor):
        try:
            if name:
                return str(find_zone(name))
        except UsageError:
            continue
    return ""


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, list[str], str]]:
    """The outermost blocks that matter: their kind, their lines, and what is wrong with them."""
    kind, own, depth, deepest = "", list[str](), 0, 0
    for line in lines:
        word, _, name = line.strip().upper().partition(":")
        outer = (word == "BEGIN" and name in _ENTRIES) or (word == "END" and name == "VCALENDAR")
        if kind and outer:
            yield kind, own, "it does not end before the next one begins"
            kind = ""
        if not kind:
            if word == "BEGIN" and name in (*_ENTRIES, "VTIMEZONE"):
                kind, own, depth, deepest = name, [line], 1, 1
            continue
        own.append(line)
        depth += (word == "BEGIN") - (word == "END")
        deepest = max(deepest, depth)
        if depth == 0:
            yield kind, own, "it is nested too deeply" if deepest > _DEEPEST else ""
            kind = ""
    if kind:
        yield kind, own, "the file ends within it"


def _entry(kind: str, lines: list[str], problem: str) -> Entry:
    text = "\n".join(_TZID.sub(r"\1;X-TZID=", line) for line in lines) + "\n"
    if len(text) > _LONGEST_ENTRY and not problem:
        problem = f"it has more than {_LONGEST_ENTRY:,} characters"
    title = re.sub(r"\\(.)", lambda found: " " if found[1] in "nN" else found[1], _value(lines, "SUMMARY"))
    return Entry(kind, text, shortened(title) or "an entry without a title", problem)


def shortened(title: str) -> str:
    """A title as a message calls it: on one line, and not long."""
    title = " ".join(title.split())
    return title if len(title) <= _TITLE_LENGTH else title[: _TITLE_LENGTH - 1] + "…"


def _value(lines: Iterable[str], name: str) -> str:
    """The value of the first property of that name; empty where there is none."""
    for line in lines:
        if re.match(rf"{name}[;:]", line, re.IGNORECASE):
            return re.sub(r'^[^:"]*(?:"[^"]*"[^:"]*)*:', "", line).strip()
    return ""
