"""The conversations of a person."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from frontmind.server.dependencies import Asking, PathName, TheHub
from frontmind.server.errors import Problem, problems
from frontmind.server.hub import Hub
from frontmind.server.identity import Person
from frontmind.server.schemas.conversations import Conversation, ConversationList, conversation_view
from frontmind.server.turn_reading import read_conversation
from frontmind.values.records import ConversationOverview

router = APIRouter(prefix="/api/conversations", tags=["conversations"])


@router.get("", response_model=ConversationList, summary="The conversations, newest first", responses=problems())
async def list_conversations(
    hub: TheHub,
    person: Asking,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=2000, description="What `next` of the page before said.")] = None,
) -> ConversationList:
    """Those in which something was said, page by page."""
    zone = (await hub.clock_of(person)).zone
    place = None if before is None else _place(before)
    found = await hub.store_of(person).conversations(newest=limit + 1, before=place)
    page = found[:limit]
    return ConversationList(
        conversations=[conversation_view(each, zone, running_turn(hub, person, each.name)) for each in page],
        next=_cursor(page[-1]) if len(found) > limit else None,
    )


@router.get("/{conversation}", response_model=Conversation, summary="A conversation", responses=problems(404))
async def get_conversation(hub: TheHub, person: Asking, conversation: PathName) -> Conversation:
    """The conversation of this name; it exists as soon as it is named."""
    zone = (await hub.clock_of(person)).zone
    return await read_conversation(hub.store_of(person), conversation, zone, running_turn(hub, person, conversation))


def running_turn(hub: Hub, person: Person, conversation: str) -> int | None:
    """The number of the turn that runs in the conversation."""
    reply = hub.running(person, conversation)
    return None if reply is None else reply.turn


def _cursor(overview: ConversationOverview) -> str:
    place = f"{overview.last_at.isoformat()} {overview.name}"
    return base64.urlsafe_b64encode(place.encode("utf-8", "surrogatepass")).decode("ascii")


def _place(cursor: str) -> tuple[datetime, str]:
    try:
        moment, _, name = base64.urlsafe_b64decode(cursor).decode("utf-8", "surrogatepass").partition(" ")
        at = datetime.fromisoformat(moment)
        if at.tzinfo is None:
            raise ValueError(moment)
    except (binascii.Error, ValueError):
        raise Problem(422, "invalid_request", "before: pass what `next` said") from None
    return at, name
