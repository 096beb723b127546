"""What a token of each kind costs with a model, by the public price lists: a call's cost is divided by it."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Final

from frontmind.cachelab.ledger import TokenPrices
from frontmind.errors import UsageError
from frontmind.providers.names import parse_model_name
from frontmind.providers.prices import list_price
from frontmind.values.usage import Usage

# Few enough that no list has a dearer price for them because they are many.
_PRICED_TOKENS: Final = 1_000


@cache
def token_prices(model: str) -> TokenPrices | None:
    """What the tokens of a model cost; None where the lists do not know it, or are not installed.

    Args:
        model: the model's full name.
    """
    try:
        name = parse_model_name(model)
        many = _PRICED_TOKENS
        prices = [
            list_price(name.provider.value, name.model, usage)
            for usage in (
                Usage(many, many, 0, 0),
                Usage(many, 0, many, 0),
                Usage(many, 0, 0, 0),
                Usage(0, 0, 0, many),
            )
        ]
    except UsageError:
        return None
    read, written, fresh, output = (price or Decimal(0) for price in prices)
    return None if None in prices else TokenPrices(read, written, fresh, output)
