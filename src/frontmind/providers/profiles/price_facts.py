"""What cached tokens cost, as multiples of the price of an input token. Rules as in `facts`, whose marks they use."""

from __future__ import annotations

from typing import Final

from frontmind.providers.profiles.profile import Mark
from frontmind.providers.profiles.rules import CLAUDE, Rule

_V, _S, _D, _U = Mark.VERIFIED, Mark.SECONDARY, Mark.DERIVED, Mark.UNVERIFIED
_CACHING_DOCS: Final = "Anthropic, prompt caching"
_SERVING_CLAUDE: Final = ("anthropic", "bedrock", "openrouter")

PRICES: Final = (
    Rule(
        _SERVING_CLAUDE,
        {"read_price": 0.1, "write_price": 1.25, "long_write_price": 2.0},
        _V,
        f"{_CACHING_DOCS}, prices: read 0.1, written for five minutes 1.25, for an hour 2.0",
        CLAUDE,
    ),
    *(
        Rule(
            _SERVING_CLAUDE,
            {"read_price": price},
            _V,
            f"{_CACHING_DOCS}, prices: read {price}",
            (family,),
            since=since,
        )
        for family, since, price in (
            ("claude-opus", (5, 5), 0.05),
            ("claude-sonnet", (5, 5), 0.05),
            ("claude-fable", (5, 1), 0.025),
            ("claude-mythos", (5, 1), 0.025),
        )
    ),
    Rule(
        ("openai",),
        {"read_price": 0.1},
        _S,
        "OpenAI, prices: read 0.1 from GPT-5 on; writing is free up to GPT-5.5",
        ("gpt", "gpt-chat"),
        since=(5,),
    ),
    Rule(
        ("openai",),
        {"write_price": 1.25},
        _V,
        "OpenAI, prompt caching: from GPT-5.6 on what is written costs 1.25",
        ("gpt", "gpt-chat"),
        since=(5, 6),
    ),
    Rule(
        ("openai",),
        {"read_price": 0.05},
        _D,
        "OpenAI, prices of 6.1 sol and terra: read 0.05; others of 6.1 and later are taken to cost the same",
        ("gpt",),
        since=(6, 1),
    ),
    Rule(("gemini",), {"read_price": 0.1}, _U, "Gemini, prices: cached tokens a tenth from 2.5 on"),
    Rule(
        ("deepseek",),
        {"read_price": 0.033, "caches_output": True},
        _S,
        "DeepSeek, prices: read 0.02 to 0.033; a unit ends at the end of an output too",
    ),
)
