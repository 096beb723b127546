"""A model behind the Anthropic Messages API, through the official SDK. Decodes nothing itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, Final

from frontmind.errors import ModelError, ModelUnavailable
from frontmind.providers.encoding.encode import require_wire
from frontmind.providers.faults import (
    CONNECT_SECONDS,
    SILENCE_SECONDS,
    Advice,
    explained,
    read_fault,
    timed_out,
    transport_fault,
)
from frontmind.providers.hosted import HostedModel, one_line
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.protocol import Request
from frontmind.window.choice import FramingChoice

if TYPE_CHECKING:
    import anthropic

_ADVICE: Final = Advice(key="check ANTHROPIC_API_KEY")


class AnthropicModel(HostedModel):
    """A `Model` over ``anthropic.AsyncAnthropic``.

    Args:
        profile, name, framing, max_output_tokens: as in `HostedModel`.
        api_key: the key; None lets the SDK look for it where it usually does.
        base_url: another server that speaks the same API; None for the provider's.
        silence: how many seconds the server may send nothing.

    Raises:
        ModelUnavailable: the SDK is not installed, or there is no key.
        UsageError: the profile says another wire format.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        name: str,
        framing: FramingChoice,
        max_output_tokens: int,
        api_key: str | None = None,
        base_url: str | None = None,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        super().__init__(profile, name=name, framing=framing, max_output_tokens=max_output_tokens)
        require_wire(profile, Wire.ANTHROPIC)
        try:
            import anthropic  # noqa: PLC0415 - optional dependency
        except ImportError as error:
            raise ModelUnavailable(
                f"{name} needs the anthropic package; run: pip install 'frontmind[anthropic]'", model=name
            ) from error
        self._sdk = anthropic
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            timeout=anthropic.Timeout(silence, connect=CONNECT_SECONDS),
        )
        if self._client.api_key is None and self._client.auth_token is None:
            raise ModelUnavailable(
                f"{name} needs a key; set ANTHROPIC_API_KEY, or choose another model with --model", model=name
            )

    async def _events(self, request: Request) -> AsyncGenerator[Mapping[str, Any], None]:
        import httpx2  # noqa: PLC0415 - comes with the optional dependency

        body: Any = dict(request)
        try:
            # The beta resource takes turn-scoped system messages and is the same endpoint without any beta.
            # Keys that the SDK has no argument for go into the body as they are.
            stream = await self._client.beta.messages.create(
                model=body.pop("model"),
                max_tokens=body.pop("max_tokens"),
                messages=body.pop("messages"),
                betas=body.pop("betas", self._sdk.omit),
                stream=True,
                extra_body=body,
            )
            async with stream:
                async for event in stream:
                    yield event.to_dict(mode="json", warnings=False)
        except self._sdk.AnthropicError as error:
            raise self._explained(error) from error
        except (OSError, httpx2.HTTPError) as error:
            # Inside a running stream the SDK lets its HTTP library's errors through as they are.
            raise self._broken(error) from error

    def _explained(self, error: anthropic.AnthropicError) -> ModelError:
        if not isinstance(error, self._sdk.APIError):
            reason = f"{self.name} has no key that can be used ({one_line(error)})"
            return ModelUnavailable(f"{reason}; {_ADVICE.key}", model=self.name, reason=reason)
        if isinstance(error, self._sdk.APITimeoutError):
            return timed_out(self.name)
        if isinstance(error, self._sdk.APIConnectionError):
            return self._broken(error.__cause__ or error)
        response = error.response if isinstance(error, self._sdk.APIStatusError) else None
        status, headers = (response.status_code, response.headers) if response is not None else (None, None)
        fault = read_fault(error.body, said=error.message, status=status, headers=headers)
        return explained(fault, name=self.name, advice=_ADVICE)

    def _broken(self, error: BaseException) -> ModelError:
        return transport_fault(error, name=self.name, url=str(self._client.base_url))

    async def close(self) -> None:
        await self._client.close()
