"""Proactive recall: what comes to mind with a message, without anybody having searched for it.

The message is the query, and the exchange before it helps to understand it. Only what bears on it for certain enough
is shown, in a budget of tokens. Which of the memories the reply took up is noted when the turn is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from frontmind.errors import FrontmindError
from frontmind.events import TurnCompletedEvent, TurnContext
from frontmind.recall.finds import with_excerpt
from frontmind.recall.ranking import RELEVANT
from frontmind.recall.search import Recall
from frontmind.recall.telling import cites, is_small_talk, telling_words, used
from frontmind.stores.protocols import Store
from frontmind.trinkets.budget import fits
from frontmind.trinkets.markup import Element
from frontmind.trinkets.memory import recollection_elements
from frontmind.values.memories import Memory
from frontmind.values.passages import Recollection
from frontmind.values.records import Turn, TurnState

BUDGET: Final = 800
"""The most tokens that the finds may have, as `frontmind.values.tokens` estimates them: about eight of them."""

SHARE: Final = 10
"""Of a small context the finds have a tenth at most: what left the window must not all come back at once."""

EXCERPT: Final = 500
"""The most characters that are shown of a find: of an exchange, those with most of the query's words."""

_MOST: Final = 8
_BEFORE_LENGTH: Final = 600
_LOOKED_BACK: Final = 5
_LOOKED_BACK_OVER_REPLACED: Final = 100
_REMEMBERED_TURNS: Final = 8


class Surfacing:
    """Finds what bears on the message of a turn, and notes what the reply used of it.

    Args:
        pause: how long nothing is said before what was said before is over and explains no message.
        tell: told in one line when a use cannot be noted.
    """

    def __init__(
        self,
        store: Store,
        recall: Recall,
        *,
        pause: timedelta = timedelta(hours=1),
        least: float = RELEVANT,
        budget: int = BUDGET,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._recall = recall
        self._pause = pause
        self._least = least
        self._budget = budget
        self._tell = tell
        self._shown: dict[tuple[str, int, str], tuple[Memory, ...]] = {}
        self._latest: tuple[TurnContext, Sequence[Recollection]] | None = None

    async def surface(self, context: TurnContext) -> Sequence[Recollection]:
        """What bears on the turn's message, best first, within the budget; nothing where nothing does.

        What stands in the window is left out. In the further steps of a turn it stays what it was, unless
        something of it was changed or taken away.
        """
        if is_small_talk(context.message):
            return []
        if (latest := await self._latest_of(context)) is not None:
            return latest
        before, excluded = await asyncio.gather(
            self._before(context), self._store.passages_since(context.conversation, context.window_start)
        )
        found = await self._recall.surface(
            context.message, now=context.now, limit=_MOST, least=self._least, before=before, excluded=excluded
        )
        shown = self._fitting(found, context)
        self._remember(context, shown)
        self._latest = (context, shown)
        return shown

    async def note_uses(self, event: TurnCompletedEvent) -> None:
        """Note which of the memories that the turn was shown its reply took up."""
        memories = self._shown.pop(_key(event.context), ())
        message, reply = event.user.text, event.reply.text
        taken_up = [
            memory.id for memory in memories if cites(reply, f"m{memory.id}") or used(memory.text, message, reply)
        ]
        if not taken_up:
            return
        try:
            await self._store.note_memory_uses(taken_up, event.answered_at)
        except FrontmindError as error:
            self._tell(f"that memories were used could not be noted: {error}")

    async def _latest_of(self, context: TurnContext) -> Sequence[Recollection] | None:
        """What an earlier step of this turn was shown, where all of it is there as it was."""
        if self._latest is None or replace(self._latest[0], now=context.now) != context:
            return None
        shown = self._latest[1]
        memories = {memory.id: memory for memory in _memories(shown)}
        stored = await self._store.memories(sorted(memories)) if memories else ()
        passages = sorted({find.hit.passage.id for find in shown})
        if {memory.id: memory for memory in stored} != memories:
            return None
        return shown if len(await self._store.passages(passages)) == len(passages) else None

    async def _before(self, context: TurnContext) -> str:
        """What was said right before the message in the same segment."""
        previous = context.previous_message_at
        if previous is None or context.now - previous >= self._pause:
            return ""
        for looked_back in (_LOOKED_BACK, _LOOKED_BACK_OVER_REPLACED):
            since = max(1, context.turn - looked_back)
            turns = await self._store.turns(context.conversation, since=since, until=context.turn - 1)
            earlier = [turn for turn in turns if turn.state is TurnState.DONE]
            if earlier:
                return _said(earlier[-1])
            if all(turn.state is not TurnState.REPLACED for turn in turns):
                break
        return ""

    def _fitting(self, found: Sequence[Recollection], context: TurnContext) -> list[Recollection]:
        """The finds as they are shown, whole ones, as many as the budget has room for."""
        words = telling_words(context.message)
        kept: list[Recollection] = []
        elements: list[Element] = []
        limit = context.context_limit
        budget = self._budget if limit is None else min(self._budget, limit // SHARE)
        for find in found:
            shown = with_excerpt(find, words, EXCERPT)
            added = recollection_elements(shown, context.now)
            # A shorter one behind it may still have room.
            if fits([*elements, *added], budget):
                kept.append(shown)
                elements += added
        return kept

    def _remember(self, context: TurnContext, shown: Sequence[Recollection]) -> None:
        self._shown.pop(_key(context), None)
        self._shown[_key(context)] = tuple(memory for memory in _memories(shown) if memory.superseded_by is None)
        while len(self._shown) > _REMEMBERED_TURNS:
            del self._shown[next(iter(self._shown))]


def _memories(shown: Sequence[Recollection]) -> list[Memory]:
    found = [find.memory for find in shown if find.memory is not None]
    return found + [memory for find in shown for _, memory in find.linked]


def _key(context: TurnContext) -> tuple[str, int, str]:
    return context.conversation, context.turn, context.message


def _said(turn: Turn) -> str:
    """The end of an exchange: of a long reply, what the next message answers to."""
    reply = "" if turn.reply is None else turn.reply.text
    return f"{turn.user.text[:_BEFORE_LENGTH]}\n{reply[-_BEFORE_LENGTH:]}".strip()
