"""A request with the sizes of its blocks: all that a rule about caching looks at."""

from __future__ import annotations

from dataclasses import dataclass

from frontmind.errors import UsageError
from frontmind.window.layout import Layout


@dataclass(frozen=True, slots=True)
class SizedRequest:
    """A request, in tokens.

    Attributes:
        layout: its blocks.
        tokens: how many tokens each block of the layout has.
        tail: those behind the last block, such as the opening of the reply.
        ids: the tokens themselves, for engines that go by them; empty where only sizes are known.
        entry: the tokens of the provider's entry that the layout names (`Layout.entry`).

    Raises:
        UsageError: there is not one size for each block.
    """

    layout: Layout
    tokens: tuple[int, ...]
    tail: int = 0
    ids: tuple[int, ...] = ()
    entry: int = 0

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.layout.blocks):
            raise UsageError(
                f"a request of {len(self.layout.blocks)} blocks came with {len(self.tokens)} sizes; pass one for each"
            )


def size_request(layout: Layout, *, factor: float = 1.0, tail: int = 0) -> SizedRequest:
    """The request with its blocks' estimated sizes.

    Args:
        factor: what the estimates are multiplied with, as learned from what a provider counted.
    """
    return SizedRequest(layout, tuple(round(block.tokens * factor) for block in layout.blocks), tail)
