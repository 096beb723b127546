"""How the cache of a turn is told to the person: what is lost before it is sent, and what was, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from frontmind.assistant.cache_watch import is_large
from frontmind.assistant.report import TurnReport
from frontmind.values.calls import CacheVerdict, Call, CallEnd, CallPart, Cause
from frontmind.values.harmless import one_line

_EXCERPT: Final = 60
_REASON: Final = 300


def loss_line(verdict: CacheVerdict) -> str:
    """What the next call loses, on one line."""
    return f"[~{verdict.tokens:,} tokens will not come from the cache: {_why(verdict)}]"


def miss_lines(report: TurnReport) -> list[str]:
    """What was lost without any sign before, or has a diagnosis of the provider beside ours; usually nothing."""
    lines = []
    for call in report.calls:
        end = call.end
        if end is None or not is_large(end.verdict, end.usage.input):
            continue
        if end.verdict.cause is Cause.EVICTED or end.diagnosis:
            said = f"; the provider says: {one_line(end.diagnosis)}" if end.diagnosis else ""
            lines.append(f"[~{end.verdict.tokens:,} tokens did not come from the cache: {_why(end.verdict)}{said}]")
    return lines + [f"[{one_line(problem)}]" for problem in report.problems]


def cache_text(report: TurnReport) -> str:
    """What the cache should have done in each call of a turn, what it did, why, and in which parts of the prompt."""
    lines = [f"Turn {report.turn}, {report.model}, framing {report.framing.framing.value}"]
    for call in report.calls:
        if call.end is not None:
            lines += _call_lines(call, call.end)
    return "\n".join(lines)


def _call_lines(call: Call, end: CallEnd) -> list[str]:
    usage, expected = end.usage, call.new.expected
    about = "~" if usage.estimated else ""
    should = "no rule is known" if expected is None else f"{_about(expected.estimated)}{expected.cached:,} expected"
    lines = [
        f"call {call.new.step + 1}: {about}{usage.cached:,} of {about}{usage.input:,} prompt tokens read "
        f"({should}), {about}{usage.written:,} written, {about}{usage.fresh:,} fresh{_money(end)}",
        f"  {_outcome(end)}" + (f" (~{end.verdict.tokens:,} tokens)" if end.verdict.tokens else ""),
    ]
    if end.diagnosis:
        lines.append(f"  the provider says: {one_line(end.diagnosis)}")
    return lines + _part_lines(end.parts)


def _part_lines(parts: Sequence[CallPart]) -> list[str]:
    width = max((len(one_line(part.name, _EXCERPT)) for part in parts), default=0)
    return [
        f"  {one_line(part.name, _EXCERPT):<{width}}  {part.read:>9,} read  {part.written:>9,} written  "
        f"{part.fresh:>9,} fresh"
        for part in parts
    ]


def _about(estimated: bool) -> str:
    return "~" if estimated else ""


def _money(end: CallEnd) -> str:
    if end.cost is None or end.full_price is None:
        return ""
    return f"; {_dollars(end.cost)}, without a cache {_dollars(end.full_price)}"


def _dollars(amount: Decimal) -> str:
    return f"${amount:.4f}"


def _outcome(end: CallEnd) -> str:
    if end.usage.estimated:
        return "the provider told no figures, so nobody knows what was read"
    return _why(end.verdict)


def _why(verdict: CacheVerdict) -> str:
    if verdict.cause is Cause.NOTHING:
        return "all that was cached before was read"
    why = one_line(verdict.reason, _REASON) or verdict.cause.value
    if not verdict.before and not verdict.after:
        return why
    before, after = (one_line(text, _EXCERPT) for text in (verdict.before, verdict.after))
    return f'{why}: "{before}" became "{after}"'
