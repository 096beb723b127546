"""The orchestrator runs a turn: store the message, gather, compose, encode, stream, run tools, store the reply.

It owns no state of the conversation: everything that matters is in the store before and after each step, so a
process that dies in between loses nothing that was accepted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from frontmind.assistant.cache_watch import CacheWatch
from frontmind.assistant.calls import acceptable, numbered, tool_calls
from frontmind.assistant.keeping import TurnKeeper
from frontmind.assistant.listening import Heard, listen
from frontmind.assistant.report import CacheLoss, SystemChange, ToolEnded, ToolStarted, ToolUse, TurnEvent, TurnReport
from frontmind.assistant.running import RunningTurn
from frontmind.assistant.steadiness import SEGMENT_PAUSE
from frontmind.assistant.window_builder import BuiltWindow, WindowBuilder
from frontmind.continuum.collapse import EARLIER_SEGMENTS, left_segments
from frontmind.continuum.fit import window_start_to_fit
from frontmind.continuum.history import unanswered, unanswered_turns
from frontmind.errors import ModelError, RequestRefused, UsageError, WindowTooLarge
from frontmind.events import EventBus
from frontmind.events.outlasting import to_the_end
from frontmind.providers.encoding.encode import window_choice
from frontmind.providers.protocol import Finished, Model, Request, StopReason
from frontmind.stores.protocols import Store
from frontmind.tools.runner import ToolRunner, ToolsCancelled
from frontmind.values.clock import Clock
from frontmind.values.message import Message, Role, user
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.records import Turn, WindowOpening
from frontmind.values.section import PLACEMENT_SYSTEM, Section
from frontmind.values.usage import add_usages
from frontmind.window.blocks import message_text
from frontmind.window.framing import TOOLS, system_fingerprint
from frontmind.window.normalise import normalise

STEP_LIMIT: Final = 16
"""How often in one turn the model may call tools."""


class Orchestrator:
    """Runs the turns of one conversation.

    Args:
        store: where everything is kept.
        model: who answers.
        bus: where the end of a turn is announced.
        builder: makes the window; on the same bus and conversation.
        clock: the only clock of the turn.
        conversation: the conversation's name.
        watch: watches what the cache does with the calls; None for one that knows no prices.
        tools: answers the model's calls; without it a call is kept as text.
        sees: told of the messages that the model will see, when a turn begins.
        begins: called when a turn begins, before anything else.
        step_limit: how often in one turn the model may call tools.
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
        watch: CacheWatch | None = None,
        tools: ToolRunner | None = None,
        sees: Callable[[Sequence[Message]], None] = lambda messages: None,
        begins: Callable[[], None] = lambda: None,
        step_limit: int = STEP_LIMIT,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._store = store
        self._model = model
        self._builder = builder
        self._clock = clock
        self._conversation = conversation
        self._watch = watch or CacheWatch(store=store, model=model, clock=clock, conversation=conversation)
        self._tools = tools
        self._sees = sees
        self._begins = begins
        self._step_limit = step_limit
        self._timer = timer
        self._keeper = TurnKeeper(store=store, model=model, bus=bus, clock=clock, conversation=conversation)

    async def run_turn(
        self,
        text: str,
        *,
        on_text: Callable[[str], None] = lambda piece: None,
        on_event: Callable[[TurnEvent], None] = lambda event: None,
    ) -> TurnReport:
        """Answer a message. When this returns, the reply is stored.

        Args:
            text: the user message; accepted, and on disk, before the model is called.
            on_text: called with each piece of the reply as it comes.
            on_event: called when a tool begins or ends, and when the model is asked again.

        Raises:
            UsageError: the message is blank; nothing was stored.
            RequestRefused: the provider does not take this request. The message waits and goes along with the next
                one; when that one is taken only without it, it is set aside, kept and no longer sent.
            ModelError: the model failed. What it had said, and what its tools had done, is kept as an interrupted
                reply; a message without any of it is kept and sent along with the next one.
            RequiredSectionFailed: a required trinket failed; the message is kept as above.
            asyncio.CancelledError: the turn was cancelled; what had been said and done is kept as above.
        """
        if not text.strip():
            raise UsageError("the message is empty; write something")
        self._begins()
        async with self._store.turn_lock(self._conversation):
            before, first = await self._builder.read()
            before = await self._keeper.settle(before)
            turn = await self._store.begin_turn(
                self._conversation, user(text), self._clock.now(), segment_pause=SEGMENT_PAUSE
            )
            opening = await self._builder.opening(turn, before, first, reader=self._model)
            try:
                running = await self._open(turn, before, first, opening, ())
                return await self._run(running, on_text, on_event)
            except RequestRefused:
                waiting = unanswered_turns(before)
                if not waiting:
                    raise
            # An earlier message went along, and may be what was refused. Only the answer to this one alone proves it.
            alone = [earlier for earlier in before if earlier not in waiting]
            running = await self._open(turn, alone, first, opening, tuple(waiting))
            return await self._run(running, on_text, on_event)

    async def _open(
        self,
        turn: Turn,
        before: Sequence[Turn],
        first: WindowOpening,
        opening: WindowOpening,
        set_aside: tuple[Turn, ...],
    ) -> RunningTurn:
        built, request = await self._prepare(turn, before, opening, ())
        running = RunningTurn(turn, before, first, set_aside, built, built.window, request)
        running.was_full = built.opening != opening
        running.sent = await self._keeper.what_is_sent(running)
        self._sees(built.window.history)
        return running

    async def _prepare(
        self,
        turn: Turn,
        before: Sequence[Turn],
        opening: WindowOpening,
        steps: Sequence[tuple[Message, Message]],
        room: int | None = None,
    ) -> tuple[BuiltWindow, Request]:
        """Compose and encode; turns leave the window until it fits into the model's context."""
        while True:
            built = await self._builder.for_turn(turn, before, opening=opening, reader=self._model, room=room)
            for said, results in steps:
                built = replace(built, window=built.window.extended(said, results))
            request = self._model.encode(built.window)
            following = await self._start_that_fits(before, opening.start, request)
            if following is None:
                return built, request
            opening = await self._builder.moved(turn, before, following, reader=self._model)

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
                f"this turn is too large for {self._model.name}: with it the window has {counted.tokens} tokens, "
                f"and {room} fit; shorten the message or choose a model with a larger context",
                model=self._model.name,
                tokens=counted.tokens,
                limit=limit,
            )
        return following

    async def _run(
        self, running: RunningTurn, on_text: Callable[[str], None], on_event: Callable[[TurnEvent], None]
    ) -> TurnReport:
        change = await self._changed_system(running.built)
        started = self._timer()
        answered = False
        try:
            while True:
                try:
                    finished = await self._ask(running, on_text, on_event)
                except WindowTooLarge as error:
                    await self._leave_out(running, error)
                    continue
                if self._tools is None or not self._goes_on(running, finished):
                    break
                await self._step(running, finished, self._tools, on_event)
            answered = True
        except RequestRefused as error:
            if not running.heard.text.strip() and not running.steps:
                raise
            if running.steps and not running.heard.text:
                # Everything but the newest results was taken before. Sent again, they would be refused for ever.
                await to_the_end(self._keeper.refuse_results(running))
            # What was said and done is kept, so the turn is answered; only its end is missing.
            raise ModelError(f"the reply broke off: {error}", model=self._model.name) from error
        finally:
            if not answered:
                await to_the_end(self._keeper.keep_interrupted(running))
        seconds = self._timer() - started
        # A call that nothing answers would make the history invalid: it stays as text.
        reply = normalise([user("?"), finished.message]).messages[1]
        await to_the_end(self._keeper.keep(running, reply, finished.usage, interrupted=False))
        return self._report(running, replace(finished, message=reply), change, started, seconds)

    def _goes_on(self, running: RunningTurn, finished: Finished) -> bool:
        # What was refused is not carried out either, whatever stood in front of the refusal.
        called = tool_calls(finished.message) and finished.stop is not StopReason.REFUSAL
        return bool(called) and len(running.steps) <= self._step_limit

    async def _ask(
        self, running: RunningTurn, on_text: Callable[[str], None], on_event: Callable[[TurnEvent], None]
    ) -> Finished:
        running.heard = Heard()
        running.request_hash = await self._store.save_request(running.request)
        framing = window_choice(running.window, self._model.profile, self._model.framing).framing
        watched = await self._watch.before(
            running.request,
            running.request_hash,
            turn=running.turn.number,
            step=len(running.steps),
            framing=framing,
        )
        if watched.loss is not None:
            on_event(CacheLoss(watched.loss))
        try:
            finished = await listen(
                self._model,
                self._watch.request_to_send(running.request),
                running.heard,
                sections=[EARLIER_SEGMENTS, *(section.name for section in running.window.sections)],
                timer=self._timer,
                on_text=on_text,
                on_retry=on_event,
            )
        finally:
            running.note_heard()
        running.usages.append(finished.usage)
        running.calls.append(await to_the_end(self._watch.after(watched, finished)))
        return finished

    async def _leave_out(self, running: RunningTurn, error: WindowTooLarge) -> None:
        """Let old turns leave the window: by the sizes that the provider told, or half of it where it told none.

        Raises:
            WindowTooLarge: none is left.
        """
        told: int | None = None
        if error.tokens is not None and error.limit is not None:
            tokens, room = error.tokens, error.limit - min(self._model.max_output_tokens, error.limit // 4)
            told = room
        else:
            tokens = room = (await self._model.count_request(running.request)).tokens
        following = window_start_to_fit(running.before, start=running.built.opening.start, tokens=tokens, room=room)
        if following is None:
            raise error
        await self._move(running, following, told)

    async def _move(self, running: RunningTurn, start: int, room: int | None = None) -> None:
        opening = await self._builder.moved(running.turn, running.before, start, reader=self._model, room=room)
        running.built, running.request = await self._prepare(running.turn, running.before, opening, running.steps, room)
        running.was_full = True
        running.window = running.built.window
        running.sent = await self._keeper.what_is_sent(running)
        # The steps so far are sent anew, without what was said beside them before.
        await self._keeper.note_steps(running, since=1)

    async def _step(
        self,
        running: RunningTurn,
        finished: Finished,
        tools: ToolRunner,
        on_event: Callable[[TurnEvent], None],
    ) -> None:
        """Carry out the calls of a reply, and make the window of the next call with their results."""
        called = numbered(finished.message, running.window.has_call)
        said = acceptable(called)
        await to_the_end(self._keeper.begin_step(running, said, finished.usage))
        calls = tool_calls(called)
        for call in calls:
            on_event(ToolStarted(call))
        try:
            results = await self._results(running, tools, said, calls)
        except ToolsCancelled as cancelled:
            await to_the_end(self._keeper.finish_step(running, said, Message(Role.USER, cancelled.results)))
            raise
        await to_the_end(self._keeper.finish_step(running, said, Message(Role.USER, results)))
        for call, result in zip(calls, results, strict=True):
            on_event(ToolEnded(call, result))
            running.tools.append(ToolUse(len(running.steps), call.name, result.is_error))
        await self._extend(running)

    async def _results(
        self, running: RunningTurn, tools: ToolRunner, said: Message, calls: Sequence[ToolCall]
    ) -> tuple[ToolResult, ...]:
        if len(running.steps) < self._step_limit:
            return tuple(await tools.run_calls(calls))
        return unanswered(said, f"Not run: {self._step_limit} steps with tools are the limit of one turn. Answer now.")

    async def _extend(self, running: RunningTurn) -> None:
        """The window of the next call: the same bytes, the step, and the sections that it has changed."""
        changed, running.built = await self._builder.changed(running.built, running.window)
        running.window = running.window.extended(*running.steps[-1], changed=changed)
        running.request = self._model.encode(running.window)
        following = await self._start_that_fits(running.before, running.built.opening.start, running.request)
        if following is not None:
            await self._move(running, following)
        else:
            await self._keeper.note_steps(running, since=len(running.steps))

    def _report(
        self,
        running: RunningTurn,
        finished: Finished,
        change: SystemChange | None,
        started: float,
        seconds: float,
    ) -> TurnReport:
        expected = [call.new.expected.cached for call in running.calls if call.new.expected is not None]
        first_cached = running.usages[0].cached
        return TurnReport(
            turn=running.turn.number,
            reply=finished.message.text,
            model=self._model.name,
            framing=running.window.framing or self._model.framing,
            window=running.window,
            request=running.request_hash,
            usage=add_usages(running.usages),
            last_usage=finished.usage,
            expected_cached=sum(expected) if len(expected) == len(running.calls) else None,
            stop=finished.stop,
            first_token_seconds=seconds if running.first_at is None else running.first_at - started,
            seconds=seconds,
            failures=running.built.failures,
            system_change=change and replace(change, tokens=max(0, change.tokens - first_cached)),
            left_out=running.built.opening.start - running.first.start,
            collapsed=len(left_segments(running.before, running.first.start, running.built.opening.start)),
            was_full=running.was_full,
            set_aside=len(running.set_aside),
            joined=len(running.built.continuum.unanswered) - len(running.turn.user.parts),
            tools=tuple(running.tools),
            shortened=running.built.shortened,
            scrubbed=running.scrubbed,
            retries=running.retries,
            calls=tuple(running.calls),
            problems=self._watch.take_problems(),
        )

    async def _changed_system(self, built: BuiltWindow) -> SystemChange | None:
        """The system sections that changed since the last answered turn, and what they stand in front of, in tokens:
        without the change, system and history up to the last exchange would have come from the cache.
        """
        last = built.continuum.last_done
        if last is None or not last.system_fingerprint:
            return None
        now = system_fingerprint(built.window)
        # Of a turn that nobody could bring to its end the tools were not noted.
        then = {TOOLS: now.get(TOOLS), **last.system_fingerprint}
        changed = sorted(name for name in {*now, *then} if now.get(name) != then.get(name))
        if not changed:
            return None
        stable = [section.content for section in _system(built.window.sections)]
        stable += [message_text(message) for message in built.window.history[:-2]]
        counted = await self._model.count_text("\n\n".join(stable))
        return SystemChange(tuple(changed), counted.tokens)


def _system(sections: Sequence[Section]) -> list[Section]:
    return [section for section in sections if section.placement == PLACEMENT_SYSTEM]
