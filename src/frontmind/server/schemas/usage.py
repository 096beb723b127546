"""The tokens and the money of a call as the API gives them out."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel

from frontmind.values import usage as counted


class Usage(BaseModel):
    """The tokens of a call.

    Attributes:
        input: of the whole prompt.
        cached: of the prompt, read from the cache.
        written: of the prompt, written to the cache at a price.
        fresh: of the prompt, neither of the two.
        output: of the reply.
        estimated: whether the provider reported nothing, and these are estimates.
    """

    input: int
    cached: int
    written: int
    fresh: int
    output: int
    estimated: bool


def usage_figures(usage: counted.Usage | None) -> Usage | None:
    """The tokens of a call; None where nobody has counted."""
    if usage is None:
        return None
    return Usage(
        input=usage.input,
        cached=usage.cached,
        written=usage.written,
        fresh=usage.fresh,
        output=usage.output,
        estimated=usage.estimated,
    )


def dollars(amount: Decimal | None) -> str | None:
    """An amount of money as a text, so that no reader makes a float of it."""
    return None if amount is None else format(amount, "f")
