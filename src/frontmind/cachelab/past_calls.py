"""The calls of a conversation that say what a cache holds of it, as the ledger has them.

The chat and whoever only looks at the next window read them here, so that both expect the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, Protocol

from frontmind.cachelab.prediction import PastCall
from frontmind.cachelab.prefixes import Prefixes
from frontmind.errors import UsageError
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.providers.reading_blocks import ReadMessages
from frontmind.stores.ledger_protocol import LedgerStore
from frontmind.stores.protocols import RequestStore
from frontmind.values.calls import Call

NEWEST: Final = 8
"""So many of a model's newest calls are looked at."""

TURNS: Final = 4
"""Of so many of its newest turns the first call is looked at too: behind a long loop of tools it is that call whose
prompt the next turn goes on from."""

_LISTED: Final = 48
_LISTED_BEHIND: Final = 480
"""So many are listed to find those in front of turns that were replaced."""

_REPLACED: Final = 2
"""The first call of so many turns behind the one that the conversation goes on from: they wrote what is read there."""


class CallStore(LedgerStore, RequestStore, Protocol):
    """What is read here of a store."""


class KnownPrefixes:
    """The prefixes of a conversation's requests. Each request is read once, and of the next one only what is new."""

    def __init__(self) -> None:
        self._known: dict[str, Prefixes | None] = {}
        self._read = ReadMessages()

    def of(self, request_hash: str, request: Request) -> Prefixes | None:
        """The prefixes of a request; None where it has a format that nobody can read, as a model of your own may have.

        Args:
            request_hash: the hash under which the request is stored.
        """
        if request_hash not in self._known:
            try:
                self._known[request_hash] = Prefixes(read_request(request, read=self._read))
            except UsageError:
                self._known[request_hash] = None
        return self._known[request_hash]

    def __contains__(self, request_hash: str) -> bool:
        return request_hash in self._known

    def __getitem__(self, request_hash: str) -> Prefixes | None:
        return self._known[request_hash]

    def keep(self, hashes: Iterable[str]) -> None:
        """Forget all requests but these."""
        self._known = {name: self._known[name] for name in hashes if name in self._known}


async def past_calls(
    store: CallStore,
    conversation: str,
    model: str,
    *,
    known: KnownPrefixes | None = None,
    replaced: Collection[int] = (),
) -> list[PastCall]:
    """The conversation's calls that matter for the next one, in the order in which they were sent: answered ones of the
    model that is asked, and the newest of all.

    Args:
        model: the full name of the model that is asked.
        known: the requests that were read before; those that do not matter any more are forgotten.
        replaced: the numbers of the turns that were replaced behind the one that the next call goes on from.

    Raises:
        UsageError: a request that a call names is not in the store.
        StoreError: the database cannot be read.
    """
    known = known or KnownPrefixes()
    listed = await store.calls(conversation=conversation, newest=_LISTED_BEHIND if replaced else _LISTED)
    answered = [call for call in listed if call.end is not None and call.new.request]
    chosen = _that_matter(answered, model, frozenset(replaced))
    past = []
    for call in chosen:
        new, end = call.new, call.end
        if new.request in known:
            prefixes = known[new.request]
        else:
            prefixes = known.of(new.request, await store.load_request(new.request))
        if prefixes is not None and end is not None:
            gone = new.turn in replaced
            past.append(PastCall(new.model, prefixes, new.sent_at, end.usage, new.step, gone))
    known.keep(call.new.request for call in chosen)
    return past


def _that_matter(answered: Sequence[Call], model: str, replaced: frozenset[int]) -> list[Call]:
    chosen = _newest(answered, model)
    if replaced:
        chosen |= _newest([call for call in answered if call.new.turn not in replaced], model)
        behind = {
            call.new.turn: call.id for call in reversed(answered) if call.new.turn in replaced and not call.new.step
        }
        chosen |= {behind[turn] for turn in sorted(behind)[:_REPLACED]}
    return [call for call in answered if call.id in chosen]


def _newest(answered: Sequence[Call], model: str) -> set[int]:
    same = [call for call in answered if call.new.model == model]
    opened = {call.new.turn: call.id for call in reversed(same) if not call.new.step}
    chosen = {call.id for call in (*same[-NEWEST:], *answered[-1:])}
    return chosen | {opened[turn] for turn in sorted(opened)[-TURNS:]}
