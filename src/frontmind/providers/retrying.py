"""Asks a model again when it failed before it said anything.

Once text has come, nothing is asked again: it would be said twice. What an error means is not known here, only
whether asking again may help and when.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

from frontmind.errors import ModelError
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.protocol import Model, Request, Retrying, StreamEvent, TokenCount
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window

ATTEMPTS: Final = 4
PATIENCE_SECONDS: Final = 60.0


class RetryingModel:
    """A `Model` that asks another one, and again where that may help.

    The wait is what the provider said; otherwise it is drawn between nothing and 1, 2, 4 ... seconds, so that many
    callers that failed together do not come back together.

    Args:
        model: who is asked; closed with this one.
        attempts: how often it is asked in all.
        patience: how many seconds may have passed, since the first attempt began, when the last one begins.
        sleep: waits for so many seconds.
        draw: a number from 0 up to 1.
        timer: seconds from an arbitrary start.
    """

    def __init__(
        self,
        model: Model,
        *,
        attempts: int = ATTEMPTS,
        patience: float = PATIENCE_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._attempts = attempts
        self._patience = patience
        self._sleep = sleep
        self._draw = draw
        self._timer = timer

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_limit(self) -> int | None:
        return self._model.context_limit

    @property
    def max_output_tokens(self) -> int:
        return self._model.max_output_tokens

    @property
    def profile(self) -> Profile:
        return self._model.profile

    @property
    def framing(self) -> FramingChoice:
        return self._model.framing

    def encode(self, window: Window) -> Request:
        return self._model.encode(window)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        started = self._timer()
        attempt = 1
        while True:
            begun = False
            events = self._model.stream(request)
            try:
                async for event in events:
                    begun = True
                    yield event
                return
            except ModelError as error:
                wait = self._wait(error, attempt)
                left = self._patience - (self._timer() - started)
                if begun or not error.retryable or attempt >= self._attempts or wait > left:
                    raise
                reason = error.reason
            finally:
                # Ends the call at the provider now, also when the caller has stopped in the middle.
                if isinstance(events, AsyncGenerator):
                    await events.aclose()
            yield Retrying(reason, wait, attempt)
            await self._sleep(wait)
            attempt += 1

    def _wait(self, error: ModelError, attempt: int) -> float:
        return error.retry_after or self._draw() * 2.0 ** (attempt - 1)

    async def count_request(self, request: Request) -> TokenCount:
        return await self._model.count_request(request)

    async def count_text(self, text: str) -> TokenCount:
        return await self._model.count_text(text)

    async def expected_cached(self, request: Request) -> int | None:
        return await self._model.expected_cached(request)

    async def close(self) -> None:
        await self._model.close()
