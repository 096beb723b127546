"""The size of a text without a tokenizer."""

from __future__ import annotations

from typing import Final

BYTES_PER_TOKEN: Final = 4


def estimate_tokens(text: str) -> int:
    """About how many tokens: one per four bytes of UTF-8, a common rule of thumb for English."""
    return -(-len(text.encode("utf-8", errors="replace")) // BYTES_PER_TOKEN)
