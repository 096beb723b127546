"""The rules of caches that the simulator plays, as a list: what each says, how sure that is, where from, and its test.

Values only. What holds for a model is in its profile, which has the source of each fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from frontmind.providers.profiles.profile import Mark

_V, _S, _D = Mark.VERIFIED, Mark.SECONDARY, Mark.DERIVED
_ANTHROPIC: Final = "Anthropic, prompt caching"
_OPENAI: Final = "OpenAI, prompt caching"
_MARKED: Final = "Entries at markers: Anthropic, Amazon Bedrock, OpenRouter in front of Claude"
_KEYS: Final = "What an entry goes by: Claude"
_EXACT: Final = "Exact breakpoints: GPT-5.6 and later"
_PREFIX: Final = "Without markers"


@dataclass(frozen=True, slots=True)
class CacheRule:
    """A rule of the simulator.

    Attributes:
        group: for which caches it holds.
        name: a short name.
        statement: one sentence.
        mark: how sure it is.
        source: where it is known from.
        test: the test that shows it, in ``tests/unit/test_simulator_rules.py``.
    """

    group: str
    name: str
    statement: str
    mark: Mark
    source: str
    test: str


CACHE_RULES: Final = (
    CacheRule(
        _MARKED,
        "marked ends",
        "An entry is written at a marker and nowhere else; without one nothing is cached.",
        _V,
        _ANTHROPIC,
        "test_a_prefix_without_a_marker_is_never_an_entry",
    ),
    CacheRule(
        _MARKED,
        "read from a marker",
        "From each marker the longest entry that is a prefix of the prompt is found.",
        _V,
        _ANTHROPIC,
        "test_an_entry_that_an_earlier_request_wrote_is_read_from_any_later_marker",
    ),
    CacheRule(
        _MARKED,
        "look-back",
        "A read looks at 20 positions, the marked one included; on Bedrock at 22.",
        _V,
        f"{_ANTHROPIC}; Bedrock: probes (S)",
        "test_a_marker_finds_entries_within_its_look_back_only",
    ),
    CacheRule(
        _MARKED,
        "runs of tool blocks",
        "A run of tool calls, and a run of results, is one position on the direct API, and not on Bedrock.",
        _S,
        "reports since September 2026",
        "test_a_run_of_tool_blocks_is_one_position_on_the_direct_api_and_not_on_bedrock",
    ),
    CacheRule(
        _MARKED,
        "sections",
        "The sections of one text are one block: one position, and an entry only at its end.",
        _V,
        f"{_ANTHROPIC}: markers stand on blocks",
        "test_the_sections_of_one_text_are_one_position",
    ),
    CacheRule(
        _MARKED,
        "minimum",
        "A prefix below the minimum of its model is no entry, and nobody is told.",
        _V,
        f"{_ANTHROPIC}, limits; Opus 4.7 is disputed",
        "test_below_the_minimum_of_its_model_a_prefix_is_no_entry",
    ),
    CacheRule(
        _MARKED,
        "lifetime",
        "An entry lives for 5 minutes or for an hour, counted from when the request was sent.",
        _V,
        f"{_ANTHROPIC}; from when it counts: S",
        "test_an_entry_lives_to_the_second",
    ),
    CacheRule(
        _MARKED,
        "refresh",
        "A read refreshes an entry, and what stands in front of it, at no cost.",
        _V,
        f"{_ANTHROPIC}; what stands in front: D",
        "test_a_read_refreshes_an_entry_at_no_cost",
    ),
    CacheRule(
        _MARKED,
        "two lifetimes",
        "Each written token is billed for the lifetime of the next marker behind it; longer ones stand first.",
        _V,
        _ANTHROPIC,
        "test_each_token_is_billed_for_the_lifetime_of_the_next_marker_behind_it",
    ),
    CacheRule(
        _MARKED,
        "a longer one behind a shorter",
        "What is written behind an entry that was read lives no longer than that one.",
        _D,
        "nobody says that a longer lifetime at the end holds for what stands in front of it",
        "test_what_stands_behind_a_short_entry_lives_no_longer_than_that",
    ),
    CacheRule(
        _MARKED,
        "begun replies",
        "An entry can be read once the reply of the request that writes it has begun.",
        _V,
        _ANTHROPIC,
        "test_an_entry_is_readable_only_once_the_reply_has_begun",
    ),
    CacheRule(
        _MARKED,
        "automatic caching",
        "A marker in the body marks the last block, whatever that is.",
        _V,
        _ANTHROPIC,
        "test_automatic_caching_marks_the_last_block",
    ),
    CacheRule(
        _MARKED,
        "own entry first",
        "Where markers and automatic caching meet, a request that marks is not read beyond its entries.",
        _D,
        "OpenRouter in front of Gemini, one recording",
        "test_a_request_that_names_its_own_entry_is_not_read_beyond_it_by_itself",
    ),
    CacheRule(
        _KEYS,
        "markers are no content",
        "A marker that moves changes no key.",
        _V,
        _ANTHROPIC,
        "test_a_marker_that_moves_changes_no_key",
    ),
    CacheRule(
        _KEYS,
        "what breaks it",
        "Tools and the model break everything; web search, citations and speed from the system prompt on; the choice "
        "of a tool, images, thinking and effort from the messages on.",
        _V,
        f"{_ANTHROPIC}, what invalidates the cache; on Bedrock and OpenRouter: D",
        "test_what_changes_breaks_the_cache_from_its_area_on",
    ),
    CacheRule(
        _KEYS,
        "turn-scoped messages",
        "A message with clear_at enters no key and costs nothing once it is cleared.",
        _V,
        "anthropic 2.14, BetaSystemMessageParam.clear_at",
        "test_a_turn_scoped_message_enters_no_key",
    ),
    CacheRule(
        _KEYS,
        "deferred tools",
        "A tool that is loaded later enters no key.",
        _V,
        "Anthropic, tool search",
        "test_a_tool_that_is_loaded_later_enters_no_key",
    ),
    CacheRule(
        _EXACT,
        "no fallback",
        "Only a prefix that ended at a breakpoint is read; between breakpoints nothing is.",
        _V,
        _OPENAI,
        "test_between_breakpoints_nothing_is_read",
    ),
    CacheRule(
        _EXACT,
        "the provider's own breakpoint",
        "One breakpoint stands at the end of the last user message or of the last result of a group of tools.",
        _V,
        _OPENAI,
        "test_the_provider_s_own_breakpoint_stands_at_the_last_result_of_a_group",
    ),
    CacheRule(
        _EXACT,
        "before any question",
        "Without one it stands at the last developer message of the initial block; never at instructions or tools.",
        _V,
        _OPENAI,
        "test_without_a_question_the_provider_s_own_breakpoint_stands_at_the_last_initial_developer_message",
    ),
    CacheRule(
        _EXACT,
        "a section before the question",
        "A section that slides in front of the question makes every entry one that nobody reads.",
        _D,
        "follows from the two above",
        "test_a_section_in_front_of_the_question_never_hits_in_implicit_mode",
    ),
    CacheRule(
        _EXACT,
        "a developer message behind it",
        "A trailing developer message leaves the breakpoint at the end of the question.",
        _D,
        "follows from the two above",
        "test_a_trailing_developer_message_leaves_the_breakpoint_at_the_end_of_the_question",
    ),
    CacheRule(
        _EXACT,
        "explicit mode",
        "In explicit mode the marked ends alone are written.",
        _V,
        _OPENAI,
        "test_in_explicit_mode_only_marked_ends_are_written",
    ),
    CacheRule(
        _EXACT,
        "four are written",
        "The newest four are written, the provider's own among them; any earlier one is read, at any distance.",
        _S,
        "API reference of prompt_cache_options; that the latest 80 are looked at is not played",
        "test_the_newest_four_breakpoints_are_written_and_any_earlier_one_is_read",
    ),
    CacheRule(
        _EXACT,
        "half an hour",
        "An entry lives for at least 30 minutes; longer is not counted on.",
        _V,
        _OPENAI,
        "test_a_breakpoint_lives_for_half_an_hour",
    ),
    CacheRule(
        _PREFIX,
        "GPT-5.5 and earlier",
        "The longest prefix is read from 1,024 tokens on, in steps of 128.",
        _S,
        _OPENAI,
        "test_up_to_gpt_5_5_the_longest_prefix_is_read_in_steps_of_128_from_1024_tokens_on",
    ),
    CacheRule(
        _PREFIX,
        "disuse",
        "What nobody uses is dropped after the profile's lifetime: 5 minutes up to GPT-5.5; elsewhere nobody says.",
        _S,
        _OPENAI,
        "test_what_nobody_uses_is_dropped_after_the_lifetime",
    ),
    CacheRule(
        _PREFIX,
        "structured replies",
        "OpenAI puts the schema of a structured reply in front of the system message.",
        _S,
        _OPENAI,
        "test_the_schema_of_a_structured_reply_stands_in_front_of_an_openai_prompt",
    ),
    CacheRule(
        _PREFIX,
        "part of a block",
        "Of the first different text the equal beginning is read, sized by its characters.",
        _D,
        "prefixes end between tokens, not between blocks",
        "test_a_changed_text_is_read_up_to_about_where_it_changes",
    ),
    CacheRule(
        _PREFIX,
        "DeepSeek, units",
        "A unit ends at the end of an input and at the end of an output, and is read whole or not at all.",
        _V,
        "DeepSeek, context caching",
        "test_a_unit_ends_at_the_end_of_the_input_and_of_the_output",
    ),
    CacheRule(
        _PREFIX,
        "DeepSeek, common prefixes",
        "What two requests have in common becomes a unit for the third: a section that slides lags one turn.",
        _V,
        "DeepSeek, context caching; the fixed intervals in long inputs are not played, because nobody says how long",
        "test_what_two_requests_have_in_common_is_a_unit_for_the_third",
    ),
    CacheRule(
        _PREFIX,
        "Gemini, named entries",
        "An entry that the request names is read as a whole, in front of everything else.",
        _V,
        "google-genai 3.6, cached_content",
        "test_a_named_entry_is_read_as_a_whole",
    ),
    CacheRule(
        _PREFIX,
        "vLLM, blocks",
        "Whole blocks are read; their size is the profile's cache_step (16 in vLLM).",
        _V,
        "vLLM 0.33, source",
        "test_whole_blocks_are_read_where_an_engine_keeps_whole_blocks",
    ),
    CacheRule(
        _PREFIX,
        "llama.cpp, tokens",
        "The longest common prefix in tokens with what the slot holds is read.",
        _V,
        "llama.cpp, source",
        "test_where_the_tokens_are_known_the_prefix_is_exact",
    ),
    CacheRule(
        _PREFIX,
        "llama.cpp, the reply",
        "The slot holds the reply too.",
        _V,
        "llama.cpp, source",
        "test_the_reply_is_read_too_where_the_cache_holds_it",
    ),
    CacheRule(
        _PREFIX,
        "llama.cpp, one slot",
        "One slot holds one conversation: another one in between takes it.",
        _V,
        "llama.cpp, source; the engine is started with one slot",
        "test_a_cache_with_one_slot_holds_the_last_prompt_only",
    ),
    CacheRule(
        _PREFIX,
        "the last token",
        "The last token of a prompt is always processed: the reply begins out of it.",
        _V,
        "llama.cpp and vLLM, source",
        "test_the_last_token_of_a_prompt_is_always_processed",
    ),
    CacheRule(
        _PREFIX,
        "checkpoints",
        "A running state goes on from its end, or from a checkpoint at the start of a last user message.",
        _V,
        "llama.cpp, source",
        "test_a_running_state_goes_on_from_the_start_of_the_last_user_message_or_from_its_end",
    ),
    CacheRule(
        _PREFIX,
        "checkpoints and sections",
        "A section in front of the last user message invalidates its checkpoint; one within or behind it does not.",
        _D,
        "follows from the rule above",
        "test_a_section_in_front_of_the_last_user_message_invalidates_its_checkpoint_and_one_behind_keeps_it",
    ),
)
"""All rules, by group."""


def rules_as_markdown(rules: Sequence[CacheRule] = CACHE_RULES) -> str:
    """The rules as tables, one for each group."""
    return "\n".join(_lines(rules))


def _lines(rules: Sequence[CacheRule]) -> Iterator[str]:
    for group, members in groupby(rules, key=lambda rule: rule.group):
        yield from (f"### {group}", "", "| rule | what it says | | source |", "|---|---|---|---|")
        for rule in members:
            yield f"| {rule.name} | {rule.statement} | {rule.mark.value} | {rule.source} |"
        yield ""
