"""LangChain: `create_agent` with `AnthropicPromptCachingMiddleware`, history in a checkpointer.

The guide on context engineering gives two places for what changes: the system prompt (`dynamic_prompt`), and messages
that a `wrap_model_call` middleware adds for the call alone. Both are here; the second puts its section in front of the
current message of the person, where the steps of a turn can still read what the step before has cached.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import dynamic_prompt, wrap_model_call
from langchain_anthropic import ChatAnthropic
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.peers.script import API_KEY, PeerCall, Script, ScriptTool, Stage, capture

# A step of a tool loop is two steps of the graph, and the default ends a loop of fifteen calls.
RECURSION_LIMIT: Final = 1_000


class LangChain:
    """An agent with one middleware for the changing part, and the caching middleware inside of it."""

    def __init__(self, name: str, setup: str, middleware: Callable[[Stage], Any]) -> None:
        self.name = name
        self.setup = setup
        self._middleware = middleware

    @property
    def versions(self) -> Mapping[str, str]:
        return {package: version(package) for package in ("langchain", "langchain-anthropic")}

    def requests(self, script: Script) -> list[PeerCall]:
        return capture(script, self._drive)

    async def _drive(self, stage: Stage) -> None:
        script = stage.script
        agent = create_agent(
            ChatAnthropic(model=script.model, base_url=stage.url, api_key=API_KEY, max_retries=0),
            tools=[_tool(tool, partial(stage.result, tool.name)) for tool in script.tools],
            system_prompt=script.system,
            middleware=[self._middleware(stage), AnthropicPromptCachingMiddleware()],
            checkpointer=InMemorySaver(),
        )
        config = {"configurable": {"thread_id": "script"}, "recursion_limit": RECURSION_LIMIT}
        for turn in script.turns:
            await agent.ainvoke({"messages": [HumanMessage(stage.begin(turn))]}, config)


def in_the_system_prompt() -> LangChain:
    """The changing part at the end of the system prompt."""
    return LangChain("LangChain", "AnthropicPromptCachingMiddleware(), dynamic_prompt", _prompt)


def in_a_message() -> LangChain:
    """The changing part as a message of its own, in front of what the person says now."""
    return LangChain("LangChain, section", "AnthropicPromptCachingMiddleware(), wrap_model_call", _section)


def _prompt(stage: Stage) -> Any:
    def prompt(_: Any) -> str:
        return f"{stage.script.system}\n\n{stage.context()}"

    return dynamic_prompt(prompt)


def _section(stage: Stage) -> Any:
    async def add(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        messages = list(request.messages)
        current = max(place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
        messages.insert(current, AIMessage(stage.context()))
        return await handler(request.override(messages=messages))

    return wrap_model_call(add)


def _tool(tool: ScriptTool, result: Callable[[], str]) -> Any:
    async def call(**_: object) -> str:
        return result()

    return StructuredTool(name=tool.name, description=tool.description, args_schema=dict(tool.schema), coroutine=call)
