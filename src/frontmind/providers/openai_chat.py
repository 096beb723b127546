"""A model behind a Chat Completions API, through the official OpenAI SDK.

OpenAI itself, Ollama, vLLM, llama-server, LM Studio: which of them answers is only a matter of ``base_url``.
This module does not know how a window becomes a request, and no provider's prices or cache rules.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from frontmind.errors import ModelError, ModelUnavailable, RequestRefused, WindowTooLarge
from frontmind.providers.encoding.openai_chat import encode_openai_chat
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta, TokenCount
from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, Text, ToolCall
from frontmind.values.usage import Usage, read_token_count
from frontmind.window.canonical import Json
from frontmind.window.window import Window

if TYPE_CHECKING:
    import httpx2
    import openai
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

_STOP_REASONS = {
    "length": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "content_filter": StopReason.REFUSAL,
}
# The SDK wants a key and would otherwise take OPENAI_API_KEY, which is no business of another server's.
_NO_KEY = "none"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# OpenAI and vLLM tell the two sizes only in their sentence, the limit first.
_TOO_LONG = re.compile(r"(?:maximum context length is|configured limit of) (\d+).*?(\d+)", re.DOTALL)


class OpenAIChatModel:
    """A `Model` over ``openai.AsyncOpenAI``.

    Args:
        model: the server's name of the model.
        name: the full name as it could be given to ``--model``.
        base_url: the server, usually ending in ``/v1``; None for OpenAI.
        api_key: the key; without one, OpenAI's is looked for where the SDK usually does, and no other server
            is sent any.
        max_tokens_key: how this server calls the limit of a reply.
        stream_options: further keys of the body that concern only the transport, not the reply.
        max_retries: how often the SDK tries again before an answer has begun; None for its default.
        http_client: a client of your own, for proxies or certificates; it is closed with the model.

    Raises:
        ModelUnavailable: the SDK is not installed, or there is no key.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        max_output_tokens: int = 1024,
        context_limit: int | None = None,
        max_tokens_key: str = "max_tokens",
        stream_options: Mapping[str, Json] | None = None,
        max_retries: int | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self.name = name
        self.max_output_tokens = max_output_tokens
        self.context_limit = context_limit
        self._model = model
        self._max_tokens_key = max_tokens_key
        self._stream_options = dict(stream_options or {})
        try:
            import openai  # noqa: PLC0415 - optional dependency
        except ImportError as error:
            raise ModelUnavailable(
                f"{name} needs the openai package; run: pip install 'frontmind[openai]'", model=name
            ) from error
        if http_client is None and base_url is not None and urlsplit(base_url).hostname in _LOOPBACK:
            # No proxy reaches this machine's own loopback.
            http_client = openai.DefaultAsyncHttpxClient(trust_env=False)
        try:
            self._client = openai.AsyncOpenAI(
                base_url=base_url,
                api_key=(api_key or "").strip() or (None if base_url is None else _NO_KEY),
                max_retries=openai.DEFAULT_MAX_RETRIES if max_retries is None else max_retries,
                http_client=http_client,
            )
        except openai.OpenAIError as error:
            raise ModelUnavailable(
                f"{name} needs a key; set OPENAI_API_KEY, or choose another model with --model", model=name
            ) from error

    def encode(self, window: Window) -> Request:
        return encode_openai_chat(
            window,
            model=self._model,
            max_output_tokens=self.max_output_tokens,
            max_tokens_key=self._max_tokens_key,
        )

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        import httpx2  # noqa: PLC0415 - comes with the optional dependency
        import openai  # noqa: PLC0415 - optional dependency

        # Servers take keys that the SDK has no argument for: all but the two it insists on go in as they are.
        body: Any = dict(request)
        reply = _Reply()
        try:
            async with await self._client.chat.completions.create(
                model=body.pop("model"),
                messages=body.pop("messages"),
                stream=True,
                stream_options={"include_usage": True},
                extra_body={**body, **self._stream_options},
            ) as chunks:
                async for chunk in chunks:
                    if text := reply.add(chunk):
                        yield TextDelta(text)
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            raise self._explained(error) from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            # The SDK does not check what a server sends: a damaged line or another shape comes through as it is.
            raise ModelError(
                f"{self.name} sent what is no reply of this API ({_said(error)}); check the server", model=self.name
            ) from error
        yield self._finished(reply, request)

    def _finished(self, reply: _Reply, request: Request) -> Finished:
        if reply.finish_reason is None:
            raise ModelError(f"{self.name} broke off in the middle of its reply; try again", model=self.name)
        parts = reply.parts()
        if not parts:
            at_limit = reply.finish_reason == "length"
            why = f" (it stopped at its limit of {self.max_output_tokens} output tokens)" if at_limit else ""
            raise ModelError(f"{self.name} gave an empty reply{why}; try again", model=self.name)
        stop = _STOP_REASONS.get(reply.finish_reason, StopReason.END)
        if reply.refused:
            stop = StopReason.REFUSAL
        elif reply.calls and stop is StopReason.END:
            # Several servers end a reply with calls in it with "stop".
            stop = StopReason.TOOL_CALLS
        usage = reply.usage or Usage(
            estimate_request(request), 0, 0, sum(estimate_tokens(piece) for piece in reply.all_text()), estimated=True
        )
        return Finished(Message(Role.ASSISTANT, parts), usage, stop)

    def _explained(self, error: Exception) -> ModelError:
        import openai  # noqa: PLC0415 - optional dependency

        name, said = self.name, _said(error)
        if isinstance(error, openai.APITimeoutError):
            return ModelError(f"{name} did not answer in time; try again", model=name)
        if isinstance(error, openai.APIConnectionError):
            return self._unreachable(error)
        if (too_large := _too_large(error, name)) is not None:
            return too_large
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            return ModelUnavailable(f"{name} refused the key ({said}); check the API key", model=name)
        if isinstance(error, openai.NotFoundError):
            return ModelUnavailable(
                f"{name} was not found at {self._client.base_url} ({said}); check the model's name, and that the "
                "URL is right (it usually ends in /v1)",
                model=name,
            )
        if isinstance(error, openai.APIStatusError) and error.status_code in (400, 413, 422):
            return RequestRefused(f"{name} refused the request ({said})", model=name, status=error.status_code)
        if isinstance(error, openai.RateLimitError):
            return ModelError(f"{name} takes no more requests for now ({said}); try again later", model=name)
        return ModelError(f"{name} failed ({said}); try again", model=name)

    def _unreachable(self, error: openai.APIConnectionError) -> ModelError:
        import httpx2  # noqa: PLC0415 - comes with the optional dependency

        url, name = self._client.base_url, self.name
        if isinstance(error.__cause__, httpx2.ConnectError | httpx2.UnsupportedProtocol):
            return ModelUnavailable(f"cannot reach {url} for {name}; is the server running?", model=name)
        return ModelError(f"the connection to {name} at {url} broke off; try again", model=name)

    async def count_request(self, request: Request) -> TokenCount:
        return TokenCount(estimate_request(request), exact=False)

    async def count_text(self, text: str) -> TokenCount:
        return TokenCount(estimate_tokens(text), exact=False)

    async def expected_cached(self, request: Request) -> int | None:
        return None

    async def close(self) -> None:
        await self._client.close()


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class _Reply:
    """What has come of a reply so far."""

    text: list[str] = field(default_factory=list)
    calls: dict[int, _Call] = field(default_factory=dict)
    finish_reason: str | None = None
    refused: bool = False
    usage: Usage | None = None

    def add(self, chunk: ChatCompletionChunk) -> str:
        """Take a chunk in; gives back the text in it."""
        self.usage = _usage(chunk.usage) or self.usage
        text = ""
        for choice in chunk.choices or ():
            self.finish_reason = choice.finish_reason or self.finish_reason
            # Some servers send a last choice without a delta, which the SDK lets through.
            delta: ChoiceDelta | None = choice.delta
            if delta is None:
                continue
            self.refused = self.refused or bool(delta.refusal)
            text += (delta.content or "") + (delta.refusal or "")
            for call in delta.tool_calls or ():
                self._add_call(call)
        if text:
            self.text.append(text)
        return text

    def _add_call(self, piece: ChoiceDeltaToolCall) -> None:
        # A server that sends each call in one piece may leave its index out.
        index: int | None = piece.index
        call = self.calls.setdefault(len(self.calls) if index is None else index, _Call())
        call.id = piece.id or call.id
        if piece.function is not None:
            call.name += piece.function.name or ""
            call.arguments += piece.function.arguments or ""

    def parts(self) -> tuple[Part, ...]:
        text = "".join(self.text)
        parts: list[Part] = [Text(text)] if text.strip() else []
        parts += (
            # The result must name its call, so a call without an id is given one.
            ToolCall(call.id or f"call_{index}", call.name, call.arguments or "{}")
            for index, call in sorted(self.calls.items())
        )
        return tuple(parts)

    def all_text(self) -> list[str]:
        return ["".join(self.text), *(call.name + call.arguments for call in self.calls.values())]


def _usage(usage: CompletionUsage | None) -> Usage | None:
    """``prompt_tokens`` is the total: it holds the cached tokens and the written ones.

    None where the server gave no usable figures.
    """
    prompt = read_token_count(getattr(usage, "prompt_tokens", None))
    output = read_token_count(getattr(usage, "completion_tokens", None))
    if prompt is None or output is None:
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        input=prompt,
        cached=read_token_count(getattr(details, "cached_tokens", None)) or 0,
        written=read_token_count(getattr(details, "cache_write_tokens", None)) or 0,
        output=output,
    )


def _too_large(error: Exception, name: str) -> WindowTooLarge | None:
    """The error as one about the window's size, where the server tells both sizes."""
    body = getattr(error, "body", None)
    if not isinstance(body, dict):
        return None
    if body.get("type") == "exceed_context_size_error":
        tokens, limit = body.get("n_prompt_tokens"), body.get("n_ctx")
    else:
        match = _TOO_LONG.search(str(body.get("message", "")))
        limit, tokens = (int(group) for group in match.groups()) if match else (None, None)
    if not isinstance(tokens, int) or not isinstance(limit, int) or tokens <= limit:
        return None
    return WindowTooLarge(
        f"the window has {tokens} tokens and {name} takes {limit}; leave something out, or choose a model with a "
        "larger context",
        model=name,
        tokens=tokens,
        limit=limit,
    )


def _said(error: Exception) -> str:
    """The server's own words, on one line."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(message or error).split())[:300] or type(error).__name__
