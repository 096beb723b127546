"""A model behind the Anthropic Messages API, through the official SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from frontmind.errors import ModelError, ModelUnavailable, RequestRefused
from frontmind.providers.encoding.anthropic import encode_anthropic
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta, TokenCount
from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, Text, ToolCall
from frontmind.values.usage import Usage, read_token_count
from frontmind.window.window import Window

if TYPE_CHECKING:
    import anthropic

_STOP_REASONS = {
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "tool_use": StopReason.TOOL_CALLS,
    "refusal": StopReason.REFUSAL,
}


class AnthropicModel:
    """A `Model` over ``anthropic.AsyncAnthropic``.

    Args:
        model: the provider's name of the model.
        api_key: the key; None lets the SDK look for it where it usually does.
        base_url: another server that speaks the same API; None for the provider's.
        max_retries: how often the SDK tries again before an answer has begun; None for its default.

    Raises:
        ModelUnavailable: the SDK is not installed, or there is no key.
    """

    context_limit: int | None = None

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        max_output_tokens: int = 1024,
        max_retries: int | None = None,
    ) -> None:
        self._model = model
        self.name = f"anthropic:{model}"
        self.max_output_tokens = max_output_tokens
        try:
            import anthropic  # noqa: PLC0415 - optional dependency
        except ImportError as error:
            raise ModelUnavailable(
                f"{self.name} needs the anthropic package; run: pip install 'frontmind[anthropic]'",
                model=self.name,
            ) from error
        self._sdk = anthropic
        options: dict[str, Any] = {} if max_retries is None else {"max_retries": max_retries}
        self._client = anthropic.AsyncAnthropic(api_key=api_key, base_url=base_url, **options)
        if self._client.api_key is None and self._client.auth_token is None:
            raise ModelUnavailable(
                f"{self.name} needs a key; set ANTHROPIC_API_KEY, or choose another model with --model",
                model=self.name,
            )

    def encode(self, window: Window) -> Request:
        return encode_anthropic(window, model=self._model, max_output_tokens=self.max_output_tokens)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        body: Any = dict(request)
        try:
            async with self._client.messages.stream(**body) as stream:
                async for text in stream.text_stream:
                    if text:
                        yield TextDelta(text)
                final = await stream.get_final_message()
        except self._sdk.APIError as error:
            raise self._explained(error) from error
        except (ValueError, TypeError, AttributeError, AssertionError, RecursionError) as error:
            # The SDK does not check what a server sends: a stream without a message fails inside of it.
            raise ModelError(
                f"{self.name} sent what is no reply of this API; check the server and try again", model=self.name
            ) from error
        except (OSError, self._sdk_transport_error()) as error:
            raise ModelError(
                f"the connection to {self.name} broke off ({error}); try again", model=self.name
            ) from error
        if final.stop_reason is None:
            raise ModelError(f"{self.name} broke off in the middle of its reply; try again", model=self.name)
        parts = _decode(final)
        if not parts:
            raise ModelError(f"{self.name} gave an empty reply; try again", model=self.name)
        stop = _STOP_REASONS.get(final.stop_reason, StopReason.END)
        message = Message(Role.ASSISTANT, parts)
        usage = _usage(final.usage) or Usage(
            estimate_request(request), 0, 0, estimate_tokens(message.text), estimated=True
        )
        yield Finished(message, usage, stop)

    def _sdk_transport_error(self) -> type[Exception]:
        # Inside a running stream the SDK lets its HTTP library's errors through as they are.
        import httpx2  # noqa: PLC0415 - comes with the optional dependency

        return httpx2.HTTPError

    def _explained(self, error: anthropic.APIError) -> ModelError:
        sdk = self._sdk
        said = _said(error)
        if isinstance(error, sdk.AuthenticationError | sdk.PermissionDeniedError):
            return ModelUnavailable(f"{self.name} refused the key ({said}); check ANTHROPIC_API_KEY", model=self.name)
        if isinstance(error, sdk.NotFoundError):
            return ModelUnavailable(
                f"{self.name} was not found ({said}); check the name after --model", model=self.name
            )
        if isinstance(error, sdk.APIConnectionError):
            return ModelUnavailable(
                f"cannot reach {self.name} ({said}); check the network, or choose --model local",
                model=self.name,
            )
        if isinstance(error, sdk.APIStatusError) and error.status_code in (400, 413, 422):
            return RequestRefused(
                f"{self.name} refused the request ({said})", model=self.name, status=error.status_code
            )
        return ModelError(f"{self.name} failed ({said}); try again", model=self.name)

    async def count_request(self, request: Request) -> TokenCount:
        return TokenCount(estimate_request(request), exact=False)

    async def count_text(self, text: str) -> TokenCount:
        return TokenCount(estimate_tokens(text), exact=False)

    async def expected_cached(self, request: Request) -> int | None:
        return None

    async def close(self) -> None:
        await self._client.close()


def _decode(message: anthropic.types.Message) -> tuple[Part, ...]:
    parts: list[Part] = []
    for block in message.content:
        if block.type == "text" and block.text.strip():
            parts.append(Text(block.text))
        elif block.type == "tool_use":
            arguments = json.dumps(block.input, ensure_ascii=False, sort_keys=True)
            parts.append(ToolCall(block.id, block.name, arguments))
    return tuple(parts)


def _usage(usage: anthropic.types.Usage) -> Usage | None:
    """``input_tokens`` counts only what follows the last marker: the total is the sum of the three figures.

    None where the server gave no usable figures.
    """
    fresh = read_token_count(usage.input_tokens)
    output = read_token_count(usage.output_tokens)
    if fresh is None or output is None:
        return None
    written = read_token_count(usage.cache_creation_input_tokens) or 0
    cached = read_token_count(usage.cache_read_input_tokens) or 0
    return Usage(fresh + written + cached, cached, written, output)


def _said(error: anthropic.APIError) -> str:
    return " ".join(str(error.message).split())[:300]
