"""The sections of the next window as the API gives them out."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel

from frontmind.server.schemas.texts import Shown


class TrinketState(BaseModel):
    """A section as it would stand in the next window.

    Attributes:
        section: its name.
        trinket: the class of the trinket that writes it; empty for the base prompt.
        placement: where it stands.
        content: its text; of a section of the system prompt as it is sent, which may be what held before.
        tokens: its size, estimated.
        cache_policy: whether it stands in front of the cache marker.
        author: "application" where every word is Frontmind's own, else "others".
        observed_at: when it was true; null where it tells that itself, or never changes by itself.
        failure: why it is unavailable; null where it is not.
        empty: whether it has nothing to say.
    """

    section: Shown
    trinket: Shown
    placement: Literal["system", "notification"]
    content: Shown
    tokens: int
    cache_policy: bool
    author: Literal["application", "others"]
    observed_at: AwareDatetime | None
    failure: Shown | None
    empty: bool


class TrinketList(BaseModel):
    """The sections in the order in which they stand; behind them those that have nothing to say."""

    trinkets: list[TrinketState]
