"""Google ADK: `static_instruction` and `instruction`, with `ContextCacheConfig` on the app.

The agent's own documentation gives `static_instruction` for what never changes, sends `instruction` among the messages
then, and names `context_cache_config` as the switch for caching.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, Final

from anthropic import AsyncAnthropic
from google.adk.agents import LlmAgent
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.apps import App
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from benchmarks.peers.script import API_KEY, PeerCall, Script, ScriptTool, Stage, capture

APP: Final = "script"
USER: Final = "person"


class ADK:
    """An app with one agent, its history in a session service."""

    name = "Google ADK"
    setup = "ContextCacheConfig(), static_instruction, instruction provider"

    @property
    def versions(self) -> Mapping[str, str]:
        return {"google-adk": version("google-adk")}

    def requests(self, script: Script) -> list[PeerCall]:
        return capture(script, self._drive)

    async def _drive(self, stage: Stage) -> None:
        script = stage.script

        def instruction(_: Any) -> str:
            return stage.context()

        async with AsyncAnthropic(base_url=stage.url, api_key=API_KEY, max_retries=0) as client:
            agent = LlmAgent(
                name="assistant",
                model=AnthropicLlm(model=script.model, client=client),
                static_instruction=script.system,
                instruction=instruction,
                tools=[_ScriptedTool(tool, partial(stage.result, tool.name)) for tool in script.tools],
            )
            app = App(name=APP, root_agent=agent, context_cache_config=ContextCacheConfig())
            sessions = InMemorySessionService()
            runner = Runner(app=app, session_service=sessions)
            session = await sessions.create_session(app_name=APP, user_id=USER)
            for turn in script.turns:
                message = types.Content(role="user", parts=[types.Part(text=stage.begin(turn))])
                async for _ in runner.run_async(user_id=USER, session_id=session.id, new_message=message):
                    pass


class _ScriptedTool(BaseTool):
    def __init__(self, tool: ScriptTool, result: Callable[[], str]) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._schema = dict(tool.schema)
        self._result = result

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return self._result()
