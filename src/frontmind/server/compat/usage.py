"""The counts of a turn, as the clients of each API know them."""

from __future__ import annotations

from frontmind.values.usage import Usage
from frontmind.window.canonical import JsonObject


def chat_usage(usage: Usage) -> JsonObject:
    """Chat Completions: the prompt's total holds what was cached and written."""
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.written},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def responses_usage(usage: Usage) -> JsonObject:
    """Responses: as Chat Completions, under other names."""
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }


def messages_usage(usage: Usage) -> JsonObject:
    """Messages: three figures that add up to the prompt."""
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }
