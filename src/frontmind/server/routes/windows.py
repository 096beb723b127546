"""What the model saw: the window of any past turn, of the next one, and what became of one in another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from frontmind.assistant.looking_ahead import look_ahead
from frontmind.assistant.sent_windows import NoSuchWindow, SentWindows
from frontmind.assistant.window_changes import window_changes
from frontmind.assistant.window_view import block_text, view_of_preview, view_of_sent
from frontmind.errors import UsageError
from frontmind.providers.prices import list_price
from frontmind.providers.profiles.profile import Profile
from frontmind.server.dependencies import Asking, PathName, TheHub
from frontmind.server.errors import Problem, not_found, problems
from frontmind.server.hub import Hub
from frontmind.server.identity import Person
from frontmind.server.routes.numbers import TurnNumber
from frontmind.server.schemas.times import LARGEST_NUMBER
from frontmind.server.schemas.windows import (
    BlockText,
    PreviewAsked,
    WindowDiff,
    WindowView,
    block_text_reply,
    diff_reply,
    window_reply,
)
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_json
from frontmind.window.layout import Layout

router = APIRouter(prefix="/api/conversations/{conversation}", tags=["windows"])

Step: TypeAlias = Annotated[
    Literal["last"] | Annotated[int, Field(ge=0, le=LARGEST_NUMBER)],
    Query(description="Which call of the turn, from 0."),
]


@router.get(
    "/windows/{turn}",
    response_model=WindowView,
    summary="The window of a turn, as it was sent",
    responses=problems(404),
)
async def get_window(
    hub: TheHub, person: Asking, conversation: PathName, turn: TurnNumber, step: Step = "last"
) -> WindowView:
    """Every block of the window, where it came from, what it cost and what the cache did with it. Also of turns that
    were replaced since, and of one that is under way.
    """
    async with hub.session(person, conversation) as session:
        windows = SentWindows(session.store, conversation, model=session.model, trinkets=session.mind.memory.trinkets)
        with _not_found():
            sent = await windows.window(turn, _number(step))
        # The texts of a long conversation take a while, in which others are answered.
        return await asyncio.to_thread(lambda: window_reply(view_of_sent(sent), session.clock.zone))


@router.get(
    "/windows/{turn}/blocks/{block}",
    response_model=BlockText,
    summary="The whole text of a block",
    responses=problems(404),
)
async def get_block(
    hub: TheHub,
    person: Asking,
    conversation: PathName,
    turn: TurnNumber,
    block: Annotated[int, Path(ge=0, le=LARGEST_NUMBER, description="The id of the block in its window.")],
    step: Step = "last",
) -> BlockText:
    """The text of one block, where a window has only the beginning of it."""
    with _not_found():
        _, _, layout = await SentWindows(hub.store_of(person), conversation).layout(turn, _number(step))
    if block > len(layout.blocks):
        raise not_found(f"block {block} in this window; it has {len(layout.blocks)}")
    # Behind the last one stands what no block has.
    text = block_text(layout.blocks[block]) if block < len(layout.blocks) else ""
    return block_text_reply(block, text)


@router.get(
    "/windows/{turn}/request",
    response_class=Response,
    summary="The request of a turn, byte for byte",
    responses={200: {"content": {"application/json": {}}, "description": "The request."}, **problems(404)},
)
async def get_request(
    hub: TheHub, person: Asking, conversation: PathName, turn: TurnNumber, step: Step = "last"
) -> Response:
    """The request as it is stored: the SHA-256 of the body is the ``request`` of the window."""
    with _not_found():
        _, _, found = await SentWindows(hub.store_of(person), conversation).request(turn, _number(step))
    return Response(canonical_json(found), media_type="application/json")


@router.get(
    "/windows/{turn}/diff",
    response_model=WindowDiff,
    summary="What became of one window in another",
    responses=problems(404),
)
async def compare_windows(
    hub: TheHub,
    person: Asking,
    conversation: PathName,
    turn: TurnNumber,
    step: Step = "last",
    other: Annotated[
        int | None,
        Query(
            alias="with",
            ge=1,
            le=LARGEST_NUMBER,
            description="The turn whose last window it is compared with; the window that was sent before without it.",
        ),
    ] = None,
) -> WindowDiff:
    """The blocks that are in one of the two only, or in both with different content, and where a cache finds no more
    of the earlier one.
    """
    windows = SentWindows(hub.store_of(person), conversation, model=hub.model)
    with _not_found():
        sent = await windows.window(turn, _number(step))
        earlier = await (windows.before(turn, sent.step) if other is None else _last_of(windows, other))

    def compared() -> WindowDiff:
        sizes = [block.tokens for block in view_of_sent(sent).blocks]
        return diff_reply(window_changes(earlier, turn, sent.step, sent.prefixes.layout, sizes=sizes))

    return await asyncio.to_thread(compared)


@router.post(
    "/preview",
    response_model=WindowView,
    summary="The window that would be sent",
    responses=problems(404, 409, 502),
)
async def preview_window(hub: TheHub, person: Asking, conversation: PathName, asked: PreviewAsked) -> WindowView:
    """The window of the next turn with this message. Nothing is sent, and no turn begins."""
    refuse_while_running(hub, person, conversation)
    async with hub.session(person, conversation) as session:
        looked = await look_ahead(
            session.mind,
            session.store,
            session.model,
            session.clock,
            conversation=conversation,
            message=asked.text,
            replaces=asked.replaces,
        )
        before = await SentWindows(session.store, conversation).newest()
        profile, usage = session.model.profile, looked.prediction.expected
        without = replace(usage, cached=0, written=0, written_by_ttl=())
        view = view_of_preview(
            looked,
            before,
            model=session.model.name,
            profile=profile,
            cost=_price(profile, usage),
            full_price=_price(profile, without),
        )
        return await asyncio.to_thread(window_reply, view, session.clock.zone)


def refuse_while_running(hub: Hub, person: Person, conversation: str) -> None:
    """A look composes with the trinkets of the conversation, and would leave its own finds to the turn.

    Raises:
        Problem: a turn is running in the conversation.
    """
    if hub.running(person, conversation) is not None:
        raise Problem(
            409, "conversation_busy", "a turn is running in this conversation; what comes next is known when it ends"
        )


@contextmanager
def _not_found() -> Iterator[None]:
    try:
        yield
    except NoSuchWindow as error:
        raise Problem(404, "not_found", str(error)) from error


async def _last_of(windows: SentWindows, turn: int) -> tuple[int, Layout]:
    return turn, (await windows.layout(turn))[2]


def _number(step: int | str) -> int | None:
    return step if isinstance(step, int) else None


def _price(profile: Profile, usage: Usage) -> Decimal | None:
    try:
        return list_price(profile.provider, profile.model, usage)
    except UsageError:
        # Without the package with the lists nothing is known of prices.
        return None
