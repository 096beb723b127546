"""The scripted model: plays a list of replies or a function, for tests and demonstrations."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from frontmind.errors import ModelError, UsageError
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta, TokenCount
from frontmind.values.message import Message, assistant
from frontmind.values.parts import ToolCall
from frontmind.values.usage import Usage
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window


class ScriptedModel:
    """A `Model` whose replies are given.

    Args:
        script: one reply per call, or a function from the request to the reply. A text is streamed word by word;
            a `Message` may carry tool calls.
        name: how it is called.
        context_limit: the most tokens of a request and its reply; None for no limit.
        profile: the model that it plays; None for one of its own.
        framing: how its windows are framed; None for what the profile says.
    """

    def __init__(
        self,
        script: Sequence[str | Message] | Callable[[Request], str | Message],
        *,
        name: str = "scripted",
        context_limit: int | None = None,
        max_output_tokens: int = 1024,
        profile: Profile | None = None,
        framing: FramingChoice | None = None,
    ) -> None:
        self._function = script if callable(script) else None
        self._replies: Iterator[str | Message] = iter(()) if callable(script) else iter(script)
        self.name = name
        self.context_limit = context_limit
        self.max_output_tokens = max_output_tokens
        self.profile = profile or resolve_profile("scripted", "")
        self.framing = framing or choose_framing(self.profile)

    def encode(self, window: Window) -> Request:
        return encode_window(window, self.profile, max_output_tokens=self.max_output_tokens, framing=self.framing)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        reply = self._reply(request)
        message = assistant(reply) if isinstance(reply, str) else reply
        for piece in _pieces(message.text):
            yield TextDelta(piece)
        usage = Usage(estimate_request(request), 0, 0, estimate_tokens(message.text), estimated=True)
        calls = any(isinstance(part, ToolCall) for part in message.parts)
        yield Finished(message, usage, StopReason.TOOL_CALLS if calls else StopReason.END)

    def _reply(self, request: Request) -> str | Message:
        if self._function is not None:
            return self._function(request)
        try:
            return next(self._replies)
        except StopIteration:
            raise ModelError("the script has no reply left; give it one for each turn", model=self.name) from None

    async def count_request(self, request: Request) -> TokenCount:
        return TokenCount(estimate_request(request), exact=False)

    async def count_text(self, text: str) -> TokenCount:
        return TokenCount(estimate_tokens(text), exact=False)

    async def expected_cached(self, request: Request) -> int | None:
        return 0

    async def close(self) -> None:
        return None


def read_script(path: Path) -> list[str]:
    """The replies in a JSON file: a list of texts.

    Raises:
        UsageError: the file cannot be read or is something else.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UsageError(f"the script {path} is not a regular file; pass a JSON list of texts")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the script {path} ({error.strerror}); pass a JSON list of texts") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the script {path} is not valid JSON; pass a JSON list of texts") from error
    if not isinstance(data, list) or not all(isinstance(item, str) for item in data):
        raise UsageError(f"the script {path} is not a JSON list of texts")
    return data


def _pieces(text: str) -> list[str]:
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:] if text else []
