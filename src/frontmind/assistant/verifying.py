"""Tries a model's cache rules on the model itself, within limits of requests and money, and tells what came of each.

Does not know what the rules are or how an experiment is read (`frontmind.cachelab.experiment_rules`), nor any terminal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, TypeAlias

from frontmind.cachelab.experiment_rules import acceptance, accepted_framing, caching, framing_rule
from frontmind.cachelab.experiment_sizes import KnownSizes
from frontmind.cachelab.experiment_windows import REPLY, Ground, next_turn
from frontmind.cachelab.experiments import Experiment, Judged, Probe, Seen, Verdict, not_tried
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import SizedRequest
from frontmind.errors import ModelError, ModelTimeout, ModelUnavailable, RateLimited, RequestRefused, WindowTooLarge
from frontmind.providers.estimate import estimate_request
from frontmind.providers.profiles.profile import MarkerKind, Profile
from frontmind.providers.protocol import Finished, Model, Request, Retrying, TextDelta
from frontmind.providers.reading import read_request
from frontmind.values.clock import Clock
from frontmind.values.message import assistant
from frontmind.values.usage import Usage, add_usages
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window

Price: TypeAlias = Callable[[Usage], Decimal | None]
"""The price of a call in US dollars; None where none is known."""

_NONE: Final = Usage(0, 0, 0, 0)
_MARGIN: Final = 1.3
"""How much larger than estimated a prompt is taken to be where money is limited."""
_TOKEN_LENGTH: Final = 64
"""More characters than a token has on average in any reply."""
_UNBILLED: Final = (RequestRefused, ModelUnavailable, RateLimited)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a series may take at most.

    Attributes:
        requests: how many requests, those that are sent again included.
        cost: US dollars; None for no limit.
        seconds: how long a reply may take. After one that takes longer nothing more is sent.
    """

    requests: int
    cost: Decimal | None = None
    seconds: float = 90.0


@dataclass(frozen=True, slots=True)
class Planned:
    """An experiment before it is made.

    Attributes:
        requests: the most requests that it takes.
        tokens: about how many prompt tokens they have.
        cost: the most that they cost; None where no price is known.
    """

    rule: str
    requests: int
    tokens: int
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of an experiment.

    Attributes:
        requests: how many were sent for it, those that were sent again included.
        usage: what the replies took together.
        cost: what that costs; None where no price is known.
        unsure: what the requests that broke off may have cost besides, at most.
        failed: whether a request failed, other than by a refusal.
    """

    rule: str
    judged: Judged
    requests: int = 0
    usage: Usage = _NONE
    cost: Decimal | None = None
    unsure: Decimal = Decimal(0)
    failed: bool = False


class _LimitReached(Exception):
    """The next request would be one too many, cost too much, or never end. The text says which."""


@dataclass(slots=True)
class _Spent:
    """Requests, what those with a reply cost, and what the others may have cost at most."""

    requests: int = 0
    cost: Decimal = Decimal(0)
    unsure: Decimal = Decimal(0)


def plan_series(
    encode: Callable[[Window], Request],
    profile: Profile,
    framing: FramingChoice,
    *,
    nonce: str,
    price: Price,
    output: int,
) -> tuple[Planned, ...]:
    """What a series takes at most, in the order in which it is made.

    Args:
        encode: the model's encoder.
        framing: how its windows are framed.
        nonce: what tells the series from every other one.
        output: the most tokens of a reply.
    """
    ground = Ground(nonce, framing)
    planned = []
    for experiment in (*acceptance(profile, ground), *caching(profile, ground)):
        windows = [_planned_window(probe) for probe in (*experiment.probes, *experiment.at_most)]
        sizes = [estimate_request(encode(window)) for window in windows]
        costs = [price(_dearest(round(size * _MARGIN), output, profile)) for size in sizes]
        planned.append(Planned(experiment.rule, len(sizes), sum(sizes), _sum(costs)))
    return tuple(planned)


def _planned_window(probe: Probe) -> Window:
    return next_turn(probe.window, assistant(REPLY), probe.follows) if probe.follows else probe.window


def _dearest(prompt: int, output: int, profile: Profile) -> Usage:
    """The call of this size that costs most: nothing is read, all is written. The few tokens of the system prompt that
    may be written for longer are covered by the margin.
    """
    return Usage(prompt, 0, 0 if profile.markers is MarkerKind.NONE else prompt, output)


def _sum(costs: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


class Verification:
    """One series of experiments.

    Args:
        model: whose cache is tried; stays the caller's to close.
        nonce: what tells the series from every other one.
        limits: are kept: a request that might exceed them is not sent.
        price: what a call costs.
        report: is told each finding as soon as it is there.
    """

    def __init__(
        self,
        model: Model,
        *,
        clock: Clock,
        nonce: str,
        limits: Limits,
        price: Price = lambda usage: None,
        report: Callable[[Finding], None] = lambda finding: None,
    ) -> None:
        self._model = model
        self._clock = clock
        self._nonce = nonce
        self._limits = limits
        self._price = price
        self._report = report
        self._record: dict[str, list[Seen]] = {}
        self._spent: dict[str, _Spent] = {}
        self._endless = ""
        self._findings: list[Finding] = []
        self._begun: list[Experiment] = []
        self._why_not: dict[str, str] = {}
        self._sizes = KnownSizes(model.profile)
        self._simulator = CacheSimulator(model.profile)

    async def run(self) -> tuple[Finding, ...]:
        """Make the experiments; one that cannot be made is among the findings, with the reason."""
        profile, ground = self._model.profile, Ground(self._nonce, self._model.framing)
        first = acceptance(profile, ground)
        for experiment in first:
            await self._try(experiment)
        # A refusal says something only beside what is accepted.
        for experiment in first:
            self._judge(experiment, self._why_not[experiment.rule])
        framing = accepted_framing(profile, ground.choice.framing, self._record)
        ground = replace(ground, factor=self._sizes.factor)
        for experiment in caching(profile, ground if framing is None else ground.framed(framing)):
            if framing is None:
                own = framing_rule(ground.choice.framing)
                seen = self._record.get(own)
                self._judge(
                    experiment, f"no framing was accepted ({seen[0].error})" if seen else self._why_not.get(own, "")
                )
            else:
                self._judge(experiment, experiment.blocked(self._record) or await self._try(experiment))
        return tuple(self._findings)

    def so_far(self) -> tuple[Finding, ...]:
        """The findings of a series that was interrupted; what had begun and has no end was not tried."""
        judged = {finding.rule for finding in self._findings}
        return (
            *self._findings,
            *(
                self._finding(experiment, self._why_not.get(experiment.rule, "it was interrupted"))
                for experiment in self._begun
                if experiment.rule not in judged
            ),
        )

    def _judge(self, experiment: Experiment, why_not: str) -> None:
        finding = self._finding(experiment, why_not)
        self._findings.append(finding)
        self._report(finding)

    def _finding(self, experiment: Experiment, why_not: str) -> Finding:
        seen = self._record.get(experiment.rule, [])
        usages = [one.usage for one in seen if one.usage is not None]
        spent = self._spent.get(experiment.rule, _Spent())
        return Finding(
            experiment.rule,
            not_tried(why_not) if why_not else experiment.judge(self._record),
            requests=spent.requests,
            usage=add_usages(usages),
            cost=_sum(self._price(usage) for usage in usages),
            unsure=spent.unsure,
            failed=any(one.error and not one.refused for one in seen),
        )

    async def _try(self, experiment: Experiment) -> str:
        """Send the requests of an experiment, and remember why one was not sent, for `so_far` too."""
        self._begun.append(experiment)
        self._why_not[experiment.rule] = why_not = await self._send(experiment)
        return why_not

    async def _send(self, experiment: Experiment) -> str:
        """Send the requests of an experiment; the reason where one was not sent, otherwise empty."""
        seen = self._record.setdefault(experiment.rule, [])
        window: Window | None = None
        for probe in self._probes(experiment):
            reply = seen[-1].reply if seen else None
            if not probe.follows:
                window = probe.window
            elif window is not None and reply is not None:
                window = next_turn(window, reply, probe.follows)
            else:
                break
            request = self._model.encode(window)
            try:
                one = await self._ask(experiment.rule, probe.edit(request) if probe.edit is not None else request)
            except _LimitReached as reached:
                return str(reached)
            seen.append(one)
            if one.error and not one.refused:
                break
        return ""

    def _probes(self, experiment: Experiment) -> Iterator[Probe]:
        """The requests that are needed, each decided when the one before was answered."""
        yield from (probe for probe in experiment.probes if probe.when(self._record))
        while (probe := experiment.further(self._record)) is not None:
            yield probe

    async def _ask(self, rule: str, request: Request) -> Seen:
        layout = read_request(request)
        sized = self._sizes.size(layout)
        most = self._require_room(sized)
        told = await self._model.expected_cached(request)
        expected = self._simulator.expect(sized, self._clock.now()).read if told is None else told
        spent = self._spent.setdefault(rule, _Spent())
        spent.requests += 1
        # What breaks off, however it does, may have been billed.
        spent.unsure += most
        try:
            finished = await self._finished(request, spent, most)
        except ModelError as error:
            if isinstance(error, _UNBILLED):
                spent.unsure -= most
            refused = isinstance(error, RequestRefused) and not isinstance(error, WindowTooLarge)
            return Seen(rule, expected, told is not None, refused=refused, error=error.reason)
        usage = finished.usage
        spent.unsure -= most
        spent.cost += self._price(usage) or Decimal(0)
        self._sizes.learn(layout, usage)
        self._simulator.send(self._sizes.size(layout), self._clock.now())
        return Seen(rule, expected, told is not None, usage, finished.message)

    async def _finished(self, request: Request, spent: _Spent, most: Decimal) -> Finished:
        finished: Finished | None = None
        length, seconds = 0, self._limits.seconds
        events = self._model.stream(request)
        try:
            async with asyncio.timeout(seconds) as limit:
                async for event in events:
                    match event:
                        case Finished():
                            finished = event
                        case Retrying():
                            self._send_again(event, spent, most)
                            limit.reschedule(asyncio.get_running_loop().time() + event.seconds + seconds)
                        case TextDelta():
                            length += len(event.text)
                            self._require_end(length)
        except TimeoutError:
            if not limit.expired():
                raise
            self._endless = f"a reply took longer than {seconds:g} seconds"
            raise ModelTimeout(self._endless, model=self._model.name) from None
        finally:
            # Ends the call at the provider now, also when it is not asked again.
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        if finished is None:
            raise ModelError(f"{self._model.name} ended without a reply; try again", model=self._model.name)
        return finished

    def _send_again(self, event: Retrying, spent: _Spent, most: Decimal) -> None:
        """Count the request that is about to be sent again.

        Raises:
            ModelError: the limits have no room for it.
        """
        over = self._over(most)
        if over:
            raise ModelError(f"{event.reason}; {over}", model=self._model.name)
        spent.requests += 1
        spent.unsure += most

    def _require_end(self, length: int) -> None:
        """Refuse a reply that goes on far behind the limit of its tokens.

        Raises:
            ModelError: it does.
        """
        if length > _TOKEN_LENGTH * max(self._model.max_output_tokens, _TOKEN_LENGTH):
            self._endless = "a reply went on far behind the limit of its tokens"
            raise ModelError(self._endless, model=self._model.name)

    def _require_room(self, sized: SizedRequest) -> Decimal:
        """The most that the request can cost.

        Raises:
            _LimitReached: it would be one too many, could cost too much, or would not end either.
        """
        prompt = round((sum(sized.tokens) + sized.tail) * _MARGIN)
        most = self._price(_dearest(prompt, self._model.max_output_tokens, self._model.profile)) or Decimal(0)
        over = self._endless or self._over(most)
        if over:
            raise _LimitReached(over)
        return most

    def _over(self, most: Decimal) -> str:
        """The limit that a further request of at most this cost would exceed; empty where there is room."""
        requests, limit = sum(one.requests for one in self._spent.values()), self._limits.cost
        if requests >= self._limits.requests:
            return f"the limit of {self._limits.requests} requests is reached"
        spent = sum((one.cost + one.unsure for one in self._spent.values()), Decimal(0))
        if limit is None or spent + most <= limit:
            return ""
        return f"the limit of ${limit:,f} is exceeded" if spent > limit else f"it could exceed the limit of ${limit:,f}"


def facts_to_write(findings: Sequence[Finding]) -> dict[str, object]:
    """The facts of the profile that were disproved or found out, as they should be."""
    facts: dict[str, object] = {}
    for finding in findings:
        if finding.judged.verdict in (Verdict.BROKEN, Verdict.FOUND):
            facts |= finding.judged.facts
    return facts
