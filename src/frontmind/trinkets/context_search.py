"""What explicit searches found, kept in view until the segment ends. Does not know how or where is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from frontmind.events import TurnContext
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.budget import OMITTED, fits, shortened
from frontmind.trinkets.markup import Body, Element
from frontmind.trinkets.memory import local_moment, recollection_elements
from frontmind.values.passages import Recollection

SEARCHES_KEPT: Final = 20
"""How many searches are kept at most; with more of them the oldest leaves."""

_NOTE_TOKENS: Final = 16


class SearchState(StrEnum):
    """How far a search has come."""

    PENDING = "pending"
    FOUND = "found"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Search:
    """A search as it is shown.

    Attributes:
        query: what was searched for.
        at: when it began, and once it is over, when that was: what was found may have changed since.
        finds: what it found outside of the window, best first.
        why: why it failed.
    """

    id: int
    query: str
    at: datetime
    state: SearchState = SearchState.PENDING
    finds: tuple[Recollection, ...] = ()
    why: str = ""


class GetContextTrinket(EventAwareTrinket):
    """Shows the searches of the present segment, by when they began: pending, found or failed.

    Args:
        pause: how long nothing is said before the next message begins a segment, and older searches leave.
    """

    section_name = "context_search_results"
    tells_its_time = True

    def __init__(self, *, pause: timedelta = timedelta(hours=1)) -> None:
        self._pause = pause
        self._searches: dict[int, Search] = {}
        self._begun = 0

    @property
    def searches(self) -> tuple[Search, ...]:
        """The searches that are kept, by when they began."""
        return tuple(self._searches.values())

    def begin(self, query: str, at: datetime) -> int:
        """Show that this is being searched for, until `found` or `failed`.

        Returns:
            The id of the search.
        """
        self._begun += 1
        self._searches[self._begun] = Search(self._begun, query, at)
        while len(self._searches) > SEARCHES_KEPT:
            del self._searches[next(iter(self._searches))]
        return self._begun

    def found(self, search_id: int, finds: Sequence[Recollection], at: datetime) -> None:
        """Show what the search found: what stands outside of the window. No find at all is shown too: it is a fact
        as well. A search that has left meanwhile stays away.
        """
        self._settle(search_id, at, SearchState.FOUND, finds=tuple(finds))

    def failed(self, search_id: int, why: str, at: datetime) -> None:
        """Show that the search failed, and why in one line. One that has left meanwhile stays away."""
        self._settle(search_id, at, SearchState.FAILED, why=why)

    def _settle(
        self, search_id: int, at: datetime, state: SearchState, *, finds: tuple[Recollection, ...] = (), why: str = ""
    ) -> None:
        if search_id in self._searches:
            self._searches[search_id] = replace(self._searches[search_id], at=at, state=state, finds=finds, why=why)

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        previous = context.previous_message_at
        # Behind a pause a segment begins. One who searches and then writes belongs to the new one.
        if previous is None or context.now - previous >= self._pause:
            since = context.now - self._pause
            self._searches = {number: search for number, search in self._searches.items() if search.at > since}
        return [_element(search, context.now) for search in self._searches.values()]

    def shorten(self, body: Body, budget: int) -> Body:
        """The oldest searches are left out first; of the newest, its last finds."""
        if isinstance(body, str) or not body:
            return shortened(body, budget)
        kept: list[Element] = []
        for element in reversed(body):
            if not fits([element, *kept], budget - _NOTE_TOKENS):
                break
            kept.insert(0, element)
        if not kept:
            kept = [_shorter(body[-1], budget - _NOTE_TOKENS)]
        left_out = len(body) - len(kept)
        return [Element(OMITTED, f"{left_out} earlier"), *kept] if left_out else kept


def _element(search: Search, now: datetime) -> Element:
    attributes = {
        "id": f"s{search.id}",
        "query": search.query,
        "state": search.state.value,
        "observed": local_moment(search.at, now),
    }
    match search.state:
        case SearchState.PENDING:
            body: str | tuple[Element, ...] = "Still searching; what it finds will stand here."
        case SearchState.FAILED:
            body = f"The search failed: {search.why}"
        case SearchState.FOUND:
            found = tuple(element for find in search.finds for element in recollection_elements(find, now))
            body = found or "Nothing was found outside of this conversation."
    return Element("search", body, attributes)


def _shorter(search: Element, budget: int) -> Element:
    around = Element(search.name, "", search.attributes)
    if not fits([around], budget):
        # The query alone is too long.
        return Element(search.name, "", {name: value[:200] for name, value in search.attributes.items()})
    room = budget
    body: Body = search.body
    while not fits([_with(search, body)], budget) and room > 0:
        room -= max(1, budget // 8)
        body = shortened(search.body, max(0, room))
    return _with(search, body)


def _with(search: Element, body: Body) -> Element:
    return replace(search, body=body if isinstance(body, str) else tuple(body))
