"""What the tests of the compatible APIs share: a server that listens, the real SDKs, and what the store holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from frontmind.providers.protocol import Finished, Model, Request, StopReason, StreamEvent, TextDelta
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.limits import Limits
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.message import Message
from frontmind.values.records import Turn, TurnState
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_json
from server.serving import Served, served


@dataclass
class Clients:
    """The real SDKs, pointed at a server on a loopback port."""

    served: Served
    address: str
    openai: AsyncOpenAI
    anthropic: AsyncAnthropic

    @property
    def store(self) -> SqliteStore:
        return self.served.store

    async def said(self, conversation: str) -> list[tuple[str, str]]:
        """The exchanges that count in a conversation: what was asked, and what was replied."""
        return [(turn.user.text, turn.reply.text if turn.reply else "") for turn in await self.line(conversation)]

    async def line(self, conversation: str) -> list[Turn]:
        return [turn for turn in await self.store.turns(conversation) if turn.state in (TurnState.OPEN, TurnState.DONE)]

    async def names(self) -> list[str]:
        """The conversations that have a turn which counts, by name."""
        return sorted(overview.name for overview in await self.store.conversations())

    async def only(self) -> str:
        """The only conversation that there is."""
        (name,) = await self.names()
        return name


@asynccontextmanager
async def clients(
    model: Model | Sequence[str | Message] | Callable[[Request], str | Message],
    *,
    people: tuple[str, ...] = (),
    limits: Limits | None = None,
    db: str = ":memory:",
    retries: int = 0,
) -> AsyncIterator[Clients]:
    """A server that answers with this model or script."""
    answering = model if not callable(model) and not isinstance(model, Sequence) else ScriptedModel(model)
    async with served(answering, people=people, limits=limits, db=db) as server, server.listening() as address:
        key = server.keys[people[0]] if people else "unused"
        async with (
            AsyncOpenAI(base_url=f"{address}/v1", api_key=key, max_retries=retries) as openai,
            AsyncAnthropic(base_url=address, api_key=key, max_retries=retries) as anthropic,
        ):
            yield Clients(server, address, openai, anthropic)


def counting() -> Callable[[Request], str]:
    """A script whose replies are numbered, so that no two are the same."""
    count = 0

    def reply(_: Request) -> str:
        nonlocal count
        count += 1
        return f"Reply {count}, in words."

    return reply


def messages_of(request: Request) -> list[Mapping[str, Any]]:
    """The messages of a request that a model was sent."""
    messages: Any = request["messages"]
    return list(messages)


def tools_of(request: Request) -> str:
    """The tools that a model was told of, in one text."""
    return canonical_json(request.get("tools", [])).decode()


class CountedModel(ScriptedModel):
    """A scripted model that stops as it is told and counts as a provider does."""

    stop = StopReason.END
    usage = Usage(100, 60, 30, 7)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        async for event in super().stream(request):
            if isinstance(event, Finished):
                stop = event.stop if event.stop is StopReason.TOOL_CALLS else self.stop
                yield Finished(event.message, self.usage, stop)
            else:
                yield event


async def nothing() -> AsyncIterator[StreamEvent]:
    events: tuple[StreamEvent, ...] = ()
    for event in events:
        yield event


class FailingModel(ScriptedModel):
    """A scripted model that fails with the next of its errors, if there is one, behind so much of its text."""

    def __init__(self, script: Any, errors: Sequence[Exception], *, behind: int = 0) -> None:
        super().__init__(script)
        self._errors = list(errors)
        self._behind = behind

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        if not self._errors:
            async for event in super().stream(request):
                yield event
            return
        error = self._errors.pop(0)
        count = 0
        async for event in super().stream(request) if self._behind else nothing():
            if isinstance(event, TextDelta) and count < self._behind:
                count += 1
                yield event
        raise error


class HeldModel(ScriptedModel):
    """A scripted model that says its first word, and the rest when it is let."""

    def __init__(self, script: Any, held: Any) -> None:
        super().__init__(script)
        self.held = held
        self.spoke = asyncio.Event()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        first = True
        async for event in super().stream(request):
            if not first:
                self.spoke.set()
                await self.held.wait()
            first = False
            yield event
