"""The memories of a person: found, kept, edited, forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Query, Response

from frontmind.assistant.recalling import NearestMemories, SameAsServed
from frontmind.errors import Conflict, UsageError
from frontmind.recall.facts import FactKeeper
from frontmind.recall.importance import importances
from frontmind.reminders.in_words import parse_slot
from frontmind.server.dependencies import Asking, TheHub
from frontmind.server.errors import existing, problems
from frontmind.server.hub import Hub
from frontmind.server.identity import Person
from frontmind.server.person_events import Changed, Thing
from frontmind.server.routes.numbers import Number
from frontmind.server.schemas.memories import Memory, MemoryChange, MemoryList, NewMemory, memory_view
from frontmind.server.sessions import Home
from frontmind.values import memories as values
from frontmind.values.clock import Clock

router = APIRouter(prefix="/api/memories", tags=["memories"])


@router.get("", response_model=MemoryList, summary="The memories, newest first", responses=problems())
async def list_memories(
    hub: TheHub,
    person: Asking,
    q: Annotated[str, Query(max_length=1_000, description="Only those with all of these words in them.")] = "",
    everything: Annotated[bool, Query(alias="all", description="Those that are superseded as well.")] = False,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> MemoryList:
    """Those that hold."""
    async with _kept(hub, person) as kept:
        words = q.casefold().split()
        found = [
            memory
            for memory in await kept.keeper.list(everything=everything)
            if all(word in memory.text.casefold() for word in words)
        ]
        newest = sorted(found, key=lambda memory: -memory.id)[:limit]
        return MemoryList(memories=await kept.views(newest), total=len(found))


@router.post("", status_code=201, response_model=Memory, summary="Keep a memory", responses=problems(409))
async def add_memory(hub: TheHub, person: Asking, new: NewMemory) -> Memory:
    """One that says the same already is confirmed and given back instead."""
    async with _kept(hub, person) as kept:
        memory, _ = await kept.keeper.remember(new.text)
        return await kept.changed(memory)


@router.patch("/{memory}", response_model=Memory, summary="Change a memory", responses=problems(404, 409))
async def change_memory(hub: TheHub, person: Asking, memory: Number, change: MemoryChange) -> Memory:
    """Its text, which is the person's own from then on, and its times."""
    given = change.model_fields_set - {"version"}
    if not given or (change.text is None and "text" in given):
        raise UsageError("say what should change: text, valid_until or happens_at")
    async with _kept_with(hub, person, memory) as kept:
        now = kept.clock.now()
        valid_until = parse_slot(change.valid_until, now) if change.valid_until else None
        happens_at = parse_slot(change.happens_at, now) if change.happens_at else None

        def edited(present: values.Memory) -> values.Memory:
            if present.version != change.version:
                raise Conflict(f"m{memory} was changed meanwhile; read it again")
            present = present if change.text is None else replace(present, text=change.text.strip())
            present = replace(present, valid_until=valid_until) if "valid_until" in given else present
            return replace(present, happens_at=happens_at) if "happens_at" in given else present

        return await kept.changed(await kept.keeper.edit(memory, edited))


@router.post(
    "/{memory}/restore", response_model=Memory, summary="Let a memory hold again", responses=problems(404, 409)
)
async def restore_memory(hub: TheHub, person: Asking, memory: Number) -> Memory:
    """Although another one superseded it."""
    async with _kept_with(hub, person, memory) as kept:
        present = await kept.home.store.memory(memory)
        if present.superseded_at is None:
            return (await kept.views([present]))[0]
        restored = await kept.keeper.edit(memory, lambda one: replace(one, superseded_by=None, superseded_at=None))
        return await kept.changed(restored)


@router.delete("/{memory}", status_code=204, summary="Forget a memory", responses=problems(404, 409))
async def forget_memory(hub: TheHub, person: Asking, memory: Number) -> Response:
    """For good; what was said in conversations stays there."""
    async with _kept_with(hub, person, memory) as kept:
        await kept.keeper.forget(memory)
        kept.tell()
    return Response(status_code=204)


@dataclass(frozen=True, slots=True)
class _Kept:
    hub: Hub
    home: Home
    clock: Clock
    keeper: FactKeeper

    async def views(self, memories: Sequence[values.Memory]) -> list[Memory]:
        weights = await importances(self.home.store, memories, self.clock.now())
        return [memory_view(memory, weights[memory.id], self.clock.zone) for memory in memories]

    async def changed(self, memory: values.Memory) -> Memory:
        self.tell()
        return (await self.views([memory]))[0]

    def tell(self) -> None:
        self.home.recalling.indexer.wake()
        self.hub.events.publish(self.home.person.owner, Changed(Thing.MEMORIES))


@asynccontextmanager
async def _kept(hub: Hub, person: Person) -> AsyncIterator[_Kept]:
    clock = await hub.clock_of(person)
    async with hub.home(person) as home:
        recalling = home.recalling
        keeper = FactKeeper(
            home.store,
            clock,
            nearest=NearestMemories(recalling.recall, clock),
            sameness=SameAsServed(recalling.indexes),
        )
        yield _Kept(hub, home, clock, keeper)


@asynccontextmanager
async def _kept_with(hub: Hub, person: Person, memory: int) -> AsyncIterator[_Kept]:
    """What is kept, with this memory among it.

    Raises:
        Problem: it is not.
    """

    async def exists() -> bool:
        return bool(await hub.store_of(person).memories([memory]))

    async with existing(exists, "such memory"), _kept(hub, person) as kept:
        yield kept
