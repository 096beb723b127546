"""Carries out the steps of a turn: what the model called is stored, run where it is ours to run, and answered.

Knows neither the window of the next call nor who is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from frontmind.assistant.calls import acceptable, numbered, to_carry_out, tool_calls
from frontmind.assistant.keeping import TurnKeeper
from frontmind.assistant.report import ToolEnded, ToolStarted, ToolUse, TurnEvent
from frontmind.assistant.running import RunningTurn
from frontmind.assistant.waiting import answers, caller_calls
from frontmind.continuum.history import LOST, unanswered
from frontmind.events.outlasting import to_the_end
from frontmind.providers.protocol import Finished, StopReason
from frontmind.tools.runner import ToolRunner, ToolsCancelled
from frontmind.values.message import Message, Role
from frontmind.values.parts import ToolCall, ToolResult


class Steps:
    """The steps of the turns of one conversation.

    Args:
        keeper: stores them.
        tools: runs the calls; None where there are no tools but those of a caller.
        limit: how often in one turn the model may call tools.
    """

    def __init__(self, keeper: TurnKeeper, tools: ToolRunner | None, limit: int) -> None:
        self._keeper = keeper
        self._tools = tools
        self._limit = limit

    def follow(self, running: RunningTurn, finished: Finished) -> bool:
        """Whether the calls of this reply are a step, and the model is asked again behind it."""
        called = tool_calls(finished.message)
        # What was refused is not carried out either, whatever stood in front of the refusal.
        if not called or finished.stop is StopReason.REFUSAL or len(running.steps) > self._limit:
            return False
        return self._tools is not None or self._is_for_caller(running, finished)

    async def wait(self, running: RunningTurn, finished: Finished) -> tuple[ToolCall, ...]:
        """Where the reply calls tools of the caller: store it as a step of which nothing is run.

        Returns:
            The calls that the caller must answer.
        """
        if not self._is_for_caller(running, finished):
            return ()
        said = acceptable(numbered(finished.message, running.window.has_call))
        await to_the_end(self._keeper.begin_step(running, said, finished.usage))
        return caller_calls(said, running.built.caller.tool_names)

    async def carry_out(self, running: RunningTurn, finished: Finished, on_event: Callable[[TurnEvent], None]) -> None:
        """Run the calls of a reply, none of which is the caller's.

        Raises:
            ToolsCancelled: this was cancelled; what the tools had done is stored.
        """
        said = acceptable(numbered(finished.message, running.window.has_call))
        await to_the_end(self._keeper.begin_step(running, said, finished.usage))
        calls = to_carry_out(said)
        for call in calls:
            on_event(ToolStarted(call))
        try:
            results = await self._results(running, said, calls)
        except ToolsCancelled as cancelled:
            await to_the_end(self._keeper.finish_step(running, said, Message(Role.USER, cancelled.results)))
            raise
        await to_the_end(self._keeper.finish_step(running, said, Message(Role.USER, results)))
        for call, result in zip(calls, results, strict=True):
            on_event(ToolEnded(call, result))
            running.tools.append(ToolUse(len(running.steps), call.name, result.is_error))

    async def take_answers(self, running: RunningTurn, said: Message, results: Sequence[ToolResult]) -> None:
        """Store what the caller gave back for its calls of a step that waited."""
        taken = results if self._tools is None else await self._tools.take_results(results)
        # What the step's own tools did is unknown until `finish_answered` has run them.
        stored = answers(said, [*unanswered(said, LOST), *taken])
        await to_the_end(self._keeper.finish_step(running, said, stored))

    async def finish_answered(
        self, running: RunningTurn, own_calls: Sequence[ToolCall], on_event: Callable[[TurnEvent], None]
    ) -> None:
        """Run what of a step was put off until its caller came back.

        Raises:
            ToolsCancelled: this was cancelled; what the tools had done is stored.
        """
        said, results = running.steps[-1]
        known = [part for part in results.parts if isinstance(part, ToolResult)]
        fresh: Sequence[ToolResult] = ()
        if own_calls and self._tools is not None:
            for call in own_calls:
                on_event(ToolStarted(call))
            try:
                fresh = await self._tools.run_calls(own_calls)
            except ToolsCancelled as cancelled:
                await to_the_end(self._keeper.complete_step(running, answers(said, [*known, *cancelled.results])))
                raise
            await to_the_end(self._keeper.complete_step(running, answers(said, [*known, *fresh])))
            for call, result in zip(own_calls, fresh, strict=True):
                on_event(ToolEnded(call, result))
        failed = {result.call_id: result.is_error for result in (*known, *fresh)}
        running.tools += [ToolUse(len(running.steps), call.name, failed[call.id]) for call in tool_calls(said)]

    def _is_for_caller(self, running: RunningTurn, finished: Finished) -> bool:
        names = running.built.caller.tool_names
        return len(running.steps) < self._limit and bool(caller_calls(acceptable(finished.message), names))

    async def _results(self, running: RunningTurn, said: Message, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        if self._tools is not None and len(running.steps) < self._limit:
            return tuple(await self._tools.run_calls(calls))
        return unanswered(said, f"Not run: {self._limit} steps with tools are the limit of one turn. Answer now.")
