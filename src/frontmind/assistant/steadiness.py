"""Keeps the system prompt as it was sent while a conversation runs. Pure.

Whatever changes in it meanwhile (a document was edited, a server's tools came) would throw the prompt cache away and
bill the whole history again. So its sections keep the bytes that were sent last, what has changed since is said in
the notification center, and the new text takes its place at the next natural break: when a segment begins, or the
cache is gone anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from frontmind.continuum.history import settled
from frontmind.providers.profiles.profile import TTL_SECONDS, Profile
from frontmind.trinkets.budget import fits, shortened
from frontmind.trinkets.changes import changed_elements
from frontmind.trinkets.markup import Element, render
from frontmind.values.records import Turn, TurnState
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Section
from frontmind.values.tokens import estimate_tokens
from frontmind.working_memory.composer import BASE_PROMPT_SECTION

CHANGES_SECTION: Final = "system_changes"
"""The section of the notification center that says what is new in the system prompt."""

SEGMENT_PAUSE: Final = timedelta(minutes=60)
"""How long nothing is said before a new segment of the conversation begins."""

CHANGES_BUDGET: Final = 4000
"""How many tokens of changes are said each turn; more than that is taken into the system prompt at once."""

_NOTE: Final = "These parts of the system prompt are newer than they stand there."
_LONG_LEAF: Final = 1000


def last_sent(turns: Sequence[Turn]) -> Turn | None:
    """The newest turn (of turns by number) that was answered, or broke off behind a step, as it stands in the history.

    One that was replaced since counts too: what was sent for it is what the cache has, and the conversation that goes
    on from before it begins with the same bytes.
    """
    for turn in reversed(turns):
        known = turn
        if turn.state is TurnState.REPLACED:
            known = replace(turn, state=TurnState.OPEN if turn.reply is None else TurnState.DONE)
        known = settled(known)
        if known.state is TurnState.DONE:
            return known
    return None


def is_natural_break(
    last: Turn,
    *,
    now: datetime,
    between: Sequence[datetime] = (),
    new_segment: bool,
    model: str | None,
    profile: Profile | None,
    window_start: int,
) -> bool:
    """Whether a changed system prompt no longer costs the history, because what was cached of it is not read again
    anyway. The system prompt itself may be marked for longer; it is billed once.

    Args:
        last: the newest answered turn.
        between: when requests were sent since that got no answer, in order: each may have kept the cache alive, and
            what broke off behind an expired cache begins anew in the same way.
        new_segment: whether the turn that asks begins a segment.
        model: the full name of the model that is asked; None when no model is known.
        profile: what is known of it.
        window_start: the number of the first turn that is sent.
    """
    if new_segment or (model is not None and last.model != model):
        return True
    if last.sent is None or last.sent.window_start != window_start or last.answered_at is None:
        return True
    if profile is None or not profile.ttls:
        return False
    # A read makes an entry live on from then, for the lifetime that was asked for.
    asked = last.sent.ttl if last.sent.ttl in profile.ttls else profile.ttls[0]
    lifetime = timedelta(seconds=TTL_SECONDS[asked])
    return any(later - earlier > lifetime for earlier, later in pairwise((last.answered_at, *between, now)))


def hold(
    fresh: Sequence[Section], sent: Sequence[Section], *, now: datetime, behind: Callable[[], int]
) -> tuple[Section, ...]:
    """The sections of a window that opens a turn: those of the system prompt as they were sent, and what is new in
    them said beside; or the new ones, where waiting would be worse.

    Args:
        fresh: all sections as they were composed, in their order.
        sent: the sections of the system prompt as they were sent last, in their order.
        behind: about how many tokens of conversation stand behind the system prompt; asked only when needed.
    """
    system, others = _divided(fresh)
    changes = _changes(system, sent)
    if not changes:
        # Where only the order is another one, the one that was sent holds.
        return (*(sent if _texts(system) == _texts(sent) else system), *others)
    if any(element.name == BASE_PROMPT_SECTION or _takes_away(element) for element in changes):
        # Who the assistant is is said in its own place only. What the person took away is sent no longer.
        return tuple(fresh)
    cached = behind() + sum(estimate_tokens(section.content) for section in sent)
    if not fits(tuple(changes), min(CHANGES_BUDGET, cached)):
        # Said beside the question it would cost in every turn what the whole prompt costs once.
        return tuple(fresh)
    return (*sent, *others, _section(changes, now))


def hold_in_turn(fresh: Sequence[Section], sent: Sequence[Section], *, now: datetime) -> tuple[Section, ...]:
    """The sections in the middle of a turn, where the system prompt never changes: of long texts the size is said."""
    system, others = _divided(fresh)
    changes = [element for element in _changes(system, sent) if element.name != BASE_PROMPT_SECTION]
    if not changes:
        return (*sent, *others)
    body: Sequence[Element] = changes
    if not fits(tuple(body), CHANGES_BUDGET):
        body = [_without_long_texts(element) for element in changes]
    if not fits(tuple(body), CHANGES_BUDGET):
        body = [element for element in shortened(tuple(body), CHANGES_BUDGET) if isinstance(element, Element)]
    return (*sent, *others, _section(body, now))


def hold_where_it_goes_on(
    opened: tuple[Section, ...], fresh: Sequence[Section], sent: Sequence[Section], *, now: datetime
) -> tuple[Section, ...]:
    """The sections of a window that is made again for a turn in its middle: as it opened, where nothing has changed.

    Args:
        opened: those of a window that opens a turn now.
        fresh: all sections as they were composed, in their order.
        sent: the sections of the system prompt that the turn was begun with, in their order.
    """
    system, _ = _divided(opened)
    # Who the assistant is is said in its own place only: for another program it is said anew.
    base = {section.name: section for section in fresh if section.name == BASE_PROMPT_SECTION}
    kept = [base.get(section.name, section) for section in sent]
    return opened if not sent or _texts(system) == _texts(kept) else hold_in_turn(fresh, kept, now=now)


def with_sent(fresh: Sequence[Section], sent: Sequence[Section], names: frozenset[str]) -> tuple[Section, ...]:
    """The fresh sections, those of these names as they were sent: for a look without their sources."""
    known = {section.name: section for section in sent if section.name in names}
    return tuple(known.get(section.name, section) for section in fresh)


def _divided(sections: Sequence[Section]) -> tuple[list[Section], list[Section]]:
    system = [section for section in sections if section.placement == PLACEMENT_SYSTEM]
    return system, [section for section in sections if section.placement != PLACEMENT_SYSTEM]


def _takes_away(element: Element) -> bool:
    """Whether a section, or something whole in it such as a document, is there no longer."""
    children = element.body if isinstance(element.body, tuple) else ()
    return any("gone" in item.attributes for item in (element, *children))


def _texts(sections: Sequence[Section]) -> dict[str, tuple[str, bool]]:
    return {section.name: (section.content, section.cache_policy) for section in sections}


def _changes(system: Sequence[Section], sent: Sequence[Section]) -> list[Element]:
    before = {section.name: section.content for section in sent}
    after = {section.name: section.content for section in system}
    names = sorted({*before, *after})
    found = [changed_elements(before.get(name, ""), after.get(name, "")) for name in names]
    return [element for element in found if element is not None]


def _section(body: Sequence[Element], now: datetime) -> Section:
    state = render(Element(CHANGES_SECTION, tuple(body), {"note": _NOTE}))
    observed = {"observed": f"{now:%Y-%m-%d %H:%M}", "note": _NOTE}
    content = render(Element(CHANGES_SECTION, tuple(body), observed))
    return Section(CHANGES_SECTION, content, PLACEMENT_NOTIFICATION, cache_policy=False, state=state)


def _without_long_texts(element: Element) -> Element:
    """The element with the size of each long text in its place."""
    if isinstance(element.body, tuple):
        return replace(element, body=tuple(_without_long_texts(child) for child in element.body))
    if len(element.body) <= _LONG_LEAF:
        return element
    size = {"collapsed": "true", "characters": str(len(element.body))}
    return replace(element, body="", attributes={**element.attributes, **size})
