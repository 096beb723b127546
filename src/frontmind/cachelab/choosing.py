"""`AutoLayout` chooses the layout of a conversation from how it runs: the cheapest, changed only where that is free.

Pure: the same past, turn and cache give the same choice in any process. A model without known prices of its cache keeps
the framing of its profile, since nothing can be weighed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from frontmind.cachelab.outcome import Outcome
from frontmind.cachelab.projecting import pauses_of, projected_cost, traffic_of
from frontmind.cachelab.session import Decision, Look, Plan, SessionTurn
from frontmind.providers.profiles.profile import TTL_SECONDS, Profile
from frontmind.providers.profiles.resolve import sliding_framing
from frontmind.values.calls import Cause
from frontmind.values.parts import Thinking, Voice
from frontmind.window.choice import Framing

LEAST_SAVING: Final = 0.02
"""The share of the coming cost that a change has to save."""

_LEAST_TURNS, _MOST_TURNS, _AHEAD_CALLS = 8, 28, 64
"""How far ahead is looked: as many turns as there were, at least so many, and of talk with few calls as far as these
many calls go. What is kept is carried along in all of them."""

ALIKE: Final = 0.01
"""Costs that differ by less than this share are alike."""

KNOWN: Final = 24
"""So many of the newest turns are looked at."""

_EACH_TURN_UNTIL: Final = 6
_EVERY: Final = 4
_COLD: Final = frozenset({Cause.FIRST, Cause.EXPIRED, Cause.MOVED, Cause.MODEL, Cause.TOOLS, Cause.PARAMETERS})
_KEPT: Final = (
    Framing.ASSISTANT,
    Framing.USER_TEXT,
    Framing.SYSTEM_CLEAR_AT,
    Framing.DEVELOPER,
    Framing.APPEND,
)
"""The framings by how much they keep."""


@dataclass(frozen=True, slots=True)
class AutoLayout:
    """A `Chooser`.

    Args:
        profile: the model's.
        earlier: how many turns there were before those that it is told of.
    """

    profile: Profile
    earlier: int = 0

    @property
    def knows_prices(self) -> bool:
        """Whether layouts of this model can be weighed at all."""
        return "read_price" in self.profile.sources

    @property
    def without_prices(self) -> str:
        """Why they cannot."""
        return "auto: nobody knows what cached tokens of this model cost, so its own framing stays"

    def choose(self, past: Sequence[SessionTurn], turn: SessionTurn, current: Plan | None, look: Look) -> Decision:
        """The layout of the turn that is being asked."""
        own = Plan(self.profile.framing)
        if not self.knows_prices:
            return Decision(own, self.without_prices)
        plans = candidates(self.profile, past)
        if current is None or current not in plans:
            return self._first(plans, own, past, turn, look)
        stays = look(current)
        is_cold = stays.verdict.cause in _COLD
        number = self.earlier + len(past)
        if not is_cold and number > _EACH_TURN_UNTIL and number % _EVERY:
            return Decision(current, "auto: as in the turn before")
        return self._next(plans, current, past, turn, look, stays, is_cold)

    def _first(
        self, plans: Sequence[Plan], own: Plan, past: Sequence[SessionTurn], turn: SessionTurn, look: Look
    ) -> Decision:
        """The plan of a conversation that has none yet: all its sections are taken to change in every turn."""
        costs = self._costs(plans, past, turn, look)
        best = _most_open(costs)
        return Decision(best, f"auto: {_named(best)} is the cheapest for a conversation that begins like this")

    def _next(
        self,
        plans: Sequence[Plan],
        current: Plan,
        past: Sequence[SessionTurn],
        turn: SessionTurn,
        look: Look,
        stays: Outcome,
        is_cold: bool,
    ) -> Decision:
        longest = max(pauses_of([*past[-KNOWN:], turn]), default=timedelta())
        open_to = [current, *(plan for plan in plans if plan != current and _may_ask(plan, current, longest, is_cold))]
        open_to = [
            plan for plan in open_to if plan == current or look(replace(plan, ttl=current.ttl)).read >= stays.read
        ]
        costs = self._costs(open_to, past, turn, look)
        best = _most_open(costs)
        if current.framing.keeps(Voice.USER) and not best.framing.keeps(Voice.USER):
            # Back to what keeps, from what slides, is not free once something was kept: its notices would come back.
            kept = min((plan for plan in costs if plan.framing.keeps(Voice.USER)), key=lambda plan: costs[plan])
            best = best if costs[best] <= costs[kept] * (1 - LEAST_SAVING) else kept
        saving = 1 - costs[best] / costs[current] if costs[current] else 0.0
        if best == current or saving < LEAST_SAVING:
            return Decision(current, f"auto: {_named(current)} stays, nothing that is free to change to is cheaper")
        when = "nothing is cached any more" if is_cold else "all that is cached is read in both"
        return Decision(
            best, f"auto: {_named(best)} from now on saves about {saving:.0%} if it goes on like this; {when}"
        )

    def _costs(
        self, plans: Sequence[Plan], past: Sequence[SessionTurn], turn: SessionTurn, look: Look
    ) -> dict[Plan, float]:
        """What each plan costs in the coming turns; of all but the first, those that can be cheaper than it."""
        traffic = traffic_of(past, turn)
        ahead = round(_AHEAD_CALLS / traffic.calls)
        turns = min(max(_LEAST_TURNS, self.earlier + len(past), ahead), _MOST_TURNS)
        first = min((TTL_SECONDS.get(plan.ttl, 0) for plan in plans), default=0)
        is_short = all(pause.total_seconds() <= first for pause in traffic.pauses)
        # Where the person is never away for longer than the shortest lifetime, a longer one only costs more.
        worth = [plan for plan in plans if not is_short or TTL_SECONDS.get(plan.ttl, 0) == first or plan == plans[0]]
        return {plan: projected_cost(traffic, self.profile, plan, look(plan), turns=turns) for plan in worth}


def candidates(profile: Profile, past: Iterable[SessionTurn]) -> tuple[Plan, ...]:
    """The plans that are worth weighing for a model, the profile's own first.

    Args:
        past: what was said; reasoning in it keeps layouts out in which it would be lost.
    """
    framings = [profile.framing]
    framings += [framing for framing in _worth(profile) if framing not in framings]
    if profile.checks_thinking and any(_has_reasoning(turn) for turn in past):
        framings = [framing for framing in framings if framing in (Framing.SYSTEM_CLEAR_AT, Framing.APPEND)]
    return tuple(Plan(framing, ttl) for framing in framings for ttl in profile.ttls or ("",))


def _worth(profile: Profile) -> list[Framing]:
    worth = (Framing.SYSTEM_CLEAR_AT, sliding_framing(profile), Framing.DEVELOPER, Framing.APPEND)
    return [framing for framing in worth if framing in profile.framings]


def _has_reasoning(turn: SessionTurn) -> bool:
    replies = [*(step.said for step in turn.steps), *([turn.reply] if turn.reply is not None else [])]
    return any(isinstance(part, Thinking) for message in replies for part in message.parts)


def _may_ask(plan: Plan, current: Plan, longest: timedelta, is_cold: bool) -> bool:
    """Whether now is a moment for the lifetime of a plan. What is cached for a short one does not live on for a long
    one, so a longer one waits until nothing is cached. A shorter one waits until the person has not been away for so
    long for many turns: all that is cached behind the change would be lost with the next pause.
    """
    asked, now = TTL_SECONDS.get(plan.ttl, 0), TTL_SECONDS.get(current.ttl, 0)
    if asked == now:
        return True
    return is_cold if asked > now else longest.total_seconds() <= asked


def _most_open(costs: Mapping[Plan, float]) -> Plan:
    """Of the plans that cost about the least, the one that keeps the least: from it more changes are free later."""
    least = min(costs.values())
    near = [plan for plan, cost in costs.items() if cost <= least * (1 + ALIKE)]
    return min(near, key=lambda plan: (_KEPT.index(plan.framing), costs[plan]))


def _named(plan: Plan) -> str:
    return f"{plan.framing.value}, kept for {plan.ttl}" if plan.ttl else plan.framing.value
