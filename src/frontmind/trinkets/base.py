"""The base of every trinket: where its section stands, and how an update becomes content.

Placement is decided here and nowhere else: a trinket neither imports nor declares it. A trinket that
raises or takes too long is caught here, and its section says so; the turn goes on.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import ClassVar, Final, TypeVar

from frontmind.errors import RunError, UsageError, error_text
from frontmind.events import EventBus, TrinketContentEvent, TurnContext, Unsubscribe, UpdateTrinketEvent
from frontmind.trinkets.budget import fits, shortened
from frontmind.trinkets.markup import DEPTH_LIMIT, Body, Element, render, require_name
from frontmind.trinkets.threads import start_in_thread
from frontmind.values.harmless import one_line
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, SectionFailure

logger = logging.getLogger(__name__)

T = TypeVar("T")

# A section of the system prompt that has changed is said inside of another one.
_DEEPEST: Final = DEPTH_LIMIT - 10

_NOTIFICATION_CENTER_TRINKETS = frozenset(
    {
        "TimeManager",
        "ManifestTrinket",
        "ReminderManager",
        "GetContextTrinket",
        "ProactiveMemoryTrinket",
    }
)


class TrinketPlacement(Enum):
    """Where a section stands in the window."""

    SYSTEM = PLACEMENT_SYSTEM
    NOTIFICATION_CENTER = PLACEMENT_NOTIFICATION


class _NoAnswer(Exception):
    """The trinket did not come to its end in time."""


class EventAwareTrinket(ABC):
    """One section of the window, written anew whenever an `UpdateTrinketEvent` asks for it.

    A subclass names its section and implements `generate_content`. It gets the turn's facts, its clock
    included, from the `TurnContext`; everything else it needs is passed to its constructor.
    """

    section_name: ClassVar[str]
    """The section's name and the name of the element around it."""

    cache_policy: ClassVar[bool] = False
    """For a system section: whether it rarely changes and may stand in front of the cache marker."""

    shows_last_good: ClassVar[bool] = False
    """Whether, after a failure, the last good text may be shown with its time instead of a notice."""

    author: ClassVar[Author] = Author.OTHERS
    """Whose words the section carries. Leave it at `Author.OTHERS` unless not a word in it comes from a person or
    a document: what is `Author.APPLICATION` may be said to the model with the operator's authority."""

    tells_its_time: ClassVar[bool] = False
    """Whether the text says by itself when it was true; otherwise its element does."""

    time_limit: float = 2.0
    """How long `generate_content` may take, and `shorten` with it where that is needed, in seconds."""

    token_budget: int = 2000
    """How many tokens the section may have, as `frontmind.values.tokens` estimates them."""

    _bus: EventBus | None = None
    _last_good: tuple[Element, datetime] | None = None
    _failing_since: datetime | None = None
    _is_over: Callable[[], bool] | None = None

    @property
    def placement(self) -> TrinketPlacement:
        """Looked up by class name in the registry above; a subclass of a built-in stands where that stands."""
        if any(cls.__name__ in _NOTIFICATION_CENTER_TRINKETS for cls in type(self).__mro__):
            return TrinketPlacement.NOTIFICATION_CENTER
        return TrinketPlacement.SYSTEM

    @abstractmethod
    def generate_content(self, context: TurnContext) -> Body | Awaitable[Body | None] | None:
        """What the section says in this turn: text or elements, not yet escaped; None or empty for nothing.

        May be a coroutine function. A plain function runs in a thread of its own, so that it may block.
        """

    def shorten(self, body: Body, budget: int) -> Body:
        """What is said when the section would have more than ``budget`` tokens. By default whole elements are left
        out from the end, and the section says how many; of a text the end is.

        Runs in a thread of its own. What it leaves too long is shortened as by default.
        """
        return shortened(body, budget)

    def attach(self, bus: EventBus) -> Unsubscribe:
        """Listen on the bus for this section's updates, until the returned function is called.

        Raises:
            UsageError: the trinket is attached to a bus already, or its section's name cannot name an element.
        """
        require_name(self.section_name)
        if self._bus is not None:
            raise UsageError(f"the trinket of {self.section_name!r} is already attached; make a second instance")
        self._bus = bus
        unsubscribe = bus.subscribe(UpdateTrinketEvent, self.handle_update)
        attached = True

        def detach() -> None:
            nonlocal attached
            if attached:
                attached = False
                unsubscribe()
                self._bus = None

        return detach

    async def handle_update(self, event: UpdateTrinketEvent) -> None:
        """Answer an update of this section with a `TrinketContentEvent`; others are ignored."""
        if event.section != self.section_name or self._bus is None:
            return
        await self._bus.publish(await self._answer(event.context))

    async def _answer(self, context: TurnContext) -> TrinketContentEvent:
        try:
            element, is_whole = await self._element_in_time(context)
            content = "" if element is None else render(element, deepest=_DEEPEST)
        except _NoAnswer:
            return self._stand_in(context.now, f"no answer within {self.time_limit:g} s")
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise
        except BaseException as error:  # isolation boundary: told in the section and the report
            # The person is told in the report; the traceback is for whoever asks for it, and not for a terminal.
            logger.info("the trinket of %s raised", self.section_name, exc_info=error)
            return self._stand_in(context.now, _said(error))
        self._failing_since = None
        self._last_good = None if element is None else (element, context.now)
        observed = None if self.tells_its_time else context.now
        return replace(self._event(content), observed_at=observed, shortened=not is_whole)

    async def _element_in_time(self, context: TurnContext) -> tuple[Element | None, bool]:
        """The section's element, and whether everything is in it.

        Raises:
            _NoAnswer: it took too long, or an earlier call still hangs.
        """
        # A call that hangs cannot always be stopped; a second one beside it would only hang as well.
        if self._is_over is not None and not self._is_over():
            raise _NoAnswer
        deadline = asyncio.get_running_loop().time() + self.time_limit
        running: asyncio.Future[Body | None]
        if inspect.iscoroutinefunction(self.generate_content):
            running = asyncio.ensure_future(_in_task(self.generate_content(context)))
            self._is_over = running.done
        else:
            started = start_in_thread(lambda: _plainly(self.generate_content(context)), "generate_content")
            running, self._is_over = started.outcome, started.is_over
        said = await _outcome(running, deadline)
        body = _as_it_is(said)
        if not body:
            return None, True
        if fits(body, self.token_budget):
            return _element(self.section_name, body), True
        shortening = start_in_thread(lambda: self._shortened(body), "shorten")
        self._is_over = shortening.is_over
        return _element(self.section_name, await _outcome(shortening.outcome, deadline)), False

    def _shortened(self, body: Body) -> Body:
        shorter = _as_it_is(self.shorten(body, self.token_budget)) or ""
        return shorter if fits(shorter, self.token_budget) else shortened(shorter, self.token_budget)

    def _stand_in(self, now: datetime, reason: str) -> TrinketContentEvent:
        since = self._failing_since = self._failing_since or now
        failure = SectionFailure(self.section_name, reason, since.isoformat(timespec="minutes"))
        notice = f"Unavailable since {since:%Y-%m-%d %H:%M}."
        if self._last_good is not None and self.shows_last_good:
            element, at = self._last_good
            noticed = replace(element, attributes={"notice": f"{notice} As of {at:%Y-%m-%d %H:%M}:"})
            return self._event(render(noticed), failure)
        return self._event(render(Element(self.section_name, notice)), failure)

    def _event(self, content: str, failure: SectionFailure | None = None) -> TrinketContentEvent:
        return TrinketContentEvent(
            section=self.section_name,
            content=content,
            placement=self.placement.value,
            cache_policy=self.cache_policy,
            failure=failure,
            author=self.author,
        )


def _as_it_is(body: object) -> Body | None:
    """The body, of a list a copy: whoever made it may go on changing it.

    Raises:
        UsageError: it is no text, no elements and not None.
    """
    if body is None:
        return None
    if isinstance(body, str):
        return str.__str__(body)
    if not isinstance(body, Sequence) or (body and not isinstance(body[0], Element)):
        raise UsageError(f"the content is of the type {type(body).__name__}; return a text, a list of Element or None")
    # No more than there were: one that grows while it is read would never end.
    return tuple(islice(body, len(body)))


def _element(name: str, body: Body) -> Element:
    return Element(name, body if isinstance(body, str) else tuple(body))


def _said(error: BaseException) -> str:
    name = type(error).__name__
    text = one_line(error_text(error), 200)
    return one_line(f"{name}: {text}", 200) if text else name


async def _outcome(running: asyncio.Future[T], deadline: float) -> T:
    """What it returns or raises by the deadline, in the loop's time; after that, or with its caller, it is cancelled.

    Raises:
        _NoAnswer: it did not come to its end by then.
    """
    # Nobody asks for what a call that was given up still raises.
    running.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({running}, timeout=max(0.0, deadline - asyncio.get_running_loop().time()))
        if not running.done():
            raise _NoAnswer
    finally:
        running.cancel()
    if running.cancelled():
        raise RunError("generate_content was cancelled from within")
    error = running.exception()
    if error is not None and not isinstance(error, Exception):
        raise RunError(f"generate_content raised {type(error).__name__}") from error
    return running.result()


async def _in_task(answer: Awaitable[Body | None]) -> Body | None:
    try:
        return await answer
    except SystemExit as error:
        # A task that carries it ends the event loop, and with it the process.
        raise RunError("generate_content raised SystemExit") from error


def _plainly(answer: Body | Awaitable[Body | None] | None) -> Body | None:
    if inspect.isawaitable(answer):
        raise UsageError("generate_content returned an awaitable; declare it with async def")
    return answer
