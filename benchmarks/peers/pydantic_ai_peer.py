"""pydantic-ai: the changing part as an instructions function, prompt caching by its `Caching` capability.

The library's guide for building agents asks for `Caching()` on every agent, and for `on_change="append"` on
instructions that change within a conversation. The default (`on_change="rewrite"`) is a peer of its own, because it is
what an agent does without that argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, Literal

from anthropic import AsyncAnthropic
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import Caching
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from benchmarks.peers.script import API_KEY, PeerCall, Script, ScriptTool, Stage, capture


class PydanticAI:
    """An agent with static instructions, an instructions function, and `Caching()`."""

    def __init__(self, on_change: Literal["append", "rewrite"]) -> None:
        self.name = "pydantic-ai" if on_change == "append" else "pydantic-ai, rewritten"
        self.setup = f"Caching(), instructions function with on_change={on_change!r}"
        self._on_change = on_change

    @property
    def versions(self) -> Mapping[str, str]:
        return {"pydantic-ai-slim": version("pydantic-ai-slim")}

    def requests(self, script: Script) -> list[PeerCall]:
        return capture(script, self._drive)

    async def _drive(self, stage: Stage) -> None:
        def context() -> str:
            return stage.context()

        async with client_for(stage) as client:
            agent = agent_for(stage, client, [Caching()])
            agent.instructions(name="context", on_change=self._on_change)(context)
            await converse(agent, stage)


def appending() -> PydanticAI:
    """The set-up that the library recommends for instructions that change within a conversation."""
    return PydanticAI("append")


def rewriting() -> PydanticAI:
    """What an instructions function does by default."""
    return PydanticAI("rewrite")


def client_for(stage: Stage) -> AsyncAnthropic:
    """The official client, pointed at the loopback server; close it in the loop that used it."""
    return AsyncAnthropic(base_url=stage.url, api_key=API_KEY, max_retries=0)


def agent_for(stage: Stage, client: AsyncAnthropic, capabilities: list[Any]) -> Any:
    """An agent with the script's system prompt and tools, whose model is the loopback server."""
    return Agent(
        AnthropicModel(stage.script.model, provider=AnthropicProvider(anthropic_client=client)),
        instructions=stage.script.system,
        tools=[_tool(tool, partial(stage.result, tool.name)) for tool in stage.script.tools],
        capabilities=capabilities,
    )


async def converse(agent: Any, stage: Stage) -> None:
    """Run the agent once for each turn; each run is given the messages of the run before."""
    history: list[Any] = []
    for turn in stage.script.turns:
        result = await agent.run(stage.begin(turn), message_history=history)
        history = result.all_messages()


def _tool(tool: ScriptTool, result: Callable[[], str]) -> Any:
    async def call(**_: object) -> str:
        return result()

    return Tool.from_schema(call, tool.name, tool.description, dict(tool.schema))
