"""The local engine asked through ``/v1/messages``, and the same request as the engine's chat template sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from frontmind.providers.anthropic import AnthropicModel
from frontmind.providers.engine import Engine
from frontmind.providers.local import LocalModel, Token
from frontmind.providers.profiles.profile import MarkerKind, UsageMeaning, Wire
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Request
from frontmind.window.choice import Framing
from frontmind.window.window import Window


class MessagesModel(LocalModel):
    """The local model asked through ``/v1/messages`` with the anthropic SDK."""

    def __init__(self, engine: Engine, framing: Framing, *, max_output_tokens: int) -> None:
        profile = replace(
            resolve_profile("local", ""),
            wire=Wire.ANTHROPIC,
            usage=UsageMeaning.UNMARKED,
            markers=MarkerKind.NONE,
        )
        choice = choose_framing(profile, framing)
        super().__init__(engine, framing=choice, max_output_tokens=max_output_tokens)
        self.profile = profile
        self._messages = AnthropicModel(
            profile,
            name=self.name,
            framing=choice,
            max_output_tokens=max_output_tokens,
            api_key=engine.api_key,
            base_url=engine.address,
        )
        self._chat = self._messages  # type: ignore[assignment]

    def encode(self, window: Window) -> Request:
        return {**self._messages.encode(window), "temperature": 0.0}

    async def _prompt(self, request: Request) -> list[Token]:
        return await super()._prompt(as_chat(request))


def as_chat(request: Mapping[str, Any]) -> dict[str, Any]:
    """The same messages as Chat Completions has them, which is what the engine's template sees."""
    system = "\n\n".join(block["text"] for block in request.get("system", ()))
    said = [chat for message in request["messages"] for chat in _as_chat(message)]
    tools = [
        {
            "type": "function",
            "function": {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]},
        }
        for tool in request.get("tools", ())
    ]
    return {"messages": [{"role": "system", "content": system}, *said], **({"tools": tools} if tools else {})}


def _as_chat(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    words = [block["text"] for block in message["content"] if block["type"] == "text"]
    calls = [block for block in message["content"] if block["type"] == "tool_use"]
    results = [block for block in message["content"] if block["type"] == "tool_result"]
    if words or calls:
        said: dict[str, Any] = {"role": message["role"], "content": "\n".join(words)}
        if calls:
            said["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["input"])},
                }
                for call in calls
            ]
        yield said
    for result in results:
        content = result["content"]
        text = content if isinstance(content, str) else "\n".join(block["text"] for block in content)
        yield {"role": "tool", "tool_call_id": result["tool_use_id"], "content": text}
