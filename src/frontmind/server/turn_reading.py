"""Conversations and turns read out of a store as the API gives them out. Knows no HTTP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from typing import Final

from frontmind.server.rendering import html_of
from frontmind.server.schemas.conversations import Conversation
from frontmind.server.schemas.turns import Turn, shown_texts, turn_view
from frontmind.stores.protocols import Store
from frontmind.values.calls import Call
from frontmind.values.records import Turn as StoredTurn
from frontmind.values.records import TurnState

SHOWN: Final = frozenset({TurnState.OPEN, TurnState.DONE})
"""The states of turns that are part of a conversation."""


async def read_conversation(store: Store, name: str, zone: tzinfo, running: int | None) -> Conversation:
    """The conversation of this name; without turns where nobody has said anything in it."""
    segments = await store.segments(name)
    if not segments:
        return Conversation(
            name=name, title="", started_at=None, last_at=None, turns=0, last=running or 0, running=running
        )
    return Conversation(
        name=name,
        title=segments[0].title,
        started_at=segments[0].started_at.astimezone(zone),
        last_at=max(segment.ended_at for segment in segments).astimezone(zone),
        turns=sum(segment.turns for segment in segments),
        last=segments[-1].last,
        running=running,
    )


async def stored_turn(store: Store, conversation: str, number: int) -> StoredTurn | None:
    """The turn of this number; None where there is none, or it is no longer part of the conversation."""
    turns = await store.turns(conversation, since=number, until=number)
    return turns[0] if turns and turns[0].state in SHOWN else None


async def newest_turns(store: Store, conversation: str, newest: int) -> Sequence[StoredTurn]:
    """At most so many turns, the newest ones, by number."""
    segments = await store.segments(conversation, newest=1)
    if not segments:
        return ()
    since = segments[-1].last + 1
    found: list[StoredTurn] = []
    while since > 1 and len(found) < newest:
        # Replaced ones lie between.
        until, since = since - 1, max(1, since - 2 * newest)
        earlier = await store.turns(conversation, since=since, until=until)
        found = [*(turn for turn in earlier if turn.state in SHOWN), *found]
    return found[-newest:]


async def read_turn(store: Store, turn: StoredTurn, zone: tzinfo, *, running: int | None) -> Turn:
    """The turn as the API gives it out."""
    return (await read_turns(store, [turn], zone, running=running))[0]


async def read_turns(store: Store, turns: Sequence[StoredTurn], zone: tzinfo, *, running: int | None) -> list[Turn]:
    """The turns of one conversation as the API gives them out.

    Args:
        running: the number of the one that runs.
    """
    if not turns:
        return []
    calls = await _calls(store, turns)
    html = await html_of(text for turn in turns for text in shown_texts(turn))
    return [turn_view(turn, calls[turn.number], zone, html=html, running=turn.number == running) for turn in turns]


async def _calls(store: Store, turns: Sequence[StoredTurn]) -> Mapping[int, Sequence[Call]]:
    """The calls that were made for these turns of one conversation, by the number of the turn."""
    answered = [turn.answered_at for turn in turns if turn.answered_at is not None]
    # The last moment does not belong to those that are asked for.
    until = max(answered) + timedelta.resolution if len(answered) == len(turns) else None
    found: defaultdict[int, list[Call]] = defaultdict(list)
    for call in await store.calls(conversation=turns[0].conversation, since=turns[0].asked_at, until=until):
        found[call.new.turn].append(call)
    return found
