"""pydantic-ai with its harness: the changing part through `SystemReminders`, prompt caching by `Caching`.

The capability's README gives it for what the model must see now and not later, and asks for caching to be switched on
beside it, because it places no marker of its own. A dynamic reminder is evaluated for every request, so the model sees
the sections in every step of a tool loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from pydantic_ai.capabilities import Caching
from pydantic_ai_harness import SystemReminders

from benchmarks.peers.pydantic_ai_peer import agent_for, client_for, converse
from benchmarks.peers.script import PeerCall, Script, Stage, capture


class PydanticAIHarness:
    """An agent with static instructions, a dynamic reminder, and `Caching()`."""

    name = "pydantic-ai-harness"
    setup = "Caching(), SystemReminders with a dynamic reminder"

    @property
    def versions(self) -> Mapping[str, str]:
        return {package: version(package) for package in ("pydantic-ai-slim", "pydantic-ai-harness")}

    def requests(self, script: Script) -> list[PeerCall]:
        return capture(script, self._drive)

    async def _drive(self, stage: Stage) -> None:
        def remind(_: Any) -> str | None:
            return stage.context() or None

        async with client_for(stage) as client:
            capabilities = [SystemReminders(dynamic_reminders=[remind]), Caching()]
            await converse(agent_for(stage, client, capabilities), stage)
