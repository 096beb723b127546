"""Looks into a window: its blocks with their sizes and what the cache did with them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from frontmind.providers.protocol import Model
from frontmind.window.blocks import PLACEMENT_TOOLS, Block, CountedBlock, count_blocks, window_blocks
from frontmind.window.window import Window


async def inspect_window(model: Model, window: Window, *, cached: int | None) -> tuple[CountedBlock, ...]:
    """The blocks of a window as this model counts them.

    Args:
        cached: prompt tokens that came, or are expected to come, from the cache; None when nobody knows.
    """
    blocks = window_blocks(window)
    counts = [count.tokens for count in await asyncio.gather(*(model.count_text(block.text) for block in blocks))]
    total = await model.count_request(model.encode(window))
    # What the tools cost is what the request costs with them: some chat templates leave them out.
    without = await model.count_request(model.encode(replace(window, tools=()))) if window.tools else total
    if total.tokens > without.tokens:
        blocks = (Block(f"{len(window.tools)} tools", PLACEMENT_TOOLS, ""), *blocks)
        counts = [total.tokens - without.tokens, *counts]
    return count_blocks(blocks, counts, exact=total.exact, total=total.tokens, cached=cached)
