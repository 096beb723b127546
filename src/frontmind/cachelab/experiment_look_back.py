"""How far back from a marker a cache looks for an entry: two requests where the profile is right, a few more to find
the number where it is not.

A distance is how many blocks stand behind the entry, up to the marked one. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from frontmind.cachelab.experiment_windows import Ground, with_one_marker
from frontmind.cachelab.experiments import (
    NO_FIGURES,
    READ_BACK,
    Experiment,
    Judged,
    Probe,
    Record,
    Verdict,
    cached_tokens,
    not_tried,
)
from frontmind.values.parts import Voice

LOOK_BACK: Final = "look-back"
# Beyond so many times the reach that is known, it is taken to have none.
_FARTHEST: Final = 3


@dataclass(slots=True)
class Search:
    """The distances that are tried, each chosen by what was read over those before.

    Attributes:
        reach: how many positions the profile says are looked at.
        near: the largest distance over which is read, as far as is known; at first one that needs no look-back.
        far: the smallest distance over which is not; None while none is known.
        tried: the distances so far.
    """

    reach: int
    near: int
    far: int | None = None
    tried: list[int] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether what was tried is as the profile says."""
        return self.far == self.reach + 1

    def following(self) -> int | None:
        """The next distance to try; None when nothing more is to be learned."""
        for distance in (self.reach - 1, self.reach + 1):
            if distance > self.near and distance not in self.tried:
                return distance
        if self.holds:
            return None
        if self.far is None:
            farthest = _FARTHEST * self.reach
            return None if farthest in self.tried else farthest
        return (self.near + self.far) // 2 if self.far - self.near > 1 else None

    def note(self, distance: int, read: bool) -> None:
        """What came of a distance."""
        self.tried.append(distance)
        if read:
            self.near = max(self.near, distance)
        else:
            self.far = distance if self.far is None else min(self.far, distance)


def look_back_experiment(ground: Ground, tokens: int, reach: int, blocked: Callable[[Record], str]) -> Experiment:
    """The experiment, on the entries that the first one has left.

    Args:
        tokens: the size of the prefix that those entries hold.
        reach: how many positions the profile says are looked at.
    """
    # Behind the newest entry that both have in common: where the framing keeps the section, the last reply.
    behind = 1 if ground.choice.framing.keeps(Voice.USER) else 0
    probe = partial(_probe, ground, tokens, behind)
    most = _FARTHEST * reach
    return Experiment(
        LOOK_BACK,
        (),
        partial(_judge, reach, behind),
        blocked,
        further=partial(_further, reach, behind, probe),
        # The two, one far beyond, and halving what is between.
        at_most=tuple(probe(most) for _ in range(3 + most.bit_length())),
    )


def _probe(ground: Ground, tokens: int, behind: int, distance: int) -> Probe:
    return Probe(ground.spread(tokens, distance - behind, f"Over {distance}"), edit=with_one_marker)


def _search(reach: int, behind: int, record: Record) -> Search:
    search = Search(reach, behind)
    read_back = max((cached_tokens(seen) for seen in record.get(READ_BACK, ())), default=0)
    for seen in record.get(LOOK_BACK, ()):
        distance = search.following()
        if distance is None:
            break
        search.note(distance, cached_tokens(seen) > read_back // 2)
    return search


def _further(reach: int, behind: int, probe: Callable[[int], Probe], record: Record) -> Probe | None:
    if any(seen.figures is None for seen in record.get(LOOK_BACK, ())):
        return None
    distance = _search(reach, behind, record).following()
    return None if distance is None else probe(distance)


def _judge(reach: int, behind: int, record: Record) -> Judged:
    expected = _shown(reach - 1, reach + 1)
    seen = record[LOOK_BACK]
    failed = next((one for one in seen if one.usage is None), None)
    if failed is not None:
        return not_tried(failed.error, expected=expected)
    if any(one.figures is None for one in seen):
        return not_tried(NO_FIGURES, expected=expected)
    search = _search(reach, behind, record)
    shown = _shown(search.near if search.near > behind else None, search.far)
    if search.holds:
        return Judged(Verdict.HOLDS, expected, shown)
    if search.far is None:
        return Judged(Verdict.BROKEN, expected, shown, "no end of it was found", {"look_back": None})
    return Judged(Verdict.BROKEN, expected, shown, facts={"look_back": search.far})


def _shown(near: int | None, far: int | None) -> str:
    """Distances over which is read, and over which is not."""
    told = ([] if near is None else [f"{near} read"]) + ([] if far is None else [f"{far} not"])
    return ", ".join(told)
