"""A conversation as it was, or could have been, held: what was said, when, and what stood in the sections; and the
requests that it comes to in any layout, made by the real encoder.

Provider-neutral values, and pure functions on them. Knows no store and no recording; whoever reads one makes a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import pairwise, takewhile
from typing import Any, Final, Protocol, TypeAlias

from frontmind.cachelab.outcome import Outcome, equivalents
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import SizedRequest, size_request
from frontmind.providers.encoding.encode import encode_window, window_choice
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import choose_framing
from frontmind.providers.reading import read_request
from frontmind.providers.reading_blocks import ReadMessages
from frontmind.values.message import Message, Role
from frontmind.values.parts import Notice, Part, Text
from frontmind.values.section import (
    PLACEMENT_NOTIFICATION,
    PLACEMENT_SYSTEM,
    Section,
    join_sections,
    render_notification_center,
)
from frontmind.values.tool import AnyTool
from frontmind.values.usage import Usage, add_usages
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.framing import closed
from frontmind.window.history import History
from frontmind.window.layout import Layout
from frontmind.window.window import Window

JsonDict: TypeAlias = dict[str, Any]
_MAX_OUTPUT_TOKENS: Final = 4096


@dataclass(frozen=True, slots=True)
class SessionStep:
    """A call of tools in the middle of a turn.

    Attributes:
        said: the assistant's message with the calls.
        results: the user message with their results.
        at: when they were there, and the model was asked again.
        changed: sections that changed meanwhile; one without content has nothing to say any more.
    """

    said: Message
    results: Message
    at: datetime
    changed: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """An exchange.

    Attributes:
        at: when the model was asked.
        user: what the person said.
        reply: the assistant's last message; None for the turn that is being asked.
        sections: all sections of the prompt at that moment, of both placements, in their order.
        steps: the calls of tools before the reply.
        start: the index of the first turn that is still sent.
        summary: what stands in front of that; empty for nothing.
        tools: what the model may call.
    """

    at: datetime
    user: tuple[Part, ...]
    reply: Message | None
    sections: tuple[Section, ...] = ()
    steps: tuple[SessionStep, ...] = ()
    start: int = 0
    summary: str = ""
    tools: tuple[AnyTool, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """Turns in the order in which they were held, from the first on."""

    name: str
    turns: tuple[SessionTurn, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A layout of windows.

    Attributes:
        framing: how the notification center is sent.
        ttl: the lifetime that is asked for what is cached; empty for the longest that the provider has for the system
            prompt, and the first for the history.
    """

    framing: Framing
    ttl: str = ""

    def choice(self, profile: Profile, reason: str = "asked for") -> FramingChoice:
        """The same as windows have it.

        Raises:
            UsageError: the model cannot take the framing.
        """
        return replace(choose_framing(profile, self.framing), ttl=self.ttl, reason=reason)


@dataclass(frozen=True, slots=True)
class Decision:
    """The plan of a turn, and why."""

    plan: Plan
    reason: str = ""


Look: TypeAlias = Callable[[Plan], Outcome]
"""What the cache would do with the first call of the turn that is being asked, in another layout."""


class Chooser(Protocol):
    """Chooses the layout of each turn."""

    def choose(self, past: Sequence[SessionTurn], turn: SessionTurn, current: Plan | None, look: Look) -> Decision:
        """The layout of the turn that is being asked.

        Args:
            past: the turns before it.
            turn: it, without its reply.
            current: the plan of the turn before; None for the first.
            look: what the cache would do with it in any plan.
        """
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """A chooser that always says the same."""

    plan: Plan

    def choose(self, past: Sequence[SessionTurn], turn: SessionTurn, current: Plan | None, look: Look) -> Decision:
        return Decision(self.plan)


@dataclass(frozen=True, slots=True)
class PlayedCall:
    """A request of a session, and what the cache does with it.

    Attributes:
        turn: the index of its turn.
        step: how many calls of the same turn came before it.
        decision: the layout of its turn; a change of it stands at step 0.
    """

    turn: int
    step: int
    at: datetime
    decision: Decision
    request: JsonDict
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a baseline differs from Frontmind's own windows.

    Attributes:
        window: changes each window before it is encoded.
        body: changes each request behind the encoder.
    """

    window: Callable[[Window], Window] = field(default=lambda window: window)
    body: Callable[[JsonDict], JsonDict] = field(default=lambda body: body)


def play(
    session: Session,
    profile: Profile,
    chooser: Chooser,
    *,
    spelling: Spelling | None = None,
    factor: float = 1.0,
    size: Callable[[Layout], SizedRequest] | None = None,
    cache: CacheSimulator | None = None,
) -> Iterator[PlayedCall]:
    """The requests of a session in the layouts that the chooser says, and what one cache does with them.

    Args:
        profile: the model's.
        spelling: for baselines: how their requests differ.
        factor: what estimated sizes are multiplied with.
        size: gives a request its sizes; None estimates them.
        cache: what earlier requests to this model have left; None for an empty one.

    Raises:
        UsageError: the model cannot take a plan, or a part of the conversation.
    """
    spelling = spelling or Spelling()
    sized = size or partial(size_request, factor=factor)
    cache = cache or CacheSimulator(profile)
    read = ReadMessages()
    told = _Told(session)
    plan: Plan | None = None
    for index, turn in enumerate(session.turns):
        window = told.window(index)

        def look(other: Plan, window: Window = window, at: datetime = turn.at) -> Outcome:
            request = _encoded(window, other, profile, spelling)
            return cache.expect(sized(read_request(request, read=read)), at)

        decision = chooser.choose(session.turns[:index], replace(turn, reply=None, steps=()), plan, look)
        plan = decision.plan
        at = turn.at
        for step in range(len(turn.steps) + 1):
            request = _encoded(window, plan, profile, spelling)
            outcome = cache.send(sized(read_request(request, read=read)), at)
            yield PlayedCall(index, step, at, decision, request, outcome)
            if step < len(turn.steps):
                done = turn.steps[step]
                window = window.extended(done.said, done.results, changed=done.changed)
                at = done.at
        told.close(index, window, plan, profile)


def _encoded(window: Window, plan: Plan, profile: Profile, spelling: Spelling) -> JsonDict:
    framed = replace(spelling.window(window), framing=plan.choice(profile))
    return spelling.body(encode_window(framed, profile, max_output_tokens=_MAX_OUTPUT_TOKENS))


class _Told:
    """What has been said so far, with the notices that each turn's framing has kept."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._done: list[tuple[Message, ...]] = []
        self._history = History()
        self._opening = (0, "")

    def window(self, index: int) -> Window:
        turn = self._session.turns[index]
        history = self._history_of(turn, index)
        opening = () if len(history) else _opening(turn)
        system = [section for section in turn.sections if section.placement == PLACEMENT_SYSTEM]
        return Window(
            cached_system=join_sections(section for section in system if section.cache_policy),
            uncached_system=join_sections(section for section in system if not section.cache_policy),
            history=history,
            notification_center=render_notification_center(
                section for section in turn.sections if section.placement == PLACEMENT_NOTIFICATION
            ),
            turn=(Message(Role.USER, (*opening, *turn.user)),),
            sections=turn.sections,
            tools=turn.tools,
            conversation=self._session.name,
        )

    def close(self, index: int, window: Window, plan: Plan, profile: Profile) -> None:
        """Note a turn that was answered."""
        turn = self._session.turns[index]
        if turn.reply is None:
            self._done.append(())
            return
        choice = window_choice(replace(window, framing=plan.choice(profile)), profile)
        longer = closed(window, turn.reply, choice)
        said = longer[len(window.history) :]
        self._done.append(tuple(said) if len(window.history) else _without_opening(said, _opening(turn)))
        self._history = longer

    def _history_of(self, turn: SessionTurn, index: int) -> History:
        if self._opening == (turn.start, turn.summary):
            return self._history
        self._opening = (turn.start, turn.summary)
        kept = [message for messages in self._done[turn.start : index] for message in messages]
        if kept:
            # Notices stand in front of all that was said, as in a window of the store's turns.
            parts = kept[0].parts
            notices = sum(1 for _ in takewhile(lambda part: isinstance(part, Notice), parts))
            kept[0] = Message(kept[0].role, (*parts[:notices], *_opening(turn), *parts[notices:]))
        self._history = History(kept)
        return self._history


def _opening(turn: SessionTurn) -> tuple[Part, ...]:
    return (Text(turn.summary),) if turn.summary else ()


def _without_opening(said: Sequence[Message], opening: tuple[Part, ...]) -> tuple[Message, ...]:
    first, *rest = said
    parts = list(first.parts)
    for part in opening:
        parts.remove(part)
    return (Message(first.role, tuple(parts)), *rest)


@dataclass(frozen=True, slots=True)
class Total:
    """What the calls of a session come to.

    Attributes:
        usage: their tokens together.
        equivalents: what their prompts cost, in tokens at the price of an uncached input token.
        changes: how often the layout was changed.
    """

    calls: int
    usage: Usage
    equivalents: float
    changes: int = 0

    @property
    def hit_share(self) -> float:
        """The share of the prompt tokens that was read from the cache, from 0 to 1."""
        return self.usage.cached / self.usage.input if self.usage.input else 0.0


def total(calls: Iterable[PlayedCall], profile: Profile) -> Total:
    """The sums over these calls."""
    listed = list(calls)
    plans = [call.decision.plan for call in listed if call.step == 0]
    usages = [call.outcome.usage for call in listed]
    return Total(
        calls=len(listed),
        usage=add_usages(usages),
        equivalents=sum(equivalents(usage, profile) for usage in usages),
        changes=sum(1 for one, two in pairwise(plans) if one != two),
    )
