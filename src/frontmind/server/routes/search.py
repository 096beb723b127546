"""Searching all that was said and kept, for the person."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from frontmind.recall.context_searches import EXCERPT
from frontmind.recall.finds import with_excerpt
from frontmind.recall.telling import telling_words
from frontmind.server.dependencies import Asking, TheHub
from frontmind.server.errors import problems
from frontmind.server.schemas.search import Finds, find_view

router = APIRouter(prefix="/api/search", tags=["search"])


@router.get("", response_model=Finds, summary="Search what was said and kept", responses=problems())
async def search_everything(
    hub: TheHub,
    person: Asking,
    q: Annotated[str, Query(min_length=1, max_length=1_000)],
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
) -> Finds:
    """Exchanges, memories and documents outside of the system prompt, best first. The model is not told of it."""
    clock = await hub.clock_of(person)
    async with hub.home(person) as home:
        found = await home.recalling.recall.search(q, now=clock.now(), limit=limit)
    words = telling_words(q)
    return Finds(finds=[find_view(with_excerpt(each, words, EXCERPT), clock.zone) for each in found])
