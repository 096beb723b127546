"""How windows are spelled that do not know Frontmind's layouts: two baselines, as changes of our own requests.

Texts, history, tools and lifetimes stay the same; only the place of the changing sections or the markers differ. What
changes inside of a turn is said behind the results of its tools, as in our own windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from frontmind.cachelab.session import JsonDict, Spelling
from frontmind.providers.profiles.profile import MarkerKind, Profile
from frontmind.values.section import PLACEMENT_NOTIFICATION, join_sections
from frontmind.window.choice import Framing
from frontmind.window.window import Window

_OPTIONS: Final = frozenset({"prompt_cache_options"})
_MARKERS: Final = frozenset({"cache_control", "prompt_cache_breakpoint"})


@dataclass(frozen=True, slots=True)
class Baseline:
    """A way to spell windows.

    Attributes:
        name: as its row is called.
        what: what it does, in one line.
        fits: whether it differs from doing nothing on this model.
    """

    name: str
    what: str
    spelling: Spelling
    fits: Callable[[Profile], bool]


def sliding(profile: Profile) -> Framing:
    """The framing of the baselines: of the two that slide, the one that the model takes by default."""
    return Framing.USER_TEXT if profile.framing is Framing.USER_TEXT else Framing.ASSISTANT


def _in_the_system_prompt(window: Window) -> Window:
    """The window with its sections behind the static part of the system prompt, where a marker stands between."""
    moved = [section for section in window.sections if section.placement == PLACEMENT_NOTIFICATION]
    kept = tuple(section for section in window.sections if section.placement != PLACEMENT_NOTIFICATION)
    texts = [window.uncached_system, join_sections(moved)]
    return replace(
        window,
        uncached_system="\n\n".join(text for text in texts if text),
        notification_center="",
        sections=kept,
    )


def _automatic(body: JsonDict) -> JsonDict:
    """The body with the marker at the system prompt's end, and the provider's automatic caching for the rest."""
    changed = {key: value for key, value in body.items() if key not in _OPTIONS}
    for key in ("messages", "input"):
        if key in changed:
            changed[key] = _without_markers(changed[key])
    return {**changed, "cache_control": {"type": "ephemeral"}} if _has_cache_control(body) else changed


def _has_cache_control(body: Mapping[str, Any]) -> bool:
    return any("cache_control" in block for block in _blocks(body.get("system")))


def _blocks(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (block for block in value if isinstance(block, Mapping))


def _without_markers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_markers(item) for key, item in value.items() if key not in _MARKERS}
    return [_without_markers(item) for item in value] if isinstance(value, list | tuple) else value


IN_SYSTEM: Final = Baseline(
    "sections in the system prompt",
    "at its end, behind the marked static part; composed once a turn",
    Spelling(window=_in_the_system_prompt),
    lambda profile: True,
)
AUTOMATIC: Final = Baseline(
    "automatic caching, sliding block",
    "the block in front of the question, no markers in the messages; on Claude the static part is marked",
    Spelling(body=_automatic),
    lambda profile: profile.markers is not MarkerKind.NONE,
)
BASELINES: Final = (IN_SYSTEM, AUTOMATIC)
