"""``frontmind verify-cache``: tries the rules of a model's cache on the model itself, within limits shown first."""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from frontmind.assistant.verifying import Finding, Limits, Planned, Price, Verification, facts_to_write, plan_series
from frontmind.cachelab.experiments import Verdict
from frontmind.cli.chat import EXIT_INTERRUPTED
from frontmind.cli.interrupt import interruptible
from frontmind.cli.options import (
    JsonOption,
    ModelOption,
    ProfileOption,
    TimezoneOption,
    resolve_clock,
    resolve_selection,
)
from frontmind.cli.profiles_file import (
    profiles_file_path,
    read_profiles_file,
    require_writable,
    write_facts,
)
from frontmind.cli.settings import Settings, load_settings
from frontmind.cli.terminal import emit, json_text, note, on_one_line, say, show_table
from frontmind.cli.verify_table import as_json, facts_line, findings_table, money, plan_table, reasons
from frontmind.errors import UsageError
from frontmind.providers.names import Provider
from frontmind.providers.opening import Selection, open_model
from frontmind.providers.prices import list_price
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.values.clock import Clock
from frontmind.values.usage import Usage

EXIT_WRONG: Final = 1
_FREE: Final = frozenset({Provider.LOCAL, Provider.ECHO, Provider.SCRIPTED})
# One word is asked for. A model that reasons before it speaks says nothing within a limit of one word.
_SHORT, _LONG = 24, 1024
_WITHOUT_REASONING: Final = frozenset({*_FREE, Provider.ANTHROPIC, Provider.BEDROCK})
_DEFAULT_COST: Final = Decimal("1.00")


@dataclass(frozen=True, slots=True)
class _Series:
    """A series that was agreed to."""

    selection: Selection
    settings: Settings
    clock: Clock
    nonce: str
    limits: Limits
    price: Price


def verify_cache(
    model: ModelOption = None,
    profile: ProfileOption = None,
    max_requests: Annotated[int, typer.Option("--max-requests", min=1, help="The most requests that are sent.")] = 30,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            metavar="DOLLARS",
            min=0,
            help="The most that they may cost, by list prices; 1.00 without it, where prices are known.",
            show_default=False,
        ),
    ] = None,
    max_seconds: Annotated[
        int,
        typer.Option("--max-seconds", metavar="N", min=1, max=3600, help="The longest that a reply may take."),
    ] = 90,
    yes: Annotated[bool, typer.Option("--yes", help="Send them without asking.")] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Keep what was disproved or found out in the file of your profiles.")
    ] = False,
    timezone: TimezoneOption = None,
    as_json_option: JsonOption = False,
) -> None:
    """Try a model's cache rules with a few real requests, and say which hold.

    Shows first what is sent, what it costs at most, and the limits. --write keeps what does not hold in profiles.toml
    in your folder for settings, or in the file in FRONTMIND_PROFILES. Exits with 0 when all that was tried holds, 1
    when a rule does not hold, a request failed or nothing could be tried, 2 when it could not run, 130 after Ctrl-C.
    """
    settings = load_settings()
    selection = _short(resolve_selection(model, None, profile, settings), settings)
    clock = resolve_clock(None, timezone, settings)
    file = profiles_file_path(os.environ)
    price = _price(selection)
    limits = Limits(max_requests, _cost_limit(selection, price, max_cost), max_seconds)
    series = _Series(selection, settings, clock, secrets.token_hex(6), limits, price)
    planned = _plan(series)
    if write:
        require_writable(file)
    if not as_json_option:
        _announce(series, planned)
    if not _agreed(yes):
        note("nothing was sent")
        return
    findings, interrupted = asyncio.run(_run(series))
    _tell(
        series, planned, findings, keep=file if write else None, as_json_option=as_json_option, interrupted=interrupted
    )
    if interrupted:
        note("interrupted; what had not begun is not shown")
        raise typer.Exit(EXIT_INTERRUPTED)
    if not _all_holds(findings):
        raise typer.Exit(EXIT_WRONG)


def _tell(
    series: _Series,
    planned: Sequence[Planned],
    findings: Sequence[Finding],
    *,
    keep: Path | None,
    as_json_option: bool,
    interrupted: bool,
) -> None:
    """Show the findings, and keep the facts among them where that is wanted. What was paid for is shown in any case.

    Raises:
        UsageError: the facts could not be kept.
    """
    facts = facts_to_write(findings)
    if not as_json_option:
        show_table(findings_table(findings))
        for line in reasons(findings):
            say(line)
    not_kept = None
    try:
        if keep is not None and facts:
            _write(keep, series.selection, facts)
    except UsageError as error:
        not_kept = error
    if as_json_option:
        kept = facts if keep is not None and not_kept is None else {}
        said = as_json(str(series.selection.name), series.limits, planned, findings, kept)
        emit(json_text({**said, "interrupted": interrupted}) + "\n")
    elif facts and (keep is None or not_kept is not None):
        how = "run it with --write, or pass" if keep is None else "pass"
        say(f"to keep what was found, {how} --profile {facts_line(facts)}")
    elif keep is not None:
        say(f"written to {on_one_line(str(keep))}: {facts_line(facts)}" if facts else _nothing_written(findings))
    if not_kept is not None:
        raise not_kept


def _all_holds(findings: Sequence[Finding]) -> bool:
    verdicts = {finding.judged.verdict for finding in findings}
    failed = any(finding.failed for finding in findings)
    return not failed and Verdict.BROKEN not in verdicts and verdicts != {Verdict.NOT_TRIED}


def _nothing_written(findings: Sequence[Finding]) -> str:
    if any(finding.judged.verdict is Verdict.BROKEN for finding in findings):
        return "what does not hold is no fact of a profile, so nothing was written"
    return "nothing was disproved, so nothing was written"


def _short(selection: Selection, settings: Settings) -> Selection:
    if settings.max_output_tokens is not None:
        return selection
    quick = selection.name.provider in _WITHOUT_REASONING and not (
        selection.profile.checks_thinking and selection.name.provider not in _FREE
    )
    return replace(selection, max_output_tokens=_SHORT if quick else _LONG)


def _price(selection: Selection) -> Price:
    if selection.name.provider in _FREE:
        return lambda usage: Decimal(0)
    find = partial(list_price, selection.name.provider.value, selection.name.model)
    try:
        find(Usage(1, 0, 0, 1))
    except UsageError as error:
        note(str(error))
        return lambda usage: None
    return find


def _cost_limit(selection: Selection, price: Price, asked: float | None) -> Decimal | None:
    if asked is not None and not math.isfinite(asked):
        raise UsageError(f"--max-cost cannot be {asked}; pass an amount of dollars, such as 0.20")
    if selection.name.provider in _FREE:
        return None
    if price(Usage(1, 0, 0, 1)) is None:
        if asked is not None:
            raise UsageError(f"no price of {selection.name} is known to hold --max-cost; use --max-requests alone")
        return None
    return _DEFAULT_COST if asked is None else Decimal(str(asked))


def _plan(series: _Series) -> Sequence[Planned]:
    selection = series.selection
    return plan_series(
        selection.encode,
        selection.profile,
        selection.framing,
        nonce=series.nonce,
        price=series.price,
        output=selection.max_output_tokens,
    )


def _announce(series: _Series, planned: Sequence[Planned]) -> None:
    show_table(plan_table(planned))
    limits = series.limits
    cost = "no price is known" if limits.cost is None else f"{money(limits.cost)} by list prices"
    if series.selection.name.provider in _FREE:
        cost = "it costs nothing"
    say(f"to {series.selection.name}; the limits: {limits.requests} requests; {cost}")
    most = [item.cost for item in planned if item.cost is not None]
    if sum(item.requests for item in planned) > limits.requests or (
        limits.cost is not None and sum(most) > limits.cost
    ):
        say("the limits are below that: what they leave no room for is not tried")


def _agreed(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("verify-cache sends requests that may cost money, and nobody can be asked here; pass --yes")
    try:
        return typer.confirm("Send them?", err=True)
    except typer.Abort:
        note("\nnothing was sent")
        raise typer.Exit(EXIT_INTERRUPTED) from None


async def _run(series: _Series) -> tuple[tuple[Finding, ...], bool]:
    """The findings, and whether Ctrl-C ended the series before its end."""
    opened = await open_model(
        series.selection,
        cache_dir=series.settings.cache,
        local_context=series.settings.local_context,
        announce=note,
    )
    try:
        verification = Verification(
            opened,
            clock=series.clock,
            nonce=series.nonce,
            limits=series.limits,
            price=series.price,
            report=lambda finding: note(f"[{finding.rule}: {finding.judged.verdict.value}]"),
        )
        findings = await interruptible(verification.run())
        return (verification.so_far(), True) if findings is None else (findings, False)
    finally:
        await opened.close()


def _write(file: Path, selection: Selection, facts: Mapping[str, object]) -> None:
    """Keep facts of the model; such as would make its profile contradict itself are refused.

    Raises:
        UsageError: the file cannot be written, or the facts contradict each other.
    """
    own = read_profiles_file(file).get(str(selection.name), {})
    resolve_profile(selection.profile.provider, selection.profile.model, own | dict(facts))
    write_facts(file, str(selection.name), facts)
