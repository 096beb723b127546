"""A replay on a terminal and as JSON. What stands in a recording is made printable here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from frontmind.cachelab.trace_comparison import Comparison, Fact, unsure_facts
from frontmind.cachelab.trace_layouts import AUTO, Row, Trust
from frontmind.cachelab.traces import Recording, models_of, section_names
from frontmind.cli.terminal import on_one_line, printable, say, show_table
from frontmind.cli.trace_files import Trace
from frontmind.continuum.exports.value import Problem
from frontmind.providers.profiles.profile import Caching
from frontmind.values.harmless import one_line

_UNKNOWN = "?"
_SHOWN_NAMES = 12
_WITHIN = 1.02
_MILLION, _MANY = 1_000_000, 10_000_000


def tell_trace(file: str, read: Trace) -> None:
    """What was read of the recording."""
    calls = sum(len(recording.calls) for recording in read.recordings)
    models = models_of(read.recordings)
    counts = (
        f"{_number(len(read.recordings), 'conversation')}, {_number(calls, 'call')} of {_number(len(models), 'model')}"
    )
    say(f"{on_one_line(file)}: {read.kind}; {counts}")
    for reason, count in read.left_out:
        say(f"left out: {_number(count, 'row')} ({reason})")


def tell_comparison(comparison: Comparison) -> None:
    """The table of one model, how far it is to be trusted, and what was taken to be so."""
    if not comparison.layouts:
        return
    say("")
    show_table(_table(comparison))
    for line in (*_verdict(comparison), *_trust_lines(comparison.trust)):
        say(line)
    say("Assumptions:")
    for line in assumption_lines(comparison):
        say(f"  {line}")


def assumption_lines(comparison: Comparison) -> Iterator[str]:
    """What was taken to be so, one line each."""
    counts: dict[str, int] = {}
    for recording in comparison.replayed:
        for assumption in recording.assumptions:
            counts[assumption.text] = counts.get(assumption.text, 0) + assumption.count
    for text, count in counts.items():
        yield f"{count:,} × {text}" if count else text
    names = list(dict.fromkeys(name for recording in comparison.replayed for name in section_names(recording)))
    if names:
        more = f", and {len(names) - _SHOWN_NAMES:,} more" if len(names) > _SHOWN_NAMES else ""
        yield (
            "taken for sections, because they change or pass with their turn: "
            f"{', '.join(one_line(name, 40) for name in names[:_SHOWN_NAMES])}{more}"
        )
    else:
        yield "nothing changes or passes with its turn: without sections most layouts are the same"
    yield _sizes(comparison.replayed)
    yield "reasoning counts where the recording sends it; what a provider does with its own is not known"
    yield "replies and results of tools are taken as they were; another layout might have led to others"
    yield "each conversation begins with an empty cache of its own, on one machine that drops nothing before its time"
    if comparison.profile.caching is Caching.NONE and not comparison.profile.max_markers:
        yield f"{comparison.name} caches nothing; --model replays the same for another"
    elif not comparison.has_prices:
        yield f"nobody says what cached tokens of {comparison.name} cost: each is counted as one that is not cached"
    for fact in unsure_facts(comparison.profile):
        yield _fact_line(fact)


def _sizes(recordings: Sequence[Recording]) -> str:
    estimated = "sizes are estimates (a token per four bytes; 1,000 for a picture or file)"
    if not any(call.counted for recording in recordings for call in recording.calls):
        return f"{estimated} that nothing corrects"
    factors = sorted(f"{recording.factor:.2f}" for recording in recordings)
    spread = factors[0] if factors[0] == factors[-1] else f"{factors[0]} to {factors[-1]}"
    return f"{estimated}, times {spread} to come to what the provider counted"


def _fact_line(fact: Fact) -> str:
    if fact.mark is None:
        return f"{fact.name}={fact.value}: no source says anything"
    return f"{fact.name}={fact.value} [{fact.mark.value}]: {fact.source}"


def _table(comparison: Comparison) -> Table:
    recordings = comparison.replayed
    # A list of recordings may be long: its number says enough.
    of = one_line(recordings[0].name, 50) if len(recordings) == 1 else _number(len(recordings), "conversation")
    table = Table(title=escape(printable(f"{comparison.name} · {of}")), box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("layout", overflow="fold")
    for header in ("ttl", "calls", "read", "written", "fresh", "hit", "equivalents", "dollars"):
        table.add_column(header, justify="right", no_wrap=True)
    for row in comparison.recorded:
        table.add_row(*_cells(row))
    if comparison.recorded:
        table.add_section()
    cheapest = min(row.equivalents for row in comparison.layouts)
    for row in comparison.layouts:
        table.add_row(*_cells(row), style="bold" if row.equivalents == cheapest else "")
    return table


def _cells(row: Row) -> list[str]:
    about = "~" if row.usage.estimated else ""
    changes = f" ({_number(row.changes, 'change')})" if row.changes else ""
    return [
        escape(printable(one_line(row.name, 60))) + changes,
        row.ttl,
        f"{row.calls:,}",
        *(_tokens(count, about) for count in (row.usage.cached, row.usage.written, row.usage.fresh)),
        f"{100 * row.hit_share:.0f} %",
        _tokens(round(row.equivalents), about),
        _UNKNOWN if row.dollars is None else f"{row.dollars:,.4f}",
    ]


def _tokens(count: int, about: str) -> str:
    return f"{about}{count / _MILLION:,.1f} M" if count >= _MANY else f"{about}{count:,}"


def _verdict(comparison: Comparison) -> Iterator[str]:
    cheapest = min(comparison.layouts, key=lambda row: row.equivalents)
    name = f"{cheapest.name} {cheapest.ttl}".rstrip()
    yield f"equivalents: the prompts in tokens at the price of an uncached input token. The cheapest: {name}."
    auto = next(row for row in comparison.layouts if row.name == AUTO)
    if auto is not cheapest and cheapest.equivalents:
        more = auto.equivalents / cheapest.equivalents
        within = "within 2 % of it" if more <= _WITHIN else f"{100 * (more - 1):.1f} % more"
        yield f"{AUTO} is {within}."
    figured = [row for row in comparison.recorded if not row.usage.estimated]
    if figured and sum(row.calls for row in figured) < comparison.layouts[0].calls:
        yield "Some calls have no figures of the provider: the recorded rows have fewer calls than the layouts."


def _trust_lines(trust: Trust) -> Iterator[str]:
    if not trust.calls:
        yield "Nothing tells how far the rules are from the provider: no call has both its request and its figures."
        return
    off = 100 * abs(trust.expected - trust.actual) / trust.prompt if trust.prompt else 0.0
    yield (
        f"How far to trust this: of the requests as they were sent, the rules read {trust.expected:,} tokens and the "
        f"provider {trust.actual:,} ({off:.1f} % of the prompts apart); {trust.near:,} of "
        f"{_number(trust.calls, 'call')} agree within 5 %."
    )


def as_json(
    file: str, read: Trace, comparisons: Sequence[Comparison], problems: Sequence[Problem]
) -> dict[str, object]:
    """The whole replay as JSON values."""
    return {
        "trace": file,
        "kind": read.kind,
        "conversations": [_recording_json(recording) for recording in read.recordings],
        "models": [_comparison_json(comparison) for comparison in comparisons],
        "left_out": [{"why": why, "rows": count} for why, count in read.left_out],
        "problems": [{"place": problem.place, "why": problem.why} for problem in problems],
    }


def _recording_json(recording: Recording) -> dict[str, object]:
    return {
        "name": recording.name,
        "calls": len(recording.calls),
        "turns": sum(len(stretch.session.turns) for stretch in recording.stretches),
        "models": [f"{provider}:{model}" for provider, model in models_of([recording])],
        "factor": round(recording.factor, 4),
        "sections": section_names(recording),
        "assumptions": [{"text": item.text, "count": item.count} for item in recording.assumptions],
    }


def _comparison_json(comparison: Comparison) -> dict[str, object]:
    trust = comparison.trust
    return {
        "model": comparison.name,
        "recorded": [_row_json(row) for row in comparison.recorded],
        "layouts": [_row_json(row) for row in comparison.layouts],
        "conversations": [
            {"name": name, "layouts": [_row_json(row) for row in rows]} for name, rows in comparison.by_recording
        ],
        "trust": {
            "calls": trust.calls,
            "near": trust.near,
            "expected_read": trust.expected,
            "actual_read": trust.actual,
            "prompt": trust.prompt,
        },
        "prices_known": comparison.has_prices,
        "assumptions": list(assumption_lines(comparison)),
    }


def _row_json(row: Row) -> dict[str, object]:
    return {
        "layout": row.name,
        "lifetime": row.ttl,
        "calls": row.calls,
        "read": row.usage.cached,
        "written": row.usage.written,
        "fresh": row.usage.fresh,
        "written_by_ttl": dict(row.usage.written_by_ttl),
        "estimated": row.usage.estimated,
        "equivalents": round(row.equivalents, 1),
        "hit_share": round(row.hit_share, 4),
        "dollars": None if row.dollars is None else str(row.dollars),
        "changes": row.changes,
    }


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
