"""What a person's open pages are told: reminders, notices, and what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request, Response

from frontmind.server.dependencies import Asking, Holding, StillHolds, TheHub
from frontmind.server.errors import problems
from frontmind.server.person_events import (
    Changed,
    Noticed,
    PersonEvent,
    PersonEvents,
    Reminded,
    ToldOnce,
    TurnMoved,
)
from frontmind.server.schemas.events import PERSON_EVENTS, event_stream
from frontmind.server.streams import PING, EventStream, event_bytes, place_of

router = APIRouter(prefix="/api", tags=["person"])

_EVENTS: Final[dict[int | str, dict[str, Any]]] = {200: event_stream("What happens.", PERSON_EVENTS)}


@router.get("/events", summary="What happens from now on", response_class=Response, responses=problems() | _EVENTS)
async def follow_events(
    request: Request,
    hub: TheHub,
    person: Asking,
    holds: Holding,
    last_event_id: Annotated[str | None, Header(max_length=40, description="The last id that the reader has.")] = None,
) -> Response:
    """Reminders that are due are told here, each once; those that were told behind ``Last-Event-ID`` are told to the
    reader that comes back with it. It reads everything else again.
    """
    after = place_of(last_event_id)
    return EventStream(_chunks(hub.events, person.owner, after, request.app.state.pace.ping, holds))


async def _chunks(
    events: PersonEvents, owner: str, after: int | None, ping_seconds: float, holds: StillHolds
) -> AsyncIterator[bytes]:
    with events.listening(owner, after) as listener:
        # One whose line dies before anything was told comes back with this.
        yield PING if after is not None else f": ping\nid: {listener.number}\n\n".encode("ascii")
        while True:
            try:
                async with asyncio.timeout(ping_seconds):
                    event = await listener.next()
            except TimeoutError:
                chunk = PING
            else:
                if event is None:
                    return
                number = listener.number if isinstance(event, ToldOnce) else None
                chunk = event_bytes(*_said(event), number=number)
            if not await holds():
                # The stream may be older than the end of its key.
                return
            yield chunk


def _said(event: PersonEvent) -> tuple[str, Mapping[str, object]]:
    match event:
        case Reminded():
            fields = ("id", "text", "line", "due", "version")
            return "reminder", {name: getattr(event, name) for name in fields}
        case Noticed(text):
            return "notice", {"text": text}
        case TurnMoved():
            return "turn", {"conversation": event.conversation, "turn": event.turn, "state": event.state}
        case Changed(what):
            return "changed", {"what": what.value}
