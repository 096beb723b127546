"""The rows of a table of layouts: what a scripted conversation costs in each, on one model.

Pure but for the libraries, which send their requests to a server on the loopback address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

from benchmarks.cache_peers import NAMES, peer_of, peer_total
from benchmarks.peers.script import MODEL
from frontmind.cachelab.baselines import BASELINES, Baseline, sliding
from frontmind.cachelab.choosing import AutoLayout
from frontmind.cachelab.session import Chooser, Fixed, Plan, PlayedCall, Session, Spelling, Total, play, total
from frontmind.providers.profiles.profile import MarkerKind, Profile
from frontmind.window.choice import Framing

PEER_MODEL: Final = f"anthropic:{MODEL}"
"""The model that the libraries are set up for; on any other they have no rows."""

AUTO: Final = "Frontmind auto"

_SLIDE: Final = "slide"
_FRAMINGS: Final = {
    Framing.ASSISTANT: _SLIDE,
    Framing.USER_TEXT: _SLIDE,
    Framing.SYSTEM_CLEAR_AT: "clear_at",
    Framing.DEVELOPER: "developer",
    Framing.APPEND: "append",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A layout in one scenario.

    Attributes:
        note: what is to be known of it; without a total, why it has none.
        is_peer: whether another library sent the requests.
    """

    layout: str
    total: Total | None
    note: str = ""
    is_peer: bool = False


Measure = Callable[[Session, Profile], Row]


def rows_of(profile: Profile, *, with_peers: bool) -> list[Measure]:
    """How each row of a table is measured, in their order; every one can be sent to another process."""
    spelled = [partial(_baseline, baseline.name) for baseline in BASELINES if baseline.fits(profile)]
    fixed = [partial(_fixed, plan) for plan in plans(profile)]
    asked = with_peers and f"{profile.provider}:{profile.model}" == PEER_MODEL
    return [*spelled, *fixed, _auto, *(partial(_peer, name) for name in NAMES if asked)]


def plans(profile: Profile) -> list[Plan]:
    """The layouts that the model takes, each with every lifetime that it has; of the two that slide, the profile's.
    The last is what windows have by default, where that is none of them.
    """
    kept = [sliding(profile), Framing.SYSTEM_CLEAR_AT, Framing.DEVELOPER, Framing.APPEND]
    lifetimes = profile.ttls if len(profile.ttls) > 1 else ("",)
    listed = [Plan(framing, ttl) for framing in kept if framing in profile.framings for ttl in lifetimes]
    own = Plan(profile.framing)
    return listed if own in listed else [*listed, own]


def named(plan: Plan, profile: Profile) -> str:
    """The plan as its row is called."""
    name = _FRAMINGS[plan.framing]
    if name == _SLIDE and profile.markers is not MarkerKind.NONE:
        name = f"{_SLIDE}, both markers"
    if len(profile.ttls) < 2:
        return name
    return f"{name}, {plan.ttl}" if plan.ttl else f"{name}, 1h and 5m (the default)"


def course(calls: Sequence[PlayedCall], profile: Profile) -> str:
    """Which layouts a chooser took, for how many turns each, and how often it changed."""
    taken = [named(call.decision.plan, profile) for call in calls if call.step == 0]
    changes = sum(one != two for one, two in pairwise(taken))
    turns = ", ".join(f"{layout} in {count}" for layout, count in Counter(taken).most_common())
    return f"It took {turns} of {len(taken)} turns; changes: {changes}."


def _baseline(name: str, session: Session, profile: Profile) -> Row:
    baseline: Baseline = next(item for item in BASELINES if item.name == name)
    plan = Plan(sliding(profile), profile.ttls[0] if len(profile.ttls) > 1 else "")
    calls = _played(session, profile, Fixed(plan), baseline.spelling)
    return Row(name, total(calls, profile), baseline.what)


def _fixed(plan: Plan, session: Session, profile: Profile) -> Row:
    return Row(named(plan, profile), total(_played(session, profile, Fixed(plan)), profile))


def _auto(session: Session, profile: Profile) -> Row:
    calls = _played(session, profile, AutoLayout(profile))
    return Row(AUTO, total(calls, profile), course(calls, profile))


def _peer(name: str, session: Session, profile: Profile) -> Row:
    peer = peer_of(name)
    told = peer if isinstance(peer, str) else peer_total(peer, session, profile)
    if isinstance(told, str) or isinstance(peer, str):
        return Row(name, None, str(told), is_peer=True)
    versions = ", ".join(f"{package} {version}" for package, version in peer.versions.items())
    return Row(name, told, f"{peer.setup} ({versions})", is_peer=True)


def _played(
    session: Session, profile: Profile, chooser: Chooser, spelling: Spelling | None = None
) -> Sequence[PlayedCall]:
    return list(play(session, profile, chooser, spelling=spelling))
