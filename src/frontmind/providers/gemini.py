"""A model behind Google's Gemini API, through the official SDK.

The SDK's own request types would spell parts of a stored request anew; the body goes in as it is stored. This module
knows neither how a window becomes a request nor what a reply means.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from frontmind.errors import ModelError, ModelUnavailable, RequestRefused
from frontmind.providers.encoding.encode import require_wire
from frontmind.providers.faults import (
    CONNECT_SECONDS,
    SILENCE_SECONDS,
    Advice,
    explained,
    is_loopback,
    read_fault,
    transport_fault,
)
from frontmind.providers.hosted import HostedModel
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.protocol import Request
from frontmind.window.choice import FramingChoice

if TYPE_CHECKING:
    from google.genai.errors import APIError

# The SDK wants a key and would otherwise take the environment's, which is no business of another server's.
_NO_KEY: Final = "none"
_GOOGLE: Final = "https://generativelanguage.googleapis.com"
_ADVICE: Final = Advice(key="check GEMINI_API_KEY")
# The SDK asks for contents; what stands here is replaced by the stored body.
_PLACEHOLDER: Final = "-"

# The SDK leaves the connection of a stream open that is not read to its end, and gives out no way to close it.
_responses: ContextVar[list[Any]] = ContextVar("responses")


async def _remember(response: Any) -> None:
    _responses.get([]).append(response)


class GeminiModel(HostedModel):
    """A `Model` over ``google.genai.Client``.

    Args:
        api_key: the key; None lets the SDK take GOOGLE_API_KEY or GEMINI_API_KEY.
        base_url: another server that speaks the same API, which is sent no key but the one given here; None for
            Google's.
        silence: how many seconds the server may send nothing.

    Raises:
        ModelUnavailable: the SDK is not installed, or there is no key.
        UsageError: the profile names another wire format.
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
        require_wire(profile, Wire.GEMINI)
        try:
            from google import genai  # noqa: PLC0415 - optional dependency
        except ImportError as error:
            raise ModelUnavailable(
                f"{name} needs the google-genai package; run: pip install 'frontmind[gemini]'", model=name
            ) from error
        self._url = base_url or _GOOGLE
        waits = {"connect": min(CONNECT_SECONDS, silence), "read": silence, "write": silence, "pool": silence}

        async def limit(request: Any) -> None:
            # The SDK's own time limit is for the whole reply, and is told to the server.
            request.extensions["timeout"] = waits

        transport: dict[str, Any] = {"event_hooks": {"request": [limit], "response": [_remember]}}
        if is_loopback(self._url):
            # No proxy reaches this machine's own loopback.
            transport["trust_env"] = False
        try:
            self._client = genai.Client(
                api_key=(api_key or "").strip() or (None if base_url is None else _NO_KEY),
                vertexai=False,
                http_options=genai.types.HttpOptions(
                    base_url=base_url,
                    async_client_args=transport,
                    retry_options=genai.types.HttpRetryOptions(attempts=1),
                ),
            )
        except ValueError as error:
            raise ModelUnavailable(
                f"{name} needs a key; set GEMINI_API_KEY, or choose another model with --model", model=name
            ) from error

    async def _events(self, request: Request) -> AsyncGenerator[Mapping[str, Any], None]:
        import httpx2  # noqa: PLC0415 - comes with the optional dependency
        from google.genai import errors, types  # noqa: PLC0415 - optional dependency

        body = {key: value for key, value in request.items() if key != "model"}
        config = types.GenerateContentConfig(
            http_options=types.HttpOptions(extra_body=body),
            # What was stored is sent, once, and nothing else.
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            automatic_continuation=False,
        )
        responses: list[Any] = []
        opening = _responses.set(responses)
        try:
            try:
                chunks = await self._client.aio.models.generate_content_stream(
                    model=str(request["model"]), contents=_PLACEHOLDER, config=config
                )
                chunk = await anext(chunks, None)
            finally:
                _responses.reset(opening)
            while chunk is not None:
                event = chunk.model_dump(mode="json", by_alias=True, exclude_none=True)
                self._require_unblocked(event)
                yield event
                chunk = await anext(chunks, None)
        except errors.APIError as error:
            raise self._explained(error) from error
        except (httpx2.HTTPError, OSError) as error:
            raise transport_fault(error, name=self.name, url=self._url) from error
        finally:
            for response in responses:
                await response.aclose()

    def _require_unblocked(self, event: Mapping[str, Any]) -> None:
        reason = event.get("promptFeedback", {}).get("blockReason")
        if reason and not event.get("candidates"):
            raise RequestRefused(f"{self.name} refused the request (it blocked it: {reason})", model=self.name)

    def _explained(self, error: APIError) -> ModelError:
        headers = getattr(error.response, "headers", None)
        fault = read_fault(error.details, said=error.message or "", status=error.code, headers=headers)
        return explained(fault, name=self.name, advice=_ADVICE)

    async def close(self) -> None:
        await self._client.aio.aclose()
        self._client.close()
