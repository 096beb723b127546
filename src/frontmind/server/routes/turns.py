"""The turns of a conversation: said, stopped, read, and followed while they run."""

from __future__ import annotations

import asyncio
import base64
from datetime import tzinfo
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request, Response

from frontmind.assistant.going_back import InPlaceOf
from frontmind.assistant.waiting import waits_for
from frontmind.server.attachments import SHOWN_IN_A_PAGE, read_attachment
from frontmind.server.attempts import unless_gone
from frontmind.server.dependencies import Asking, PathName, TheHub
from frontmind.server.errors import Problem, not_found, problems
from frontmind.server.hub import Hub
from frontmind.server.identity import Person
from frontmind.server.replies import Accepted
from frontmind.server.reply_stream import ReplyStream, done_event, failed_event
from frontmind.server.routes.conversations import running_turn
from frontmind.server.routes.numbers import TurnNumber
from frontmind.server.schemas.events import REPLY_EVENTS, event_stream
from frontmind.server.schemas.times import LARGEST_NUMBER
from frontmind.server.schemas.turns import NewTurn, Turn, TurnBegun, TurnList, attachments_of
from frontmind.server.streams import END, EventStream, event_bytes, place_of
from frontmind.server.turn_reading import SHOWN, newest_turns, read_turn, read_turns, stored_turn
from frontmind.values.message import Message, Role
from frontmind.values.parts import Document, Part, Text
from frontmind.values.records import Turn as StoredTurn
from frontmind.values.records import TurnState
from frontmind.window.canonical import canonical_json, digest

router = APIRouter(prefix="/api/conversations/{conversation}/turns", tags=["turns"])

_MOST_TURNS: Final = 500

_LONGEST_KEY: Final = 200
_KEY: Final = "An id that the client makes for a message: sent again with it within ten minutes, it is said once."

_EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: event_stream("The events of the turn, up to `done` or `failed`.", REPLY_EVENTS),
    204: {"description": "The reader has all of them."},
}
_ACCEPTED: Final[dict[int | str, dict[str, Any]]] = {
    202: {
        "description": "The message is on disk.",
        "headers": {"Location": {"description": "The events of the turn.", "schema": {"type": "string"}}},
    }
}
_BYTES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The bytes as they were sent.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("", response_model=TurnList, summary="The turns of a conversation", responses=problems(404))
async def list_turns(
    hub: TheHub,
    person: Asking,
    conversation: PathName,
    since: Annotated[int, Query(ge=1, le=LARGEST_NUMBER)] = 1,
    until: Annotated[int | None, Query(ge=1, le=LARGEST_NUMBER)] = None,
    newest: Annotated[int | None, Query(ge=1, le=_MOST_TURNS)] = None,
) -> TurnList:
    """By number: from ``since`` to ``until``, at most 500; or the newest."""
    store = hub.store_of(person)
    if newest is not None:
        found = await newest_turns(store, conversation, newest)
    else:
        last = since + _MOST_TURNS - 1
        found = await store.turns(conversation, since=since, until=last if until is None else min(until, last))
    shown = [turn for turn in found if turn.state in SHOWN]
    zone = (await hub.clock_of(person)).zone
    return TurnList(turns=await read_turns(store, shown, zone, running=running_turn(hub, person, conversation)))


@router.post(
    "",
    status_code=202,
    response_model=TurnBegun,
    summary="Say something",
    responses=problems(404, 409, 502) | _ACCEPTED,
)
async def begin_turn(
    request: Request,
    response: Response,
    hub: TheHub,
    person: Asking,
    conversation: PathName,
    new: NewTurn,
    idempotency_key: Annotated[str | None, Header(max_length=_LONGEST_KEY, description=_KEY)] = None,
) -> TurnBegun:
    """Answered as soon as the message is on disk; the turn goes on by itself. Its events are at ``Location``."""
    message = _message(new, hub)
    place = None if new.replaces is None else InPlaceOf(new.replaces)

    async def begin() -> Accepted:
        reply = await hub.begin(person, conversation, message, place=place, wait=new.wait)
        return Accepted(await reply.accepted(), asyncio.get_running_loop().time())

    if idempotency_key:
        # Whether it waits changes nothing about what is said.
        mark = digest(canonical_json([conversation, idempotency_key, new.model_dump(exclude={"wait"})]))
        accepted = await unless_gone(request, hub.said.join(person.owner, mark, begin))
    else:
        accepted = await unless_gone(request, begin())
    response.headers["Location"] = f"{_path(conversation)}/{accepted.turn}/events"
    return TurnBegun(conversation=conversation, turn=accepted.turn)


@router.get("/{turn}", response_model=Turn, summary="A turn", responses=problems(404))
async def get_turn(hub: TheHub, person: Asking, conversation: PathName, turn: TurnNumber) -> Turn:
    """What was said in it, and what it took."""
    stored = await _stored(hub, person, conversation, turn)
    return await _view(hub, person, stored, (await hub.clock_of(person)).zone)


@router.post(
    "/{turn}/stop", status_code=202, response_model=TurnBegun, summary="Stop a turn", responses=problems(404, 409)
)
async def stop_turn(hub: TheHub, person: Asking, conversation: PathName, turn: TurnNumber) -> TurnBegun:
    """It ends a little later; what was said is kept."""
    reply = hub.running(person, conversation)
    if reply is None or reply.turn != turn:
        raise Problem(409, "conflict", "this turn does not run; there is nothing to stop")
    reply.stop()
    return TurnBegun(conversation=conversation, turn=turn)


@router.get(
    "/{turn}/events", summary="The events of a turn", response_class=Response, responses=problems(404) | _EVENTS
)
async def follow_turn(
    request: Request,
    hub: TheHub,
    person: Asking,
    conversation: PathName,
    turn: TurnNumber,
    after: Annotated[
        int | None, Query(ge=0, le=LARGEST_NUMBER, description="The last event that the reader has.")
    ] = None,
    html: Annotated[bool, Query(description="Whether to tell as well what the reply looks like.")] = False,
    last_event_id: Annotated[str | None, Header(max_length=40, description="As `after`.")] = None,
) -> Response:
    """Goes on behind ``Last-Event-ID`` or ``after``, up to ``done`` or ``failed``."""
    reply = hub.reply(person, conversation, turn)
    zone = (await hub.clock_of(person)).zone
    if reply is None:
        if last_event_id == END:
            return Response(status_code=204)
        name, data = await _ended_before(hub, person, await _stored(hub, person, conversation, turn), zone)
        return Response(event_bytes(name, data, number=END), media_type="text/event-stream")
    place = (place_of(last_event_id) or 0) if after is None else after
    if reply.ended and place == reply.last:
        # What an EventSource takes for the end; it would come back for ever.
        return Response(status_code=204)

    async def turn_of() -> Turn | None:
        stored = await stored_turn(hub.store_of(person), conversation, turn)
        return None if stored is None else await _view(hub, person, stored, zone)

    stream = ReplyStream(
        reply,
        after=place,
        with_html=html,
        zone=zone,
        turn_of=turn_of,
        pace=request.app.state.pace,
    )
    return EventStream(stream.chunks())


@router.get(
    "/{turn}/attachments/{index}",
    summary="A picture or file of a turn",
    response_class=Response,
    responses=problems(404) | _BYTES,
)
async def get_attachment(
    hub: TheHub,
    person: Asking,
    conversation: PathName,
    turn: TurnNumber,
    index: Annotated[int, Path(ge=0, le=1000)],
) -> Response:
    """A picture is shown; any other file is downloaded, and never run."""
    files = attachments_of(await _stored(hub, person, conversation, turn))
    if index >= len(files) or not files[index].data:
        raise not_found("such attachment")
    file = files[index]
    if file.media_type in SHOWN_IN_A_PAGE:
        return Response(base64.b64decode(file.data), media_type=file.media_type)
    name = file.name if isinstance(file, Document) else ""
    disposition = f"attachment; filename*=UTF-8''{quote(name or 'file', safe='', errors='replace')}"
    return Response(
        base64.b64decode(file.data),
        media_type="application/octet-stream",
        headers={"Content-Disposition": disposition},
    )


def _message(new: NewTurn, hub: Hub) -> Message:
    inputs = hub.model.profile.inputs
    files: list[Part] = [read_attachment(each, number, inputs) for number, each in enumerate(new.attachments, 1)]
    text: list[Part] = [Text(new.text)] if new.text.strip() else []
    if not files and not text:
        raise Problem(422, "invalid_request", "text: the message is empty; write something")
    return Message(Role.USER, (*files, *text))


async def _stored(hub: Hub, person: Person, conversation: str, number: int) -> StoredTurn:
    found = await stored_turn(hub.store_of(person), conversation, number)
    if found is None:
        raise not_found("such turn")
    return found


async def _view(hub: Hub, person: Person, stored: StoredTurn, zone: tzinfo) -> Turn:
    reply = hub.running(person, stored.conversation)
    running = reply.turn if reply is not None and not reply.ended else None
    return await read_turn(hub.store_of(person), stored, zone, running=running)


async def _ended_before(hub: Hub, person: Person, stored: StoredTurn, zone: tzinfo) -> tuple[str, Any]:
    """The one event of a turn whose events are gone."""
    view = await _view(hub, person, stored, zone)
    if stored.state is TurnState.DONE or waits_for(stored):
        return done_event(view, ())
    why = "this turn has no reply, and does not run here; send another message, and this one goes along"
    return failed_event(view, Problem(409, "conflict", why))


def _path(conversation: str) -> str:
    return f"/api/conversations/{quote(conversation, safe='', errors='replace')}/turns"
