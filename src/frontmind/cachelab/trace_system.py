"""Which parts of the system prompts of one conversation stay, and which change from one request to the next.

Pure. A system prompt is taken apart into elements and lines. What stands in all of the requests stays; what does not
is a section that was put into the system prompt. Where more than half of a prompt is replaced at once, it is another
prompt, and not one that changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from frontmind.window.layout import CENTER, take_apart

_LEAST_PREFIX: Final = 40
_NAME: Final = "system_part"
# A shorter text that is always another one is a section that stands alone.
_LEAST_PROMPT: Final = 2000


@dataclass(frozen=True, slots=True)
class NamedText:
    """A stretch of text, and what to call it as a section."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """A system prompt taken apart.

    Attributes:
        stays: what stands in it in every request.
        changes: what does not, in order; every name once.
    """

    stays: str
    changes: tuple[NamedText, ...]


def split_systems(systems: Sequence[tuple[str, ...]]) -> list[SystemPrompt]:
    """Each of the system prompts taken apart.

    Args:
        systems: the texts of the system prompt of each request of one conversation, in their order.
    """
    parts = [list(_parts(texts)) for texts in _cut_alike(systems)]
    split: list[SystemPrompt] = []
    for start, end in _versions(parts):
        stable = set(parts[start])
        for listed in parts[start + 1 : end]:
            stable &= set(listed)
        split += [_prompt(listed, stable) for listed in parts[start:end]]
    return split


def _cut_alike(systems: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """The texts, cut where they part: what changes may stand at the end of a line without an end."""
    cut: list[list[str]] = [[] for _ in systems]
    most = max((len(texts) for texts in systems), default=0)
    for place in range(most):
        there = [texts[place] for texts in systems if place < len(texts)]
        same = _common_start(there)
        end = max(same.rfind(" "), same.rfind("\n")) + 1
        for index, texts in enumerate(systems):
            if place >= len(texts):
                continue
            whole = texts[place]
            # Inside of an element a cut would leave two halves of it.
            if _LEAST_PREFIX <= end < len(whole) and "<" not in whole[whole.rfind("\n", 0, end) + 1 : end]:
                cut[index] += [whole[:end], whole[end:]] if _is_outside(whole, end) else [whole]
            else:
                cut[index].append(whole)
    return cut


def _common_start(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    same = next((place for place, (one, two) in enumerate(zip(first, last, strict=False)) if one != two), None)
    return first if same is None else first[:same]


def _is_outside(text: str, end: int) -> bool:
    """Whether the place lies in no element."""
    position = 0
    for piece in take_apart(text, elements=True):
        if position < end < position + len(piece.text):
            return not piece.name
        position += len(piece.text)
    return True


def _parts(texts: Sequence[str]) -> Iterator[NamedText]:
    for text in texts:
        for piece in take_apart(text, elements=True):
            if piece.name and piece.name != CENTER:
                yield NamedText(piece.name, piece.text)
                continue
            yield from (NamedText("", line) for line in piece.text.splitlines(keepends=True))


def _versions(parts: Sequence[Sequence[NamedText]]) -> Iterator[tuple[int, int]]:
    """The runs of requests with the same system prompt but for what changes in it."""
    start = 0
    for index in range(1, len(parts)):
        old, new = set(parts[index - 1]), set(parts[index])
        shared = sum(len(part.text) for part in old & new)
        whole = max(sum(len(part.text) for part in listed) for listed in (old, new))
        if whole >= _LEAST_PROMPT and 2 * shared < whole:
            yield start, index
            start = index
    if parts:
        yield start, len(parts)


def _prompt(parts: Sequence[NamedText], stable: set[NamedText]) -> SystemPrompt:
    stays: list[str] = []
    changes: list[NamedText] = []
    runs = 0
    for is_stable, group in groupby(parts, key=lambda part: part in stable):
        listed = list(group)
        if is_stable:
            runs += 1
            stays += [part.text for part in listed]
            continue
        for named, inner in groupby(listed, key=lambda part: part.name):
            text = "".join(part.text for part in inner).strip("\n")
            if text.strip():
                changes.append(NamedText(named or f"{_NAME}_{runs}", text))
    return SystemPrompt("".join(stays).strip("\n"), with_own_names(changes))


def with_own_names(parts: Sequence[NamedText]) -> tuple[NamedText, ...]:
    """The parts, of which no two have one name."""
    counts: dict[str, int] = {}
    named = []
    for part in parts:
        count = counts[part.name] = counts.get(part.name, 0) + 1
        named.append(part if count == 1 else NamedText(f"{part.name}_{count}", part.text))
    return tuple(named)
