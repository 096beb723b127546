"""What each layout of a window costs: scripted conversations, every layout, and what other libraries send.

All rows of a scenario have the same words, tools, sections and moments, and one model of the provider's cache rules
prices them all. Nothing leaves the machine.

    python -m benchmarks.cache_layouts [--model NAME]... [--scenario NAME]... [--seed N] [--no-peers]
        [--jobs N] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from benchmarks.cache_rows import AUTO, PEER_MODEL, Row, rows_of
from frontmind.cachelab.scenarios import SCENARIOS, Scenario, scenario_of, write_session
from frontmind.cachelab.session import Session
from frontmind.errors import FrontmindError
from frontmind.providers.names import parse_model_name
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import resolve_profile

TOLERANCE: Final = 0.02
"""How much above the cheapest row the automatic choice may be."""

HEADER: Final = (
    "| layout | read | written | fresh | equivalents | hit share | to the cheapest |",
    "|---|--:|--:|--:|--:|--:|--:|",
)
ASSUMPTIONS: Final = (
    "Equivalents: prompt tokens at the price of an uncached input token, by the model's prices of reading and writing.",
    "Sizes are estimates (a token is four bytes, a rule is 15 tokens), the same for all rows. Output is left out.",
    "The rules are those of the model's profile: one client, no eviction, no other machine answers.",
    "5m, 1h: the lifetime that is asked for; the default asks for an hour for the system prompt, 5m for the history.",
    "Other libraries do not let closed segments leave: in `collapse` they send the whole conversation.",
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the automatic choice stands to the cheapest row.

    Attributes:
        cheapest: the name of that row.
        above: by how much it is dearer, as a share of the cheapest; 0 where it is that row.
    """

    cheapest: str
    above: float

    @property
    def holds(self) -> bool:
        """Whether it is the cheapest, or near enough."""
        return self.above <= TOLERANCE

    def told(self) -> str:
        """The verdict in one line."""
        if not self.above:
            return f"{AUTO} is the cheapest row."
        near = "within" if self.holds else "NOT within"
        return f"{AUTO} is {100 * self.above:.1f} % above the cheapest row ({self.cheapest}): {near} 2 %."


@dataclass(frozen=True, slots=True)
class Table:
    """All layouts in one scenario on one model."""

    scenario: Scenario
    model: str
    turns: int
    rows: tuple[Row, ...]

    @property
    def cheapest(self) -> float:
        """What the cheapest row costs."""
        return min(row.total.equivalents for row in self.rows if row.total is not None)

    @property
    def verdict(self) -> Verdict:
        """How the automatic choice stands to all other rows."""
        return self._verdict(self.rows)

    @property
    def own_verdict(self) -> Verdict:
        """How it stands to the rows that are no other library's."""
        return self._verdict([row for row in self.rows if not row.is_peer])

    def _verdict(self, rows: Sequence[Row]) -> Verdict:
        costs = {row.layout: row.total.equivalents for row in rows if row.total is not None}
        # Of rows that cost the same, the automatic choice is named: it is as cheap as any.
        cheapest = min(costs, key=lambda layout: (costs[layout], layout != AUTO))
        return Verdict(cheapest, costs[AUTO] / costs[cheapest] - 1)


def measured(scenario: Scenario, session: Session, profile: Profile, *, with_peers: bool = False) -> Table:
    """The table of a scenario on a model.

    Args:
        with_peers: whether other libraries are driven through it too.
    """
    rows = [measure(session, profile) for measure in rows_of(profile, with_peers=with_peers)]
    return _table(scenario, session, profile, rows)


def _table(scenario: Scenario, session: Session, profile: Profile, rows: Sequence[Row]) -> Table:
    return Table(scenario, f"{profile.provider}:{profile.model}", len(session.turns), tuple(rows))


def markdown(table: Table) -> str:
    """The table in Markdown, with the verdict below it."""
    calls = max(row.total.calls for row in table.rows if row.total is not None)
    lines = [f"### {table.scenario.name}: {table.scenario.title} ({table.turns} turns, {calls} calls)", "", *HEADER]
    for row in table.rows:
        name = f"**{row.layout}**" if row.layout == AUTO else row.layout
        if row.total is None:
            lines.append(f"| {name} | {row.note} | | | | | |")
            continue
        usage = row.total.usage
        lines.append(
            f"| {name} | {usage.cached:,} | {usage.written:,} | {usage.fresh:,} | {row.total.equivalents:,.0f} "
            f"| {100 * row.total.hit_share:.1f} % | {row.total.equivalents / table.cheapest:.2f} |"
        )
    auto = next(row for row in table.rows if row.layout == AUTO)
    return "\n".join([*lines, "", *_verdicts(table), auto.note])


def as_json(table: Table) -> dict[str, Any]:
    """The same as `markdown`, as data."""
    return {
        "model": table.model,
        "scenario": table.scenario.name,
        "title": table.scenario.title,
        "turns": table.turns,
        "rows": [_row_json(row) for row in table.rows],
        "auto": _verdict_json(table.verdict),
        "auto_among_own": _verdict_json(table.own_verdict),
    }


def conclusion(tables: Sequence[Table]) -> str:
    """In how many scenarios the automatic choice is the cheapest row or near enough, and where it is not."""
    missed = [table for table in tables if not table.verdict.holds]
    line = f"{AUTO} is the cheapest row or within 2 % of it in {len(tables) - len(missed)} of {len(tables)} scenarios"
    where = [
        f"{table.scenario.name} (+{100 * table.verdict.above:.1f} %, {table.verdict.cheapest})" for table in missed
    ]
    return f"{line}; not in {'; '.join(where)}." if missed else f"{line}."


def report(tables: Sequence[Table]) -> str:
    """All tables in Markdown, those of a model together, and what they rest on."""
    pieces = []
    for model in dict.fromkeys(table.model for table in tables):
        own = [table for table in tables if table.model == model]
        pieces += [f"## What a layout costs: {model}", *map(markdown, own), summary(own), conclusion(own)]
    pieces.append("\n".join(f"- {line}" for line in (*ASSUMPTIONS, *setups(tables))))
    return "\n\n".join(pieces)


def summary(tables: Sequence[Table]) -> str:
    """The equivalents of all scenarios of a model side by side, in thousands; the cheapest of each is bold."""
    names = [table.scenario.name for table in tables]
    lines = ["| thousands of equivalents | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for layout in dict.fromkeys(row.layout for table in tables for row in table.rows):
        cells = [_cell(table, layout) for table in tables]
        lines.append(f"| {f'**{layout}**' if layout == AUTO else layout} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(table: Table, layout: str) -> str:
    total = next((row.total for row in table.rows if row.layout == layout), None)
    if total is None:
        return "-"
    cost = f"{total.equivalents / 1000:,.1f}"
    return f"**{cost}**" if total.equivalents == table.cheapest else cost


def setups(tables: Sequence[Table]) -> list[str]:
    """How each other library, and each baseline, is set up: a line each."""
    notes = {row.layout: row.note for table in tables for row in table.rows if row.note and row.layout != AUTO}
    return [f"{layout}: {note}" for layout, note in notes.items()]


def _verdicts(table: Table) -> list[str]:
    lines = [table.verdict.told()]
    if any(row.is_peer and row.layout == table.verdict.cheapest for row in table.rows):
        lines.append(f"Among its own layouts: {table.own_verdict.told()}")
    return lines


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    return {"cheapest": verdict.cheapest, "above": round(verdict.above, 4), "holds": verdict.holds}


def _row_json(row: Row) -> dict[str, Any]:
    told: dict[str, Any] = {"layout": row.layout, "note": row.note, "other_library": row.is_peer}
    if row.total is None:
        return told
    usage = row.total.usage
    return told | {
        "calls": row.total.calls,
        "read": usage.cached,
        "written": usage.written,
        "fresh": usage.fresh,
        "equivalents": round(row.total.equivalents),
        "hit_share": round(row.total.hit_share, 4),
    }


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cache_layouts", description="What each layout costs.")
    parser.add_argument("--model", action="append", help=f"as for frontmind chat; the default is {PEER_MODEL}")
    parser.add_argument("--scenario", action="append", choices=[scenario.name for scenario in SCENARIOS])
    parser.add_argument("--seed", type=int, default=1, help="another one gives other texts and pauses")
    parser.add_argument("--no-peers", action="store_true", help="leave other libraries out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many rows are measured at a time")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 2 where nothing could be measured."""
    asked = _arguments(arguments)
    chosen = [scenario_of(name) for name in asked.scenario] if asked.scenario else SCENARIOS
    try:
        profiles = [resolve_profile(name.provider, name.model) for name in map(parse_model_name, _models(asked))]
        tables = _tables(chosen, profiles, asked)
    except FrontmindError as error:
        print(error, file=sys.stderr)
        return 2
    if asked.json:
        print(json.dumps({"assumptions": ASSUMPTIONS, "tables": [*map(as_json, tables)]}, indent=1))
    else:
        print(report(tables))
    return 0


def _models(asked: argparse.Namespace) -> list[str]:
    return asked.model or [PEER_MODEL]


def _tables(scenarios: Sequence[Scenario], profiles: Sequence[Profile], asked: argparse.Namespace) -> list[Table]:
    sessions = [asyncio.run(write_session(scenario, seed=asked.seed)) for scenario in scenarios]
    pairs = [
        (profile, scenario, session)
        for profile in profiles
        for scenario, session in zip(scenarios, sessions, strict=True)
    ]
    tables: list[Table] = []
    with ProcessPoolExecutor(asked.jobs) if asked.jobs > 1 else nullcontext() as pool:
        for profile, scenario, session, rows in [(*pair, _begun(*pair, asked, pool)) for pair in pairs]:
            print(f"{profile.model}: {scenario.title} ...", file=sys.stderr)
            tables.append(_table(scenario, session, profile, [row() for row in rows]))
    return tables


def _begun(
    profile: Profile, scenario: Scenario, session: Session, asked: argparse.Namespace, pool: Executor | None
) -> list[Callable[[], Row]]:
    """The rows of a table, each to be waited for; without a pool each is measured when it is asked for."""
    measures = rows_of(profile, with_peers=not asked.no_peers)
    if pool is None:
        return [partial(measure, session, profile) for measure in measures]
    return [pool.submit(measure, session, profile).result for measure in measures]


if __name__ == "__main__":
    sys.exit(main())
