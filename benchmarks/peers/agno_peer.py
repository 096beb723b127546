"""Agno: `Claude` with `cache_system_prompt` and `cache_tools`, history from its database.

Its examples give `system_prompt_blocks` with an uncached block for what must be fresh in every request, evaluated by a
callable. The other peer has the sections in the agent's own instructions, which is where `add_datetime_to_context`
puts the time as well: inside of the marked block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.anthropic import Claude
from agno.models.anthropic.claude import SystemPromptBlock
from agno.tools.function import Function
from anthropic import AsyncAnthropic

from benchmarks.peers.script import API_KEY, PeerCall, Script, ScriptTool, Stage, capture


class Agno:
    """An agent that is given its whole history in every run."""

    def __init__(self, *, block: bool) -> None:
        self.name = "Agno" if block else "Agno, instructions"
        place = "system_prompt_blocks" if block else "instructions function"
        self.setup = f"cache_system_prompt, cache_tools, {place}"
        self._block = block

    @property
    def versions(self) -> Mapping[str, str]:
        return {"agno": version("agno")}

    def requests(self, script: Script) -> list[PeerCall]:
        return capture(script, self._drive)

    async def _drive(self, stage: Stage) -> None:
        script = stage.script

        def blocks() -> list[Any]:
            return [SystemPromptBlock(text=stage.context(), cache=False)]

        def instructions() -> list[str]:
            return [script.system, stage.context()]

        async with AsyncAnthropic(base_url=stage.url, api_key=API_KEY, max_retries=0) as client:
            agent = Agent(
                model=Claude(
                    id=script.model,
                    async_client=client,
                    cache_system_prompt=True,
                    cache_tools=True,
                    system_prompt_blocks=blocks if self._block else None,
                ),
                instructions=script.system if self._block else instructions,
                tools=[_tool(tool, partial(stage.result, tool.name)) for tool in script.tools],
                db=InMemoryDb(),
                add_history_to_context=True,
                # The default forgets all but the last few runs, which is another conversation than the script's.
                num_history_runs=len(script.turns),
                telemetry=False,
            )
            for turn in script.turns:
                await agent.arun(stage.begin(turn), session_id="script")


def with_a_block() -> Agno:
    """The changing part in an uncached block behind the system prompt."""
    return Agno(block=True)


def in_the_instructions() -> Agno:
    """The changing part in the agent's instructions."""
    return Agno(block=False)


def _tool(tool: ScriptTool, result: Callable[[], str]) -> Any:
    async def call(**_: object) -> str:
        return result()

    return Function(
        name=tool.name,
        description=tool.description,
        parameters=dict(tool.schema),
        entrypoint=call,
        skip_entrypoint_processing=True,
    )
