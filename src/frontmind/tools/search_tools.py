"""The tool with which the model searches on purpose. Knows nothing of indexes; whoever has them is asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime, time, timedelta
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from frontmind.errors import FrontmindError, ToolError, UsageError
from frontmind.recall.context_searches import ContextSearches, SearchRequest, SearchResult
from frontmind.tools.function import tool
from frontmind.tools.tool import RunnableTool
from frontmind.trinkets.markup import Element, render
from frontmind.trinkets.memory import recollection_elements
from frontmind.values.clock import Clock, parse_moment
from frontmind.values.passages import PassageKind

_Where: TypeAlias = Literal["all", "memories", "conversations", "documents"]
_Moment: TypeAlias = Annotated[
    str | None, Field(description="a day, which is included, or a moment, ISO 8601, such as 2026-11-30")
]

_KINDS: Final[Mapping[str, Collection[PassageKind]]] = {
    "all": tuple(PassageKind),
    "memories": (PassageKind.MEMORY,),
    "conversations": (PassageKind.EXCHANGE,),
    "documents": (PassageKind.DOCUMENT,),
}
_RUNS_ON: Final = (
    "Still searching. What it finds will stand in context_search_results in a later turn; until then, say that you are "
    "still looking."
)


def search_tools(searches: ContextSearches, clock: Clock) -> list[RunnableTool]:
    """The tools that search.

    Args:
        clock: tells the person's zone, in which days and moments are meant and told.
    """

    @tool
    async def search_context(query: str, where: _Where = "all", since: _Moment = None, until: _Moment = None) -> str:
        """Search memories, earlier conversations and documents for what you do not see. Your window is not searched.

        Args:
            query: what to find, in the words that would be used for it, with names and things
            where: what is searched
        """
        if not query.strip():
            raise ToolError("say what to search for in query")
        try:
            request = SearchRequest(
                query,
                _KINDS[where],
                since=None if since is None else _moment(since, clock, ends=False),
                until=None if until is None else _moment(until, clock, ends=True),
            )
            result = await searches.search(request)
        except FrontmindError as error:
            raise ToolError(str(error)) from error
        return _RUNS_ON if result is None else _told(result, clock.now())

    return [search_context]


def _told(result: SearchResult, now: datetime) -> str:
    found = [element for find in result.finds for element in recollection_elements(find, now)]
    if not found:
        return "Nothing was found outside of this conversation."
    return render(Element("finds", tuple(found)))


def _moment(text: str, clock: Clock, *, ends: bool) -> datetime:
    """The moment that is meant; of a day its beginning, or its end."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        try:
            return parse_moment(text, clock.zone)
        except UsageError as error:
            raise ToolError(str(error)) from error
    return datetime.combine(day + timedelta(days=1 if ends else 0), time(), clock.zone)
