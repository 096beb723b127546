"""The calls of the model in a conversation, for a timeline of it."""

from __future__ import annotations

from fastapi import APIRouter

from frontmind.server.dependencies import Asking, PathName, TheHub
from frontmind.server.errors import problems
from frontmind.server.schemas.calls import CallList, call_row

router = APIRouter(prefix="/api/conversations/{conversation}", tags=["windows"])


@router.get(
    "/calls", response_model=CallList, summary="Every call of the model in a conversation", responses=problems(404)
)
async def list_calls(hub: TheHub, person: Asking, conversation: PathName) -> CallList:
    """What each call took, what it cost, and what the cache gave of it, in the order in which they were sent. Calls
    that only refreshed the cache are among them.
    """
    zone = (await hub.clock_of(person)).zone
    found = await hub.store_of(person).calls(conversation=conversation)
    return CallList(calls=[call_row(call, zone) for call in found])
