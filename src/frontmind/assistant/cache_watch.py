"""Watches the cache of one conversation: what it should do with each call, what it did, and why not more.

Everything is kept in the ledger, and read from there: a new process expects what the old one would have. What the
ledger cannot take or give costs no reply; it is said beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from frontmind.cachelab.counted import Counted, counted_sizes
from frontmind.cachelab.parts import call_parts
from frontmind.cachelab.past_calls import KnownPrefixes, past_calls
from frontmind.cachelab.prediction import PastCall, Prediction, judged, predict, told_by_engine
from frontmind.cachelab.prefixes import Prefixes
from frontmind.errors import FrontmindError
from frontmind.providers.diagnostics import MESSAGES_CHANGED, NO_DIFFERENCE, asking_why
from frontmind.providers.prices import PriceOf
from frontmind.providers.protocol import Finished, Model, Request
from frontmind.stores.protocols import Store
from frontmind.values.calls import CacheVerdict, Call, CallEnd, CallPart, Cause, NewCall, Purpose
from frontmind.values.clock import Clock
from frontmind.values.parts import Voice
from frontmind.values.usage import Usage
from frontmind.window.choice import Framing

_UNNOTED: Final = 0
_SHARE: Final = 0.05
_LEAST: Final = 2000
# What a structural comparison cannot see: its messages differ because a section has slid away.
_UNSEEN: Final = frozenset({Cause.NOTHING, Cause.EXPIRED, Cause.EVICTED, Cause.LOOK_BACK, Cause.MINIMUM})


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """A call that is about to be sent.

    Attributes:
        call: as the ledger has it; its id is 0 where the ledger could not take it.
        prefixes: its request as a cache sees it; None where that cannot be read.
        prediction: what the cache should do with it; None where no rule is known.
        framing: how the notification center stands in it.
    """

    call: Call
    prefixes: Prefixes | None
    prediction: Prediction | None
    framing: Framing

    @property
    def loss(self) -> CacheVerdict | None:
        """Why so much of the prompt will be processed again that the person should know; None where it is little."""
        if self.prediction is None:
            return None
        verdict = self.prediction.verdict
        return verdict if is_large(verdict, self.prediction.expected.input) else None


def is_large(verdict: CacheVerdict, prompt: int) -> bool:
    """Whether so much of a prompt of this many tokens is lost that the person should know."""
    return verdict.tokens > max(_LEAST, _SHARE * prompt)


class CacheWatch:
    """Watches the calls of one conversation.

    Args:
        store: has the ledger, and the requests that it names.
        model: who is asked.
        clock: tells when a call is sent, and when it has ended.
        conversation: the conversation's name.
        price_of: what a call costs; None where no price is known.
        trinkets: the name of each section and the class of the trinket that writes it.
    """

    def __init__(
        self,
        *,
        store: Store,
        model: Model,
        clock: Clock,
        conversation: str,
        price_of: PriceOf | None = None,
        trinkets: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._store = store
        self._model = model
        self._clock = clock
        self._conversation = conversation
        self._price_of = price_of
        self._trinkets = trinkets
        self._known = KnownPrefixes()
        self._response = ""
        self._problems: list[str] = []
        self._no_price = ""

    def take_problems(self) -> tuple[str, ...]:
        """What the ledger could not do since this was asked last, a line each."""
        problems, self._problems = self._problems, []
        return tuple(dict.fromkeys(problems))

    async def before(
        self,
        request: Request,
        request_hash: str,
        *,
        turn: int,
        framing: Framing,
        step: int = 0,
        replaced: Collection[int] = (),
    ) -> WatchedCall:
        """Note a call that is about to be sent, and what the cache should do with it.

        Args:
            request_hash: the hash under which the request is stored.
            turn: the number of its turn.
            step: how many steps with tools the turn has made before it.
            replaced: the numbers of the turns that were replaced between the one before it and this turn.
        """
        now = self._clock.now()
        past = await self._past(replaced)
        prefixes = self._known.of(request_hash, request)
        prediction = await self._prediction(request, prefixes, past, now)
        new = NewCall(
            conversation=self._conversation,
            turn=turn,
            step=step,
            purpose=Purpose.TURN,
            model=self._model.name,
            layout=framing.value,
            request=request_hash,
            sent_at=now,
            expected=prediction.expected if prediction is not None else None,
        )
        return WatchedCall(Call(await self._begin(new), new, None), prefixes, prediction, framing)

    def request_to_send(self, request: Request) -> Request:
        """The request with the question for the provider's own diagnosis, where it has one."""
        return asking_why(request, self._model.profile, self._response)

    async def after(self, watched: WatchedCall, finished: Finished) -> Call:
        """Note how the call ended. Whatever becomes of that, this gives back what is known of the call."""
        usage = finished.usage
        verdict = CacheVerdict(Cause.NOTHING)
        if watched.prediction is not None:
            verdict = judged(watched.prediction, usage, self._model.profile)
        end = CallEnd(
            ended_at=self._clock.now(),
            usage=usage,
            cost=self._price(usage),
            full_price=self._price(replace(usage, cached=0, written=0, written_by_ttl=())),
            verdict=verdict,
            diagnosis=self._diagnosis(watched, finished, verdict),
            parts=self._parts(watched, usage),
        )
        self._response = finished.response
        if watched.call.id != _UNNOTED:
            try:
                await self._store.finish_call(watched.call.id, end)
            except FrontmindError as error:
                self._problems.append(f"the ledger lacks the end of a call: {error}")
        return replace(watched.call, end=end)

    async def _prediction(
        self, request: Request, prefixes: Prefixes | None, past: Sequence[PastCall] | None, now: datetime
    ) -> Prediction | None:
        prediction: Prediction | None = None
        if prefixes is not None and past is not None:
            prediction = predict(self._model.name, prefixes, past, self._model.profile, now)
        figure = await self._model.expected_cached(request)
        if figure is None:
            return prediction
        counted = await self._model.count_request(request)
        if prediction is None or all(call.usage.estimated for call in past or ()):
            # Where nobody has counted before, nothing is known to be lost.
            verdict = CacheVerdict(Cause.NOTHING)
            if prediction is not None and prediction.verdict.cause is Cause.FIRST:
                verdict = prediction.verdict
            prediction = Prediction(Usage(counted.tokens, 0, 0, 0), 0, verdict, counted.exact)
        line = [call for call in past or () if call.model == self._model.name and not call.replaced]
        read = [call.usage.cached for call in line if not call.step]
        before = read[-1] if read else 0
        return told_by_engine(prediction, figure, prompt=counted.tokens, exact=counted.exact, before=before)

    async def _past(self, replaced: Collection[int]) -> Sequence[PastCall] | None:
        """The conversation's calls that matter for the next one; None where they cannot be read."""
        try:
            return await past_calls(
                self._store, self._conversation, self._model.name, known=self._known, replaced=replaced
            )
        except FrontmindError as error:
            # A request that is not there any more is one of the things that can be wrong with a database.
            self._problems.append(f"the cache cannot be watched: {error}")
            return None

    async def _begin(self, new: NewCall) -> int:
        try:
            return await self._store.begin_call(new)
        except FrontmindError as error:
            self._problems.append(f"the ledger lacks a call: {error}")
            return _UNNOTED

    def _price(self, usage: Usage) -> Decimal | None:
        profile = self._model.profile
        if self._price_of is None or usage.estimated or not profile.model:
            return None
        try:
            price = self._price_of(profile.provider, profile.model, usage)
        except FrontmindError as error:
            price, why = None, str(error)
        else:
            why = "" if price is None or price.is_finite() else f"{price} is no amount of money"
        if not why:
            return price
        if why != self._no_price:
            # Prices that cannot be had now cannot be had in the next turn either: it is said once.
            self._no_price = why
            self._problems.append(f"no price of a call is known: {why}")
        return None

    def _diagnosis(self, watched: WatchedCall, finished: Finished, verdict: CacheVerdict) -> str:
        said = finished.diagnosis
        if said == NO_DIFFERENCE and not (self._response and self._model.profile.cache_diagnostics):
            # Nothing was named that it could have been compared with.
            return ""
        slides = not watched.framing.keeps(Voice.USER)
        if said.startswith(MESSAGES_CHANGED) and slides and verdict.cause in _UNSEEN:
            said += ", as it says of every section that slides away"
        return said

    def _parts(self, watched: WatchedCall, usage: Usage) -> tuple[CallPart, ...]:
        if watched.prefixes is None:
            return ()
        sizes = counted_sizes(watched.prefixes, [Counted(watched.prefixes, usage)], self._model.profile)
        return call_parts(sizes.prompt, usage, self._trinkets())
