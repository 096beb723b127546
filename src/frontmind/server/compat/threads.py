"""Recognises what a client says was said before, so that nothing is stored twice. Knows no format and no HTTP.

A thread has three kinds of keys, each a SHA-256: what was said up to a reply (by which a client's account is
recognised), each turn by its place (by which threads hang together), and ids that this server has given out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from typing import Final

from frontmind.assistant.waiting import waits_for
from frontmind.server.compat.asked import Asked, Exchange
from frontmind.server.compat.errors import RequestProblem
from frontmind.stores.protocols import Store
from frontmind.stores.thread_protocol import ThreadPlace
from frontmind.values.imports import ImportedTurn
from frontmind.values.parts import Text, ToolResult
from frontmind.values.records import Line, TurnState
from frontmind.window.canonical import canonical_json, digest

SOURCE: Final = "api"
"""What turns that a client has brought along are called in the store."""
_CALL_ID: Final = re.compile(r"(?:call|toolu)_([0-9a-f]{24})_([0-9]{1,4})")


def thread_key(parent: str, said: str, replied: str) -> str:
    """Stands for all that was said up to this reply. White space does not count: clients trim and join texts."""
    return _key("said", parent, " ".join(said.split()), " ".join(replied.split()))


def turn_key(conversation: str, number: int) -> str:
    """Stands for a turn, whatever was said in it."""
    return _key("turn", conversation, str(number))


def response_key(response: str) -> str:
    """Stands for a response of the Responses API."""
    return _key("response", response)


def calls_key(token: str) -> str:
    """Stands for the calls of one reply."""
    return _key("calls", token)


def call_id(prefix: str, token: str, index: int) -> str:
    """The id of a call as the client is told: by it alone its turn is found, also after a restart."""
    return f"{prefix}_{token}_{index}"


def _key(*texts: str) -> str:
    return digest(canonical_json(texts))


@dataclass(frozen=True, slots=True)
class Start:
    """Where a client's turn begins.

    Attributes:
        conversation: its name, maybe of a new one.
        seen: the numbers of the turns that the client has seen; None where what is stored counts, and not what the
            client says.
        unknown: exchanges behind those that nobody has stored.
        keys: those of the unknown exchanges.
    """

    conversation: str
    seen: tuple[int, ...] | None
    unknown: tuple[Exchange, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A turn that waits for results of the client's tools.

    Attributes:
        seen: the numbers of the turns in front of it that the client has seen.
        results: under the ids that the calls have in the store.
    """

    conversation: str
    seen: tuple[int, ...]
    results: tuple[ToolResult, ...]


def thread_keys(asked: Asked, *, previous: str) -> tuple[str, ...]:
    """The keys of the client's thread: the one that it begins with, and one behind each of its exchanges.

    Args:
        previous: the response that it goes on behind; empty for none.
    """
    begun = response_key(previous) if previous else ""
    return tuple(accumulate(asked.exchanges, lambda key, had: thread_key(key, had.said, had.replied), initial=begun))


async def find_start(store: Store, asked: Asked, *, named: str, previous: str, new: str) -> Start:
    """Look for the longest part of the client's account that is known.

    Args:
        named: the conversation that the client names; empty for none.
        previous: the response that it goes on behind; empty for none.
        new: the name of a conversation that begins here.

    Raises:
        RequestProblem: nobody has given out the response ``previous``.
    """
    exchanges, keys = asked.exchanges, thread_keys(asked, previous=previous)
    called = await _place_of_calls(store, asked)
    if called is not None and named in ("", called.conversation):
        # The turn that made the calls is past, and what is asked now takes its place.
        return Start(called.conversation, called.numbers[:-1], (), ())
    # An opening of the assistant alone is the same in many conversations, and stands for none of them.
    first = next((index for index, exchange in enumerate(exchanges, 1) if exchange.said.strip()), len(exchanges) + 1)
    for count in range(len(exchanges), first - 1, -1):
        place = await store.find_thread(keys[count])
        if place is not None and named in ("", place.conversation):
            return Start(place.conversation, place.numbers, exchanges[count:], keys[count + 1 :])
    if previous:
        place = await store.find_thread(keys[0])
        if place is None:
            raise RequestProblem(
                f"there is no response {previous!r}; send the whole conversation as input",
                code="previous_response_not_found",
                param="previous_response_id",
            )
        return Start(place.conversation, place.numbers, exchanges, keys[1:])
    if named:
        has_turns = any(state.counts for state in (await store.line(named)).values())
        return Start(named, None, *(((), ()) if has_turns else (exchanges, keys[1:])))
    return Start(new, (), exchanges, keys[1:])


def line_of(
    start: Start, states: Mapping[int, TurnState], keyed: Collection[int], at: datetime
) -> tuple[Line, tuple[int, ...]]:
    """What the client has seen, as the line that its turn stands behind.

    Turns of the client's other branches become REPLACED, or come back; turns that were had elsewhere stay.

    Args:
        states: those of all turns of the conversation, by number.
        keyed: the numbers of those that some client has seen.
        at: the moment of what the client brings along.

    Returns:
        The line, and the numbers of the turns in it that the client has seen.
    """
    live = {number for number, state in states.items() if state.counts}
    if start.seen is None:
        seen, numbers = tuple(sorted(live.intersection(keyed))), live
    else:
        refused = {number for number, state in states.items() if state is TurnState.REFUSED}
        seen = tuple(dict.fromkeys(start.seen))
        numbers = (set(seen) - refused) | live.difference(keyed)
    end = max(states, default=0)
    imports = tuple(
        # The same words may come along in several conversations, and again behind another turn.
        ImportedTurn(_key(start.conversation, str(end), key), exchange.question, at, exchange.reply, at)
        for key, exchange in zip(start.keys, start.unknown, strict=True)
    )
    return Line(numbers, imports, SOURCE), seen


async def note_taken(store: Store, start: Start, number: int, seen: Sequence[int]) -> tuple[int, ...]:
    """Note that the client's turn has this number, and what it brought along the numbers in front of that.

    Returns:
        The numbers of all turns in front of it that the client has seen.
    """
    name = start.conversation
    for brought, key in enumerate(start.keys, number - len(start.keys)):
        await note_turn(store, name, brought, seen)
        await note(store, key, name, brought, seen)
        seen = (*seen, brought)
    await note_turn(store, name, number, seen)
    return tuple(seen)


async def note_turn(store: Store, conversation: str, number: int, seen: Sequence[int]) -> None:
    """Note that the client goes on with this turn behind those that it has seen."""
    await note(store, turn_key(conversation, number), conversation, number, seen)


async def note(store: Store, key: str, conversation: str, number: int, seen: Sequence[int]) -> None:
    """Note a further key of this turn."""
    parent = turn_key(conversation, seen[-1]) if seen else ""
    await store.note_thread(key, parent=parent, conversation=conversation, number=number)


async def find_waiting(store: Store, asked: Asked) -> Waiting | None:
    """The turn that waits for the results; None where none does, or it is past."""
    place = await _place_of_calls(store, asked)
    if place is None:
        return None
    *seen, number = place.numbers
    turns = await store.turns(place.conversation, since=number, until=number)
    calls = waits_for(turns[0]) if turns else ()
    indexes = [int(match[2]) for match in _told_ids(asked)]
    if not calls or max(indexes) >= len(calls):
        return None
    results = [replace(result, call_id=calls[index].id) for index, result in zip(indexes, asked.results, strict=True)]
    added = "\n\n".join(part.text for part in asked.added if isinstance(part, Text))
    if added.strip():
        # A turn goes on with results alone; what the person says behind them must not be lost.
        results[-1] = replace(results[-1], text=f"{results[-1].text}\n\n(The user adds: {added})", wire="", data="")
    return Waiting(place.conversation, tuple(seen), tuple(results))


async def _place_of_calls(store: Store, asked: Asked) -> ThreadPlace | None:
    """Where the calls were made that the results answer; None where they are not of one reply of this server."""
    tokens = {match[1] for match in _told_ids(asked)}
    return await store.find_thread(calls_key(tokens.pop())) if len(tokens) == 1 else None


def _told_ids(asked: Asked) -> list[re.Match[str]]:
    """The ids of the results, read; empty where one is not of this server."""
    found = [match for result in asked.results if (match := _CALL_ID.fullmatch(result.call_id)) is not None]
    return found if len(found) == len(asked.results) else []


async def take_back(store: Store, conversation: str, number: int) -> None:
    """Let a turn of which the client was told that it failed no longer count: the client still has its message."""
    async with store.turn_lock(conversation):
        found = await store.turns(conversation, since=number, until=number)
        if any(turn.state is TurnState.OPEN and not turn.steps for turn in found):
            states = await store.line(conversation)
            await store.set_line(conversation, [n for n, state in states.items() if state.counts and n != number])
