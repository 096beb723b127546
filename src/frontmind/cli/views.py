"""How a chat is shown: as text for people, or one JSON object a reply for programs."""

from __future__ import annotations

import json
from typing import Protocol

from frontmind.assistant.report import CacheLoss, ToolStarted, TurnEvent, TurnReport
from frontmind.cli.slash import Outcome
from frontmind.cli.terminal import (
    cache_line,
    context_table,
    emit,
    event_line,
    note,
    printable,
    report_lines,
    say,
    show_table,
)
from frontmind.errors import FrontmindError
from frontmind.providers.protocol import Retrying
from frontmind.values.calls import CacheVerdict, Call, Cause


class View(Protocol):
    """Shows what happens in a chat."""

    def asked(self, line: str) -> None:
        """A line came through a pipe, where nobody has seen it."""
        ...

    def piece(self, text: str) -> None:
        """A further piece of the reply has come."""
        ...

    def happened(self, event: TurnEvent) -> None:
        """A tool ran, or the model is asked again."""
        ...

    def reminded(self, line: str) -> None:
        """A reminder is due."""
        ...

    def answered(self, report: TurnReport) -> None: ...

    def stopped(self) -> None:
        """The person stopped the reply."""
        ...

    def done(self, outcome: Outcome) -> None:
        """A slash command was carried out."""
        ...

    def failed(self, error: FrontmindError) -> None: ...


class TextView:
    """For people."""

    def __init__(self) -> None:
        self._in_reply = False
        self._tools_ran = False

    def asked(self, line: str) -> None:
        say(f"> {line}")

    def piece(self, text: str) -> None:
        self._in_reply = True
        emit(printable(text))

    def happened(self, event: TurnEvent) -> None:
        self._tools_ran = self._tools_ran or isinstance(event, ToolStarted)
        line = event_line(event)
        if line:
            self._end_reply()
            say(line)

    def reminded(self, line: str) -> None:
        self._end_reply()
        say(f"[{line}]")

    def answered(self, report: TurnReport) -> None:
        self._end_turn()
        for line in report_lines(report):
            say(line)
        say(cache_line(report))

    def stopped(self) -> None:
        kept = "; what was said is kept" if self._in_reply else ""
        if self._tools_ran:
            kept = "; what was said and done is kept"
        self._end_turn()
        say(f"[stopped{kept}]")

    def done(self, outcome: Outcome) -> None:
        if outcome.text:
            say(outcome.text.rstrip("\n"))
        if outcome.table is not None:
            # Above the table and not in it: there a title is wrapped at the table's own width.
            say(outcome.table.title)
            show_table(context_table(outcome.table.blocks))

    def failed(self, error: FrontmindError) -> None:
        self._end_turn()
        note(f"frontmind: {error}")

    def _end_turn(self) -> None:
        self._end_reply()
        self._tools_ran = False

    def _end_reply(self) -> None:
        if self._in_reply:
            say("")
        self._in_reply = False


class JsonView:
    """For programs: standard output has one object a reply and line, everything else goes to standard error."""

    def asked(self, line: str) -> None:
        return None

    def piece(self, text: str) -> None:
        return None

    def happened(self, event: TurnEvent) -> None:
        if isinstance(event, Retrying | CacheLoss):
            note(event_line(event))

    def reminded(self, line: str) -> None:
        note(f"[{line}]")

    def answered(self, report: TurnReport) -> None:
        emit(json.dumps(report_json(report), ensure_ascii=True) + "\n")

    def stopped(self) -> None:
        note("[stopped]")

    def done(self, outcome: Outcome) -> None:
        if outcome.text:
            note(outcome.text.rstrip("\n"))
        if outcome.table is not None:
            for block in outcome.table.blocks:
                note(f"{block.name}\t{block.placement}\t{block.tokens}\t{block.state.value}")

    def failed(self, error: FrontmindError) -> None:
        note(f"frontmind: {error}")


def report_json(report: TurnReport) -> dict[str, object]:
    """A turn's report as a JSON object."""
    usage = report.usage
    change = report.system_change
    return {
        "turn": report.turn,
        "reply": report.reply,
        "model": report.model,
        "framing": report.framing.framing.value,
        "framing_reason": report.framing.reason,
        "usage": {
            "input": usage.input,
            "cached": usage.cached,
            "written": usage.written,
            "written_by_ttl": dict(usage.written_by_ttl),
            "output": usage.output,
            "estimated": usage.estimated,
        },
        "expected_cached": report.expected_cached,
        "cache": [_call_json(call) for call in report.calls],
        "problems": list(report.problems),
        "stop": report.stop.value,
        "seconds": {"first_token": round(report.first_token_seconds, 4), "total": round(report.seconds, 4)},
        "request": report.request,
        "failures": [{"section": failure.section, "reason": failure.reason} for failure in report.failures],
        "system_change": None if change is None else {"sections": list(change.sections), "tokens": change.tokens},
        "tools": [{"step": use.step, "name": use.name, "is_error": use.is_error} for use in report.tools],
        "shortened": list(report.shortened),
        "scrubbed": report.scrubbed,
        "retries": report.retries,
        "left_out": report.left_out,
        "collapsed": report.collapsed,
        "was_full": report.was_full,
        "joined": report.joined,
        "set_aside": report.set_aside,
    }


def _call_json(call: Call) -> dict[str, object]:
    expected, end = call.new.expected, call.end
    verdict = end.verdict if end is not None else CacheVerdict(Cause.NOTHING)
    return {
        "step": call.new.step,
        "expected": None if expected is None else {"input": expected.input, "cached": expected.cached},
        "cause": verdict.cause.value,
        "lost": verdict.tokens,
        "reason": verdict.reason,
        "place": verdict.place,
        "diagnosis": "" if end is None else end.diagnosis,
        "cost": None if end is None or end.cost is None else str(end.cost),
    }
