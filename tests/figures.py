"""What the figures of a series of calls tell by themselves, without the requests: read(n) = read(n-1) + written(n-1).

Holds for caches with entries at marked ends, where each call marks the end of what it sends: what one call has read and
written is what the next one reads. Where it does not, the figures say why, as far as they can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from frontmind.values.calls import CacheVerdict, Cause
from frontmind.values.usage import Usage

_NOTHING: Final = CacheVerdict(Cause.NOTHING)


@dataclass(frozen=True, slots=True)
class FiguredCall:
    """A call of which only figures are known.

    Attributes:
        usage: None where the call broke off and nobody counted.
        changed: what is known to have been changed since the call before: PARAMETERS, MODEL, or MOVED where the
            conversation was shortened.
    """

    at: datetime
    model: str
    usage: Usage | None
    changed: frozenset[Cause] = frozenset()


@dataclass(frozen=True, slots=True)
class FiguredRead:
    """What a call has read, and what it should have.

    Attributes:
        index: of the call, in the series.
        expected: what the call before has read and written; None for the first call.
        verdict: why it read less. NOTHING also where it read more than expected, whose reason then says from what.
    """

    index: int
    expected: int | None
    read: int
    verdict: CacheVerdict

    @property
    def is_exact(self) -> bool:
        """Whether it read to the token what the call before had left."""
        return self.expected == self.read


def figured_reads(calls: Sequence[FiguredCall], *, lifetime: float) -> Iterator[FiguredRead]:
    """What each call with figures has read.

    Args:
        calls: of one conversation, in the order in which they were sent.
        lifetime: how many seconds an entry lives without use.
    """
    before: FiguredCall | None = None
    left: set[int] = set()
    changed: frozenset[Cause] = frozenset()
    aborted = False
    for index, call in enumerate(calls):
        changed |= call.changed
        if call.usage is None:
            # Nobody knows whether it came as far as the cache, so it keeps nothing alive.
            aborted = True
            continue
        if before is None or before.usage is None:
            yield FiguredRead(index, None, call.usage.cached, CacheVerdict(Cause.FIRST))
        else:
            expected = before.usage.cached + before.usage.written
            idle = (call.at - before.at).total_seconds()
            if call.model != before.model:
                changed |= {Cause.MODEL}
            verdict = _verdict(call.usage, expected, changed, idle > lifetime, aborted=aborted, left=left)
            yield FiguredRead(index, expected, call.usage.cached, verdict)
        left.add(call.usage.cached + call.usage.written)
        before, changed, aborted = call, frozenset(), False


def _verdict(
    usage: Usage, expected: int, changed: frozenset[Cause], is_late: bool, *, aborted: bool, left: set[int]
) -> CacheVerdict:
    lost = expected - usage.cached
    if not lost:
        return _NOTHING
    if lost < 0:
        return CacheVerdict(Cause.NOTHING, 0, _more(usage.cached, aborted=aborted, left=left))
    if Cause.MODEL in changed:
        return CacheVerdict(Cause.MODEL, lost, "another model was asked")
    if Cause.PARAMETERS in changed:
        return CacheVerdict(Cause.PARAMETERS, lost, "a parameter was changed")
    if is_late:
        return CacheVerdict(Cause.EXPIRED, lost, "the call before was longer ago than an entry lives")
    if Cause.MOVED in changed or usage.input < expected:
        return CacheVerdict(
            Cause.MOVED, lost, "the prompt became shorter than what was cached: something was taken out"
        )
    reason = "the beginning of the prompt changed, or the entry was dropped: figures cannot tell"
    return CacheVerdict(Cause.EVICTED, lost, reason)


def _more(read: int, *, aborted: bool, left: set[int]) -> str:
    if aborted:
        return "a call in between, which nobody counted, wrote more"
    if read in left:
        return "an entry of an earlier call is still there"
    return "somebody else wrote more"
