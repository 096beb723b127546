"""Deliberate searches: answered at once where that is possible, otherwise in a later turn.

A search that takes long goes on in the background and is shown as pending; what comes of it, an error included, is
shown in its place. What stands in the window is no find, since the model sees it anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from frontmind.errors import FrontmindError
from frontmind.events import ComposeSystemPromptEvent
from frontmind.events.background import Background
from frontmind.recall.finds import with_excerpt
from frontmind.recall.search import Recall
from frontmind.recall.telling import telling_words
from frontmind.stores.protocols import Store
from frontmind.values.clock import Clock
from frontmind.values.passages import PassageKind, Recollection

PATIENCE: Final = 2.0
"""How long somebody waits for a search, in seconds; then it goes on in the background."""

FINDS: Final = 8
"""How many finds a search shows at most."""

EXCERPT: Final = 800
"""The most characters that are shown of a find: of a long one, those with most of the query's words."""

_BROKE_OFF: Final = "it broke off; search again"


class SearchBoard(Protocol):
    """Where searches are shown to the model."""

    def begin(self, query: str, at: datetime) -> int:
        """Show that this is being searched for; gives the id of the search."""
        ...

    def found(self, search_id: int, finds: Sequence[Recollection], at: datetime) -> None: ...

    def failed(self, search_id: int, why: str, at: datetime) -> None: ...


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is searched for, and where.

    Attributes:
        kinds: what is searched.
        since: nothing that is older; None for no limit.
        until: nothing from this moment on; None for no limit.
    """

    query: str
    kinds: Collection[PassageKind] = tuple(PassageKind)
    since: datetime | None = None
    until: datetime | None = None
    limit: int = FINDS


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search came to.

    Attributes:
        finds: what stands outside of the window, best first.
        everything: what was found wherever it stands, best first; empty where nobody asked for it.
    """

    finds: Sequence[Recollection]
    everything: Sequence[Recollection] = ()


@dataclass(slots=True)
class _Running:
    """A search that runs.

    Attributes:
        shown: its id where it is shown to the model.
    """

    request: SearchRequest
    everything: bool
    shown: int | None = None
    result: SearchResult | None = None
    error: FrontmindError | None = None


class ContextSearches:
    """Searches for one conversation.

    Args:
        board: where a search is shown that is not answered at once, or that the person made.
        background: owns what goes on after nobody waits any longer.
        patience: how long is waited for a search, in seconds.
    """

    def __init__(
        self,
        store: Store,
        recall: Recall,
        board: SearchBoard,
        background: Background,
        *,
        clock: Clock,
        conversation: str,
        patience: float = PATIENCE,
    ) -> None:
        self._store = store
        self._recall = recall
        self._board = board
        self._background = background
        self._clock = clock
        self._conversation = conversation
        self._patience = patience
        self._window_start: int | None = None

    def note_window(self, event: ComposeSystemPromptEvent) -> None:
        """Note where the window of the present turn begins."""
        if event.context.conversation == self._conversation:
            self._window_start = event.context.window_start

    async def search(self, request: SearchRequest) -> SearchResult | None:
        """What the search found; None when it goes on in the background, where it is shown from then on.

        Raises:
            FrontmindError: it failed while it was waited for.
        """
        running = _Running(request, everything=False)
        if await self._is_over(running):
            return _outcome(running)
        running.shown = self._board.begin(request.query, self._clock.now())
        return None

    async def search_and_show(self, request: SearchRequest) -> SearchResult | None:
        """As `search`, for the person: with everything that was found, and shown to the model in any case."""
        running = _Running(request, everything=True, shown=self._board.begin(request.query, self._clock.now()))
        return _outcome(running) if await self._is_over(running) else None

    async def _is_over(self, running: _Running) -> bool:
        task = self._background.start(self._run(running), "a search")
        try:
            done, _ = await asyncio.wait({task}, timeout=self._patience)
        except asyncio.CancelledError:
            # Whoever wanted it is gone.
            task.cancel()
            raise
        if done:
            # Of a search that failed in a way that nobody foresaw, the error.
            task.result()
        return bool(done)

    async def _run(self, running: _Running) -> None:
        try:
            running.result = await self._result(running)
        except FrontmindError as error:
            running.error = error
        finally:
            self._settle(running)

    async def _result(self, running: _Running) -> SearchResult:
        start = self._window_start
        if start is None:
            start = (await self._store.window_opening(self._conversation)).start
        seen = await self._store.passages_since(self._conversation, start)
        finds = await self._finds(running.request, seen)
        return SearchResult(finds, await self._finds(running.request, ()) if running.everything else ())

    async def _finds(self, request: SearchRequest, excluded: Collection[int]) -> Sequence[Recollection]:
        found = await self._recall.search(
            request.query,
            now=self._clock.now(),
            limit=request.limit,
            kinds=request.kinds,
            excluded=excluded,
            since=request.since,
            until=request.until,
        )
        words = telling_words(request.query)
        return [with_excerpt(find, words, EXCERPT) for find in found]

    def _settle(self, running: _Running) -> None:
        if running.shown is None:
            return
        if running.result is not None:
            self._board.found(running.shown, running.result.finds, self._clock.now())
        else:
            why = _BROKE_OFF if running.error is None else str(running.error)
            self._board.failed(running.shown, why, self._clock.now())


def _outcome(running: _Running) -> SearchResult | None:
    if running.error is not None:
        raise running.error
    return running.result
