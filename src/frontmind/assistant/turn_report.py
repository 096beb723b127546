"""Makes the report of a turn from what was noted while it ran. Stores nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from frontmind.assistant.report import SystemChange, TurnReport
from frontmind.assistant.running import RunningTurn
from frontmind.assistant.window_builder import BuiltWindow
from frontmind.continuum.collapse import left_segments
from frontmind.continuum.history import unanswered_turns
from frontmind.providers.protocol import Finished, Model
from frontmind.values.parts import ToolCall
from frontmind.values.records import TurnState
from frontmind.values.section import PLACEMENT_SYSTEM
from frontmind.values.usage import add_usages
from frontmind.window.blocks import message_text
from frontmind.window.framing import TOOLS, system_fingerprint


def turn_report(
    running: RunningTurn,
    finished: Finished,
    model: Model,
    *,
    change: SystemChange | None,
    started: float,
    seconds: float,
    problems: Sequence[str],
    waits_for: Sequence[ToolCall] = (),
) -> TurnReport:
    """The report of a run of the turn.

    Args:
        finished: the last reply.
        change: what of the system prompt is not as it was, with the tokens of all that stands behind it.
        started: when the run began, in the seconds of the timer.
        problems: what the ledger could not do.
        waits_for: the calls that the caller must answer.
    """
    expected = [call.new.expected.cached for call in running.calls if call.new.expected is not None]
    first_cached = running.usages[0].cached
    first, start = (running.reported or running.first).start, running.built.opening.start
    # What went along at the beginning was said with the first report.
    set_aside = len(running.set_aside) if running.reported is None else 0
    joined = len(unanswered_turns(running.before)) if running.reported is None else 0
    return TurnReport(
        turn=running.turn.number,
        reply=finished.message.text,
        model=model.name,
        framing=running.window.framing or model.framing,
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
        left_out=sum(first <= turn.number < start and turn.state is TurnState.DONE for turn in running.before),
        collapsed=len(left_segments(running.before, first, start)),
        was_full=running.was_full,
        set_aside=set_aside,
        joined=joined,
        tools=tuple(running.tools),
        shortened=running.built.shortened,
        scrubbed=running.scrubbed,
        retries=running.retries,
        calls=tuple(running.calls),
        problems=tuple(problems),
        waits_for=tuple(waits_for),
    )


async def changed_system(built: BuiltWindow, model: Model) -> SystemChange | None:
    """The system sections that changed since the last turn that was sent, and what they stand in front of, in tokens:
    without the change, system and history up to the last exchange would have come from the cache.
    """
    last = built.last
    if last is None or not last.system_fingerprint:
        return None
    now = system_fingerprint(built.window)
    # Of a turn that nobody could bring to its end the tools were not noted.
    then = {TOOLS: now.get(TOOLS), **last.system_fingerprint}
    changed = sorted(name for name in {*now, *then} if now.get(name) != then.get(name))
    if not changed:
        return None
    stable = [section.content for section in built.window.sections if section.placement == PLACEMENT_SYSTEM]
    stable += [message_text(message) for message in built.window.history[:-2]]
    counted = await model.count_text("\n\n".join(stable))
    return SystemChange(tuple(changed), counted.tokens)
