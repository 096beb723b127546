"""What the two clients over the official OpenAI SDK have in common: its construction, and its errors in our words.

This module does not know how a window becomes a request, and no provider's prices or cache rules.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from frontmind.errors import ModelError, ModelUnavailable
from frontmind.providers.encoding.encode import require_wire
from frontmind.providers.faults import (
    CONNECT_SECONDS,
    SILENCE_SECONDS,
    Advice,
    explained,
    is_loopback,
    read_fault,
    timed_out,
    transport_fault,
)
from frontmind.providers.hosted import HostedModel, one_line
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.protocol import Request
from frontmind.window.choice import FramingChoice

if TYPE_CHECKING:
    import httpx2
    import openai

# The SDK wants a key and would otherwise take OPENAI_API_KEY, which is no business of another server's.
_NO_KEY: Final = "none"


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
        silence: how many seconds the server may send nothing.
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
        silence: float = SILENCE_SECONDS,
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
        if http_client is None and base_url is not None and is_loopback(base_url):
            # No proxy reaches this machine's own loopback.
            http_client = openai.DefaultAsyncHttpxClient(trust_env=False)
        try:
            self._client = openai.AsyncOpenAI(
                base_url=base_url,
                api_key=(api_key or "").strip() or (None if base_url is None else _NO_KEY),
                max_retries=0,
                timeout=openai.Timeout(silence, connect=CONNECT_SECONDS),
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
        except openai.OpenAIError as error:
            raise self._explained(error) from error
        except (OSError, httpx2.HTTPError) as error:
            raise self._broken(error) from error

    def _explained(self, error: openai.OpenAIError) -> ModelError:
        import openai  # noqa: PLC0415 - optional dependency

        if isinstance(error, openai.APITimeoutError):
            return timed_out(self.name)
        if isinstance(error, openai.APIConnectionError):
            return self._broken(error.__cause__ or error)
        response = error.response if isinstance(error, openai.APIStatusError) else None
        status, headers = (response.status_code, response.headers) if response is not None else (None, None)
        return self._failure(getattr(error, "body", None), said=one_line(error), status=status, headers=headers)

    def _failure(
        self, body: object, *, said: str = "", status: int | None = None, headers: Mapping[str, str] | None = None
    ) -> ModelError:
        """What a server's error says, as an answer or within a stream."""
        advice = Advice(
            key="check the API key",
            missing="check the model's name, and that the URL is right (it usually ends in /v1)",
            where=str(self._client.base_url),
        )
        return explained(read_fault(body, said=said, status=status, headers=headers), name=self.name, advice=advice)

    def _broken(self, error: BaseException) -> ModelError:
        return transport_fault(error, name=self.name, url=str(self._client.base_url))

    async def close(self) -> None:
        await self._client.close()
