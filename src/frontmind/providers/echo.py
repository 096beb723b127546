"""The echo model: answers with the request that it was sent, so that anyone can see a window without a key.

It takes the Anthropic format, because that one shows the cache markers. An echoed reply that stands in the
history is named by its hash and not shown again; otherwise each reply would hold all earlier ones and double
in size every turn. The request itself is whole; only its picture in the reply is shortened.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta, TokenCount
from frontmind.values.message import assistant
from frontmind.values.usage import Usage
from frontmind.window.canonical import digest
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window

_MAX_OUTPUT_TOKENS = 1024
_OPENING = '{\n  "max_tokens": '


class EchoModel:
    """A `Model` that needs nothing and caches nothing."""

    name = "echo"
    context_limit: int | None = None

    def __init__(
        self,
        *,
        max_output_tokens: int = _MAX_OUTPUT_TOKENS,
        profile: Profile | None = None,
        framing: FramingChoice | None = None,
    ) -> None:
        self.max_output_tokens = max_output_tokens
        self.profile = profile or resolve_profile("echo", "")
        self.framing = framing or choose_framing(self.profile)

    def encode(self, window: Window) -> Request:
        return encode_window(window, self.profile, max_output_tokens=self.max_output_tokens, framing=self.framing)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        text = echo_text(request)
        yield TextDelta(text)
        usage = Usage(estimate_request(request), 0, 0, estimate_tokens(text), estimated=True)
        yield Finished(assistant(text), usage, StopReason.END)

    async def count_request(self, request: Request) -> TokenCount:
        return TokenCount(estimate_request(request), exact=False)

    async def count_text(self, text: str) -> TokenCount:
        return TokenCount(estimate_tokens(text), exact=False)

    async def expected_cached(self, request: Request) -> int | None:
        return 0

    async def close(self) -> None:
        return None


def echo_text(request: Request) -> str:
    """The request as indented JSON, earlier echoes named by their hash."""
    return json.dumps(_shortened(request), ensure_ascii=False, indent=2, sort_keys=True)


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, str) and value.startswith(_OPENING):
        return f"[echo, {len(value)} characters, sha256 {digest(value.encode('utf-8', 'replace'))[:12]}]"
    return value
