"""What several tests need: a clock that is moved by hand, an assistant put together, and a request's prefix."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import pytest

from frontmind.assistant.orchestrator import STEP_LIMIT, Orchestrator
from frontmind.assistant.wiring import Mind, build_mind, build_orchestrator
from frontmind.providers.names import parse_model_name
from frontmind.providers.opening import Selection, select_model
from frontmind.providers.profiles.resolve import parse_overrides
from frontmind.providers.protocol import Model, Request
from frontmind.providers.scripted import ScriptedModel
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.tools.tool import RunnableTool
from frontmind.trinkets import ToolDescription
from frontmind.values.memories import Memory, NewMemory
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text, ToolCall
from frontmind.values.passages import Passage, PassageKind
from frontmind.window.canonical import Json, canonical_json, canonical_text
from frontmind.window.choice import Framing

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 11, 30, 9, 15, tzinfo=BERLIN)
PROGRAM = Path(sys.executable).with_name("frontmind")
Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs the program; the fixture ``frontmind`` is one."""
REPOSITORY = Path(__file__).resolve().parent.parent
SHARED_DATA = REPOSITORY.parent / "shared" / "data"


def shared(*names: str) -> Path:
    """A file of the recorded data beside the repository; the test is skipped where it is not there."""
    path = SHARED_DATA.joinpath(*names)
    if not path.exists():
        pytest.skip(f"the recorded data is not beside the repository: {'/'.join(names)}")
    return path


async def remember(store: Store, text: str, at: datetime) -> Memory:
    """Keep a memory, as the person asks for it."""
    (kept,) = await store.add_memories([NewMemory(text, at)], at)
    return kept


async def passages_with(store: Store, text: str, kind: PassageKind = PassageKind.EXCHANGE) -> Sequence[Passage]:
    """The passages of this kind that have any word of the text, best first."""
    found = await store.search_words(text.split(), kind=kind, limit=99)
    return list(await store.passages([passage_id for passage_id, _ in found]))


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self, moment: datetime = START) -> None:
        self.moment = moment

    @property
    def zone(self) -> ZoneInfo:
        assert isinstance(self.moment.tzinfo, ZoneInfo)
        return self.moment.tzinfo

    def now(self) -> datetime:
        return self.moment

    def advance(self, **duration: float) -> None:
        self.moment = self.moment + timedelta(**duration)


@dataclass
class Bench:
    """An assistant on a workbench."""

    store: SqliteStore
    model: Model
    clock: HandClock
    mind: Mind
    orchestrator: Orchestrator

    async def sent(self) -> list[Mapping[str, Any]]:
        """The requests of all answered turns, as they were sent."""
        turns = await self.store.turns("main")
        return [await self.store.load_request(turn.request) for turn in turns if turn.request is not None]


TOOLS = (
    ToolDescription("/remind", "add a reminder", "The person writes /remind with what and when."),
    ToolDescription("/search", "search memories and earlier messages"),
)


@asynccontextmanager
async def bench(
    model: Model,
    *,
    db: str = ":memory:",
    clock: HandClock | None = None,
    timer: Callable[[], float] = lambda: 0.0,
    tools: Sequence[RunnableTool] = (),
    loadable: Sequence[RunnableTool] = (),
    step_limit: int = STEP_LIMIT,
) -> AsyncIterator[Bench]:
    """An assistant over a store of its own; the model stays the caller's to close."""
    clock = clock or HandClock()
    store = SqliteStore.open(db)
    mind = build_mind(store=store, clock=clock, descriptions=TOOLS, tools=tools, loadable=loadable)
    orchestrator = build_orchestrator(mind, store=store, model=model, clock=clock, step_limit=step_limit, timer=timer)
    try:
        yield Bench(store, model, clock, mind, orchestrator)
    finally:
        mind.close()
        await store.close()


def selected(name: str, framing: Framing | None = None, overrides: str = "") -> Selection:
    """A model by its name, with the framing and the facts that a test wants."""
    return select_model(
        parse_model_name(name), framing=framing, overrides=parse_overrides(overrides), max_output_tokens=99
    )


MODELS = (
    "anthropic:claude-sonnet-4-5",
    "anthropic:claude-opus-4-8",
    "anthropic:claude-opus-5-5",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "openai:gpt-5.5",
    "openai:gpt-5.6-sol",
    "gemini:gemini-3-pro",
    "deepseek:deepseek-chat",
    "openrouter:anthropic/claude-sonnet-4.6",
    "ollama:qwen3",
    "compatible:m@http://127.0.0.1:9/v1",
    "local",
    "echo",
)
EVERY_WAY = tuple((name, framing) for name in MODELS for framing in sorted(selected(name).profile.framings))
"""Every model with every framing that it takes."""


def playing(
    name: str, script: Sequence[str | Message] | Callable[[Request], str | Message], framing: Framing | None = None
) -> ScriptedModel:
    """A scripted model with the profile and the requests of a real one."""
    selection = selected(name, framing)
    return ScriptedModel(
        script, name=str(selection.name), profile=selection.profile, framing=selection.framing, max_output_tokens=99
    )


def calling(*calls: tuple[str, Mapping[str, Json]], said: str = "") -> Message:
    """A reply that calls these tools with these arguments; the ids are c1, c2, ..."""
    parts = [
        ToolCall(f"c{number}", name, canonical_text(arguments)) for number, (name, arguments) in enumerate(calls, 1)
    ]
    return Message(Role.ASSISTANT, (*((Text(said),) if said else ()), *parts))


def prefix(request: Mapping[str, Any], messages: int) -> bytes:
    """The canonical bytes of tools, system and the first ``messages`` messages, cache markers aside."""
    kept = {key: request[key] for key in ("tools", "system") if key in request}
    kept["messages"] = request["messages"][:messages]
    return canonical_json(without_markers(kept))


_MARKERS = ("cache_control", "prompt_cache_breakpoint")


def without_markers(value: Any) -> Any:
    """The value without any ``cache_control`` or ``prompt_cache_breakpoint``."""
    plain = copy.deepcopy(value)
    if isinstance(plain, dict):
        return {key: without_markers(item) for key, item in plain.items() if key not in _MARKERS}
    if isinstance(plain, list):
        return [without_markers(item) for item in plain]
    return plain


def marker_places(request: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Where markers stand: ("system", 0, block) or ("messages", message, block)."""
    places = [("system", 0, index) for index, block in enumerate(request.get("system", ())) if "cache_control" in block]
    for number, message in enumerate(request["messages"]):
        places += [
            ("messages", number, index) for index, block in enumerate(message["content"]) if "cache_control" in block
        ]
    return places


def texts(message: Mapping[str, Any]) -> str:
    """All text of an encoded message, whatever its wire format."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", block.get("content", ""))) for block in content or ())
