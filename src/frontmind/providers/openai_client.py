"""What the two clients over the official OpenAI SDK have in common: its construction, and its errors in our words.

This module does not know how a window becomes a request, and no provider's prices or cache rules.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from frontmind.errors import ModelError, ModelUnavailable, RequestRefused, WindowTooLarge
from frontmind.providers.encoding.encode import require_wire
from frontmind.providers.hosted import HostedModel, one_line
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.protocol import Request
from frontmind.window.choice import FramingChoice

if TYPE_CHECKING:
    import httpx2
    import openai

# The SDK wants a key and would otherwise take OPENAI_API_KEY, which is no business of another server's.
_NO_KEY: Final = "none"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
# OpenAI and vLLM tell the two sizes only in their sentence, the limit first.
_TOO_LONG: Final = re.compile(r"(?:maximum context length is|configured limit of) (\d+).*?(\d+)", re.DOTALL)


class OpenAIModel(HostedModel):
    """A `Model` over ``openai.AsyncOpenAI``.

    Args:
        profile: what is known of the model.
        name: the full name as it could be given to ``--model``.
        framing: how its windows are framed, where a window does not say.
        max_output_tokens: the most tokens of a reply.
        base_url: the server, usually ending in ``/v1``; None for OpenAI.
        api_key: the key; without one, OpenAI's is looked for where the SDK usually does, and no other server
            is sent any.
        context_limit: the most tokens of a request and its reply; None where the provider alone knows.
        max_retries: how often the SDK tries again before an answer has begun; None for its default.
        http_client: a client of your own, for proxies or certificates; it is closed with the model.

    Raises:
        UsageError: the profile is for another wire format.
        ModelUnavailable: the SDK is not installed, or there is no key.
    """

    wire: ClassVar[Wire]
    """The format that the client speaks."""

    def __init__(
        self,
        profile: Profile,
        *,
        name: str,
        framing: FramingChoice,
        max_output_tokens: int,
        base_url: str | None = None,
        api_key: str | None = None,
        context_limit: int | None = None,
        max_retries: int | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        super().__init__(
            profile, name=name, framing=framing, max_output_tokens=max_output_tokens, context_limit=context_limit
        )
        require_wire(profile, self.wire)
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

    @abstractmethod
    async def _open(self, body: dict[str, Any]) -> openai.AsyncStream[Any]:
        """Ask for the stream of the reply to this request."""

    async def _events(self, request: Request) -> AsyncGenerator[Mapping[str, Any], None]:
        import httpx2  # noqa: PLC0415 - comes with the optional dependency
        import openai  # noqa: PLC0415 - optional dependency

        try:
            async with await self._open(dict(request)) as events:
                async for event in events:
                    # As the server sent it; the SDK's own idea of its fields would warn about every other server.
                    yield event.to_dict(warnings=False)
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> ModelError:
        import openai  # noqa: PLC0415 - optional dependency

        name, said = self.name, _said(error)
        if isinstance(error, openai.APITimeoutError):
            return ModelError(f"{name} did not answer in time; try again", model=name)
        if isinstance(error, openai.APIConnectionError):
            return self._unreachable(error)
        if (too_large := read_too_large(getattr(error, "body", None), name)) is not None:
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

    async def close(self) -> None:
        await self._client.close()


def read_too_large(body: object, name: str) -> WindowTooLarge | None:
    """A server's error as one about the window's size, where it tells both sizes."""
    if not isinstance(body, Mapping):
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
    return " ".join(str(message).split())[:300] if message else one_line(error)
