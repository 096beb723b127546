"""Experiments on a provider's cache: which requests prove or disprove which rule, and what came of them.

Values only: who sends the requests, when and at what price, is not known here, nor is any rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from frontmind.providers.protocol import Request
from frontmind.values.message import Message
from frontmind.values.usage import Usage
from frontmind.window.window import Window


class Verdict(StrEnum):
    """What came of an experiment.

    HOLDS: the provider does what the profile says. BROKEN: it does something else. FOUND: the profile says nothing of
    it, and now it is known. NOT_TRIED: nothing can be said; why stands beside it.
    """

    HOLDS = "holds"
    BROKEN = "does not hold"
    FOUND = "found out"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one request.

    Attributes:
        rule: the rule that it was sent for.
        expected: how many tokens should be read from the cache by the rules, or by the engine's own word.
        exact: whether that is the engine's own word.
        usage: as the provider counted; None without a reply.
        reply: what the model said; None without a reply.
        refused: whether the provider refused the request, for the reason in ``error``.
        error: what went wrong; empty where nothing did.
    """

    rule: str
    expected: int = 0
    exact: bool = False
    usage: Usage | None = None
    reply: Message | None = None
    refused: bool = False
    error: str = ""

    @property
    def figures(self) -> Usage | None:
        """What the provider counted; None where it did not, as where it says that a prompt had no tokens."""
        return None if self.usage is None or self.usage.estimated or self.usage.input <= 0 else self.usage


Record: TypeAlias = Mapping[str, Sequence[Seen]]
"""What was seen so far, by rule."""


READ_BACK: Final = "prefix read back"
"""The rule whose requests all later ones build on."""

NO_FIGURES: Final = "no figures of the cache were reported"


def cached_tokens(seen: Seen) -> int:
    """The tokens that the provider says it has read; 0 where it says nothing."""
    return seen.figures.cached if seen.figures is not None else 0


def always(record: Record) -> bool:
    """The condition of a request that is sent in any case."""
    return True


@dataclass(frozen=True, slots=True)
class Probe:
    """A request of an experiment.

    Attributes:
        window: what it is made from.
        edit: what is changed in the encoded request; None for nothing.
        follows: makes it the turn behind the request before in the same experiment, with its real reply and these
            words; ``window`` then is the one that was answered.
        when: whether it is needed, by what was seen so far.
    """

    window: Window
    edit: Callable[[Request], Request] | None = None
    follows: str = ""
    when: Callable[[Record], bool] = always


@dataclass(frozen=True, slots=True)
class Judged:
    """How an experiment ended.

    Attributes:
        expected, seen: in words.
        why: what else there is to say, such as why nothing could be tried.
        facts: the facts of the profile that were disproved, or found out, as they should be.
    """

    verdict: Verdict
    expected: str = ""
    seen: str = ""
    why: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """What proves or disproves one rule.

    Attributes:
        rule: the rule, in a few words.
        probes: the requests, in order.
        judge: reads what was seen of the whole series, this experiment included.
        blocked: why the experiment makes no sense after what was seen so far; empty where it does.
        further: the next request behind ``probes``, by what was seen so far; None when no more is needed.
        at_most: what ``further`` may ask for at most, only to tell beforehand what that takes.
    """

    rule: str
    probes: tuple[Probe, ...]
    judge: Callable[[Record], Judged]
    blocked: Callable[[Record], str] = lambda record: ""
    further: Callable[[Record], Probe | None] = lambda record: None
    at_most: tuple[Probe, ...] = ()


def not_tried(why: str, *, expected: str = "", seen: str = "") -> Judged:
    """The end of an experiment that says nothing."""
    return Judged(Verdict.NOT_TRIED, expected, seen, why)
