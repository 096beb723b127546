"""The size of a text without a tokenizer."""

from __future__ import annotations

from typing import Final

from frontmind.values.section import RULE_CHARACTER

BYTES_PER_TOKEN: Final = 4
_SAVED_BY_RULES: Final = len(RULE_CHARACTER.encode()) - 1


def estimate_tokens(text: str) -> int:
    """About how many tokens: one per four bytes of UTF-8, a common rule of thumb for English.

    A character of a rule counts as one byte: 60 of them are 5 to 15 tokens in the published vocabularies of large
    models, which know long rows of it.
    """
    size = len(text.encode("utf-8", errors="replace")) - _SAVED_BY_RULES * text.count(RULE_CHARACTER)
    return -(-size // BYTES_PER_TOKEN)
