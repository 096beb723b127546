"""The window that the next turn would have, the request that it would be, and what the cache should do with it.

Nothing is sent, and no turn is begun. Knows no terminal and no HTTP: what a person should know of the look is in
`Preview.notes`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from frontmind.assistant.explanation import Background
from frontmind.assistant.going_back import replaced_behind
from frontmind.assistant.window_builder import BuiltWindow
from frontmind.assistant.window_opening import Reader
from frontmind.assistant.wiring import Mind
from frontmind.cachelab.past_calls import KnownPrefixes, past_calls
from frontmind.cachelab.prediction import PastCall, Prediction, predict
from frontmind.cachelab.prefixes import Prefixes
from frontmind.continuum.fit import window_start_to_fit
from frontmind.errors import UsageError
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.stores.protocols import Store
from frontmind.values.clock import Clock
from frontmind.values.message import Message
from frontmind.values.records import Turn, TurnState
from frontmind.values.tool import AnyTool
from frontmind.window.layout import Layout
from frontmind.window.window import Window


class Addressee(Reader, Protocol):
    """What a look has to know of the model that a request would be for: it need not be open."""

    @property
    def max_output_tokens(self) -> int: ...

    def encode(self, window: Window) -> Request:
        """The request for this window; pure."""
        ...


@dataclass(frozen=True, slots=True)
class Preview:
    """A window that would be sent, the request that it would be, and what is known beside it.

    Attributes:
        layout: the request as a cache sees it.
        prediction: what the cache should do with it, as a turn that is sent now would expect.
        notes: what a person should know of the look, a line each.
    """

    built: BuiltWindow
    request: Request
    layout: Layout
    prediction: Prediction
    known: Background
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForeignConversation:
    """A conversation that is not in the store.

    Attributes:
        history: what was said, without the turn.
        turn: the messages that wait for a reply.
        system: its own system prompt; empty for none.
        tools: its own tools.
    """

    history: tuple[Message, ...]
    turn: tuple[Message, ...]
    system: str = ""
    tools: tuple[AnyTool, ...] = ()


async def look_ahead(
    mind: Mind,
    store: Store,
    model: Addressee,
    clock: Clock,
    *,
    conversation: str,
    message: str,
    replaces: int | None = None,
    requests: KnownPrefixes | None = None,
) -> Preview:
    """The window of the next turn of a stored conversation.

    Args:
        mind: of the same store, clock and conversation.
        message: what the person would say.
        replaces: the number of the turn in whose place the conversation would go on; None for behind the last.
        requests: the conversation's requests that were read before; with it a further look reads less.

    Raises:
        UsageError: the message is blank, or the conversation has no turn with that number.
        StoreError: the database cannot be read.
        RequiredSectionFailed: a required trinket failed.
    """
    if not message.strip():
        raise UsageError("the message is empty; write something")
    notes: list[str] = []
    turn, before, stored = await mind.builder.next_turn(message, replaces=replaces)
    past = await _past(store, conversation, model.name, requests, replaced_behind(before), notes)
    in_front = await store.turns(conversation, until=before[0].number - 1) if stored.start > 1 and before else ()
    answered = [item for item in (*in_front, *before) if item.state is TurnState.DONE]
    opening = await mind.builder.opening(turn, before, stored, reader=model)
    while True:
        built = await mind.builder.for_turn(turn, before, opening=opening, reader=model)
        known = Background(
            turns=[item for item in answered if item.number >= opening.start],
            left_out=sum(item.number < opening.start for item in answered),
            trinkets=mind.memory.trinkets,
            failures=built.failures,
        )
        preview = await _expected(built, model, past, clock, known)
        tokens = preview.prediction.expected.input
        following = _start_that_fits(answered, opening.start, tokens, model, notes)
        if following is None:
            return replace(preview, notes=tuple(notes))
        opening = await mind.builder.moved(turn, before, following, reader=model)


async def look_at_foreign(mind: Mind, model: Addressee, clock: Clock, foreign: ForeignConversation) -> Preview:
    """The window that the last messages of a conversation which is not in the store would have.

    Raises:
        RequiredSectionFailed: a required trinket failed.
    """
    built = await mind.builder.preview_foreign(
        foreign.history, foreign.turn, system=foreign.system, tools=foreign.tools, reader=model
    )
    notes: list[str] = []
    known = Background(trinkets=mind.memory.trinkets, failures=built.failures)
    preview = await _expected(built, model, (), clock, known)
    _start_that_fits((), 1, preview.prediction.expected.input, model, notes)
    return replace(preview, notes=tuple(notes))


async def _past(
    store: Store,
    conversation: str,
    model: str,
    requests: KnownPrefixes | None,
    replaced: Collection[int],
    notes: list[str],
) -> Sequence[PastCall]:
    try:
        return await past_calls(store, conversation, model, known=requests, replaced=replaced)
    except UsageError as error:
        # A request that is gone costs a turn no reply either.
        notes.append(f"what the cache holds of the conversation cannot be read: {error}")
        return ()


async def _expected(
    built: BuiltWindow, model: Addressee, past: Sequence[PastCall], clock: Clock, known: Background
) -> Preview:
    request = model.encode(built.window)
    now = clock.now()

    def expect() -> tuple[Prefixes, Prediction]:
        prefixes = Prefixes(read_request(request))
        return prefixes, predict(model.name, prefixes, past, model.profile, now)

    # A long conversation takes a while, in which others are answered.
    prefixes, prediction = await asyncio.to_thread(expect)
    return Preview(built, request, prefixes.layout, prediction, known)


def _start_that_fits(turns: Sequence[Turn], start: int, tokens: int, model: Addressee, notes: list[str]) -> int | None:
    """As a turn would leave old turns out, by estimate; None when the request fits or nothing can be left out."""
    limit = model.context_limit
    if limit is None:
        return None
    room = limit - min(model.max_output_tokens, limit // 4)
    if tokens <= room:
        return None
    following = window_start_to_fit(turns, start=start, tokens=tokens, room=room)
    if following is None:
        notes.append(f"this is larger than the model's context of {limit:,} tokens, and nothing is left to leave out")
    return following
