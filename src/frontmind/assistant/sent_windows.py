"""Finds the requests that a stored conversation has sent, with what is known of each. Changes nothing, asks no model
for a reply.

What it reads does not grow with the conversation: a turn, a few before it, and two requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from frontmind.assistant.explanation import Background
from frontmind.assistant.window_view import SentWindow, block_text
from frontmind.cachelab.counted import divided
from frontmind.cachelab.prefixes import Prefixes
from frontmind.errors import ModelError, UsageError
from frontmind.providers.names import parse_model_name
from frontmind.providers.opening import select_model
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import Model, Request
from frontmind.providers.reading import read_request
from frontmind.providers.reading_blocks import ReadMessages
from frontmind.stores.protocols import Store
from frontmind.values.calls import Call, Purpose
from frontmind.values.records import Turn, TurnState
from frontmind.values.usage import Usage
from frontmind.window.layout import Area, Block, Layout

_TURNS_BEFORE: Final = 50
"""So many turns say how long a section has stood as it is."""

_COUNTED_BLOCKS: Final = 256
"""Each is counted by a call of the engine, of about a millisecond."""

_COUNTED_AT_ONCE: Final = 8


class NoSuchWindow(UsageError):
    """The conversation has no such turn, or the turn no such step."""


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call of a turn whose request is stored.

    Attributes:
        step: which call of the turn it is, from 0.
        request: the hash under which the request is stored.
        model: the model's full name.
        usage: as it was counted; None where nobody has.
        call: as the ledger has it; None where it has it not.
    """

    step: int
    request: str
    model: str
    usage: Usage | None
    call: Call | None = None


class SentWindows:
    """The windows of one stored conversation. Looks at one at a time.

    Args:
        store: has the turns, their requests and the ledger.
        conversation: the conversation's name.
        model: an open model: it counts the blocks of what was sent to it, where its tokenizer is at hand, and has the
            facts that hold for it; None where none is open.
        trinkets: the name of each section and the class of the trinket that writes it.
    """

    def __init__(
        self,
        store: Store,
        conversation: str,
        *,
        model: Model | None = None,
        trinkets: Mapping[str, str] | None = None,
    ) -> None:
        self._store = store
        self._conversation = conversation
        self._model = model
        self._trinkets = trinkets or {}
        self._read = ReadMessages()

    async def window(self, number: int, step: int | None = None) -> SentWindow:
        """A window of a turn, also of one that was replaced, or is under way.

        Args:
            step: which call of the turn, from 0; None for the last.

        Raises:
            NoSuchWindow: there is no such turn or step.
            UsageError: nothing was sent for the turn, or its request cannot be read or is not stored any more.
            StoreError: the database cannot be read.
        """
        turns, calls = await self._around(number)
        turn = turns[-1]
        sent = _chosen(turn, calls, step)
        _, earlier = _call_before(turns, calls, sent) or (0, None)
        before = None if earlier is None else await self._before(earlier)
        request = await self._store.load_request(sent.request)
        prefixes = Prefixes(await self._layout(request))
        same_model = earlier is not None and earlier.model == sent.model
        return SentWindow(
            turn=turn,
            step=sent.step,
            steps=len(sent_calls(turn, calls)),
            request=sent.request,
            model=sent.model,
            profile=self._profile(sent.model, prefixes.layout),
            usage=sent.usage,
            call=sent.call,
            prefixes=prefixes,
            before=before,
            counted_before=earlier.usage if earlier is not None and same_model else None,
            counts=await self._counts(sent.model, request, prefixes.layout),
            known=await self._known(turns),
        )

    async def layout(self, number: int, step: int | None = None) -> tuple[Turn, SentCall, Layout]:
        """A request of a turn as a cache sees it, without all that is known beside it.

        Raises: as `window`.
        """
        turn, sent, request = await self.request(number, step)
        return turn, sent, await self._layout(request)

    async def request(self, number: int, step: int | None = None) -> tuple[Turn, SentCall, Request]:
        """A request of a turn as it is stored.

        Raises: as `window`, but for a request that cannot be read.
        """
        turns, calls = await self._around(number)
        sent = _chosen(turns[-1], calls, step)
        return turns[-1], sent, await self._store.load_request(sent.request)

    async def before(self, number: int, step: int) -> tuple[int, Layout] | None:
        """The request in front of this one in the conversation, with the number of its turn; None for the first.

        Raises: as `window`.
        """
        turns, calls = await self._around(number)
        found = _call_before(turns, calls, _chosen(turns[-1], calls, step))
        if found is None:
            return None
        turn, earlier = found
        return turn, await self._layout(await self._store.load_request(earlier.request))

    async def newest(self) -> Prefixes | None:
        """The newest request of the conversation; None where there is none that can be read."""
        calls = await self._store.calls(conversation=self._conversation, newest=_TURNS_BEFORE)
        for call in reversed(calls):
            if call.new.request and call.new.purpose is Purpose.TURN:
                return await self._before(SentCall(0, call.new.request, call.new.model, None))
        return None

    async def _around(self, number: int) -> tuple[Sequence[Turn], Sequence[Call]]:
        """The turn with some before it, and its calls in the ledger.

        Raises:
            NoSuchWindow: there is no such turn.
        """
        since = max(1, number - _TURNS_BEFORE)
        found = await self._store.turns(self._conversation, since=since, until=number + 1) if number > 0 else ()
        turns = [turn for turn in found if turn.number <= number]
        if not turns or turns[-1].number != number:
            raise NoSuchWindow(f"there is no turn {number} in this conversation")
        turn = turns[-1]
        next_at = next((item.asked_at for item in found if item.number > number), None)
        calls = await self._calls(turn, turn.asked_at, next_at)
        named = {step.request for step in turn.steps} | {turn.request or ""}
        if named - {""} - {call.new.request for call in calls}:
            # A clock that was set back, or a turn that went on behind a later one.
            calls = await self._calls(turn, None, None)
        return turns, calls

    async def _calls(self, turn: Turn, since: datetime | None, until: datetime | None) -> Sequence[Call]:
        found = await self._store.calls(conversation=self._conversation, since=since, until=until)
        return [call for call in found if call.new.turn == turn.number and call.new.purpose is Purpose.TURN]

    async def _before(self, earlier: SentCall) -> Prefixes | None:
        try:
            return Prefixes(await self._layout(await self._store.load_request(earlier.request)))
        except UsageError:
            # To look at a window does not take the one before it.
            return None

    async def _layout(self, request: Request) -> Layout:
        # A long conversation takes a while to be read, in which others are answered.
        return await asyncio.to_thread(read_request, request, read=self._read)

    def _profile(self, model: str, layout: Layout) -> Profile:
        if self._model is not None and self._model.name == model:
            return self._model.profile
        try:
            return select_model(parse_model_name(model)).profile
        except UsageError:
            return resolve_profile(layout.provider, layout.model)

    async def _known(self, turns: Sequence[Turn]) -> Background:
        turn = turns[-1]
        start = turn.sent.window_start if turn.sent is not None else 1
        answered = [item for item in turns[:-1] if item.state is TurnState.DONE]
        states = await self._store.line(self._conversation) if start > 1 else {}
        return Background(
            turns=answered,
            left_out=sum(state is TurnState.DONE for number, state in states.items() if number < start),
            trinkets=self._trinkets,
            has_more=turns[0].number > 1,
        )

    async def _counts(self, model: str, request: Request, layout: Layout) -> tuple[int, ...]:
        """The size of each block, where the model's own tokenizer is at hand; else none."""
        counter = self._model
        if counter is None or counter.name != model or len(layout.blocks) > _COUNTED_BLOCKS:
            return ()
        said = [block for block in layout.blocks if block.area is not Area.TOOLS]
        counts: list[int] = []
        try:
            if not (await counter.count_request(request)).exact:
                return ()
            tools = await _count_tools(counter, request, layout)
            for few in _batched(said, _COUNTED_AT_ONCE):
                counted = await asyncio.gather(*(counter.count_text(block_text(block)) for block in few))
                counts += [count.tokens for count in counted]
        except ModelError:
            # Without the engine there are estimates.
            return ()
        return (*tools, *counts)


async def _count_tools(counter: Model, request: Request, layout: Layout) -> Sequence[int]:
    """The sizes of the tools, which stand in front of all else. What they have in all is what the request has with
    them and not without them: some chat templates leave them out. Of that each has its share, by estimate.
    """
    estimates = [block.tokens for block in layout.blocks if block.area is Area.TOOLS]
    if not estimates:
        return ()
    whole = await counter.count_request(request)
    bare = await counter.count_request({key: value for key, value in request.items() if key != "tools"})
    return divided(max(whole.tokens - bare.tokens, 0), estimates)


def _batched(blocks: Sequence[Block], size: int) -> Iterator[Sequence[Block]]:
    yield from (blocks[start : start + size] for start in range(0, len(blocks), size))


def sent_calls(turn: Turn, calls: Sequence[Call]) -> Sequence[SentCall]:
    """The calls of a turn whose requests are stored, in the order in which they were sent.

    Args:
        calls: those of the turn in the ledger, in the order in which they were sent.
    """
    ledger = {call.new.request: call for call in calls}
    found = [(step.request, step.model, step.usage) for step in turn.steps if step.request]
    hashes = {request for request, _, _ in found}
    sent = [_sent_call(number, *item, ledger) for number, item in enumerate(found)]
    if turn.request and turn.request not in hashes:
        sent.append(_sent_call(len(sent), turn.request, turn.model or "", turn.usage, ledger))
    elif turn.state is not TurnState.DONE:
        # What is under way, or was refused, only the ledger knows.
        under_way = [call for call in calls if call.new.request and call.new.request not in hashes]
        sent += [_sent_call(len(sent), call.new.request, call.new.model, None, ledger) for call in under_way[-1:]]
    return sent


def _sent_call(step: int, request: str, model: str, usage: Usage | None, ledger: Mapping[str, Call]) -> SentCall:
    call = ledger.get(request)
    counted = usage if call is None or call.end is None else call.end.usage
    return SentCall(step, request, model if call is None else call.new.model, counted, call)


def _chosen(turn: Turn, calls: Sequence[Call], step: int | None) -> SentCall:
    sent = sent_calls(turn, calls)
    if not sent and turn.state is TurnState.DONE:
        raise UsageError(
            f"turn {turn.number} was imported: its request was sent by another program, so its window is not known; "
            "look at a later turn"
        )
    if not sent:
        raise UsageError(f"nothing was sent yet for turn {turn.number}; its message waits, so look at a later turn")
    if step is None:
        return sent[-1]
    if not 0 <= step < len(sent):
        raise NoSuchWindow(f"turn {turn.number} has no step {step}; it has {len(sent)}, counted from 0")
    return sent[step]


def _call_before(turns: Sequence[Turn], calls: Sequence[Call], sent: SentCall) -> tuple[int, SentCall] | None:
    """The call in front of this one, with the number of its turn."""
    if sent.step:
        return turns[-1].number, sent_calls(turns[-1], calls)[sent.step - 1]
    found = ((turn.number, sent_calls(turn, ())) for turn in reversed(turns[:-1]))
    return next(((number, earlier[-1]) for number, earlier in found if earlier), None)
