"""The size of a text when no tokenizer is at hand, corrected by what a provider has counted before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from frontmind.window.canonical import Json
from frontmind.window.sizes import estimate_json, estimate_tokens

__all__ = ["Calibration", "calibrate", "estimate_request", "estimate_tokens"]

_PROMPT_KEYS: Final = (
    "tools",
    "toolConfig",
    "system",
    "systemInstruction",
    "instructions",
    "messages",
    "contents",
    "input",
    "body",
)


def estimate_request(request: Mapping[str, Json]) -> int:
    """About how many prompt tokens a request of any wire format has: its texts, without the JSON around them."""
    return sum(estimate_json(request.get(key)) for key in _PROMPT_KEYS)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far the estimates of a conversation are off.

    Attributes:
        factor: what an estimate is multiplied by.
        replies: how many replies with the provider's own count it is made from.
    """

    factor: float = 1.0
    replies: int = 0

    def corrected(self, estimate: int) -> int:
        """The estimate as the provider would probably count it."""
        return round(estimate * self.factor)


# A factor outside of these says that something else is counted, not that the rule of thumb is off.
_LEAST, _MOST = 0.2, 5.0


def calibrate(counts: Iterable[tuple[int, int]]) -> Calibration:
    """The correction that these replies teach.

    Args:
        counts: for each reply the estimate of its request and the prompt tokens that the provider counted.
    """
    usable = [(estimate, counted) for estimate, counted in counts if estimate > 0 and counted > 0]
    if not usable:
        return Calibration()
    factor = sum(counted for _, counted in usable) / sum(estimate for estimate, _ in usable)
    return Calibration(factor, len(usable)) if _LEAST <= factor <= _MOST else Calibration()
