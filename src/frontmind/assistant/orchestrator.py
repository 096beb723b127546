"""The orchestrator runs a turn: store the message, gather, compose, encode, stream, store the reply.

It owns no state of the conversation: everything that matters is in the store before and after each step, so a
process that dies in between loses nothing that was accepted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from frontmind.assistant.report import SystemChange, TurnReport
from frontmind.assistant.window_builder import BuiltWindow, WindowBuilder
from frontmind.continuum.fit import window_start_to_fit
from frontmind.continuum.history import unanswered_turns
from frontmind.errors import ModelError, RequestRefused, UsageError, WindowTooLarge
from frontmind.events import EventBus, TurnCompletedEvent
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.protocol import Finished, Model, Request, TextDelta
from frontmind.stores.protocols import Store
from frontmind.values.clock import Clock
from frontmind.values.message import Message, assistant, user
from frontmind.values.records import Completion, Sent, Turn
from frontmind.values.section import PLACEMENT_SYSTEM
from frontmind.values.usage import Usage
from frontmind.window.blocks import message_text
from frontmind.window.framing import kept_notices, notification_fingerprint, prefix_identity, system_fingerprint
from frontmind.window.normalise import normalise

SEGMENT_PAUSE = timedelta(minutes=60)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Everything that is fixed before the model is called; the last three become true only with its answer.

    Attributes:
        start: the number of the first turn in the window.
        left_out: how many turns have left it for this.
        set_aside: earlier unanswered turns that are not sent, because with them the request was refused.
    """

    built: BuiltWindow
    request: Request
    start: int
    left_out: int
    set_aside: tuple[Turn, ...]


@dataclass(slots=True)
class _Received:
    """What has come from the model so far."""

    pieces: list[str] = field(default_factory=list)
    first_at: float | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Orchestrator:
    """Runs the turns of one conversation.

    Args:
        store: where everything is kept.
        model: who answers.
        bus: where the end of a turn is announced.
        builder: makes the window; on the same bus and conversation.
        clock: the only clock of the turn.
        conversation: the conversation's name.
        timer: seconds from an arbitrary start, for durations.
    """

    def __init__(
        self,
        *,
        store: Store,
        model: Model,
        bus: EventBus,
        builder: WindowBuilder,
        clock: Clock,
        conversation: str,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._store = store
        self._model = model
        self._bus = bus
        self._builder = builder
        self._clock = clock
        self._conversation = conversation
        self._timer = timer

    async def run_turn(self, text: str, *, on_text: Callable[[str], None] | None = None) -> TurnReport:
        """Answer a message. When this returns, the reply is stored.

        Args:
            text: the user message; accepted, and on disk, before the model is called.
            on_text: called with each piece of the reply as it comes.

        Raises:
            UsageError: the message is blank; nothing was stored.
            RequestRefused: the provider does not take this request. The message waits and goes along with the next
                one; when that one is taken only without it, it is set aside, kept and no longer sent.
            ModelError: the model failed. What it had said is kept as an interrupted reply; a message without any
                reply is kept and sent along with the next one.
            RequiredSectionFailed: a required trinket failed; the message is kept as above.
            asyncio.CancelledError: the turn was cancelled; what had been said is kept as above.
        """
        if not text.strip():
            raise UsageError("the message is empty; write something")
        async with self._store.turn_lock(self._conversation):
            before, start = await self._builder.read()
            turn = await self._store.begin_turn(
                self._conversation, user(text), self._clock.now(), segment_pause=SEGMENT_PAUSE
            )
            try:
                return await self._attempt(turn, before, start, on_text)
            except RequestRefused:
                waiting = unanswered_turns(before)
                if not waiting:
                    raise
            # An earlier message went along, and may be what was refused. Only the answer to this one alone proves it.
            alone = [earlier for earlier in before if earlier not in waiting]
            return await self._attempt(turn, alone, start, on_text, set_aside=tuple(waiting))

    async def _attempt(
        self,
        turn: Turn,
        before: Sequence[Turn],
        first: int,
        on_text: Callable[[str], None] | None,
        *,
        set_aside: tuple[Turn, ...] = (),
    ) -> TurnReport:
        """Ask until the window is small enough for the provider, which may be the only one that knows the limit."""
        start = first
        while True:
            prepared = await self._prepare(turn, before, first, start, set_aside)
            try:
                return await self._ask(turn, prepared, on_text)
            except WindowTooLarge as error:
                room = error.limit - min(self._model.max_output_tokens, error.limit // 4)
                following = window_start_to_fit(before, start=prepared.start, tokens=error.tokens, room=room)
                if following is None:
                    raise
                start = following

    async def _prepare(
        self, turn: Turn, before: Sequence[Turn], first: int, start: int, set_aside: tuple[Turn, ...]
    ) -> _Prepared:
        """Compose and encode; turns leave the window until it fits into the model's context."""
        while True:
            built = await self._builder.for_turn(turn, before, window_start=start, reader=self._model)
            request = self._model.encode(built.window)
            following = await self._start_that_fits(before, start, request)
            if following is None:
                return _Prepared(built, request, start, left_out=start - first, set_aside=set_aside)
            start = following

    async def _start_that_fits(self, turns: Sequence[Turn], start: int, request: Request) -> int | None:
        """The first turn that may stay, or None when the request fits as it is.

        Raises:
            WindowTooLarge: it does not fit, and no turn is left to leave out.
        """
        limit = self._model.context_limit
        if limit is None:
            return None
        counted = await self._model.count_request(request)
        room = limit - min(self._model.max_output_tokens, limit // 4)
        if counted.tokens <= room:
            return None
        following = window_start_to_fit(turns, start=start, tokens=counted.tokens, room=room)
        if following is None:
            raise WindowTooLarge(
                f"the message is too large for {self._model.name}: with it the window has {counted.tokens} tokens, "
                f"and {room} fit; shorten it or choose a model with a larger context",
                model=self._model.name,
                tokens=counted.tokens,
                limit=limit,
            )
        return following

    async def _ask(self, turn: Turn, prepared: _Prepared, on_text: Callable[[str], None] | None) -> TurnReport:
        change = await self._changed_system(prepared.built)
        expected = await self._model.expected_cached(prepared.request)
        request_hash = await self._store.save_request(prepared.request)
        received = _Received()
        started = self._timer()
        answered = False
        try:
            finished = await self._receive(prepared.request, received, on_text)
            answered = True
        except RequestRefused as error:
            if not received.text.strip():
                raise
            # What was said is kept, so the turn is answered; only its end is missing.
            raise ModelError(f"the reply broke off: {error}", model=self._model.name) from error
        finally:
            if not answered:
                await _to_the_end(self._keep_interrupted(turn, prepared, request_hash, received.text))
        seconds = self._timer() - started
        await _to_the_end(self._keep(turn, prepared, request_hash, finished.message, finished.usage, interrupted=False))
        return TurnReport(
            turn=turn.number,
            reply=finished.message.text,
            model=self._model.name,
            framing=self._model.framing,
            window=prepared.built.window,
            request=request_hash,
            usage=finished.usage,
            expected_cached=expected,
            stop=finished.stop,
            first_token_seconds=seconds if received.first_at is None else received.first_at - started,
            seconds=seconds,
            failures=prepared.built.failures,
            system_change=change and replace(change, tokens=max(0, change.tokens - finished.usage.cached)),
            left_out=prepared.left_out,
            set_aside=len(prepared.set_aside),
            joined=len(prepared.built.continuum.unanswered) - len(turn.user.parts),
        )

    async def _receive(self, request: Request, received: _Received, on_text: Callable[[str], None] | None) -> Finished:
        finished: Finished | None = None
        stream = self._model.stream(request)
        try:
            async for event in stream:
                if isinstance(event, TextDelta):
                    if received.first_at is None:
                        received.first_at = self._timer()
                    received.pieces.append(event.text)
                    if on_text is not None:
                        on_text(event.text)
                else:
                    finished = event
        finally:
            # Ends the call at the provider now, and not when the garbage collector comes by.
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        if finished is None:
            raise ModelError(f"{self._model.name} broke off in the middle; try again", model=self._model.name)
        if not message_text(finished.message).strip():
            raise ModelError(f"{self._model.name} gave an empty reply; send the message again", model=self._model.name)
        # Nothing answers a tool call yet, and a call without its result would make the history invalid.
        return replace(finished, message=normalise([user("?"), finished.message]).messages[1])

    async def _keep_interrupted(self, turn: Turn, prepared: _Prepared, request_hash: str, text: str) -> None:
        """Keep the reply that was cut off; without one, the turn stays open and its message waits for the next."""
        if not text.strip():
            return
        # Estimated: the model may be the very thing that failed.
        usage = Usage(estimate_request(prepared.request), 0, 0, estimate_tokens(text), estimated=True)
        await self._keep(turn, prepared, request_hash, assistant(text), usage, interrupted=True)

    async def _keep(
        self,
        turn: Turn,
        prepared: _Prepared,
        request_hash: str,
        reply: Message,
        usage: Usage,
        *,
        interrupted: bool,
    ) -> None:
        window = prepared.built.window
        completion = Completion(
            reply=reply,
            answered_at=self._clock.now(),
            request=request_hash,
            model=self._model.name,
            usage=usage,
            interrupted=interrupted,
            system_fingerprint=system_fingerprint(window.sections),
            sent=Sent(
                notices=kept_notices(window, self._model.framing),
                sections=notification_fingerprint(window.sections),
                window_start=prepared.start,
                head=prefix_identity(window, self._model.framing),
            ),
        )
        for earlier in prepared.set_aside:
            await self._store.refuse_turn(earlier.id)
        if prepared.left_out:
            await self._store.move_window_start(self._conversation, prepared.start)
        await self._store.complete_turn(turn.id, completion)
        await self._bus.publish(
            TurnCompletedEvent(prepared.built.context, turn.user, reply, usage, completion.answered_at)
        )

    async def _changed_system(self, built: BuiltWindow) -> SystemChange | None:
        """The system sections that changed since the last answered turn, and what they stand in front of, in tokens:
        without the change, system and history up to the last exchange would have come from the cache.
        """
        last = built.continuum.last_done
        if last is None or not last.system_fingerprint:
            return None
        now, then = system_fingerprint(built.window.sections), last.system_fingerprint
        changed = sorted(name for name in {*now, *then} if now.get(name) != then.get(name))
        if not changed:
            return None
        stable = [section.content for section in built.window.sections if section.placement == PLACEMENT_SYSTEM]
        stable += [message_text(message) for message in built.window.history[:-2]]
        counted = await self._model.count_text("\n\n".join(stable))
        return SystemChange(tuple(changed), counted.tokens)


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do the work even when cancelled meanwhile, and raise the cancellation only then: what was said is kept first."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
