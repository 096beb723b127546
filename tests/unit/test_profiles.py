"""Profiles: what is known of a model, where it is known from, and what the user knows better."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from frontmind.errors import UsageError
from frontmind.providers.names import Provider
from frontmind.providers.profiles.facts import RULES
from frontmind.providers.profiles.profile import (
    Caching,
    Mark,
    MarkerKind,
    OperatorMessages,
    Profile,
    UsageMeaning,
    Wire,
)
from frontmind.providers.profiles.resolve import (
    OVERRIDABLE,
    choose_framing,
    identify,
    parse_overrides,
    resolve_profile,
)
from frontmind.providers.profiles.rules import Facts
from frontmind.window.choice import ClosedThinking, Framing

FACTS = set(Facts.__annotations__)


@pytest.mark.parametrize(
    ("model", "identified"),
    [
        ("claude-opus-4-8", ("claude-opus", (4, 8))),
        ("claude-opus-4-20250514", ("claude-opus", (4,))),
        ("claude-opus-4-1-20250805", ("claude-opus", (4, 1))),
        ("claude-3-5-sonnet-20241022", ("claude-sonnet", (3, 5))),
        ("claude-3-opus-20240229", ("claude-opus", (3,))),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", ("claude-sonnet", (4, 5))),
        ("anthropic/claude-sonnet-4.6", ("claude-sonnet", (4, 6))),
        ("claude-fable-5-1", ("claude-fable", (5, 1))),
        ("gpt-5.6-sol", ("gpt", (5, 6))),
        ("gpt-5-chat-latest", ("gpt-chat", (5,))),
        ("gpt-4o", ("gpt", (4,))),
        ("gemini-2.5-flash", ("gemini", (2, 5))),
        ("models/gemini-3-pro-preview", ("gemini", (3,))),
        ("deepseek-chat", ("deepseek", ())),
        ("qwen3", ("", ())),
        ("claude-opus-" + "9" * 5000, ("", ())),
        ("", ("", ())),
    ],
)
def test_a_model_is_known_by_its_name(model: str, identified: tuple[str, tuple[int, ...]]) -> None:
    assert identify(model) == identified


@pytest.mark.requirement("PROFILE-1")
def test_every_fact_of_every_provider_has_a_source_and_a_mark() -> None:
    names = {field.name for field in fields(Profile)}
    assert names >= FACTS
    assert set(OVERRIDABLE) == FACTS
    for rule in RULES:
        assert rule.source and rule.mark is not Mark.YOURS and rule.facts
    for provider in Provider:
        profile = resolve_profile(provider.value, "some-model")
        unlike_default = {
            name
            for name in FACTS
            if getattr(profile, name) != getattr(Profile(provider="p", model="", wire=profile.wire), name)
        }
        assert unlike_default <= set(profile.sources)


def test_what_is_not_verified_can_be_switched_by_the_user() -> None:
    doubtful = {name for rule in RULES if rule.mark is not Mark.VERIFIED for name in rule.facts}
    assert doubtful <= set(OVERRIDABLE)


@pytest.mark.requirement("PROFILE-2")
@pytest.mark.parametrize("provider", ["anthropic", "openai", "bedrock", "gemini", "openrouter", "compatible", "ollama"])
def test_an_unknown_model_is_treated_with_caution(provider: str) -> None:
    profile = resolve_profile(provider, "brand-new-model")
    assert profile.operator_messages is not OperatorMessages.CLEARED
    assert profile.checks_thinking is (provider in ("anthropic", "bedrock"))
    assert profile.max_markers in (0, 4)
    if provider in ("compatible", "ollama"):
        assert (profile.framing, profile.markers, profile.alternate_roles) == (Framing.ASSISTANT, MarkerKind.NONE, True)


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "claude-sonnet-4-5", {"framing": Framing.ASSISTANT, "prefill": True, "min_cached_tokens": 1024}),
        ("anthropic", "claude-sonnet-4-6", {"prefill": False, "min_cached_tokens": 1024}),
        ("anthropic", "claude-opus-4-7", {"min_cached_tokens": 2048, "operator_messages": OperatorMessages.NONE}),
        (
            "anthropic",
            "claude-opus-4-8",
            {"framing": Framing.ASSISTANT, "operator_messages": OperatorMessages.CLEARED, "checks_thinking": False},
        ),
        ("anthropic", "claude-opus-5", {"framing": Framing.ASSISTANT, "checks_thinking": False}),
        ("anthropic", "claude-opus-5-5", {"framing": Framing.SYSTEM_CLEAR_AT, "checks_thinking": True}),
        ("anthropic", "claude-fable-5", {"framing": Framing.ASSISTANT, "checks_thinking": False}),
        ("anthropic", "claude-mythos-5-1", {"framing": Framing.SYSTEM_CLEAR_AT, "checks_thinking": True}),
        ("anthropic", "claude-haiku-4-5", {"min_cached_tokens": 4096, "usage": UsageMeaning.UNMARKED}),
        (
            "bedrock",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            {"framing": Framing.USER_TEXT, "ttls": ("5m", "1h"), "look_back": 22, "look_back_joins_tools": False},
        ),
        (
            "bedrock",
            "us.anthropic.claude-opus-5-5-v1:0",
            {"framing": Framing.USER_TEXT, "checks_thinking": True, "operator_messages": OperatorMessages.NONE},
        ),
        ("bedrock", "amazon.nova-pro-v1:0", {"markers": MarkerKind.NONE, "ttls": (), "look_back": None}),
        ("bedrock", "meta.llama3-70b-instruct-v1:0", {"markers": MarkerKind.NONE}),
        ("openrouter", "anthropic/claude-opus-5.5", {"checks_thinking": True, "framing": Framing.ASSISTANT}),
        ("anthropic", "claude-saga-6", {"checks_thinking": True, "min_cached_tokens": 4096}),
        ("anthropic", "claude-sonnet-latest", {"checks_thinking": True}),
        ("anthropic", "Claude-Opus-5-5", {"framing": Framing.SYSTEM_CLEAR_AT}),
        ("openai", "gpt-5-chat-latest", {"encrypted_reasoning": False}),
        ("openai", "gpt-5.6-chat-latest", {"encrypted_reasoning": False, "caching": Caching.LAST_USER}),
        ("openai", "gpt-5-mini", {"encrypted_reasoning": True}),
        (
            "openai",
            "gpt-5.5",
            {"framing": Framing.DEVELOPER, "caching": Caching.PREFIX, "cache_step": 128, "max_markers": 0},
        ),
        ("openai", "gpt-5.6-sol", {"caching": Caching.LAST_USER, "markers": MarkerKind.BREAKPOINT}),
        ("gemini", "gemini-2.5-pro", {"framing": Framing.USER_TEXT, "min_cached_tokens": 2048}),
        ("deepseek", "deepseek-chat", {"framing": Framing.APPEND, "caching": Caching.UNITS}),
        (
            "openrouter",
            "anthropic/claude-sonnet-4.6",
            {"markers": MarkerKind.CACHE_CONTROL, "session_key": "session_id", "min_cached_tokens": 1024},
        ),
        ("openrouter", "openai/gpt-5.5", {"markers": MarkerKind.NONE, "session_key": "session_id"}),
        ("local", "", {"framing": Framing.ASSISTANT, "caching": Caching.PREFIX, "plain_content": True}),
    ],
)
def test_the_facts_of_a_model(provider: str, model: str, expected: dict[str, Any]) -> None:
    profile = resolve_profile(provider, model)
    assert {name: getattr(profile, name) for name in expected} == expected


@pytest.mark.requirement("PROFILE-2")
def test_the_user_s_own_facts_win_and_are_named_as_such() -> None:
    overrides = parse_overrides("inputs=image/png+application/pdf, look_back=none,ttls=5m, framing=append,prefill=true")
    profile = resolve_profile("anthropic", "claude-sonnet-4-6", overrides)
    assert profile.inputs == {"image/png", "application/pdf"}
    assert (profile.look_back, profile.ttls, profile.framing, profile.prefill) == (None, ("5m",), Framing.APPEND, True)
    assert {profile.sources[name].mark for name in overrides} == {Mark.YOURS}
    assert parse_overrides("") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour=red", "unknown fact 'colour=red'"),
        ("prefill", "unknown fact 'prefill'"),
        ("prefill=maybe", "use true or false"),
        ("framing=loud", "use one of assistant, user_text"),
        ("max_markers=many", "use a whole number"),
        ("max_markers=-1", "use a whole number"),
        ("max_markers=" + "9" * 40, "use a whole number"),
        ("wire=telegraph", "use one of anthropic"),
    ],
)
def test_a_fact_that_cannot_be_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_overrides(text)


@pytest.mark.requirement("PROFILE-3")
@pytest.mark.parametrize(
    ("provider", "model", "overrides", "said"),
    [
        ("anthropic", "claude-sonnet-5", "max_markers=0", "markers=cache_control with max_markers=0"),
        ("gemini", "gemini-3", "max_markers=2", "markers=none with max_markers=2"),
        ("gemini", "gemini-3", "look_back=20", "markers=none with look_back=20"),
        ("anthropic", "claude-sonnet-5", "look_back=0", "look_back=0 reads nothing"),
        ("anthropic", "claude-sonnet-5", "ttls=5m+2w", "ttls has 2w"),
        ("anthropic", "claude-sonnet-5", "framing=developer", "framing=developer"),
        ("gemini", "gemini-3", "framing=system_clear_at", "framing=system_clear_at"),
        ("gemini", "gemini-3", "operator_messages=cleared", "no turn-scoped messages"),
        ("anthropic", "claude-sonnet-5", "markers=cache_point", "markers=cache_point with wire=anthropic"),
        ("anthropic", "claude-sonnet-5", "wire=gemini", "markers=cache_control with wire=gemini"),
        (
            "bedrock",
            "claude-opus-5",
            "wire=bedrock_invoke,markers=cache_point",
            "markers=cache_point with wire=bedrock_invoke",
        ),
        ("local", "", "cache_step=0", "cache_step=0"),
        ("ollama", "m", "max_tokens_key=messages", "max_tokens_key='messages'"),
        ("ollama", "m", "max_tokens_key=", "max_tokens_key="),
        ("openai", "gpt-5.5", "session_key=model", "session_key='model'"),
        ("openai", "gpt-5.5", "operator_role=boss", "operator_role=boss"),
        ("bedrock", "m", "operator_messages=anywhere", "operator_messages=anywhere with wire=bedrock_converse"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(provider: str, model: str, overrides: str, said: str) -> None:
    with pytest.raises(UsageError, match="contradicts itself") as caught:
        resolve_profile(provider, model, parse_overrides(overrides))
    assert said in str(caught.value)


@pytest.mark.requirement("FRAME-1")
def test_the_framing_is_chosen_by_the_profile_and_says_why() -> None:
    choice = choose_framing(resolve_profile("deepseek", "deepseek-chat"))
    assert choice.framing is Framing.APPEND
    assert "whole units" in choice.reason
    asked = choose_framing(resolve_profile("deepseek", "deepseek-chat"), Framing.USER_TEXT)
    assert (asked.framing, asked.reason) == (Framing.USER_TEXT, "asked for")


@pytest.mark.parametrize(
    ("provider", "model", "framing"),
    [
        ("anthropic", "claude-sonnet-4-5", Framing.SYSTEM_CLEAR_AT),
        ("gemini", "gemini-3", Framing.DEVELOPER),
        ("bedrock", "us.anthropic.claude-opus-5-5-v1:0", Framing.SYSTEM_CLEAR_AT),
        ("openai", "gpt-5.5", Framing.SYSTEM_CLEAR_AT),
    ],
)
def test_a_framing_that_a_model_cannot_take_is_refused_with_those_that_it_can(
    provider: str, model: str, framing: Framing
) -> None:
    with pytest.raises(UsageError, match="use one of append, assistant"):
        choose_framing(resolve_profile(provider, model), framing)


@pytest.mark.requirement("FRAME-2")
def test_where_reasoning_is_checked_it_stays_only_in_a_framing_that_changes_nothing() -> None:
    profile = resolve_profile("anthropic", "claude-opus-5-5")
    kept = {framing: choose_framing(profile, framing).closed_thinking for framing in profile.framings}
    assert kept == {
        Framing.SYSTEM_CLEAR_AT: ClosedThinking.BOUND,
        Framing.APPEND: ClosedThinking.BOUND,
        Framing.ASSISTANT: ClosedThinking.LEFT_OUT,
        Framing.USER_TEXT: ClosedThinking.LEFT_OUT,
    }
    assert "left out" in choose_framing(profile, Framing.ASSISTANT).reason
    unchecked = resolve_profile("anthropic", "claude-opus-5")
    assert choose_framing(unchecked).closed_thinking is ClosedThinking.SENT


def test_a_wire_format_can_be_chosen_where_a_provider_has_two() -> None:
    overrides = parse_overrides("wire=bedrock_invoke")
    profile = resolve_profile("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", overrides)
    assert (profile.wire, profile.markers) == (Wire.BEDROCK_INVOKE, MarkerKind.CACHE_CONTROL)
