"""How a series of experiments is shown: before it is made, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich.table import Table

from frontmind.assistant.verifying import Finding, Limits, Planned
from frontmind.cachelab.experiments import Verdict
from frontmind.providers.profiles.user_profiles import spelled_facts
from frontmind.values.harmless import one_line
from frontmind.values.usage import Usage, add_usages

_COLOURS = {Verdict.HOLDS: "green", Verdict.BROKEN: "red", Verdict.FOUND: "cyan", Verdict.NOT_TRIED: "dim"}
_REASON_LENGTH = 200


def plan_table(planned: Sequence[Planned]) -> Table:
    """What would be sent at most, by rule."""
    table = Table(title="to be tried", show_footer=True)
    table.add_column("rule", footer="all, at most")
    table.add_column("requests", justify="right", footer=str(sum(item.requests for item in planned)))
    table.add_column("tokens", justify="right", footer=f"~{sum(item.tokens for item in planned):,}")
    table.add_column("cost", justify="right", footer=money(_total(item.cost for item in planned)))
    for item in planned:
        table.add_row(item.rule, str(item.requests), f"~{item.tokens:,}" if item.tokens else "-", _cost(item.cost))
    return table


def findings_table(findings: Sequence[Finding]) -> Table:
    """What came of each rule."""
    table = Table(show_footer=True)
    total = _total(finding.cost for finding in findings if finding.requests)
    requests = sum(finding.requests for finding in findings)
    table.add_column("rule", footer=f"{requests:,} {'request' if requests == 1 else 'requests'}")
    table.add_column("expected")
    table.add_column("seen")
    table.add_column("verdict")
    table.add_column("tokens", justify="right", footer=_tokens(add_usages([finding.usage for finding in findings])))
    table.add_column("cost", justify="right", footer=_up_to(total, _unsure(findings)))
    for finding in findings:
        judged = finding.judged
        colour = _COLOURS[judged.verdict]
        table.add_row(
            finding.rule,
            judged.expected or "-",
            judged.seen or "-",
            f"[{colour}]{judged.verdict.value}[/{colour}]",
            _tokens(finding.usage),
            _up_to(finding.cost, finding.unsure) if finding.cost or finding.unsure else "-",
        )
    return table


def reasons(findings: Sequence[Finding]) -> list[str]:
    """What else there is to say of a rule, a line each."""
    told = [(finding.rule, finding.judged) for finding in findings if finding.judged.why]
    return [f"{rule}, {judged.verdict.value}: {one_line(judged.why, _REASON_LENGTH)}" for rule, judged in told]


def as_json(
    model: str,
    limits: Limits,
    planned: Sequence[Planned],
    findings: Sequence[Finding],
    written: Mapping[str, object],
) -> dict[str, Any]:
    """Everything that the tables show, and the facts."""
    used = add_usages([finding.usage for finding in findings])
    return {
        "model": model,
        "limits": {"requests": limits.requests, "cost": _number(limits.cost)},
        "planned": [
            {"rule": item.rule, "requests": item.requests, "tokens": item.tokens, "cost": _number(item.cost)}
            for item in planned
        ],
        "findings": [_finding(finding) for finding in findings],
        "total": {
            "requests": sum(finding.requests for finding in findings),
            **_figures(used),
            **_costs(_total(finding.cost for finding in findings if finding.requests), _unsure(findings)),
        },
        "written": spelled_facts(written),
    }


def facts_line(facts: Mapping[str, object]) -> str:
    """Facts as they are written behind ``--profile``."""
    return ",".join(f"{name}={_spelled(value)}" for name, value in spelled_facts(facts).items())


def money(amount: Decimal | None) -> str:
    """An amount of US dollars; a dash where it is not known."""
    if amount is None:
        return "-"
    return f"${amount:,.2f}" if amount >= 1 or amount == amount.quantize(Decimal("0.01")) else f"${amount:.4f}"


def _finding(finding: Finding) -> dict[str, Any]:
    judged = finding.judged
    return {
        "rule": finding.rule,
        "expected": judged.expected,
        "seen": judged.seen,
        "verdict": judged.verdict.value,
        "why": judged.why,
        "facts": spelled_facts(judged.facts),
        "requests": finding.requests,
        **_figures(finding.usage),
        **_costs(finding.cost, finding.unsure),
        "failed": finding.failed,
    }


def _figures(usage: Usage) -> dict[str, Any]:
    return {
        "input": usage.input,
        "cached": usage.cached,
        "written_to_cache": usage.written,
        "output": usage.output,
        "estimated": usage.estimated,
    }


def _spelled(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return "+".join(map(str, value))
        case _:
            return str(value)


def _tokens(usage: Usage) -> str:
    return f"{'~' if usage.estimated else ''}{usage.input + usage.output:,}" if usage.input else "-"


def _cost(amount: Decimal | None) -> str:
    return money(amount) if amount else "-"


def _up_to(cost: Decimal | None, unsure: Decimal) -> str:
    """What was paid, or the most of it where requests broke off that may have been billed."""
    return money(cost) if cost is None or not unsure else f"up to {money(cost + unsure)}"


def _unsure(findings: Sequence[Finding]) -> Decimal:
    return sum((finding.unsure for finding in findings), Decimal(0))


def _costs(cost: Decimal | None, unsure: Decimal) -> dict[str, float | None]:
    return {"cost": _number(cost), "cost_at_most": None if cost is None else _number(cost + unsure)}


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def _total(costs: Iterable[Decimal | None]) -> Decimal | None:
    known = list(costs)
    return (
        None if any(cost is None for cost in known) else sum((cost for cost in known if cost is not None), Decimal(0))
    )
