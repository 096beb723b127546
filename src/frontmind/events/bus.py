"""The bus: subscribe to one type of event, publish in order. Knows nothing of what the events mean."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, get_args

from frontmind.errors import UsageError
from frontmind.events.vocabulary import Event

logger = logging.getLogger(__name__)

E = TypeVar("E", bound=Event)
Unsubscribe: TypeAlias = Callable[[], None]
_Handler: TypeAlias = Callable[[Any], Awaitable[None] | None]

_VOCABULARY: frozenset[type] = frozenset(get_args(Event))


@dataclass(frozen=True, slots=True)
class HandlerFailure:
    """A subscriber that raised while it handled an event.

    Attributes:
        event: the event it was given.
        handler: the subscriber's qualified name.
        error: what it raised.
    """

    event: Event
    handler: str
    error: BaseException


class EventBus:
    """Carries events to their subscribers, one after the other, in the order of subscription.

    A subscriber may be a function or a coroutine function. One that raises is logged and reported and does
    not stop the others; cancellation is not held up.
    """

    def __init__(self) -> None:
        self._handlers: dict[type, list[_Handler]] = {}

    def subscribe(self, event_type: type[E], handler: Callable[[E], Awaitable[None] | None]) -> Unsubscribe:
        """Call ``handler`` for every event of exactly this type, until the returned function is called.

        Calling that function again does nothing. Subscribing the same handler twice calls it twice.

        Raises:
            UsageError: the type is not in the vocabulary.
        """
        if event_type not in _VOCABULARY:
            names = ", ".join(sorted(kind.__name__ for kind in _VOCABULARY))
            raise UsageError(f"{event_type.__name__} is not an event of Frontmind; subscribe to one of {names}")
        handlers = self._handlers.setdefault(event_type, [])
        # A wrapper of its own per subscription, so that unsubscribing one of two equal handlers removes that one.
        subscription: _Handler = _Subscription(handler)
        handlers.append(subscription)

        def unsubscribe() -> None:
            if subscription in handlers:
                handlers.remove(subscription)

        return unsubscribe

    async def publish(self, event: Event) -> tuple[HandlerFailure, ...]:
        """Give the event to its subscribers and wait for each; returns the ones that raised.

        A subscriber added while the event is being published gets the next one, not this one; one that is
        unsubscribed before its turn has come gets neither.

        Raises:
            UsageError: the event's type is not in the vocabulary.
        """
        if type(event) not in _VOCABULARY:
            raise UsageError(f"{type(event).__name__} is not an event of Frontmind and cannot be published")
        failures: list[HandlerFailure] = []
        handlers = self._handlers.get(type(event), [])
        for handler in tuple(handlers):
            if handler not in handlers:
                continue
            try:
                outcome = handler(event)
                if inspect.isawaitable(outcome):
                    await outcome
            except asyncio.CancelledError as error:
                # Ours goes on; one that came out of what the subscriber awaited is the subscriber's failure.
                current = asyncio.current_task()
                if current is None or current.cancelling():
                    raise
                failures.append(HandlerFailure(event, str(handler), error))
            except Exception as error:
                name = str(handler)
                logger.exception("subscriber %s raised on %s", name, type(event).__name__)
                failures.append(HandlerFailure(event, name, error))
        return tuple(failures)


class _Subscription:
    """One subscription; equal to nothing but itself."""

    def __init__(self, handler: _Handler) -> None:
        self._handler = handler

    def __call__(self, event: Any) -> Awaitable[None] | None:
        return self._handler(event)

    def __str__(self) -> str:
        return getattr(self._handler, "__qualname__", None) or repr(self._handler)
