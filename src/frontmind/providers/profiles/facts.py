"""The facts, as rules from the general to the special: a later rule that fits overrides an earlier one.

Marks: V read in a primary source, S secondary, D derived by reasoning, U unverified. State of 2026-11-30.
"""

from __future__ import annotations

from typing import Final

from frontmind.providers.profiles.price_facts import PRICES
from frontmind.providers.profiles.profile import (
    Caching,
    Mark,
    MarkerKind,
    OperatorMessages,
    UsageMeaning,
    Wire,
)
from frontmind.providers.profiles.rules import CLAUDE, Rule
from frontmind.window.choice import Framing

FAMILIES: Final = (
    ("claude-opus", r"claude-opus-(\d{1,3})(?:[-.](\d{1,2}))?(?!\d)|claude-(\d)(?:[-.](\d))?-opus"),
    ("claude-sonnet", r"claude-sonnet-(\d{1,3})(?:[-.](\d{1,2}))?(?!\d)|claude-(\d)(?:[-.](\d))?-sonnet"),
    ("claude-haiku", r"claude-haiku-(\d{1,3})(?:[-.](\d{1,2}))?(?!\d)|claude-(\d)(?:[-.](\d))?-haiku"),
    ("claude-fable", r"claude-fable-(\d{1,3})(?:[-.](\d{1,2}))?(?!\d)"),
    ("claude-mythos", r"claude-mythos-(\d{1,3})(?:[-.](\d{1,2}))?(?!\d)"),
    ("gpt-chat", r"gpt-(\d{1,3})(?:\.(\d+))?(?=.*-chat)"),
    ("gpt", r"gpt-(\d{1,3})(?:\.(\d+))?"),
    ("gemini", r"gemini-(\d{1,3})(?:\.(\d+))?"),
    ("deepseek", r"deepseek"),
)
"""The names of families and the pattern of their models' names; the groups are the version's numbers."""

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_FILES: Final = frozenset({"application/pdf", "text/plain"})
_V, _S, _D, _U = Mark.VERIFIED, Mark.SECONDARY, Mark.DERIVED, Mark.UNVERIFIED
_MESSAGES_API: Final = ("anthropic", "bedrock")
_CACHING_DOCS: Final = "Anthropic, prompt caching"
_NO_LISTS: Final = "chat templates of local models take plain strings; lists of parts only some"


_ANTHROPIC: Final = (
    Rule(
        ("anthropic", "echo"),
        {"wire": Wire.ANTHROPIC, "framing": Framing.ASSISTANT, "inputs": _PICTURES | _FILES},
        _V,
        "Anthropic, Messages API: synthetic assistant messages are allowed; image and document blocks",
    ),
    Rule(
        ("anthropic", "echo"),
        {"alternate_roles": False},
        _V,
        "Anthropic, Messages API: neighbours of one role are combined; framings alternate all the same, since nobody "
        "says whether combining changes a hash",
    ),
    Rule(
        ("anthropic", "echo"),
        {"markers": MarkerKind.CACHE_CONTROL, "max_markers": 4, "look_back": 20, "ttls": ("5m", "1h")},
        _V,
        f"{_CACHING_DOCS}: up to 4 cache_control markers, a read looks at 20 positions, lifetimes 5m and 1h",
    ),
    Rule(
        ("anthropic",),
        {"cache_diagnostics": True},
        _V,
        "anthropic 2.14, DiagnosticsParam: the Claude API compares a request with the one whose reply is named",
    ),
    Rule(
        ("anthropic",),
        {"look_back_joins_tools": True},
        _S,
        "reports since September 2026: a run of tool blocks is one position on the direct API",
    ),
    Rule(
        ("anthropic",),
        {"usage": UsageMeaning.UNMARKED},
        _V,
        f"{_CACHING_DOCS}: input_tokens counts only what follows the last marker",
    ),
    Rule(("anthropic",), {"min_cached_tokens": 4096}, _D, "the largest minimum of any Claude model, where unknown"),
    Rule(
        _MESSAGES_API,
        {"checks_thinking": True},
        _D,
        "an unknown model is taken to be a new one, and the new ones check what is in front of their reasoning",
    ),
    Rule(
        ("anthropic",),
        {"prefill": True},
        _V,
        "Anthropic, Messages API: a trailing assistant message is allowed up to Claude 4.5",
        CLAUDE,
        before=(4, 6),
    ),
    Rule(
        ("anthropic",),
        {"operator_messages": OperatorMessages.CLEARED},
        _V,
        "anthropic 2.14, BetaSystemMessageParam.clear_at; Opus 4.8 and later, Fable 5, Mythos 5, Sonnet and Haiku 5.5",
        ("claude-opus",),
        since=(4, 8),
    ),
    Rule(
        ("anthropic",),
        {"operator_messages": OperatorMessages.CLEARED},
        _V,
        "as for Opus 4.8",
        ("claude-fable", "claude-mythos"),
        since=(5,),
    ),
    Rule(
        ("anthropic",),
        {"operator_messages": OperatorMessages.CLEARED},
        _V,
        "as for Opus 4.8",
        ("claude-sonnet", "claude-haiku"),
        since=(5, 5),
    ),
)

_UNCHECKED: Final = tuple(
    Rule(
        (*_MESSAGES_API, "openrouter"),
        {"checks_thinking": False},
        _V,
        "Anthropic, extended thinking: Opus 5, Sonnet 5 and older models do not check",
        families,
        before=before,
    )
    for families, before in (
        (("claude-fable", "claude-mythos"), (5, 1)),
        (("claude-opus", "claude-sonnet", "claude-haiku"), (5, 5)),
    )
)

_THINKING: Final = tuple(
    Rule(
        (*_MESSAGES_API, "openrouter"),
        {"checks_thinking": True},
        _S,
        "reproduced once: removing last turn's section is a 400 on accounts created since 2026-08-31",
        families,
        since=since,
    )
    for families, since in (
        (("claude-fable", "claude-mythos"), (5, 1)),
        (("claude-opus", "claude-sonnet", "claude-haiku"), (5, 5)),
    )
) + tuple(
    Rule(
        ("anthropic",),
        {"framing": Framing.SYSTEM_CLEAR_AT},
        _D,
        "this model checks that nothing in front of its reasoning changes, and has turn-scoped system messages",
        families,
        since=since,
    )
    for families, since in (
        (("claude-fable", "claude-mythos"), (5, 1)),
        (("claude-opus", "claude-sonnet", "claude-haiku"), (5, 5)),
    )
)

_MINIMUMS: Final = tuple(
    Rule(
        (*_MESSAGES_API, "openrouter"),
        {"min_cached_tokens": tokens},
        mark,
        f"{_CACHING_DOCS}: minimum of {tokens} tokens",
        (family,),
        since=since,
        before=before,
    )
    for family, since, before, tokens, mark in (
        ("claude-fable", (5,), None, 512, _V),
        ("claude-mythos", (5,), None, 512, _V),
        ("claude-opus", (4, 5), (4, 7), 4096, _V),
        # Disputed: other pages of the same documentation have 4096.
        ("claude-opus", (4, 7), (4, 8), 2048, _V),
        ("claude-opus", (4, 8), (5,), 1024, _V),
        ("claude-opus", (5,), None, 512, _V),
        ("claude-sonnet", (4, 5), (5, 5), 1024, _V),
        ("claude-sonnet", (5, 5), None, 512, _V),
        ("claude-haiku", (4, 5), (5,), 4096, _V),
        ("claude-haiku", (5,), (5, 5), 4096, _D),
        ("claude-haiku", (5, 5), None, 512, _V),
    )
)

_BEDROCK: Final = (
    Rule(
        ("bedrock",),
        {"wire": Wire.BEDROCK_CONVERSE, "inputs": _PICTURES | _FILES, "usage": UsageMeaning.UNMARKED},
        _V,
        "botocore 1.44, Converse: ContentBlock, TokenUsage.inputTokens counts the uncached only",
    ),
    Rule(
        ("bedrock",),
        {"framing": Framing.USER_TEXT, "alternate_roles": True},
        _S,
        "Converse wants alternating roles; the section goes into the neighbouring user message",
    ),
    Rule(
        ("bedrock",),
        {"markers": MarkerKind.CACHE_POINT, "max_markers": 4, "ttls": ("5m",)},
        _V,
        "botocore 1.44, CachePointBlock: at most 4",
        CLAUDE,
    ),
    Rule(("bedrock",), {"ttls": ("5m", "1h")}, _V, "botocore 1.44, CacheTTL: 5m, 1h", CLAUDE, since=(4, 5)),
    Rule(
        ("bedrock",),
        {"look_back": 22},
        _S,
        "probes: 21 added blocks hit, 22 miss; tool blocks count one by one",
        CLAUDE,
    ),
    Rule(
        ("bedrock", "openrouter"),
        {"min_cached_tokens": 4096},
        _D,
        "the largest minimum of any Claude model, where unknown",
        CLAUDE,
    ),
)

_OPENAI: Final = (
    Rule(
        ("openai",),
        {"wire": Wire.OPENAI_RESPONSES, "inputs": _PICTURES | _FILES, "prefill": True, "alternate_roles": False},
        _V,
        "openai 3.57, Responses: input items; developer and assistant messages anywhere",
    ),
    Rule(
        ("openai",),
        {"operator_messages": OperatorMessages.ANYWHERE, "operator_role": "developer", "framing": Framing.DEVELOPER},
        _D,
        "a developer message behind the user message leaves the automatic breakpoint at the user message's end, and "
        "assistant text is presumed to be the model's own",
    ),
    Rule(
        ("openai",),
        {"caching": Caching.PREFIX, "cache_step": 128, "min_cached_tokens": 1024, "session_key": "prompt_cache_key"},
        _S,
        "OpenAI, prompt caching: automatic from 1024 tokens on, in steps of 128; prompt_cache_key routes",
    ),
    Rule(
        ("openai",),
        {"lifetime": 300},
        _S,
        "OpenAI, prompt caching: an entry stays for 5 to 10 minutes without use, up to an hour off peak",
    ),
    Rule(
        ("openai",),
        {
            "caching": Caching.LAST_USER,
            "markers": MarkerKind.BREAKPOINT,
            "max_markers": 4,
            "ttls": ("30m",),
            "cache_step": 1,
            "lifetime": 1800,
        },
        _V,
        "openai 3.57, prompt_cache_options: from GPT-5.6 on breakpoints only, one of them automatic at the last user "
        "message, living 30m unless asked otherwise",
        ("gpt", "gpt-chat"),
        since=(5, 6),
    ),
    Rule(
        ("openai",),
        {"encrypted_reasoning": True},
        _U,
        "openai 3.57, Responses: include reasoning.encrypted_content, for models that reason",
        ("gpt",),
        since=(5,),
    ),
    Rule(("openai",), {"max_tokens_key": "max_completion_tokens"}, _V, "openai 3.57, Chat Completions"),
)

_OTHERS: Final = (
    Rule(
        ("gemini",),
        {
            "wire": Wire.GEMINI,
            "framing": Framing.USER_TEXT,
            "inputs": _PICTURES | _FILES,
            "caching": Caching.PREFIX,
        },
        _S,
        "google-genai 3.6: roles user and model only; implicit caching by prefix, without a guarantee",
    ),
    Rule(("gemini",), {"alternate_roles": False}, _S, "clients join neighbours of one role"),
    Rule(("gemini",), {"min_cached_tokens": 6144}, _S, "implicit caching, the largest minimum named for 3.x and 4"),
    Rule(("gemini",), {"min_cached_tokens": 2048}, _S, "implicit caching of 2.5", ("gemini",), (2, 5), (3,)),
    Rule(("gemini",), {"prefill": True}, _S, "refused from 3.6 on", ("gemini",), None, (3, 6)),
    Rule(
        ("deepseek",),
        {"wire": Wire.OPENAI_CHAT, "framing": Framing.APPEND, "caching": Caching.UNITS},
        _S,
        "DeepSeek, context caching: whole units of earlier requests, so a section that slides away lags one turn; "
        "later system messages are moved to the front",
    ),
    Rule(("deepseek",), {"plain_content": True}, _U, "texts are sent as plain strings, which every server takes"),
    Rule(("deepseek",), {"empty_reasoning": True}, _S, "thinking mode refuses an assistant message without it"),
    Rule(
        ("openrouter",),
        {
            "wire": Wire.OPENAI_CHAT,
            "framing": Framing.ASSISTANT,
            "inputs": _PICTURES,
            "session_key": "session_id",
            "caching": Caching.PREFIX,
        },
        _S,
        "OpenRouter: routes by session_id, and by the first message without it; the provider behind it caches",
    ),
    Rule(
        ("openrouter",),
        {
            "markers": MarkerKind.CACHE_CONTROL,
            "max_markers": 4,
            "look_back": 20,
            "ttls": ("5m", "1h"),
            "caching": Caching.NONE,
        },
        _V,
        "OpenRouter, prompt caching: cache_control is passed on to Anthropic",
        CLAUDE,
    ),
    Rule(
        ("openrouter",),
        {"markers": MarkerKind.CACHE_CONTROL, "max_markers": 4, "ttls": ("5m",)},
        _S,
        "OpenRouter, prompt caching: of several markers the last counts for Gemini",
        ("gemini",),
    ),
    Rule(
        ("ollama", "compatible", "scripted"),
        {"wire": Wire.OPENAI_CHAT, "framing": Framing.ASSISTANT, "caching": Caching.PREFIX, "plain_content": True},
        _D,
        f"an OpenAI-compatible server: nothing is known but the format; {_NO_LISTS}",
    ),
    Rule(
        ("local",),
        {"wire": Wire.OPENAI_CHAT, "framing": Framing.ASSISTANT, "caching": Caching.PREFIX, "plain_content": True},
        _V,
        f"llama.cpp: longest common token prefix with the slot; {_NO_LISTS}",
    ),
    Rule(
        ("local",),
        {"caches_output": True, "slots": 1},
        _V,
        "llama.cpp: the slot holds the tokens of the reply too; the engine is started with one slot",
    ),
    Rule(("scripted", "echo"), {"caching": Caching.NONE}, _V, "a fake: caches nothing"),
)

RULES: Final = (*_ANTHROPIC, *_BEDROCK, *_UNCHECKED, *_THINKING, *_MINIMUMS, *PRICES, *_OPENAI, *_OTHERS)
"""All rules in the order in which they apply."""
