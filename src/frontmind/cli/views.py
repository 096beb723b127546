"""How a chat is shown: as text for people, or one JSON object a reply for programs."""

from __future__ import annotations

import json
from typing import Protocol

from frontmind.assistant.report import TurnReport
from frontmind.cli.slash import Outcome
from frontmind.cli.terminal import cache_line, context_table, emit, note, printable, report_lines, say, show_table
from frontmind.errors import FrontmindError


class View(Protocol):
    """Shows what happens in a chat."""

    def asked(self, line: str) -> None:
        """A line came through a pipe, where nobody has seen it."""
        ...

    def piece(self, text: str) -> None:
        """A further piece of the reply has come."""
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

    def asked(self, line: str) -> None:
        say(f"> {line}")

    def piece(self, text: str) -> None:
        self._in_reply = True
        emit(printable(text))

    def answered(self, report: TurnReport) -> None:
        self._end_reply()
        for line in report_lines(report):
            say(line)
        say(cache_line(report))

    def stopped(self) -> None:
        kept = "; what was said is kept" if self._in_reply else ""
        self._end_reply()
        say(f"[stopped{kept}]")

    def done(self, outcome: Outcome) -> None:
        if outcome.text:
            say(outcome.text)
        if outcome.table is not None:
            show_table(context_table(outcome.table.blocks, outcome.table.title))

    def failed(self, error: FrontmindError) -> None:
        self._end_reply()
        note(f"frontmind: {error}")

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

    def answered(self, report: TurnReport) -> None:
        emit(json.dumps(report_json(report), ensure_ascii=True) + "\n")

    def stopped(self) -> None:
        note("[stopped]")

    def done(self, outcome: Outcome) -> None:
        if outcome.text:
            note(outcome.text)
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
        "stop": report.stop.value,
        "seconds": {"first_token": round(report.first_token_seconds, 4), "total": round(report.seconds, 4)},
        "request": report.request,
        "failures": [{"section": failure.section, "reason": failure.reason} for failure in report.failures],
        "system_change": None if change is None else {"sections": list(change.sections), "tokens": change.tokens},
        "left_out": report.left_out,
        "joined": report.joined,
        "set_aside": report.set_aside,
    }
