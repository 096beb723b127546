"""What a call costs, by the public price lists that the package genai-prices carries.

A price list is a snapshot: it knows no discounts, batches or contracts. Nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, TypeAlias

from frontmind.errors import UsageError
from frontmind.values.usage import Usage

PriceOf: TypeAlias = Callable[[str, str, Usage], Decimal | None]
"""From provider, model and the tokens of a call to its price in US dollars; None where no price is known."""

_PROVIDERS: Final[Mapping[str, str]] = {"gemini": "google", "bedrock": "aws"}
"""Names of providers where the lists have another one."""


def list_price(provider: str, model: str, usage: Usage) -> Decimal | None:
    """The price of a call in US dollars by the lists; None where they do not know the model, or the figures cannot be.

    Args:
        provider: the provider's name as it stands in front of the colon.
        model: the provider's name of the model.

    Raises:
        UsageError: the package with the lists is not installed.
    """
    try:
        import genai_prices  # noqa: PLC0415 - optional dependency
    except ImportError as error:
        raise UsageError("prices need the genai-prices package; run: pip install 'frontmind[prices]'") from error
    tokens = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.written,
        cache_write_1h_tokens=dict(usage.written_by_ttl).get("1h", 0),
        output_tokens=usage.output,
    )
    try:
        found = genai_prices.calc_price(tokens, model_ref=model, provider_id=_PROVIDERS.get(provider, provider))
    except (LookupError, ValueError):
        # An unknown model, or figures that contradict each other.
        return None
    return found.total_price
