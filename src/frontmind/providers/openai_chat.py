"""A model behind a Chat Completions API, through the official OpenAI SDK.

OpenAI itself, DeepSeek, OpenRouter, Ollama, vLLM, llama-server, LM Studio: which of them answers is only a matter of
``base_url`` and of the profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from frontmind.providers.faults import SILENCE_SECONDS
from frontmind.providers.openai_client import OpenAIModel
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.window.canonical import Json
from frontmind.window.choice import FramingChoice

if TYPE_CHECKING:
    import httpx2
    import openai


class OpenAIChatModel(OpenAIModel):
    """A `Model` over ``chat.completions`` of the SDK.

    Args:
        stream_options: further keys of the body that concern only the transport, not the reply.

    The other arguments and the errors are those of `OpenAIModel`.
    """

    wire = Wire.OPENAI_CHAT

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
        stream_options: Mapping[str, Json] | None = None,
        silence: float = SILENCE_SECONDS,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        super().__init__(
            profile,
            name=name,
            framing=framing,
            max_output_tokens=max_output_tokens,
            base_url=base_url,
            api_key=api_key,
            context_limit=context_limit,
            silence=silence,
            http_client=http_client,
        )
        self._stream_options = dict(stream_options or {})

    async def _open(self, body: dict[str, Any]) -> openai.AsyncStream[Any]:
        # Servers take keys that the SDK has no argument for: all but the two it insists on go in as they are.
        return await self._client.chat.completions.create(
            model=body.pop("model"),
            messages=body.pop("messages"),
            stream=True,
            stream_options={"include_usage": True},
            extra_body={**body, **self._stream_options},
        )
