"""Turns for clients of the compatible APIs: begun or gone on with, followed to their end, and noted.

A turn runs whether or not its client is still there, and its thread is noted before the client hears of its end. So
a client's next request always finds what it was told. Knows no wire format.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from frontmind.assistant.report import TurnReport
from frontmind.errors import FrontmindError
from frontmind.server.attempts import Attempts
from frontmind.server.compat.requests import Api, CompatRequest
from frontmind.server.compat.threads import (
    Start,
    call_id,
    calls_key,
    find_start,
    find_waiting,
    line_of,
    note,
    note_taken,
    response_key,
    take_back,
    thread_key,
    thread_keys,
)
from frontmind.server.errors import Problem
from frontmind.server.hub import KEPT_SECONDS, Hub
from frontmind.server.identity import Person
from frontmind.server.replies import Reply, ReplyDone, ReplyEvent, ReplyFailed, TextPiece
from frontmind.stores.protocols import Store
from frontmind.values.parts import ToolCall
from frontmind.values.records import Line, Turn, TurnState

logger = logging.getLogger(__name__)

_ID_BYTES: Final = 12
_NAME_BYTES: Final = 6
_CALL_PREFIX: Final = {Api.CHAT: "call", Api.RESPONSES: "call", Api.MESSAGES: "toolu"}
_NOTING_SECONDS: Final = 10.0
"""How long the conversation's lock is waited for behind a turn: meanwhile another process may have it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a turn came to, for its client.

    Attributes:
        text: all that the assistant said in it, as the client was given it.
        report: None where it failed or was stopped.
        problem: why it failed; None where it did not.
        calls: calls of the client's tools, under the ids that the client is told.
    """

    text: str
    report: TurnReport | None = None
    problem: Problem | None = None
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """A turn of a client. What was asked is not kept with it: it may be large, and whoever asks again has it.

    Attributes:
        id: 24 hex digits, which the ids of the reply are made of.
        began: when the client asked.
    """

    reply: Reply
    api: Api
    id: str
    began: datetime

    @property
    def ended_at(self) -> float | None:
        """When nothing came any more, in the event loop's time."""
        return self.reply.ended_at

    @property
    def has_failed(self) -> bool:
        """Whether the client is told that it failed."""
        return self.reply.ended and self._outcome().problem is not None

    async def pieces(self) -> AsyncIterator[str]:
        """The text as it comes, from its beginning: what is said in several calls of the model, with a blank line
        between.
        """
        begun = False
        async for _, event in self.reply.events():
            if piece := _piece(event, begun):
                yield piece
                begun = begun or bool(piece.strip())

    async def outcome(self) -> Outcome:
        """What it came to, when it has ended; its thread is noted then."""
        await self.reply.finished()
        return self._outcome()

    def _outcome(self) -> Outcome:
        *events, last = self.reply.behind(0)
        assert isinstance(last, ReplyDone | ReplyFailed)
        return outcome_of(events, last, self.api, self.id)


def outcome_of(events: Iterable[ReplyEvent], last: ReplyDone | ReplyFailed, api: Api, identifier: str) -> Outcome:
    """What these events of a turn come to.

    Args:
        identifier: that of the talk.
    """
    text = "".join(_pieces(events))
    if isinstance(last, ReplyFailed):
        # Somebody has heard enough: what was said is the reply.
        is_reply = last.problem.code == "stopped" and text.strip()
        return Outcome(text, problem=None if is_reply else last.problem)
    calls = (
        ToolCall(call_id(_CALL_PREFIX[api], identifier, index), call.name, call.arguments)
        for index, call in enumerate(last.report.waits_for)
    )
    return Outcome(text, report=last.report, calls=tuple(calls))


class Talks:
    """The turns of all clients of one server."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._attempts: Attempts[Talk] = Attempts(KEPT_SECONDS)

    async def begin(
        self, person: Person, request: CompatRequest, *, named: str, is_task: bool, mark: str, again: bool
    ) -> Talk:
        """Begin the turn that the client asks for, or go on with the one that waits for its results. A client that
        gives up waiting for this has said nothing.

        Args:
            named: the conversation that the client names; empty for none.
            is_task: whether this is work of the client's own, such as a title, and belongs to no conversation.
            mark: stands for the request.
            again: whether the client says that it sends the same again, because it heard nothing.

        Raises:
            Problem: it cannot be begun.
        """
        return await self._attempts.join(
            person.owner, mark, lambda: self._begin(person, request, named=named, is_task=is_task), again=again
        )

    def is_heard(self, person: Person, mark: str, talk: Talk) -> None:
        """The client has the whole reply: the same request is a new question from now on."""
        self._attempts.forget(person.owner, mark, talk)

    async def _begin(self, person: Person, request: CompatRequest, *, named: str, is_task: bool) -> Talk:
        asked, caller, identifier = request.asked, request.caller, secrets.token_hex(_ID_BYTES)
        store, at = self._hub.store_of(person), (await self._hub.clock_of(person)).now()
        new = secrets.token_hex(_NAME_BYTES)
        if is_task:
            reply = await self._hub.begin(
                person, f"task-{new}", asked.message, caller=caller, wait=True, noting=partial(_set_aside, store)
            )
            return Talk(reply, request.api, identifier, at)
        waiting = await find_waiting(store, asked) if asked.results else None
        if waiting is not None:
            goes_on = _Thread(store, request, identifier, waiting.seen, goes_on=True)
            reply = await self._hub.resume(
                person, waiting.conversation, waiting.results, caller=caller, noting=goes_on.note_end
            )
            return Talk(reply, request.api, identifier, at)
        find = partial(find_start, store, asked, named=named, previous=request.previous, new=f"chat-{new}")
        start = await find()
        place = _Place(store, find, start, at, _Thread(store, request, identifier))
        reply = await self._hub.begin(
            person,
            start.conversation,
            asked.message,
            caller=caller,
            place=place,
            wait=True,
            noting=place.thread.note_end,
        )
        return Talk(reply, request.api, identifier, at)


@dataclass(slots=True)
class _Thread:
    """A turn as a part of its client's thread.

    Attributes:
        identifier: that of the talk.
        seen: the numbers of the turns in front of it; known when the turn is accepted.
        goes_on: whether the turn was there already, and goes on with results.
    """

    store: Store
    request: CompatRequest
    identifier: str
    seen: tuple[int, ...] = ()
    goes_on: bool = False

    async def note_end(self, reply: Reply, last: ReplyDone | ReplyFailed) -> None:
        """Note by which keys the turn is found again, or that it does not count."""
        if reply.turn is not None:
            outcome = outcome_of(reply.behind(0), last, self.request.api, self.identifier)
            await _if_possible(self._note(reply.conversation, reply.turn, outcome))

    async def _note(self, conversation: str, number: int, outcome: Outcome) -> None:
        if outcome.problem is not None and not outcome.text.strip():
            if not self.goes_on:
                await take_back(self.store, conversation, number)
            return
        asked = self.request.asked
        before = thread_keys(asked, previous=self.request.previous)[-1]
        keys = [thread_key(before, asked.last.said, f"{asked.last.replied}\n{outcome.text}")]
        if self.request.api is Api.RESPONSES:
            keys.append(response_key(f"resp_{self.identifier}"))
        if outcome.calls:
            keys.append(calls_key(self.identifier))
        for key in keys:
            await note(self.store, key, conversation, number, self.seen)


@dataclass(slots=True)
class _Place:
    """Where a client's turn begins: behind what the client has seen.

    Attributes:
        find: looks where that is.
        start: where it was before the turn waited for others.
        at: the moment of what the client brings along.
    """

    store: Store
    find: Callable[[], Awaitable[Start]]
    start: Start
    at: datetime
    thread: _Thread

    async def line(self, states: Mapping[int, TurnState]) -> Line:
        """What the client has seen, as it stands now: others may have gone on from the same place meanwhile."""
        now = await self.find()
        self.start = now if now.conversation == self.start.conversation else self.start
        keyed = await self.store.thread_turns(self.start.conversation)
        line, self.thread.seen = line_of(self.start, states, keyed, self.at)
        return line

    async def taken(self, turn: Turn) -> None:
        """Note the turn, and what was brought along, as the client's: the next branch is not to have it."""
        await _if_possible(self._note(turn.number))

    async def _note(self, number: int) -> None:
        self.thread.seen = await note_taken(self.store, self.start, number, self.thread.seen)


async def _set_aside(store: Store, reply: Reply, _: ReplyDone | ReplyFailed) -> None:
    """Let nothing of a client's own work count."""

    async def noting() -> None:
        async with store.turn_lock(reply.conversation):
            await store.set_line(reply.conversation, ())

    if reply.turn is not None:
        await _if_possible(noting())


async def _if_possible(noting: Awaitable[None]) -> None:
    """The turn itself is stored, and a client that hears its reply is helped more than one that hears of this."""
    try:
        async with asyncio.timeout(_NOTING_SECONDS):
            await noting
    except (FrontmindError, TimeoutError) as error:
        logger.warning("the thread of a turn could not be noted: %s", error or "another process has the conversation")


def _pieces(events: Iterable[ReplyEvent]) -> Iterator[str]:
    begun = False
    for event in events:
        if piece := _piece(event, begun):
            yield piece
            begun = begun or bool(piece.strip())


def _piece(event: ReplyEvent, begun: bool) -> str:
    """What the client is told of this event."""
    if not isinstance(event, TextPiece) or not event.text:
        return ""
    return f"\n\n{event.text}" if begun and event.offset == 0 else event.text
