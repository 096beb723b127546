"""Calls of models as the API gives them out."""

from __future__ import annotations

from datetime import tzinfo

from pydantic import AwareDatetime, BaseModel

from frontmind.assistant.cache_watch import is_large
from frontmind.server.schemas.texts import Shown
from frontmind.server.schemas.usage import Usage, dollars, usage_figures
from frontmind.values.calls import CacheVerdict, Call, Cause


class CallRow(BaseModel):
    """A call of a model.

    Attributes:
        step: how many steps with tools its turn had made before it.
        purpose: "turn", or "keep_alive" where it only refreshed the cache.
        layout: the name of the framing.
        request: the SHA-256 of the stored request; empty where it is not stored.
        usage: null while it runs, and where it broke off.
        cost: in US dollars; null where no price is known.
        full_price: what the same would have cost without a cache.
        cause: why less was read from the cache than could have been; "nothing" where nothing was lost.
        lost: about how many tokens were processed again because of it.
        missed: whether that is so much that the person should know.
    """

    turn: int
    step: int
    purpose: str
    sent_at: AwareDatetime
    model: Shown
    layout: Shown
    request: str
    usage: Usage | None
    cost: str | None
    full_price: str | None
    cause: str
    reason: Shown
    lost: int
    missed: bool


class CallList(BaseModel):
    """The calls of a conversation in the order in which they were sent."""

    calls: list[CallRow]


def call_row(call: Call, zone: tzinfo) -> CallRow:
    """The call as the API gives it out, its moment in this zone."""
    new, end = call.new, call.end
    verdict = CacheVerdict(Cause.NOTHING) if end is None else end.verdict
    return CallRow(
        turn=new.turn,
        step=new.step,
        purpose=new.purpose.value,
        sent_at=new.sent_at.astimezone(zone),
        model=new.model,
        layout=new.layout,
        request=new.request,
        usage=None if end is None else usage_figures(end.usage),
        cost=None if end is None else dollars(end.cost),
        full_price=None if end is None else dollars(end.full_price),
        cause=verdict.cause.value,
        reason=verdict.reason,
        lost=verdict.tokens,
        missed=end is not None and is_large(verdict, end.usage.input),
    )
