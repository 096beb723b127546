"""Running the calls of one step: at the same time, each within its limit, every one with a result.

Whatever a tool does, the model is told of it and the turn goes on. Knows neither the window nor the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, TypeVar

from frontmind.continuum.history import LOST
from frontmind.errors import RunError, ToolError, error_text
from frontmind.events.outlasting import despite_cancelling
from frontmind.tools.attachments import with_fitting_attachments
from frontmind.tools.results import close, measure, prepare, share
from frontmind.tools.tool import DelegatingTool, RunnableTool, ToolLookup, ToolOutput
from frontmind.values.clock import Clock
from frontmind.values.harmless import one_line
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.window.canonical import Json, parse_json

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Observed: TypeAlias = tuple[ToolOutput, datetime]

CLEANUP_SECONDS = 1.0
"""How long a tool that is cancelled may take to clean up; then it is left behind."""

_NOT_RUN = "not run"
# A call that was refused takes this share of the step's characters at most to say more than that.
_REFUSED_SHARE = 4


class ToolsCancelled(asyncio.CancelledError):
    """A step was cancelled; what its tools had done by then is not lost.

    Whoever awaits this in an `asyncio.timeout` gets this error and no TimeoutError, since it is a subclass.

    Attributes:
        results: one for each call of the step, in their order; of a call that was not finished one that says so.
    """

    def __init__(self, results: Sequence[ToolResult]) -> None:
        super().__init__("the step was cancelled while its tools ran")
        self.results = tuple(results)


class ToolRunner:
    """Answers the model's calls.

    Args:
        tools: finds a tool by the name that the model called, such as a `Toolbox` or a dict.
        clock: for the moment at which a result was observed.
        result_limit: the most characters of one result.
        step_limit_characters: the most characters of all results of one step.
        save: keeps the full text of an oversized result and returns the reference for ``read_result``; without it
            what is left out cannot be read.
        guarded: the names of elements whose tags no result may have, or what tells them when they are needed.
        inputs: the media types that the model takes beside text, or what tells them when they are needed; None where
            nobody knows. An attachment of another type is named in the text and left out.
        attachment_limit: the most characters of base64 that the attachments of one result have together.
        calls_limit: how many calls of one step are run; the others have a result that says so.
    """

    def __init__(
        self,
        tools: ToolLookup,
        *,
        clock: Clock,
        result_limit: int = 16_000,
        step_limit_characters: int = 48_000,
        save: Callable[[str], Awaitable[str]] | None = None,
        guarded: Callable[[], frozenset[str]] | frozenset[str] = frozenset(),
        inputs: Callable[[], frozenset[str]] | frozenset[str] | None = None,
        attachment_limit: int = 5_000_000,
        calls_limit: int = 64,
    ) -> None:
        self._tools = tools
        self._clock = clock
        self._result_limit = result_limit
        self._step_limit = step_limit_characters
        self._save = save
        self._guarded = guarded
        self._inputs = inputs
        self._attachment_limit = attachment_limit
        self._calls_limit = calls_limit

    async def run_calls(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The results of all calls, in the order of the calls.

        A call that cannot be carried out has a result that says why.

        Raises:
            ToolsCancelled: this was cancelled; so were the tools that still ran, after `CLEANUP_SECONDS` to clean up.
            StoreError: an oversized result could not be saved.
        """
        running = [asyncio.ensure_future(self._observe(call)) for call in calls[: self._calls_limit]]
        try:
            if running:
                await asyncio.wait(running)
            return await self._fit(calls, running)
        except asyncio.CancelledError as error:
            raise ToolsCancelled(await despite_cancelling(self._break_off(calls, running))) from error

    async def take_results(self, results: Sequence[ToolResult]) -> list[ToolResult]:
        """Results of tools that somebody else has run, made as fit and harmless as those of calls that are run here.

        Raises:
            StoreError: an oversized result could not be saved.
        """
        inputs, moment = self._taken_inputs(), self._clock.now()
        outputs = (ToolOutput(result.text, result.is_error, result.attachments) for result in results)
        observed = [(with_fitting_attachments(output, inputs, self._attachment_limit), moment) for output in outputs]
        return await self._made_fit([result.call_id for result in results], observed, self._step_limit)

    async def _break_off(
        self, calls: Sequence[ToolCall], running: Sequence[asyncio.Task[_Observed]]
    ) -> list[ToolResult]:
        if unfinished := [task for task in running if task.cancel()]:
            await asyncio.wait(unfinished)
        return await self._fit(calls, running)

    async def _observe(self, call: ToolCall) -> _Observed:
        return await self._answer(call), self._clock.now()

    async def _answer(self, call: ToolCall) -> ToolOutput:
        try:
            tool, arguments = self._find(call)
        except ToolError as error:
            return ToolOutput(str(error), is_error=True)
        limit = tool.time_limit
        running = asyncio.ensure_future(self._run(tool, arguments))
        try:
            await asyncio.wait({running}, timeout=limit)
        except asyncio.CancelledError:
            await _end(running)
            # What is done is done: its true result is better than that nobody knows.
            if not running.done() or running.cancelled():
                raise
        else:
            if not running.done():
                await _end(running)
                return ToolOutput(_too_late(limit), is_error=True)
        if running.cancelled():
            return _failed(tool.name, asyncio.CancelledError("it cancelled itself"))
        return running.result()

    def _find(self, call: ToolCall) -> tuple[RunnableTool, Mapping[str, Json]]:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolError(f"there is no tool {one_line(call.name, 80)!r}; call one of those that you were given")
        try:
            arguments = parse_json(call.arguments) if call.arguments.strip() else {}
        except ValueError as error:
            raise ToolError(
                f"{tool.name} was not called: its arguments are not JSON ({one_line(str(error))}); write a JSON object"
            ) from error
        if not isinstance(arguments, dict):
            raise ToolError(f"{tool.name} was not called: its arguments are not an object; write a JSON object")
        return tool.target(arguments) if isinstance(tool, DelegatingTool) else (tool, arguments)

    async def _fit(self, calls: Sequence[ToolCall], running: Sequence[asyncio.Task[_Observed]]) -> list[ToolResult]:
        refused = self._refused(calls[len(running) :])
        observed = [None if task.cancelled() else task.result() for task in running]
        total = self._step_limit - sum(len(result.text) for result in refused)
        return await self._made_fit([call.id for call in calls[: len(running)]], observed, max(0, total)) + refused

    async def _made_fit(
        self, call_ids: Sequence[str], observed: Sequence[_Observed | None], total: int
    ) -> list[ToolResult]:
        guarded = self._guarded() if callable(self._guarded) else self._guarded
        sizes = [measure(one[0].text, self._result_limit, guarded=guarded) if one else len(LOST) for one in observed]
        limit = share(sizes, each=self._result_limit, total=total)
        results = []
        for call_id, one in zip(call_ids, observed, strict=True):
            if one is None:
                results.append(ToolResult(call_id, LOST, is_error=True))
                continue
            output, moment = one
            prepared = prepare(output.text, moment, limit, guarded=guarded)
            reference = await self._save(output.text) if prepared.omitted and self._save is not None else None
            results.append(ToolResult(call_id, close(prepared, reference), output.is_error, output.attachments))
        return results

    def _refused(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        why = f"{_NOT_RUN}: at most {self._calls_limit} calls in one step; call it again where it is still needed"
        if len(why) * len(calls) > self._step_limit // _REFUSED_SHARE:
            why = _NOT_RUN
        return [ToolResult(call.id, why, is_error=True) for call in calls]

    def _taken_inputs(self) -> frozenset[str] | None:
        return self._inputs() if callable(self._inputs) else self._inputs

    async def _run(self, tool: RunnableTool, arguments: Mapping[str, Json]) -> ToolOutput:
        inputs = self._taken_inputs()
        try:
            output: object = await tool.run(arguments)
            if not isinstance(output, ToolOutput) or not isinstance(output.text, str):
                raise RunError(f"it returned {type(output).__name__}, not a ToolOutput with a text")
            return with_fitting_attachments(output, inputs, self._attachment_limit)
        except ToolError as error:
            return ToolOutput(error_text(error), is_error=True)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # isolation boundary: told to the model, and the turn goes on
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            return _failed(tool.name, error)


async def _end(running: asyncio.Task[ToolOutput]) -> None:
    if running.cancel():
        await asyncio.wait({running}, timeout=CLEANUP_SECONDS)


def _too_late(limit: float) -> str:
    return f"no answer within {limit:g} s; it is not known whether it took effect, so look before you repeat it"


def _failed(name: str, error: BaseException) -> ToolOutput:
    # The person sees what the model makes of it; the traceback is for whoever asks for it.
    logger.info("the tool %s failed", name, exc_info=error)
    reason = one_line(error_text(error))
    return ToolOutput(f"{name} failed: {type(error).__name__}{': ' if reason else ''}{reason}", is_error=True)
