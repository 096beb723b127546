"""Recorded conversations with real providers: the rules say to the token what the next request reads and writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import pytest

from frontmind.cachelab.simulator import CacheSimulator
from frontmind.providers.decoding.decode import DECODERS
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.reading import Hints, read_request
from frontmind.values.usage import Usage
from frontmind.window.layout import Layout
from recordings import RecordedSizes
from support import REPOSITORY, START

FILE: Final = REPOSITORY / "tests" / "data" / "cache" / "recorded_requests.jsonl"

EXACT: Final = {
    # For each request behind the first: tokens read and written, as predicted and as the provider counted.
    "test_anthropic_cache_real_api": [(1111, 418)],
    "test_inline_system_prompt_cache_prefix_is_reused": [(1590, 0)],
    "test_bedrock_cache_write_and_read": [(1322, 0)],
    "test_bedrock_cache_messages_with_document_as_last_content": [(1712, 236)],
    "test_openrouter_cache_messages_anthropic_real_api": [(3211, 115)],
    "test_openrouter_cache_instructions_gemini_real_api": [(2161, 0)],
    "test_openai_responses_prompt_cache_e2e": [(4012, 0)],
    "test_google_model_cached_content": [(3512, 0)],
    "test_anthropic_thinking_roundtrip_wire_stable[vercel]": [(0, 0), (0, 0)],
    "test_openai_tool_call_roundtrip_wire_stable[vercel]": [(0, 0), (0, 0), (0, 0)],
}

CODE_EXECUTION: Final = (
    "the provider called the model again after each run of code, and the counts are the sums of all these calls: no "
    "prefix has this size"
)
EXCEPTIONS: Final = {
    # Predicted, counted, and why they differ.
    "test_anthropic_code_execution_files_cache_prefix_stable[automatic-sonnet-4-6]": (
        (8851, 484),
        (9116, 219),
        CODE_EXECUTION,
    ),
    "test_anthropic_code_execution_files_cache_prefix_stable[messages-sonnet-4-6]": (
        (8845, 526),
        (9134, 237),
        CODE_EXECUTION,
    ),
    "test_mistral_history_uses_prompt_cache": (
        (253, 0),
        (224, 0),
        "Mistral counts in steps that its documentation does not name; a second-hand page says 64, which 224 is no "
        "multiple of",
    ),
}

SINGLE: Final = {
    "test_anthropic_cache_count_tokens": "one call; the other request only counts",
    "test_anthropic_compaction_usage_with_cache_streaming": "one call",
    "test_bedrock_cache_point_adds_cache_control[claude-sonnet-4-5]": "one call",
    "test_bedrock_cache_usage_includes_cache_tokens": "one call",
}


@dataclass(frozen=True)
class Recorded:
    """A request of a recording, and how it was counted."""

    layout: Layout
    usage: Usage


def rows() -> dict[str, list[dict[str, Any]]]:
    recordings: dict[str, list[dict[str, Any]]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        name = row["source"].rsplit("/", 1)[-1].removesuffix(".yaml")
        recordings.setdefault(name, []).append(row)
    return recordings


def recorded(name: str) -> list[Recorded]:
    """The calls of a recording that were counted."""
    return list(_recorded(name))


def _recorded(name: str) -> Iterator[Recorded]:
    for row in rows()[name]:
        layout = read_request(row["request"], Hints(row["uri"], row["model"] or ""))
        # Counting, and making an entry, are no calls; a stream's figures in pieces are those of a single call.
        usage = DECODERS[Wire(layout.wire)].usage(row["usage"]) if isinstance(row["usage"], dict) else None
        if usage is not None:
            yield Recorded(layout, usage)


def predicted(calls: list[Recorded]) -> list[tuple[int, int]]:
    """For each call behind the first, what the rules say that it reads and writes."""
    profile = resolve_profile(calls[0].layout.provider, calls[0].layout.model)
    cache, sizes, outcomes = CacheSimulator(profile), RecordedSizes(profile), []
    for number, call in enumerate(calls):
        sized = sizes.size(call.layout, call.usage)
        outcome = cache.send(sized, START + timedelta(seconds=number))
        outcomes.append((outcome.read, outcome.written))
        assert outcome.usage.input == call.usage.input
        sizes.learn(call.layout, call.usage)
    return outcomes[1:]


def counted(calls: list[Recorded]) -> list[tuple[int, int]]:
    return [(call.usage.cached, call.usage.written) for call in calls[1:]]


def test_every_recording_is_in_the_table_or_an_exception_by_name() -> None:
    assert set(rows()) == {*EXACT, *EXCEPTIONS, *SINGLE}
    assert {name for name in rows() if len(recorded(name)) > 1} == {*EXACT, *EXCEPTIONS}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.requirement("LAB-2")
def test_the_next_request_reads_and_writes_what_the_rules_say(name: str) -> None:
    calls = recorded(name)
    assert predicted(calls) == counted(calls) == EXACT[name]


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_is_still_one(name: str) -> None:
    calls = recorded(name)
    rules, actual, why = EXCEPTIONS[name]
    assert (predicted(calls), counted(calls)) == ([rules], [actual])
    assert rules != actual
    assert why


@pytest.mark.parametrize("name", [*EXACT, *EXCEPTIONS])
def test_what_a_request_has_read_plays_no_part_in_its_own_sizes(name: str) -> None:
    calls = recorded(name)
    profile = resolve_profile(calls[0].layout.provider, calls[0].layout.model)
    sizes = RecordedSizes(profile)
    for number, call in enumerate(calls):
        other = replace(call.usage, cached=call.usage.written, written=call.usage.cached)
        assert other.fresh == call.usage.fresh
        if number or not call.layout.entry:
            assert sizes.size(call.layout, other) == sizes.size(call.layout, call.usage)
        sizes.learn(call.layout, call.usage)


def test_a_count_of_tokens_says_what_the_call_then_has() -> None:
    counting, _ = rows()["test_anthropic_cache_count_tokens"]
    (call,) = recorded("test_anthropic_cache_count_tokens")
    assert counting["count_tokens"]["input_tokens"] == call.usage.input == 1114


def test_the_docs_have_the_table_as_it_is() -> None:
    docs = (REPOSITORY / "docs" / "cache-rules.md").read_text(encoding="utf-8")
    for name, figures in EXACT.items():
        assert f"| {name} | {', '.join(map(said, figures))} |" in docs
    for name, (rules, actual, why) in EXCEPTIONS.items():
        assert f"| {name} | {said(rules)} | {said(actual)} | {why} |" in docs


def said(figures: tuple[int, int]) -> str:
    return f"{figures[0]:,} read, {figures[1]:,} written"
