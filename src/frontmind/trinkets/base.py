"""The base of every trinket: where its section stands, and how an update becomes content.

Placement is decided here and nowhere else: a trinket neither imports nor declares it. A trinket that
raises or takes too long is caught here, and its section says so; the turn goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import ClassVar

from frontmind.errors import RunError, UsageError
from frontmind.events import EventBus, TrinketContentEvent, TurnContext, Unsubscribe, UpdateTrinketEvent
from frontmind.trinkets.markup import Body, Element, render, require_name
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, SectionFailure

logger = logging.getLogger(__name__)

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
    """`generate_content` did not come to its end in time."""


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

    time_limit: float = 2.0
    """How long `generate_content` may take, in seconds."""

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
            body = await self._generate_in_time(context)
            element = _element(self.section_name, body) if body else None
            content = "" if element is None else render(element)
        except _NoAnswer:
            return self._stand_in(context.now, f"no answer within {self.time_limit:g} s")
        except Exception as error:
            logger.exception("the trinket of %s raised", self.section_name)
            return self._stand_in(context.now, _one_line(error))
        self._failing_since = None
        self._last_good = None if element is None else (element, context.now)
        return self._event(content)

    async def _generate_in_time(self, context: TurnContext) -> Body | None:
        # A call that hangs cannot always be stopped; a second one beside it would only hang as well.
        if self._is_over is not None and not self._is_over():
            raise _NoAnswer
        running: asyncio.Future[Body | None]
        if inspect.iscoroutinefunction(self.generate_content):
            running = asyncio.ensure_future(self.generate_content(context))
            self._is_over = running.done
        else:
            running, self._is_over = _in_thread(lambda: self.generate_content(context))
        # Nobody asks for what a call that was given up still raises.
        running.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait({running}, timeout=self.time_limit)
        finally:
            if isinstance(running, asyncio.Task):
                running.cancel()
        if not running.done():
            raise _NoAnswer
        if running.cancelled():
            raise RunError("generate_content was cancelled from within")
        return running.result()

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


def _element(name: str, body: Body) -> Element:
    return Element(name, body if isinstance(body, str) else tuple(body))


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:200] if text else type(error).__name__


def _in_thread(
    call: Callable[[], Body | Awaitable[Body | None] | None],
) -> tuple[asyncio.Future[Body | None], Callable[[], bool]]:
    """Run a blocking call in a daemon thread, so that one that never returns does not hold the process.

    Returns:
        Its outcome, and a function that tells whether it is over, also when this event loop is closed by then.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Body | None] = loop.create_future()
    over = threading.Event()

    def settle(result: Body | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result: Body | None = None
        failure: Exception | None = None
        try:
            outcome = call()
            if inspect.isawaitable(outcome):
                raise UsageError("generate_content returned an awaitable; declare it with async def")
            result = outcome
        except BaseException as error:  # noqa: BLE001 - isolation boundary: carried to the waiting turn
            # A future cannot carry StopIteration, and what would end this thread must not end the turn.
            if isinstance(error, Exception) and not isinstance(error, StopIteration):
                failure = error
            else:
                failure = RunError(f"generate_content raised {type(error).__name__}")
                failure.__cause__ = error
        over.set()
        # The turn that asked may be over, and its event loop closed, when a hanging call returns at last.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="frontmind-trinket", daemon=True).start()
    return future, over.is_set
