"""A model behind the Anthropic Messages API, through the official SDK. Decodes nothing itself."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from frontmind.errors import ModelError, ModelUnavailable, RequestRefused, WindowTooLarge
from frontmind.providers.encoding.encode import require_wire
from frontmind.providers.hosted import HostedModel
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.protocol import Request
from frontmind.window.choice import FramingChoice

if TYPE_CHECKING:
    import anthropic

# The API tells the two sizes only in its sentence, the window's first.
_TOO_LONG = re.compile(r"prompt is too long: (\d+) tokens > (\d+) maximum")


class AnthropicModel(HostedModel):
    """A `Model` over ``anthropic.AsyncAnthropic``.

    Args:
        profile, name, framing, max_output_tokens: as in `HostedModel`.
        api_key: the key; None lets the SDK look for it where it usually does.
        base_url: another server that speaks the same API; None for the provider's.
        max_retries: how often the SDK tries again before an answer has begun; None for its default.

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
        max_retries: int | None = None,
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
        options: dict[str, Any] = {} if max_retries is None else {"max_retries": max_retries}
        self._client = anthropic.AsyncAnthropic(api_key=api_key, base_url=base_url, **options)
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
        except self._sdk.APIError as error:
            raise self._explained(error) from error
        except (OSError, httpx2.HTTPError) as error:
            # Inside a running stream the SDK lets its HTTP library's errors through as they are.
            raise ModelError(
                f"the connection to {self.name} broke off ({error}); try again", model=self.name
            ) from error

    def _explained(self, error: anthropic.APIError) -> ModelError:
        sdk, name, said = self._sdk, self.name, _said(error)
        if (too_large := _too_large(said, name)) is not None:
            return too_large
        if isinstance(error, sdk.AuthenticationError | sdk.PermissionDeniedError):
            return ModelUnavailable(f"{name} refused the key ({said}); check ANTHROPIC_API_KEY", model=name)
        if isinstance(error, sdk.NotFoundError):
            return ModelUnavailable(f"{name} was not found ({said}); check the name after --model", model=name)
        if isinstance(error, sdk.APIConnectionError):
            return ModelUnavailable(
                f"cannot reach {name} ({said}); check the network, or choose --model local", model=name
            )
        if isinstance(error, sdk.RateLimitError):
            return ModelError(f"{name} takes no more requests for now ({said}); try again later", model=name)
        if isinstance(error, sdk.APIStatusError) and error.status_code in (400, 413, 422):
            return RequestRefused(f"{name} refused the request ({said})", model=name, status=error.status_code)
        return ModelError(f"{name} failed ({said}); try again", model=name)

    async def close(self) -> None:
        await self._client.close()


def _too_large(said: str, name: str) -> WindowTooLarge | None:
    match = _TOO_LONG.search(said)
    if match is None:
        return None
    tokens, limit = (int(group) for group in match.groups())
    return WindowTooLarge(
        f"the window has {tokens} tokens and {name} takes {limit}; leave something out, or choose a model with a "
        "larger context",
        model=name,
        tokens=tokens,
        limit=limit,
    )


def _said(error: anthropic.APIError) -> str:
    """The server's own words, on one line."""
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return " ".join(str(message or error.message).split())[:300]
