"""From a model's name to its profile, with the user's own facts on top, and from a profile to a framing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from frontmind.errors import UsageError
from frontmind.providers.profiles.facts import FAMILIES, RULES
from frontmind.providers.profiles.profile import (
    MARKERS,
    Caching,
    Mark,
    MarkerKind,
    OperatorMessages,
    Profile,
    Source,
    UsageMeaning,
    Wire,
)
from frontmind.providers.profiles.rules import Version
from frontmind.window.choice import ClosedThinking, Framing, FramingChoice, LayoutName

_ENUMS: Final[Mapping[str, type[StrEnum]]] = {
    "wire": Wire,
    "framing": Framing,
    "operator_messages": OperatorMessages,
    "markers": MarkerKind,
    "caching": Caching,
    "usage": UsageMeaning,
}
_FLAGS: Final = frozenset(
    {
        "alternate_roles",
        "prefill",
        "look_back_joins_tools",
        "caches_output",
        "checks_thinking",
        "plain_content",
        "encrypted_reasoning",
        "empty_reasoning",
        "cache_diagnostics",
    }
)
_NUMBERS: Final = frozenset({"max_markers", "min_cached_tokens", "cache_step", "lifetime", "slots"})
_PRICES: Final = frozenset({"read_price", "write_price", "long_write_price"})
_LISTS: Final = frozenset({"ttls", "inputs"})
_TEXTS: Final = frozenset({"operator_role", "max_tokens_key", "session_key"})
OVERRIDABLE: Final = tuple(sorted({*_ENUMS, *_FLAGS, *_NUMBERS, *_PRICES, *_LISTS, *_TEXTS, "look_back"}))
"""The facts that can be set by the user."""

_YOURS: Final = Source(Mark.YOURS, "set by you")


def identify(model: str) -> tuple[str, Version]:
    """The family of a model and its version, both empty where the name is of no known family."""
    for family, pattern in FAMILIES:
        match = re.search(pattern, model, re.IGNORECASE)
        if match:
            return family, tuple(int(number) for number in match.groups() if number)
    return "", ()


def resolve_profile(provider: str, model: str, overrides: Mapping[str, object] | None = None) -> Profile:
    """What is known of a model; for an unknown one, what holds for all of its provider.

    Args:
        provider: the provider's name as it stands in front of the colon.
        model: the provider's name of the model.
        overrides: facts of your own, as `parse_overrides` gives them; they win.

    Raises:
        UsageError: the facts contradict each other.
    """
    family, version = identify(model)
    facts: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for rule in RULES:
        if rule.fits(provider, family, version):
            facts |= rule.facts
            sources |= dict.fromkeys(rule.facts, Source(rule.mark, rule.source))
    facts |= overrides or {}
    sources |= dict.fromkeys(overrides or {}, _YOURS)
    if "wire" in (overrides or {}) and "markers" not in (overrides or {}):
        _spell_markers_as(facts, sources)
    return Profile(provider=provider, model=model, sources=sources, **facts)


def _spell_markers_as(facts: dict[str, Any], sources: dict[str, Source]) -> None:
    """The same markers in a format that was set by the user: Bedrock has two, with one kind of marker each."""
    known = MARKERS[facts["wire"]] - {MarkerKind.NONE}
    if facts.get("markers", MarkerKind.NONE) not in {MarkerKind.NONE, *known} and len(known) == 1:
        (facts["markers"],) = known
        sources["markers"] = Source(Mark.DERIVED, f"the only kind of marker in the format {facts['wire'].value}")


def parse_overrides(text: str) -> dict[str, object]:
    """Read ``fact=value,fact=value``; a list's items are joined by ``+``.

    Raises:
        UsageError: a fact is unknown, or cannot have this value.
    """
    overrides: dict[str, object] = {}
    for item in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in item.partition("="))
        if not equals or name not in OVERRIDABLE:
            raise UsageError(
                f"unknown fact {item!r} of a profile; write FACT=VALUE with one of {', '.join(OVERRIDABLE)}"
            )
        overrides[name] = _value(name, value)
    return overrides


def _value(name: str, text: str) -> object:
    if name in _ENUMS:
        known = [member.value for member in _ENUMS[name]]
        if text not in known:
            raise UsageError(f"{name} cannot be {text!r}; use one of {', '.join(known)}")
        return _ENUMS[name](text)
    if name in _FLAGS:
        if text not in ("true", "false"):
            raise UsageError(f"{name} cannot be {text!r}; use true or false")
        return text == "true"
    if name == "look_back" and text == "none":
        return None
    if name in _NUMBERS or name == "look_back":
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
            raise UsageError(f"{name} cannot be {text!r}; use a whole number")
        return int(text)
    if name in _PRICES:
        if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", text, re.ASCII):
            raise UsageError(f"{name} cannot be {text!r}; use a multiple of the price of an input token, such as 0.1")
        return float(text)
    if name in _LISTS:
        items = [item for item in text.split("+") if item]
        return tuple(items) if name == "ttls" else frozenset(items)
    return text


def choose_framing(profile: Profile, asked: Framing | None = None) -> FramingChoice:
    """How the notification center goes to this model, and why.

    Args:
        asked: the framing that the user wants; None for what the profile says.

    Raises:
        UsageError: this model cannot take the framing that is asked for.
    """
    framing = profile.framing if asked is None else asked
    if framing not in profile.framings:
        possible = ", ".join(sorted(item.value for item in profile.framings))
        raise UsageError(
            f"{profile.provider}:{profile.model} cannot take the framing {framing.value!r}: "
            f"{_why_not(framing, profile)}; use one of {possible}"
        )
    source = profile.sources.get("framing")
    is_asked = asked is not None or source == _YOURS
    chosen = source.text if source is not None else "the default"
    reason = chosen if asked is None else "asked for"
    if not profile.checks_thinking:
        return FramingChoice(framing, reason, ClosedThinking.SENT, asked=is_asked)
    if framing in (Framing.SYSTEM_CLEAR_AT, Framing.APPEND):
        return FramingChoice(framing, reason, ClosedThinking.BOUND, asked=is_asked)
    reason += "; the model checks what stands in front of its reasoning, so that of closed turns is left out"
    return FramingChoice(framing, reason, ClosedThinking.LEFT_OUT, asked=is_asked)


def sliding_framing(profile: Profile) -> Framing:
    """The framing in which nothing of the notification center is sent again, as this model takes it best."""
    if profile.framing in (Framing.ASSISTANT, Framing.USER_TEXT):
        return profile.framing
    # What is presumed to be the model's own words should not be said in its name.
    return Framing.ASSISTANT if profile.wire is Wire.ANTHROPIC else Framing.USER_TEXT


def framing_of(layout: LayoutName, profile: Profile) -> Framing | None:
    """The framing that a layout asks for; None where it leaves that to the profile, or to the conversation."""
    match layout:
        case LayoutName.SLIDE:
            return sliding_framing(profile)
        case LayoutName.CLEAR_AT:
            return Framing.SYSTEM_CLEAR_AT
        case LayoutName.APPEND:
            return Framing.APPEND
        case _:
            return None


def _why_not(framing: Framing, profile: Profile) -> str:
    if framing is Framing.SYSTEM_CLEAR_AT:
        return "it has no turn-scoped system messages"
    return f"its operator messages are {profile.operator_messages.value}"
