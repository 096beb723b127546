"""Keeps the cached prompt of a conversation alive while nobody says anything, as long as that is likely to pay.

Bounded: so many refreshes in a row, only while the program runs, never beside a turn. What goes wrong in it costs no
turn; it is told, and nothing is refreshed until the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

from frontmind.cachelab.keeping_alive import Held, lifetime_of, refreshing, worthwhile_refresh
from frontmind.errors import FrontmindError, ModelError, UsageError
from frontmind.events import EventBus, TurnCompletedEvent
from frontmind.events.background import Background
from frontmind.events.outlasting import to_the_end
from frontmind.providers.prices import PriceOf
from frontmind.providers.protocol import Finished, Model, Request
from frontmind.providers.reading import read_request
from frontmind.stores.protocols import Store
from frontmind.values.calls import CallEnd, NewCall, Purpose
from frontmind.values.clock import Clock
from frontmind.values.parts import Voice
from frontmind.values.records import Sent, Turn, TurnState
from frontmind.values.usage import Usage
from frontmind.window.choice import Framing
from frontmind.window.layout import Block

_PAUSES: Final = 40
"""So many of the newest turns say how long the person is usually away."""

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class KeepAlive:
    """Refreshes one conversation's entry in the cache of its model.

    Args:
        store: has the turns and their requests, and takes the refreshes into its ledger.
        model: whose cache it is.
        bus: where the end of a turn is announced.
        clock: tells when an entry was used, and what time it is.
        conversation: the conversation's name.
        most: how many refreshes there may be in a row.
        sleep: waits so many seconds.
        price_of: what a refresh costs; None where no price is known.
        tell: told in one line when a refresh failed.
    """

    def __init__(
        self,
        *,
        store: Store,
        model: Model,
        bus: EventBus,
        clock: Clock,
        conversation: str,
        most: int,
        sleep: Sleep = asyncio.sleep,
        price_of: PriceOf | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._model = model
        self._clock = clock
        self._conversation = conversation
        self._most = most
        self._sleep = sleep
        self._price_of = price_of
        self._tell = tell
        self._background = Background(tell)
        self._unsubscribe = bus.subscribe(TurnCompletedEvent, self._completed)

    def rest(self) -> None:
        """Refresh nothing until the next turn is complete: one begins."""
        self._background.cancel()

    async def aclose(self) -> None:
        """End for good, and wait until nothing is under way any more."""
        self._unsubscribe()
        await self._background.close()

    async def _completed(self, event: TurnCompletedEvent) -> None:
        if event.context.conversation == self._conversation and self._most > 0:
            self._background.cancel()
            self._background.start(self._keep(), "keeping the cache alive")

    async def _keep(self) -> None:
        try:
            turns = await self._newest_turns()
            if turns and turns[-1].request is not None and turns[-1].answered_at is not None:
                request = await self._store.load_request(turns[-1].request)
                await self._refresh_while_it_pays(turns, request, turns[-1].answered_at)
        except FrontmindError as error:
            # The turns have nothing to do with it.
            self._tell(f"the cache is no longer kept alive: {error}")

    async def _newest_turns(self) -> list[Turn]:
        opening = await self._store.window_opening(self._conversation)
        turns = await self._store.turns(self._conversation, since=max(1, opening.start - _PAUSES))
        return [turn for turn in turns if turn.state is TurnState.DONE][-_PAUSES:]

    async def _refresh_while_it_pays(self, turns: Sequence[Turn], request: Request, answered_at: datetime) -> None:
        held, pauses = self._held(turns[-1], request), _pauses(turns)
        used = await self._last_sent(turns[-1])
        for left in range(self._most, 0, -1):
            silent = used - answered_at
            refresh = worthwhile_refresh(self._model.profile, held, pauses, silent=silent, left=left)
            if refresh is None:
                return
            await self._sleep(max(0.0, (used + refresh.after - self._clock.now()).total_seconds()))
            if self._clock.now() - used >= refresh.until:
                # The machine slept longer than the entry lived: to send it now would write it anew.
                return
            used = self._clock.now()
            await self._send(turns[-1], refreshing(request, self._model.profile), used)

    async def _last_sent(self, turn: Turn) -> datetime:
        """When the entry was used last: a read makes it live on from when it is sent, not from when it is answered."""
        calls = await self._store.calls(conversation=self._conversation, newest=1)
        if calls and calls[-1].new.turn == turn.number:
            return calls[-1].new.sent_at
        return turn.asked_at

    def _held(self, turn: Turn, request: Request) -> Held:
        usage = turn.usage or Usage(0, 0, 0, 0)
        profile, sent = self._model.profile, turn.sent or Sent()
        # Where the provider reports nothing, all of the prompt counts as cached.
        marked = usage.input if usage.estimated or not profile.ttls else usage.cached + usage.written
        lifetime = lifetime_of(profile, sent.ttl) or timedelta()
        blocks = read_request(request).blocks
        sums = list(accumulate((block.tokens for block in blocks), initial=0))
        longer = [
            end
            for block, end in zip(blocks, sums[1:], strict=True)
            if block.marker is not None and (lifetime_of(profile, block.marker.ttl) or timedelta()) > lifetime
        ]
        passing = 0 if _keeps(sent.framing) else sums[-1] - sums[_first_in_center(blocks)]
        return Held(
            marked,
            steady=min(max(longer, default=0), marked),
            passing=max(0, passing - (usage.input - marked)),
            fresh=usage.input - marked,
            ttl=sent.ttl,
        )

    async def _send(self, turn: Turn, request: Request, at: datetime) -> None:
        layout = turn.sent.framing if turn.sent is not None else ""
        request_hash = await self._store.save_request(request)
        new = NewCall(
            conversation=self._conversation,
            turn=turn.number,
            step=len(turn.steps) + 1,
            purpose=Purpose.KEEP_ALIVE,
            model=self._model.name,
            layout=layout or self._model.framing.framing.value,
            request=request_hash,
            sent_at=at,
        )
        call = await self._store.begin_call(new)
        usage = await self._ask(request)
        without = replace(usage, cached=0, written=0, written_by_ttl=())
        end = CallEnd(self._clock.now(), usage, cost=self._price(usage), full_price=self._price(without))
        await to_the_end(self._store.finish_call(call, end))

    async def _ask(self, request: Request) -> Usage:
        usage: Usage | None = None
        stream = self._model.stream(request)
        try:
            async for event in stream:
                if isinstance(event, Finished):
                    usage = event.usage
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        if usage is None:
            raise ModelError(f"{self._model.name} broke off", model=self._model.name)
        return usage

    def _price(self, usage: Usage) -> Decimal | None:
        profile = self._model.profile
        if self._price_of is None or usage.estimated or not profile.model:
            return None
        try:
            return self._price_of(profile.provider, profile.model, usage)
        except UsageError:
            return None


def _keeps(framing: str) -> bool:
    return framing in set(Framing) and Framing(framing).keeps(Voice.USER)


def _first_in_center(blocks: Sequence[Block]) -> int:
    """The index of the first block of the notification center; of where one would stand, if there is none."""
    return next((index for index, block in enumerate(blocks) if block.in_center), len(blocks))


def _pauses(turns: Sequence[Turn]) -> list[timedelta]:
    """How long nobody said anything between these turns."""
    return [two.asked_at - one.answered_at for one, two in pairwise(turns) if one.answered_at is not None]
