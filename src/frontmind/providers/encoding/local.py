"""The request for the in-process engine: Chat Completions, with the sampling that a small model needs.

The sampling is part of the request, so that what is stored is what was sent.
"""

from __future__ import annotations

from typing import Any

from frontmind.providers.encoding.openai_chat import encode_openai_chat
from frontmind.window.window import Window

# Temperature and top_p are what the model card of SmolLM2 recommends; the seed makes two runs comparable. A model of
# this size repeats its last paragraph for ever: "dry" forbids verbatim repeats, and only those longer than any fact
# that it should copy from its window.
_SAMPLING: dict[str, Any] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "repeat_penalty": 1.1,
    "dry_multiplier": 0.8,
    "dry_allowed_length": 24,
    "dry_penalty_last_n": 4096,
    "seed": 0,
}


def encode_local(window: Window, *, max_output_tokens: int) -> dict[str, Any]:
    """The body of ``POST /v1/chat/completions`` of llama.cpp's server for this window, without ``stream``."""
    return {**encode_openai_chat(window, model="local", max_output_tokens=max_output_tokens), **_SAMPLING}
