"""A model behind OpenAI's Responses API, through the official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from frontmind.providers.openai_client import OpenAIModel
from frontmind.providers.profiles.profile import Wire
from frontmind.providers.protocol import Request

if TYPE_CHECKING:
    import openai


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
