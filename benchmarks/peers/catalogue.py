"""The peers that can be loaded here; a library that is not installed is one line, and no error for the others."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from benchmarks.peers.script import Peer

NOT_INSTALLED: Final = "not installed, or too old; run: pip install '.[bench]'"
# Nothing here may leave the machine: traces, usage reports and proxies are switched off before a library is loaded.
QUIET: Final = {
    "AGNO_TELEMETRY": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A peer that may be installed: the name of its row, and where it is made."""

    name: str
    module: str
    maker: str

    def load(self) -> Peer | str:
        """The peer, or the line that says why there is none."""
        os.environ.update(QUIET)
        try:
            module = importlib.import_module(f"benchmarks.peers.{self.module}")
        except ImportError as missing:
            if (missing.name or "").startswith("benchmarks"):
                raise
            return NOT_INSTALLED
        return cast(Callable[[], Peer], getattr(module, self.maker))()


PEERS: Final = (
    Entry("pydantic-ai", "pydantic_ai_peer", "appending"),
    Entry("pydantic-ai, rewritten", "pydantic_ai_peer", "rewriting"),
    Entry("pydantic-ai-harness", "pydantic_ai_harness_peer", "PydanticAIHarness"),
    Entry("LangChain", "langchain_peer", "in_the_system_prompt"),
    Entry("LangChain, section", "langchain_peer", "in_a_message"),
    Entry("Google ADK", "adk_peer", "ADK"),
    Entry("Agno", "agno_peer", "with_a_block"),
    Entry("Agno, instructions", "agno_peer", "in_the_instructions"),
)
