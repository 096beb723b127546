"""Turns that wait for the program that asked: which calls are its own to answer, and what answers them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from frontmind.assistant.calls import tool_calls
from frontmind.errors import UsageError
from frontmind.values.harmless import one_line
from frontmind.values.message import Message, Role
from frontmind.values.parts import Notice, ToolCall, ToolResult
from frontmind.values.records import Turn, TurnState


def caller_calls(said: Message, names: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls of a message that are the caller's to answer.

    Args:
        names: those of its tools.
    """
    return tuple(call for call in tool_calls(said) if call.name in names)


def waits_for(turn: Turn) -> tuple[ToolCall, ...]:
    """The calls whose results the turn waits for, from the program that asked; empty where it waits for none."""
    if turn.state is not TurnState.OPEN or not turn.steps or turn.sent is None or turn.steps[-1].results is not None:
        return ()
    return caller_calls(turn.steps[-1].said, turn.sent.caller_tools)


def waiting_turn(turns: Sequence[Turn]) -> Turn:
    """The turn (of turns by number) that waits for its caller.

    Raises:
        UsageError: the newest turn waits for nobody.
    """
    newest = next((turn for turn in reversed(turns) if turn.state is not TurnState.REPLACED), None)
    if newest is None or not waits_for(newest):
        raise UsageError("no turn of this conversation waits for results of tools; send a message instead")
    return newest


def steps_as_said(turn: Turn) -> list[tuple[Message, Message]]:
    """What the model said and the tools gave back in the steps that have results, without the notices beside them."""
    return [
        (step.said, Message(Role.USER, tuple(part for part in step.results.parts if not isinstance(part, Notice))))
        for step in turn.steps
        if step.results is not None
    ]


def require_answers(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
    """Check that there is one result for each of these calls, and no other.

    Raises:
        UsageError: the error names the calls.
    """
    asked = [call.id for call in calls]
    given = [result.call_id for result in results]
    if others := [call_id for call_id in given if call_id not in asked]:
        raise UsageError(f"no call waits for the result of {_named(others)}; the turn waits for {_named(asked)}")
    if twice := sorted({call_id for call_id in given if given.count(call_id) > 1}):
        raise UsageError(f"two results answer {_named(twice)}; give one for each call")
    if missing := [call_id for call_id in asked if call_id not in given]:
        raise UsageError(f"the result of {_named(missing)} is missing; give the results of all calls at once")


def answers(said: Message, results: Sequence[ToolResult]) -> Message:
    """The message of results for a message that calls tools, in the order of its calls.

    Args:
        results: at least one for each call; of several the last one counts.
    """
    known = {result.call_id: result for result in results}
    return Message(Role.USER, tuple(known[call.id] for call in tool_calls(said)))


def _named(call_ids: Sequence[str]) -> str:
    return ", ".join(repr(one_line(call_id, 80)) for call_id in call_ids)
