"""What is wrong with requests of any origin: markers that cache nothing, calls without results, text in a wrong place.

Pure functions on layouts. What a model allows comes in as `Allowed`; nothing here knows a provider by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from frontmind.window.difference import named, open_turn
from frontmind.window.layout import TEXT, TOOL_CALL, TOOL_RESULT, Area, Block, Layout, Marker
from frontmind.window.volatility import Volatility, find_volatile

_AUTOMATIC: Final = "the end (automatic)"


class Severity(StrEnum):
    """ERROR: the provider refuses the request. WARNING: it is accepted, and costs more than it has to."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a model takes, as far as the lints ask.

    Attributes:
        max_markers: how many cache markers there may be; 0 where nothing is known.
        prefill: whether a request may end with an assistant message.
        caches_last_user: whether the provider itself caches up to the last user message and nowhere else.
        empty_text, blank_text: whether a text may be empty, or all white space.
        results_first: whether tool results must stand in front of everything else that answers the call.
        pairs_stand_together: whether the results must stand right behind their calls.
        alternate_roles: whether two messages of one role in a row are refused.
        unmarkable, unmarkable_roles: the kinds of block that take no marker, and whose blocks take none.
        ttl_seconds: how long the named lifetimes are.
    """

    max_markers: int = 0
    prefill: bool = True
    caches_last_user: bool = False
    empty_text: bool = True
    blank_text: bool = True
    results_first: bool = True
    pairs_stand_together: bool = True
    alternate_roles: bool = False
    unmarkable: frozenset[str] = frozenset()
    unmarkable_roles: frozenset[str] = frozenset()
    ttl_seconds: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a request.

    Attributes:
        rule: the lint's id, such as ``marker-on-volatile``.
        place: where in the request.
        message: what is wrong, one line.
        advice: what to do, one line.
    """

    rule: str
    severity: Severity
    place: str
    message: str
    advice: str


def lint(layouts: Sequence[Layout], allowed: Sequence[Allowed]) -> list[tuple[Finding, ...]]:
    """The findings of each request.

    Args:
        layouts: in the order in which they were sent; requests of one conversation tell about each other.
        allowed: what the model of each takes.
    """
    return [
        tuple(_lint_one(layout, rules, known))
        for layout, rules, known in zip(layouts, allowed, find_volatile(layouts), strict=True)
    ]


def _lint_one(layout: Layout, allowed: Allowed, known: Volatility) -> Iterator[Finding]:
    offset = len(layout.head)
    told: set[tuple[str, str]] = set()
    unsteady = {**known.changed, **known.volatile}
    for index in sorted(unsteady):
        block = layout.blocks[index]
        # A notification center is one thing, however many sections it has.
        once = (block.place, "" if block.in_center else block.name)
        if index < offset and once not in told:
            told.add(once)
            yield Finding(
                "volatile-head",
                Severity.WARNING,
                block.place,
                f"{named(block)} stands in front of the conversation and {unsteady[index]}",
                "move what changes behind the history: whenever it changes, everything behind it is paid for again",
            )
    yield from _marker_findings(layout, allowed, known.volatile)
    yield from _count_findings(layout, allowed)
    if not layout.stateful:
        yield from _pair_findings(layout, allowed)
    yield from _text_findings(layout, allowed)
    if allowed.alternate_roles:
        yield from _role_findings(layout)


def _marker_findings(layout: Layout, allowed: Allowed, volatile: Mapping[int, str]) -> Iterator[Finding]:
    offset = len(layout.head)
    turn = open_turn(layout.conversation)
    first = min(volatile, default=len(layout.blocks))
    # While tools run, nothing of the turn changes: the next step reads what is written there.
    runs = any(block.kind == TOOL_RESULT for block in layout.conversation[turn.start :])
    loop = offset + turn.start if runs and first >= offset else len(layout.blocks)
    for index, block in enumerate(layout.blocks):
        if block.marker is None:
            continue
        if index in volatile and index < loop:
            yield Finding(
                "marker-on-volatile",
                Severity.WARNING,
                block.place,
                f"the cache marker is on {named(block)}, which {volatile[index]}",
                "mark the last block in front of it that stays as it is; this entry is paid for and never read",
            )
        elif first < index < loop:
            yield Finding(
                "marker-behind-volatile",
                Severity.WARNING,
                block.place,
                f"the cache marker is behind {named(layout.blocks[first])}, which {volatile[first]}",
                "put the marker in front of what changes, or what changes behind the marker",
            )
        yield from _unmarkable(block, allowed)
    last = len(layout.blocks) - 1
    in_loop = loop <= last
    if layout.automatic is not None and first <= last and not in_loop:
        yield _automatic(layout.blocks[first], volatile[first], "mark the end of the history yourself instead")
    if allowed.caches_last_user and layout.implicit and not any(block.marker for block in layout.blocks[offset:]):
        users = [index for index, block in enumerate(layout.blocks) if block.role == "user"]
        if users and first <= users[-1] and not in_loop:
            yield _automatic(
                layout.blocks[first],
                volatile[first],
                "send it behind the user message, or set a breakpoint at the end of the history",
            )


def _automatic(block: Block, why: str, advice: str) -> Finding:
    return Finding(
        "automatic-behind-volatile",
        Severity.WARNING,
        block.place,
        f"automatic caching writes an entry behind {named(block)}, which {why}: nothing ever reads it",
        advice,
    )


def _unmarkable(block: Block, allowed: Allowed) -> Iterator[Finding]:
    inside = block.marker.text if block.marker is not None else None
    text = block.text if inside is None and block.kind == TEXT else inside
    if text is not None and not (text if allowed.blank_text else text.strip()):
        yield Finding(
            "marker-on-empty-text",
            Severity.ERROR,
            block.place,
            "the cache marker is on an empty text, which is refused",
            "leave the empty text out and mark the block in front of it",
        )
    what = "a turn-scoped message" if block.cleared else "a deferred tool" if block.deferred else ""
    if block.kind in allowed.unmarkable:
        what = f"a block of the kind {block.kind}"
    elif block.role in allowed.unmarkable_roles:
        what = f"a block of the {block.role}"
    if what:
        yield Finding(
            "marker-not-allowed",
            Severity.ERROR,
            block.place,
            f"the cache marker is on {what}, which cannot carry one",
            "mark the last block in front of it that can",
        )


def _count_findings(layout: Layout, allowed: Allowed) -> Iterator[Finding]:
    marked: list[tuple[str, Marker]] = [(block.place, block.marker) for block in layout.blocks if block.marker]
    on_last = bool(layout.blocks) and layout.blocks[-1].marker is not None
    if layout.automatic is not None and not on_last:
        marked.append((_AUTOMATIC, layout.automatic))
    if 0 < allowed.max_markers < len(marked):
        yield Finding(
            "too-many-markers",
            Severity.ERROR,
            marked[allowed.max_markers][0],
            f"there are {len(marked)} cache markers; {allowed.max_markers} are allowed",
            "keep those at the end of the system text and at the newest ends of the history",
        )
    seconds = dict(allowed.ttl_seconds)
    shortest: tuple[str, Marker] | None = None
    for place, marker in marked:
        if shortest and seconds.get(marker.ttl, 0) > seconds.get(shortest[1].ttl, 0) > 0:
            yield Finding(
                "ttl-order",
                Severity.ERROR,
                place,
                f"a marker of {marker.ttl} stands behind one of {shortest[1].ttl} at {shortest[0]}",
                "let the longer lifetimes stand in front of the shorter ones",
            )
        if shortest is None or seconds.get(marker.ttl, 0) < seconds.get(shortest[1].ttl, 0):
            shortest = (place, marker)


def _pair_findings(layout: Layout, allowed: Allowed) -> Iterator[Finding]:
    groups = _groups(layout.conversation) if allowed.pairs_stand_together else [list(layout.conversation)]
    for number, group in enumerate(groups):
        if not allowed.pairs_stand_together:
            calls, results = group, group
        elif group[0].role == "assistant":
            calls, results = group, groups[number + 1] if number + 1 < len(groups) else []
        elif number == 0:
            calls, results = [], group
        else:
            calls, results = (groups[number - 1], group)
        yield from _unanswered(calls, results, group)
        if allowed.results_first and group[0].role != "assistant":
            yield from _late_result(calls, group)


def _late_result(calls: Sequence[Block], group: Sequence[Block]) -> Iterator[Finding]:
    made = {block.call_id for block in calls if block.kind == TOOL_CALL}
    other = next((block for block in group if block.kind != TOOL_RESULT), None)
    results = [block for block in group if block.kind == TOOL_RESULT and block.call_id in made]
    if other is not None and results and group.index(results[-1]) > group.index(other):
        yield Finding(
            "results-not-first",
            Severity.ERROR,
            results[-1].place,
            f"the tool result stands behind {other.place}",
            "let all tool results stand first, and the text after them",
        )


def _unanswered(calls: Sequence[Block], results: Sequence[Block], group: Sequence[Block]) -> Iterator[Finding]:
    made = Counter(block.call_id for block in calls if block.kind == TOOL_CALL)
    given = Counter(block.call_id for block in results if block.kind == TOOL_RESULT)
    seen: Counter[tuple[str, str]] = Counter()
    for block in group:
        # Where calls have no ids of their own they are joined by the tool's name, and two of one name need two results.
        seen[block.kind, block.call_id] += 1
        number = seen[block.kind, block.call_id]
        if block.kind == TOOL_CALL and given[block.call_id] < number:
            message, advice = "has no result right behind it", "add its result, or leave the call out"
        elif block.kind == TOOL_RESULT and made[block.call_id] < number:
            message, advice = "has no call right in front of it", "add its call, or leave the result out"
        else:
            continue
        what = "call" if block.kind == TOOL_CALL else "result"
        yield Finding(
            "split-tool-pair", Severity.ERROR, block.place, f"the tool {what} {block.call_id!r} {message}", advice
        )


def _groups(blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks by who speaks: neighbouring messages of one side are one."""
    groups: list[list[Block]] = []
    for block in blocks:
        if groups and (groups[-1][0].role == "assistant") == (block.role == "assistant"):
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def _role_findings(layout: Layout) -> Iterator[Finding]:
    for one, other in pairwise(layout.conversation):
        if one.role == other.role in ("user", "assistant") and one.message + 1 == other.message:
            yield Finding(
                "roles-do-not-alternate",
                Severity.ERROR,
                other.place,
                f"the message of {other.place} follows another one of the {other.role}, which is refused",
                "join the two to one message",
            )


def _text_findings(layout: Layout, allowed: Allowed) -> Iterator[Finding]:
    for block in layout.blocks:
        if block.kind != TEXT or block.text.strip():
            continue
        if not allowed.blank_text or (not allowed.empty_text and not block.text):
            yield Finding(
                "empty-text",
                Severity.ERROR,
                block.place,
                f"the text of {block.place} is {'all white space' if block.text else 'empty'}, which is refused",
                "leave it out",
            )
    last = layout.blocks[-1] if layout.blocks else None
    if last is not None and last.area is Area.MESSAGES and last.role == "assistant" and not allowed.prefill:
        yield Finding(
            "trailing-assistant",
            Severity.ERROR,
            last.place,
            "the request ends with an assistant message, which this model refuses",
            "end with a user message or with tool results",
        )
