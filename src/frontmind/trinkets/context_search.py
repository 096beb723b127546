"""What an explicit search found, kept in view until the next answered turn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from frontmind.events import EventBus, TurnCompletedEvent, TurnContext, Unsubscribe
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.markup import Element
from frontmind.trinkets.memory import hit_element
from frontmind.values.records import SearchHit


class GetContextTrinket(EventAwareTrinket):
    """Shows the finds of the searches that were made since the last answered turn."""

    section_name = "context_search_results"
    tells_its_time = True

    def __init__(self) -> None:
        self._finds: list[tuple[str, datetime, Sequence[SearchHit]]] = []
        self._shown = 0

    def show(self, query: str, hits: Sequence[SearchHit], at: datetime) -> None:
        """Show these finds in the next turn: what stands outside of the window.

        An empty result is shown too: it is a fact as well.

        Args:
            at: when it was searched for; what was found may have changed since.
        """
        self._finds.append((query, at, tuple(hits)))

    def attach(self, bus: EventBus) -> Unsubscribe:
        detach = super().attach(bus)
        forget = bus.subscribe(TurnCompletedEvent, self._forget)

        def both() -> None:
            forget()
            detach()

        return both

    def _forget(self, event: TurnCompletedEvent) -> None:
        # A search that was made while the turn ran has not been seen yet.
        del self._finds[: self._shown]
        self._shown = 0

    async def generate_content(self, context: TurnContext) -> Sequence[Element]:
        self._shown = len(self._finds)
        return [
            Element(
                "search",
                tuple(hit_element(hit, context.now) for hit in hits)
                or "Nothing was found outside of this conversation.",
                {"query": query, "observed": f"{at.astimezone(context.now.tzinfo):%Y-%m-%d %H:%M}"},
            )
            for query, at, hits in self._finds
        ]
