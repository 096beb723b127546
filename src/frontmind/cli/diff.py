"""``frontmind window diff``: what became of one request in the next."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import typer

from frontmind.cli.options import JsonOption
from frontmind.cli.request_files import RequestInFile, read_named_requests
from frontmind.cli.terminal import emit, json_text, on_one_line, say
from frontmind.errors import UsageError
from frontmind.window.difference import Difference, Kind, compare, named

EXIT_DIFFERENT = 1


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A request file, a saved window, or FILE#N.")],
    b: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="The later one; without it, the requests of A follow each other."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a later request extended an earlier one, or what in it moved or shrank.

    Files hold one request, a list of requests, or one a line, of any supported provider, or what `window show --json`
    printed. A cache marker that moved is no difference. Exits with 0 when extended, 1 when moved or shrunk, 2 when it
    could not run.
    """
    compared = [(one, two, compare(one.layout, two.layout)) for one, two in _pairs(a, b)]
    if as_json:
        values = [_as_json(one, two, difference) for one, two, difference in compared]
        emit(json_text(values[0] if b is not None else values) + "\n")
    else:
        for one, two, difference in compared:
            _print(one, two, difference)
    if any(difference.kind is not Kind.EXTENDED for _, _, difference in compared):
        raise typer.Exit(EXIT_DIFFERENT)


def _pairs(a: str, b: str | None) -> list[tuple[RequestInFile, RequestInFile]]:
    requests = read_named_requests(a)
    if b is None:
        if len(requests) < 2:
            raise UsageError(f"{a} has only one request; name a second file, or one with several requests")
        return list(pairwise(requests))
    return [(_only(a, requests), _only(b, read_named_requests(b)))]


def _only(name: str, requests: list[RequestInFile]) -> RequestInFile:
    if len(requests) > 1:
        raise UsageError(f"{name} has {len(requests)} requests; say which one, such as {name}#1")
    return requests[0]


def _as_json(one: RequestInFile, two: RequestInFile, difference: Difference) -> dict[str, object]:
    block = difference.block
    return {
        "a": one.name,
        "b": two.name,
        "kind": difference.kind.value,
        "reason": difference.reason,
        "place": block.place if block else None,
        "name": (block.name or None) if block else None,
        "role": block.role if block else None,
        "a_text": difference.before,
        "b_text": difference.after,
        "slid": [{"place": item.place, "name": item.name or None} for item in difference.slid],
        "kept": {"blocks": difference.kept, "of": difference.blocks, "tokens": difference.kept_tokens, "exact": False},
        "other_model": difference.other_model,
    }


def _print(one: RequestInFile, two: RequestInFile, difference: Difference) -> None:
    say(f"{on_one_line(one.name)} -> {on_one_line(two.name)}: {difference.kind.value}")
    say(f"  {difference.reason}")
    if difference.block is not None:
        say(f"  at {named(difference.block)}")
        for label, text in (("A", difference.before), ("B", difference.after)):
            say(f"  {label}: {' '.join(text.split()) or '(nothing)'}")
    say(f"  kept at the front: {difference.kept} of {difference.blocks} blocks, ~{difference.kept_tokens:,} tokens")
    if difference.other_model:
        say("  the two are for different models, which share no cache")
