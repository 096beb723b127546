"""A model behind OpenAI's Responses API, through the official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from frontmind.errors import ModelError, RequestRefused
from frontmind.providers.openai_client import OpenAIModel, read_too_large
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.protocol import Request

if TYPE_CHECKING:
    import openai

# What the API says within a stream about the request itself: the same bytes will fail again.
_REFUSED: Final = frozenset(
    {
        "invalid_prompt",
        "context_length_exceeded",
        "bio_policy",
        "misalignment_policy_violation",
        "data_residency_mismatch",
        "invalid_image",
        "invalid_image_format",
        "invalid_base64_image",
        "invalid_image_url",
        "invalid_image_mode",
        "image_too_large",
        "image_too_small",
        "image_parse_error",
        "image_content_policy_violation",
        "image_file_too_large",
        "unsupported_image_media_type",
        "empty_image_file",
    }
)


class OpenAIResponsesModel(OpenAIModel):
    """A `Model` over ``responses`` of the SDK. The arguments and the errors are those of `OpenAIModel`."""

    wire = Wire.OPENAI_RESPONSES

    async def _open(self, body: dict[str, Any]) -> openai.AsyncStream[Any]:
        # Compatible servers take keys that the SDK has no argument for: all but the input go in as they are.
        return await self._client.responses.create(
            model=body.pop("model"), input=body.pop("input"), stream=True, extra_body=body
        )

    async def _events(self, request: Request) -> AsyncGenerator[Mapping[str, Any], None]:
        async with aclosing(super()._events(request)) as events:
            async for event in events:
                match event:
                    case {"type": "error"}:
                        raise self._failure(event)
                    case {"type": "response.failed", "response": Mapping() as response}:
                        raise self._failure(response.get("error"))
                yield event

    def _failure(self, error: object) -> ModelError:
        """What the API says within a stream that has begun, where there is no HTTP status any more."""
        details = error if isinstance(error, Mapping) else {}
        code = str(details.get("code") or "")
        said = " ".join(str(details.get("message") or code or "no reason given").split())[:300]
        if (too_large := read_too_large(details, self.name)) is not None:
            return too_large
        if code in _REFUSED:
            return RequestRefused(f"{self.name} refused the request ({said})", model=self.name)
        if code == "rate_limit_exceeded":
            said_limit = f"{self.name} takes no more requests for now ({said}); try again later"
            return ModelError(said_limit, model=self.name)
        return ModelError(f"{self.name} failed ({said}); try again", model=self.name)
