"""Whether it pays to send a prompt again only so that its entry in the cache lives on, and when. Pure.

A refresh costs one read of the prompt. It saves writing it anew, if the person comes back within the lifetime that
begins with it, or with a further refresh, and would not have come back before. How likely that is, the conversation's
own pauses say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from frontmind.providers.profiles.profile import TTL_SECONDS, MarkerKind, Profile, Wire

_LONGEST_MARGIN: Final = timedelta(seconds=30)
_MARGIN_SHARE: Final = 10
"""A refresh comes a tenth of the lifetime before its end, and at most half a minute."""

_OUTPUT_PRICE: Final = 10.0
"""About what a token of a reply costs, as a multiple of an input token: at most, of the models that are known."""

_LEAST_REPLY: Final[Mapping[Wire, tuple[tuple[str, ...], int]]] = MappingProxyType(
    {
        # The Messages API takes 0: it only reads the prompt. Others have to say something.
        Wire.ANTHROPIC: (("max_tokens",), 0),
        Wire.BEDROCK_INVOKE: (("body", "max_tokens"), 1),
        Wire.BEDROCK_CONVERSE: (("inferenceConfig", "maxTokens"), 1),
        Wire.OPENAI_RESPONSES: (("max_output_tokens",), 16),
        Wire.OPENAI_CHAT: (("max_tokens",), 1),
        Wire.GEMINI: (("generationConfig", "maxOutputTokens"), 1),
    }
)


@dataclass(frozen=True, slots=True)
class Held:
    """What the cache has of the conversation.

    Attributes:
        tokens: those of its prompt that are cached.
        steady: how many of them are kept for longer than the others, and need no refresh.
        passing: how many of them no later turn will read, such as a section that slides away.
        fresh: the tokens of its prompt that are not cached, which a refresh processes again.
        ttl: the lifetime that was asked for the others; empty for the provider's own.
    """

    tokens: int
    steady: int = 0
    passing: int = 0
    fresh: int = 0
    ttl: str = ""


@dataclass(frozen=True, slots=True)
class Refresh:
    """A refresh that pays, with those that may have to follow it.

    Attributes:
        after: how long after the entry was used last it should be sent.
        until: how long after that the entry is gone; sent later, it would only write what may never be read.
        saving, cost: what is expected of both, in tokens at the price of an input token.
    """

    after: timedelta
    until: timedelta
    saving: float
    cost: float


def lifetime_of(profile: Profile, ttl: str) -> timedelta | None:
    """How long an entry lives after its last use; None where nobody knows."""
    if profile.markers is not MarkerKind.NONE and profile.ttls:
        return timedelta(seconds=TTL_SECONDS[ttl if ttl in profile.ttls else profile.ttls[0]])
    return timedelta(seconds=profile.lifetime) if profile.lifetime else None


def worthwhile_refresh(
    profile: Profile, held: Held, pauses: Sequence[timedelta], *, silent: timedelta, left: int
) -> Refresh | None:
    """The next refresh of an entry, if with as many further ones as are best it is expected to save more than it costs.

    Args:
        held: what the entry holds.
        pauses: those of the conversation, from a reply to the next message.
        silent: how long nobody had said anything when the entry was used last.
        left: how many refreshes there may still be.
    """
    lifetime = lifetime_of(profile, held.ttl)
    if lifetime is None or "read_price" not in profile.sources:
        return None
    after = lifetime - min(_LONGEST_MARGIN, lifetime / _MARGIN_SHARE)
    saved = max(0, held.tokens - held.steady - held.passing)
    lost = saved * (profile.write_price_of(held.ttl) - profile.read_price)
    cost = held.tokens * profile.read_price + held.fresh + _LEAST_REPLY[profile.wire][1] * _OUTPUT_PRICE
    away = [pause - silent for pause in pauses if pause > silent + after]
    best: Refresh | None = None
    for number in range(1, left + 1):
        # Who comes back before the entry ends, or after the last refreshed one has, has nothing of it.
        helped = sum(lifetime < pause <= number * after + lifetime for pause in away)
        # One more pause than was seen is taken to be endless, so that few of them promise little.
        sent = number + sum(min(number, -(-pause // after) - 1) for pause in away)
        found = Refresh(after, lifetime, helped * lost / (len(away) + 1), sent * cost / (len(away) + 1))
        if found.saving > found.cost and (best is None or found.saving - found.cost > best.saving - best.cost):
            best = found
    return best


def refreshing(request: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """The request that reads the same prompt and asks for the shortest reply that the format has."""
    path, least = _LEAST_REPLY[profile.wire]
    if profile.wire is Wire.OPENAI_CHAT:
        path = (profile.max_tokens_key,)
    return _with(request, path if path[0] in request else path[-1:], least)


def _with(value: Mapping[str, Any], path: tuple[str, ...], number: int) -> dict[str, Any]:
    key, *rest = path
    inner = value.get(key)
    return {**value, key: _with(inner, tuple(rest), number) if rest and isinstance(inner, Mapping) else number}
