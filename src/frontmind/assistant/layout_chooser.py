"""Chooses the layout of a conversation's next window from its stored past: `AutoLayout` where turns are really run.

Everything that it goes by is in the store, so that a new process goes on as the old one would have. Sends nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from frontmind.assistant.going_back import replaced_behind
from frontmind.assistant.steadiness import last_sent
from frontmind.assistant.window_opening import Reader
from frontmind.cachelab.choosing import KNOWN, AutoLayout
from frontmind.cachelab.outcome import Outcome
from frontmind.cachelab.past_calls import KnownPrefixes, past_calls
from frontmind.cachelab.prefixes import prompt_of
from frontmind.cachelab.session import Plan, SessionTurn
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.cachelab.stored import StoredTurns
from frontmind.errors import StoreError, UsageError
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.reading import read_request
from frontmind.stores.protocols import Store
from frontmind.values.records import Turn
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.window import Window

_TURNS: Final = 2 * KNOWN
# Turns that got no answer, or were refused, stand among those that say how the conversation runs.
_ANY_LENGTH: Final = 1


class LayoutChooser:
    """Chooses the layouts of one conversation.

    Args:
        store: has the conversation, its requests and its calls.
        conversation: the conversation's name.
    """

    def __init__(self, store: Store, conversation: str) -> None:
        self._store = store
        self._conversation = conversation
        self._turns = StoredTurns(store, conversation)
        self._requests = KnownPrefixes()
        self._chosen: tuple[int, str, FramingChoice] | None = None

    async def choose(self, turn: Turn, window: Window, reader: Reader) -> FramingChoice:
        """How the window of a turn is framed, and why. Inside of a turn it stays as it began.

        Args:
            turn: the open turn; one with the id 0 is only looked at.
            window: as it will be sent, in whichever framing.
            reader: the model that will read it.
        """
        auto = AutoLayout(reader.profile)
        if not auto.knows_prices:
            return replace(reader.framing, reason=auto.without_prices)
        if self._chosen is not None and self._chosen[:2] == (turn.id, reader.name) and turn.id:
            return self._chosen[2]
        try:
            choice = await self._choice(turn, window, reader)
        except (UsageError, StoreError) as error:
            # What is known of the past is no reason to answer nothing.
            return replace(reader.framing, reason=f"auto: the past turns cannot be read ({error})")
        if turn.id:
            self._chosen = (turn.id, reader.name, choice)
        return choice

    async def _choice(self, turn: Turn, window: Window, reader: Reader) -> FramingChoice:
        begun_in = _plan_before((turn,), reader) if turn.steps else None
        if begun_in is not None:
            reason = turn.sent.framing_reason if turn.sent is not None else ""
            return begun_in.choice(reader.profile, reason or "auto: the turn began in it")
        since = max(1, turn.number - _TURNS)
        before = await self._store.turns(self._conversation, since=since, until=turn.number - 1)
        past = await self._turns.read(before, newest=KNOWN)
        cache = await self._cache(reader, replaced_behind(before))

        def look(plan: Plan) -> Outcome:
            framed = replace(window, framing=plan.choice(reader.profile))
            request = encode_window(framed, reader.profile, max_output_tokens=_ANY_LENGTH)
            return cache.expect(size_request(read_request(request)), turn.asked_at)

        present = SessionTurn(turn.asked_at, window.turn[0].parts, None, window.sections, tools=window.tools)
        auto = AutoLayout(reader.profile, earlier=max(0, turn.number - 1 - len(past)))
        decision = auto.choose(past, present, _plan_before(before, reader), look)
        return decision.plan.choice(reader.profile, decision.reason)

    async def _cache(self, reader: Reader, replaced: Collection[int]) -> CacheSimulator:
        """The cache as the calls to this model have left it that the chat's own expectation goes by."""
        cache = CacheSimulator(reader.profile)
        past = await past_calls(self._store, self._conversation, reader.name, known=self._requests, replaced=replaced)
        for call in past:
            if call.model == reader.name:
                cache.note(prompt_of(size_request(call.layout), call.prefixes), call.sent_at)
        return cache


def _plan_before(before: Sequence[Turn], reader: Reader) -> Plan | None:
    """The plan of the newest turn that was sent; None where there is none, or another model was asked."""
    last = last_sent(before)
    if last is None or last.sent is None or last.model != reader.name or last.sent.framing not in set(Framing):
        return None
    ttls = reader.profile.ttls
    return Plan(Framing(last.sent.framing), last.sent.ttl or (ttls[0] if ttls else ""))
