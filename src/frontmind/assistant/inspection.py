"""Looks into a window: its blocks with their sizes and what the cache did with them."""

from __future__ import annotations

import asyncio

from frontmind.providers.protocol import Model
from frontmind.window.blocks import CountedBlock, count_blocks, window_blocks
from frontmind.window.window import Window


async def inspect_window(model: Model, window: Window, *, cached: int | None) -> tuple[CountedBlock, ...]:
    """The blocks of a window as this model counts them.

    Args:
        cached: prompt tokens that came, or are expected to come, from the cache; None when nobody knows.
    """
    blocks = window_blocks(window)
    counts = await asyncio.gather(*(model.count_text(block.text) for block in blocks))
    total = await model.count_request(model.encode(window))
    exact = total.exact and all(count.exact for count in counts)
    return count_blocks(blocks, [count.tokens for count in counts], exact=exact, total=total.tokens, cached=cached)
