"""What all calls of a person took and cost, and what the cache gave of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from frontmind.cachelab.ledger_period import period_begin, period_end
from frontmind.server.dependencies import Asking, TheHub
from frontmind.server.errors import problems
from frontmind.server.schemas.ledger import Ledger, LedgerBy, ledger_reply

router = APIRouter(prefix="/api", tags=["ledger"])


@router.get("/ledger", response_model=Ledger, summary="What calls took and cost", responses=problems())
async def get_ledger(
    hub: TheHub,
    person: Asking,
    since: Annotated[
        str | None, Query(max_length=64, description="From this day or moment on (ISO 8601), in the person's zone.")
    ] = None,
    until: Annotated[
        str | None, Query(max_length=64, description="Up to this day, which is included, or this moment.")
    ] = None,
    by: Annotated[LedgerBy, Query(description="What makes a row.")] = LedgerBy.MODEL,
) -> Ledger:
    """The calls of all conversations, summed."""
    zone = (await hub.clock_of(person)).zone
    found = await hub.store_of(person).calls(since=period_begin(since, zone), until=period_end(until, zone))
    return ledger_reply(by, found, zone)
