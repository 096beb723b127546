"""The request for the in-process engine: Chat Completions, with the sampling that a small model needs.

The sampling is part of the request, so that what is stored is what was sent.
"""

from __future__ import annotations

from typing import Any, Final

from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.profiles.profile import Profile
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window

# Temperature and top_p are what the model card of SmolLM2 recommends; the seed makes two runs comparable. A model of
# this size repeats its last paragraph for ever: "dry" forbids verbatim repeats, and only those longer than any fact
# that it should copy from its window.
_SAMPLING: Final[dict[str, Any]] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "repeat_penalty": 1.1,
    "dry_multiplier": 0.8,
    "dry_allowed_length": 24,
    "dry_penalty_last_n": 4096,
    "seed": 0,
}


def encode_local(
    window: Window, profile: Profile, *, max_output_tokens: int, framing: FramingChoice | None = None
) -> dict[str, Any]:
    """The body of ``POST /v1/chat/completions`` of llama.cpp's server for this window, without ``stream``.

    The arguments and the errors are those of `encode_window`.
    """
    return encode_window(window, profile, max_output_tokens=max_output_tokens, framing=framing, extra=_SAMPLING)
