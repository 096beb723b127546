"""The figures of a recorded call, checked: a trace may say anything, and a figure that cannot be is no figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from frontmind.providers.decoding.decode import DECODERS
from frontmind.providers.profiles.profile import UsageMeaning, Wire
from frontmind.values.harmless import one_line
from frontmind.values.usage import Usage, read_token_count

_SHOWN: Final = 40
_COUNT_WORDS: Final = ("token", "cache_n", "prompt_n", "predicted_n")
# A total, and the figures that it must be the sum of, by the names of each format.
_TOTALS: Final = (
    ("total_tokens", ("prompt_tokens", "completion_tokens")),
    ("total_tokens", ("input_tokens", "output_tokens")),
    ("totalTokens", ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "outputTokens")),
    (
        "totalTokenCount",
        ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount"),
    ),
    ("prompt_tokens", ("prompt_cache_hit_tokens", "prompt_cache_miss_tokens")),
)
_REQUIRED: Final = 2
_TTLS: Final = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


class ImpossibleUsage(ValueError):
    """The figures cannot be; the text says which, on one line."""


def read_usage(wire: Wire, figures: object, *, meaning: UsageMeaning | None = None, both: bool = False) -> Usage | None:
    """The figures of a call in one meaning; None where there are none.

    Args:
        figures: an object as the provider gave it, or those of a stream in their order.
        meaning: what its count of input tokens holds; None for what it holds in the format.
        both: whether one token may count as read and as written.

    Raises:
        ImpossibleUsage: a figure is no count of tokens, or two of them contradict each other.
    """
    merged = _merged(figures)
    if not merged:
        return None
    for name, value in _counts(merged):
        if value is not None and read_token_count(value) is None:
            raise ImpossibleUsage(f"{one_line(name, _SHOWN)} is {one_line(str(value), _SHOWN)}, which counts no tokens")
    _require_sums(merged)
    try:
        usage = DECODERS[wire].usage(merged, meaning)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ImpossibleUsage(f"the usage is out of shape ({one_line(str(error), _SHOWN)})") from error
    if usage is None:
        raise ImpossibleUsage(f"the usage has no figures of the format {wire.value}")
    most = max(usage.cached, usage.written) if both else usage.cached + usage.written
    if most > usage.input:
        raise ImpossibleUsage(
            f"{usage.cached:,} tokens read and {usage.written:,} written of {usage.input:,} input tokens"
        )
    by_ttl = sum(tokens for _, tokens in usage.written_by_ttl)
    if by_ttl > usage.written:
        raise ImpossibleUsage(f"{by_ttl:,} tokens written by their lifetimes, and {usage.written:,} in all")
    return usage


def _merged(figures: object) -> Mapping[str, Any]:
    if isinstance(figures, list):
        # The events of a stream: later ones say what earlier ones did not know.
        known = [item for item in figures if isinstance(item, Mapping)]
        return {key: value for item in known for key, value in item.items() if value is not None}
    if figures is None or isinstance(figures, Mapping):
        return figures or {}
    raise ImpossibleUsage(f"the usage is {one_line(str(figures), _SHOWN)}, which is no object")


def _counts(figures: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _counts(value)
        elif any(word in name.lower() for word in _COUNT_WORDS) and not isinstance(value, list):
            yield name, value


def _require_sums(figures: Mapping[str, Any]) -> None:
    for total, names in _TOTALS:
        parts = [figures[name] for name in names if isinstance(figures.get(name), int)]
        whole = figures.get(total)
        if isinstance(whole, int) and len(parts) >= _REQUIRED and sum(parts) != whole:
            raise ImpossibleUsage(f"{total} is {whole:,}, and {' + '.join(names)} is {sum(parts):,}")
    created, written = figures.get("cache_creation"), figures.get("cache_creation_input_tokens")
    if isinstance(created, Mapping) and isinstance(written, int):
        parts = [created[name] for name in _TTLS if isinstance(created.get(name), int)]
        if parts and sum(parts) != written:
            raise ImpossibleUsage(f"cache_creation_input_tokens is {written:,}, and by lifetimes it is {sum(parts):,}")
