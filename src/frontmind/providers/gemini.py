"""A model behind Google's Gemini API, through the official SDK.

The SDK's own request types would spell parts of a stored request anew; the body goes in as it is stored. This module
knows neither how a window becomes a request nor what a reply means.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from frontmind.errors import ModelError, ModelUnavailable, RequestRefused, WindowTooLarge
from frontmind.providers.encoding.encode import require_wire
from frontmind.providers.hosted import HostedModel, one_line
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.protocol import Request
from frontmind.window.choice import FramingChoice

if TYPE_CHECKING:
    from google.genai.errors import APIError

# The SDK wants a key and would otherwise take the environment's, which is no business of another server's.
_NO_KEY: Final = "none"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
# The SDK asks for contents; what stands here is replaced by the stored body.
_PLACEHOLDER: Final = "-"
# Gemini tells the two sizes only in its sentence, the request's first.
_TOO_LONG: Final = re.compile(r"input token count (?:is |\()(\d+)\D+?(?:up to |allowed \()(\d+)")

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
    ) -> None:
        super().__init__(profile, name=name, framing=framing, max_output_tokens=max_output_tokens)
        require_wire(profile, Wire.GEMINI)
        try:
            from google import genai  # noqa: PLC0415 - optional dependency
        except ImportError as error:
            raise ModelUnavailable(
                f"{name} needs the google-genai package; run: pip install 'frontmind[gemini]'", model=name
            ) from error
        transport: dict[str, Any] = {"event_hooks": {"response": [_remember]}}
        if base_url is not None and urlsplit(base_url).hostname in _LOOPBACK:
            # No proxy reaches this machine's own loopback.
            transport["trust_env"] = False
        try:
            self._client = genai.Client(
                api_key=(api_key or "").strip() or (None if base_url is None else _NO_KEY),
                vertexai=False,
                http_options=genai.types.HttpOptions(base_url=base_url, async_client_args=transport),
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
        except httpx2.ConnectError as error:
            raise ModelUnavailable(
                f"cannot reach {self.name} ({one_line(error)}); check the network, or choose --model local",
                model=self.name,
            ) from error
        except (httpx2.HTTPError, OSError) as error:
            raise ModelError(
                f"the connection to {self.name} broke off ({one_line(error)}); try again", model=self.name
            ) from error

        finally:
            for response in responses:
                await response.aclose()

    def _require_unblocked(self, event: Mapping[str, Any]) -> None:
        reason = event.get("promptFeedback", {}).get("blockReason")
        if reason and not event.get("candidates"):
            raise RequestRefused(f"{self.name} refused the request (it blocked it: {reason})", model=self.name)

    def _explained(self, error: APIError) -> ModelError:
        name, said = self.name, one_line(ValueError(error.message or error))
        # A wrong key is a 400 like any other wrong argument.
        if error.code in (401, 403) or "API_KEY_INVALID" in str(error.details):
            return ModelUnavailable(f"{name} refused the key ({said}); check GEMINI_API_KEY", model=name)
        if error.code == 404:
            return ModelUnavailable(f"{name} was not found ({said}); check the name after --model", model=name)
        if error.code == 429:
            return ModelError(f"{name} takes no more requests for now ({said}); try again later", model=name)
        if error.code in (400, 413, 422):
            if sizes := _TOO_LONG.search(str(error.message)):
                tokens, limit = int(sizes[1]), int(sizes[2])
                return WindowTooLarge(
                    f"the window has {tokens} tokens and {name} takes {limit}; leave something out, or choose a model "
                    "with a larger context",
                    model=name,
                    tokens=tokens,
                    limit=limit,
                )
            return RequestRefused(f"{name} refused the request ({said})", model=name, status=error.code)
        return ModelError(f"{name} failed ({said}); try again", model=name)

    async def close(self) -> None:
        await self._client.aio.aclose()
        self._client.close()
