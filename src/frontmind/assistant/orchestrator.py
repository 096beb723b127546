"""The orchestrator runs a turn: store the message, gather, compose, encode, stream, run tools, store the reply.

It owns no state of the conversation: everything that matters is in the store before and after each step, so a
process that dies in between loses nothing that was accepted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from frontmind.assistant.asked import asked_message
from frontmind.assistant.cache_watch import CacheWatch
from frontmind.assistant.caller import NOBODY, Caller
from frontmind.assistant.calls import to_carry_out
from frontmind.assistant.fitting import FittingWindows
from frontmind.assistant.going_back import Place, replaced_behind
from frontmind.assistant.keeping import TurnKeeper
from frontmind.assistant.listening import Heard, listen
from frontmind.assistant.report import CacheLoss, TurnAccepted, TurnEvent, TurnReport
from frontmind.assistant.running import RunningTurn
from frontmind.assistant.steadiness import SEGMENT_PAUSE
from frontmind.assistant.stepping import Steps
from frontmind.assistant.turn_report import changed_system, turn_report
from frontmind.assistant.waiting import require_answers, steps_as_said, waiting_turn, waits_for
from frontmind.assistant.window_builder import WindowBuilder
from frontmind.continuum.collapse import EARLIER_SEGMENTS
from frontmind.continuum.history import unanswered_turns
from frontmind.errors import ModelError, RequestRefused, WindowTooLarge
from frontmind.events import EventBus
from frontmind.events.outlasting import to_the_end
from frontmind.providers.encoding.encode import window_choice
from frontmind.providers.protocol import Finished, Model, StopReason
from frontmind.stores.protocols import Store
from frontmind.tools.runner import ToolRunner
from frontmind.values.clock import Clock
from frontmind.values.message import Message, user
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.records import Turn, WindowOpening
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
        self._sees = sees
        self._begins = begins
        self._timer = timer
        self._windows = FittingWindows(builder, model)
        # Made again from the store, it would have the same messages; kept, it has the same notification center too.
        self._waiting: RunningTurn | None = None
        self._keeper = TurnKeeper(store=store, model=model, bus=bus, clock=clock, conversation=conversation)
        self._steps = Steps(self._keeper, tools, step_limit)

    async def run_turn(
        self,
        asked: str | Message,
        *,
        caller: Caller = NOBODY,
        place: Place | None = None,
        on_accepting: Callable[[], None] = lambda: None,
        on_text: Callable[[str], None] = lambda piece: None,
        on_event: Callable[[TurnEvent], None] = lambda event: None,
    ) -> TurnReport:
        """Answer a message. When this returns, the reply is stored, or the turn waits for its caller.

        A turn that waits for its caller until now is closed.

        Args:
            asked: the user message, words or texts, pictures and documents; accepted, and on disk, before the model is
                called.
            caller: the program that asks. Where the model calls a tool of it, the report says what the turn waits for,
                and `continue_turn` goes on.
            place: where in the conversation the turn begins; None for its end. What is not in front of it is kept, and
                no longer sent.
            on_accepting: called when nobody else can have the conversation any more: from here on the message will be
                on disk, whatever is cancelled.
            on_text: called with each piece of the reply as it comes.
            on_event: called when the message is on disk, when a tool begins or ends, and when the model is asked again.

        Raises:
            UsageError: the message is blank or cannot be sent, or there is no such place; nothing was stored.
            RequestRefused: the provider does not take this request. The message waits and goes along with the next
                one; when that one is taken only without it, it is set aside, kept and no longer sent.
            ModelError: the model failed. What it had said, and what its tools had done, is kept as an interrupted
                reply; a message without any of it is kept and sent along with the next one.
            RequiredSectionFailed: a required trinket failed; the message is kept as above.
            asyncio.CancelledError: the turn was cancelled; what had been said and done is kept as above.
        """
        message = asked_message(asked, model=self._model.name, inputs=self._model.profile.inputs)
        self._begins()
        async with self._store.turn_lock(self._conversation):
            on_accepting()
            turn, before, first = await to_the_end(self._accept(message, place, on_event))
            opening = await self._builder.opening(turn, before, first, reader=self._model)
            try:
                running = await self._open(turn, before, first, opening, caller)
                return await self._run(running, on_text, on_event)
            except RequestRefused:
                waiting = unanswered_turns(before)
                if not waiting:
                    raise
            # An earlier message went along, and may be what was refused. Only the answer to this one alone proves it.
            alone = [earlier for earlier in before if earlier not in waiting]
            running = await self._open(turn, alone, first, opening, caller, set_aside=tuple(waiting))
            return await self._run(running, on_text, on_event)

    async def _accept(
        self, message: Message, place: Place | None, on_event: Callable[[TurnEvent], None]
    ) -> tuple[Turn, Sequence[Turn], WindowOpening]:
        """Begin the turn and say so; what was said in front of it, and where the window began there."""
        line = None if place is None else await place.line(await self._store.line(self._conversation))
        turn = await self._store.begin_turn(
            self._conversation, message, self._clock.now(), segment_pause=SEGMENT_PAUSE, line=line
        )
        self._waiting = None
        if place is not None:
            await place.taken(turn)
        on_event(TurnAccepted(turn))
        turns, first = await self._builder.read()
        return turn, await self._keeper.settle([one for one in turns if one.number < turn.number]), first

    async def continue_turn(
        self,
        results: Sequence[ToolResult],
        *,
        caller: Caller = NOBODY,
        on_accepting: Callable[[], None] = lambda: None,
        on_text: Callable[[str], None] = lambda piece: None,
        on_event: Callable[[TurnEvent], None] = lambda event: None,
    ) -> TurnReport:
        """Go on with the turn that waits for its caller. When this returns, the reply is stored, or it waits again.

        Args:
            results: one for each call that the turn waits for.
            caller: the program that asks, as it was; the window is made anew for another one.
            on_accepting: as in `run_turn`, of the results.
            on_text: called with each piece of the reply as it comes.
            on_event: as in `run_turn`; called first when the results are on disk.

        Returns:
            A report whose figures count from here.

        Raises:
            UsageError: no turn waits, or not for these results; nothing was stored.
            ModelError, RequiredSectionFailed, asyncio.CancelledError: as in `run_turn`. Once the results are on disk,
                the turn ends as an interrupted one; before, it still waits.
        """
        async with self._store.turn_lock(self._conversation):
            turns, first = await self._builder.read()
            turn = waiting_turn(turns)
            require_answers(waits_for(turn), results)
            self._begins()
            running = await self._resumed(turn, [one for one in turns if one.number < turn.number], first, caller)
            awaited = {call.id for call in waits_for(turn)}
            own = [call for call in to_carry_out(turn.steps[-1].said) if call.id not in awaited]
            on_accepting()
            try:
                await to_the_end(self._take(running, turn, results, on_event))
            except asyncio.CancelledError:
                await to_the_end(self._keeper.keep_interrupted(running))
                raise
            return await self._run(running, on_text, on_event, own_calls=own)

    async def _take(
        self,
        running: RunningTurn,
        turn: Turn,
        results: Sequence[ToolResult],
        on_event: Callable[[TurnEvent], None],
    ) -> None:
        """Store the results that the turn has waited for, and say so."""
        await self._steps.take_answers(running, turn.steps[-1].said, results)
        self._waiting = None
        on_event(TurnAccepted(turn))

    async def _open(
        self,
        turn: Turn,
        before: Sequence[Turn],
        first: WindowOpening,
        opening: WindowOpening,
        caller: Caller,
        *,
        set_aside: tuple[Turn, ...] = (),
        steps: Sequence[tuple[Message, Message]] = (),
    ) -> RunningTurn:
        built, request = await self._windows.of_turn(turn, before, opening, caller, steps)
        running = RunningTurn(turn, before, first, set_aside, built, built.window, request, steps=list(steps))
        running.was_full = built.opening != opening
        running.sent = await self._keeper.what_is_sent(running)
        self._sees([*built.window.history, *built.window.turn])
        return running

    async def _resumed(self, turn: Turn, before: Sequence[Turn], first: WindowOpening, caller: Caller) -> RunningTurn:
        """The turn as it was when it began to wait; made again where this process does not know it."""
        kept = self._waiting
        if kept is not None and kept.is_at(turn, before) and (kept.first, kept.built.caller) == (first, caller):
            kept.resume()
            return kept
        before = await self._keeper.settle(before)
        opening = await self._builder.opening(turn, before, first, reader=self._model)
        if turn.sent is not None and turn.sent.window_start > opening.start:
            opening = await self._builder.moved(turn, before, turn.sent.window_start, reader=self._model)
        running = await self._open(turn, before, first, opening, caller, steps=steps_as_said(turn))
        running.waits = turn.steps[-1].said
        running.kept = {number: step.results for number, step in enumerate(turn.steps, 1) if step.results is not None}
        await self._keeper.note_steps(running, since=1)
        running.resume()
        return running

    async def _run(
        self,
        running: RunningTurn,
        on_text: Callable[[str], None],
        on_event: Callable[[TurnEvent], None],
        *,
        own_calls: Sequence[ToolCall] | None = None,
    ) -> TurnReport:
        """Run a turn that was opened; or one whose caller has come back, with what is still to run of its step."""
        change = await changed_system(running.built, self._model) if own_calls is None else None
        started = self._timer()
        ended = False
        awaited: tuple[ToolCall, ...] = ()
        try:
            if own_calls is not None:
                await self._steps.finish_answered(running, own_calls, on_event)
                await self._extend(running)
            while True:
                try:
                    finished = await self._ask(running, on_text, on_event)
                except WindowTooLarge as error:
                    await self._move(running, *await self._windows.start_behind(running, error))
                    continue
                if not self._steps.follow(running, finished):
                    break
                if awaited := await self._steps.wait(running, finished):
                    break
                await self._steps.carry_out(running, finished, on_event)
                await self._extend(running)
            ended = True
        except RequestRefused as error:
            if not running.heard.text.strip() and not running.steps:
                raise
            if running.steps and not running.heard.text:
                # Everything but the newest results was taken before. Sent again, they would be refused for ever.
                await to_the_end(self._keeper.refuse_results(running))
            # What was said and done is kept, so the turn is answered; only its end is missing.
            raise ModelError(f"the reply broke off: {error}", model=self._model.name) from error
        finally:
            if not ended:
                await to_the_end(self._keeper.keep_interrupted(running))
        seconds = self._timer() - started
        if awaited:
            self._waiting = running
            finished = replace(finished, stop=StopReason.TOOL_CALLS)
        else:
            # A call that nothing answers would make the history invalid: it stays as text.
            reply = normalise([user("?"), finished.message]).messages[1]
            await to_the_end(self._keeper.keep(running, reply, finished.usage, interrupted=False))
            finished = replace(finished, message=reply)
        return turn_report(
            running,
            finished,
            self._model,
            change=change,
            started=started,
            seconds=seconds,
            problems=self._watch.take_problems(),
            waits_for=awaited,
        )

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
            replaced=replaced_behind(running.before),
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

    async def _move(self, running: RunningTurn, start: int, room: int | None = None) -> None:
        running.built, running.request = await self._windows.moved(running, start, room)
        running.was_full = True
        running.window = running.built.window
        running.sent = await self._keeper.what_is_sent(running)
        # The steps so far are sent anew, without what was said beside them before.
        await self._keeper.note_steps(running, since=1)

    async def _extend(self, running: RunningTurn) -> None:
        """The window of the next call: the same bytes, the step, and the sections that it has changed."""
        changed, running.built = await self._builder.changed(running.built, running.window)
        running.window = running.window.extended(*running.steps[-1], changed=changed)
        running.request = self._model.encode(running.window)
        following = await self._windows.start_that_fits(running.before, running.built.opening.start, running.request)
        if following is not None:
            await self._move(running, following)
        else:
            await self._keeper.note_steps(running, since=len(running.steps))
