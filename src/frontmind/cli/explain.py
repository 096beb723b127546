"""``frontmind window explain``: every block of the next window, and what the cache should do with it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from frontmind.assistant.explanation import ExplainedBlock, Explanation, explain
from frontmind.cachelab.outcome import Expectation
from frontmind.cli.options import (
    DbOption,
    FramingOption,
    JsonOption,
    LayoutOption,
    ModelOption,
    NowOption,
    ProfileOption,
    TimezoneOption,
)
from frontmind.cli.preview import Asked, look_ahead
from frontmind.cli.show import ConversationOption, MessageOption
from frontmind.cli.terminal import emit, json_text, printable, say, show_table
from frontmind.providers.opening import Selection
from frontmind.providers.prices import list_price
from frontmind.window.blocks import PLACEMENT_HISTORY

_COLOURS = {
    Expectation.READ: "green",
    Expectation.WRITTEN: "yellow",
    Expectation.FRESH: "cyan",
    Expectation.CLEARED: "dim",
}


def explain_window(
    message: MessageOption = None,
    conversation: ConversationOption = None,
    model: ModelOption = None,
    framing: FramingOption = None,
    layout: LayoutOption = None,
    profile: ProfileOption = None,
    every: Annotated[bool, typer.Option("--all", help="Every message of the history on a line of its own.")] = False,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain the window of the next turn block by block, without sending anything."""
    asked = Asked(message, conversation, model, framing, layout, profile, db, now, timezone)
    selection, found = look_ahead(asked)
    explained = explain(
        found.built.window, found.layout, found.prediction, selection.framing, selection.profile, found.known
    )
    price = list_price(selection.profile.provider, selection.profile.model, explained.usage)
    if as_json:
        emit(json_text(_as_json(explained, selection, price)) + "\n")
    else:
        _print(explained, selection, price, every=every)


def _as_json(explained: Explanation, selection: Selection, price: Decimal | None) -> dict[str, object]:
    choice = selection.framing
    return {
        "model": str(selection.name),
        "wire": selection.profile.wire.value,
        "framing": {
            "name": choice.framing.value,
            "reason": choice.reason,
            "closed_thinking": choice.closed_thinking.value,
        },
        "tokens": {
            "total": explained.total,
            "residual": explained.residual,
            "exact": False,
            "factor": round(explained.calibration.factor, 4),
            "learned_from_replies": explained.calibration.replies,
        },
        "cache": explained.cache,
        "expected": {
            "read": explained.usage.cached,
            "written": explained.usage.written,
            "written_by_ttl": dict(explained.usage.written_by_ttl),
            "fresh": explained.usage.fresh,
            "usd": None if price is None else float(price),
        },
        "blocks": [
            {
                "name": block.name,
                "placement": block.placement,
                "place": block.place,
                "trinket": block.trinket or None,
                "tokens": block.tokens,
                "exact": False,
                "age": block.age or None,
                "why": block.why,
                "expected": block.expected.value,
            }
            for block in explained.blocks
        ],
        "dropped": [
            {"name": item.name, "trinket": item.trinket or None, "why": item.why} for item in explained.dropped
        ],
        "profile": {
            name: {"mark": source.mark.value, "source": source.text}
            for name, source in sorted(selection.profile.sources.items())
        },
    }


def _print(explained: Explanation, selection: Selection, price: Decimal | None, *, every: bool) -> None:
    say(f"# The next window for {selection.name}")
    say(f"framing {selection.framing.framing.value}: {selection.framing.reason}")
    say(f"cache: {explained.cache}")
    table = Table(show_footer=True)
    table.add_column("block", footer="all")
    table.add_column("placement")
    table.add_column("tokens", justify="right", footer=f"~{explained.total:,}")
    table.add_column("cache")
    table.add_column("age")
    table.add_column("why")
    for block in _rows(explained.blocks, every=every):
        colour = _COLOURS[block.expected]
        table.add_row(
            escape(printable(block.name)),
            block.placement,
            f"~{block.tokens:,}",
            f"[{colour}]{block.expected.value}[/{colour}]",
            block.age,
            escape(printable(block.why)),
        )
    if explained.residual:
        table.add_row("(residual)", "", f"~{explained.residual:,}", "", "", "joins and rounding")
    show_table(table)
    for item in explained.dropped:
        say(f"not in it: {item.name}{f' ({item.trinket})' if item.trinket else ''}: {item.why}")
    learned = explained.calibration
    said = (
        f"corrected by a factor of {learned.factor:.2f} from {learned.replies} replies of this conversation"
        if learned.replies
        else "one token for four bytes; replies of this conversation will correct it"
    )
    usage = explained.usage
    dollars = "" if price is None else f"; about ${price:.6f} by the price list, output aside"
    say(
        f"expected of the cache: ~{usage.cached:,} tokens read, ~{usage.written:,} written, ~{usage.fresh:,} fresh"
        f"{dollars}"
    )
    say(f"~ sizes are estimated: {said}")


def _rows(blocks: tuple[ExplainedBlock, ...], *, every: bool) -> Iterator[ExplainedBlock]:
    """The blocks, where messages of the history with the same fate may share a row."""
    for (placement, expected), group in groupby(blocks, key=lambda block: (block.placement, block.expected)):
        members = list(group)
        if every or placement != PLACEMENT_HISTORY or len(members) == 1:
            yield from members
            continue
        tokens = sum(block.tokens for block in members)
        first = members[0]
        yield ExplainedBlock(
            f"{len(members)} blocks", placement, first.place, "", tokens, "", "said in earlier turns", expected
        )
