"""A model that failed before it said anything is asked again; one that has begun to speak is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from frontmind.errors import (
    ConnectionLost,
    MalformedReply,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    Overloaded,
    RateLimited,
    RequestRefused,
    WindowTooLarge,
)
from frontmind.providers.names import parse_model_name
from frontmind.providers.opening import open_model, select_model
from frontmind.providers.protocol import Finished, Request, Retrying, StreamEvent, TextDelta
from frontmind.providers.retrying import RetryingModel
from frontmind.providers.scripted import ScriptedModel
from frontmind.values.message import user
from frontmind.window.window import Window

REQUEST: Request = {"messages": []}
BUSY = Overloaded("m is overloaded (busy); try again", model="m", reason="m is overloaded (busy)")


class Failing(ScriptedModel):
    """Fails as it is told, after so many pieces of text, and then replies."""

    def __init__(self, *failures: ModelError, pieces: int = 0, seconds: float = 0.0) -> None:
        super().__init__(lambda request: "one two")
        self.failures = list(failures)
        self.pieces = pieces
        self.seconds = seconds
        self.now = 0.0
        self.asked = 0
        self.ended = 0
        self.closed = False

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.asked += 1
        self.now += self.seconds
        try:
            if self.failures:
                for number in range(self.pieces):
                    yield TextDelta(str(number))
                raise self.failures.pop(0)
            async for event in super().stream(request):
                yield event
        finally:
            self.ended += 1

    async def close(self) -> None:
        self.closed = True


def wrapped(model: Failing, *, attempts: int = 4, patience: float = 60.0) -> tuple[RetryingModel, list[float]]:
    """The model, and the waits as they come; a wait takes no time but the model's."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        model.now += seconds

    def timer() -> float:
        return model.now

    retrying = RetryingModel(model, attempts=attempts, patience=patience, sleep=sleep, draw=lambda: 0.5, timer=timer)
    return retrying, waits


async def events_of(model: RetryingModel) -> list[StreamEvent]:
    return [event async for event in model.stream(REQUEST)]


def limited(seconds: float | None) -> RateLimited:
    return RateLimited("m takes no more", model="m", retry_after=seconds)


@pytest.mark.requirement("FAULT-1")
async def test_a_model_that_recovers_is_asked_again_and_the_waits_are_seen() -> None:
    model = Failing(BUSY, BUSY)
    retrying, waits = wrapped(model)
    seen = await events_of(retrying)
    assert seen[:2] == [Retrying("m is overloaded (busy)", 0.5, 1), Retrying("m is overloaded (busy)", 1.0, 2)]
    assert seen[2:4] == [TextDelta("one "), TextDelta("two")]
    assert isinstance(seen[4], Finished)
    assert waits == [0.5, 1.0]
    assert (model.asked, model.ended) == (3, 3)


async def test_after_the_last_attempt_the_error_goes_on() -> None:
    errors: Sequence[ModelError] = [Overloaded(str(number), model="m") for number in range(9)]
    model = Failing(*errors)
    retrying, waits = wrapped(model)
    with pytest.raises(Overloaded) as caught:
        await events_of(retrying)
    assert caught.value is errors[3]
    assert (model.asked, waits) == (4, [0.5, 1.0, 2.0])


async def test_the_wait_is_what_the_provider_said() -> None:
    model = Failing(limited(20), limited(0.25), limited(None))
    retrying, waits = wrapped(model)
    await events_of(retrying)
    assert waits == [20, 0.25, 2.0]


async def test_a_wait_beyond_the_patience_is_not_begun() -> None:
    model = Failing(limited(20), limited(45))
    retrying, waits = wrapped(model)
    with pytest.raises(RateLimited) as caught:
        await events_of(retrying)
    assert caught.value.retry_after == 45
    assert (model.asked, waits) == (2, [20])


async def test_the_time_that_an_attempt_took_counts() -> None:
    model = Failing(ModelTimeout("m did not answer", model="m"), seconds=600)
    retrying, waits = wrapped(model)
    with pytest.raises(ModelTimeout):
        await events_of(retrying)
    assert (model.asked, waits) == (1, [])


@pytest.mark.parametrize(
    "error",
    [
        BUSY,
        limited(1),
        ModelTimeout("x", model="m"),
        ConnectionLost("x", model="m"),
        MalformedReply("x", model="m"),
        ModelError("x", model="m"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_each_passing_failure_is_worth_another_attempt(error: ModelError) -> None:
    model = Failing(error)
    retrying, _ = wrapped(model)
    assert isinstance((await events_of(retrying))[-1], Finished)
    assert model.asked == 2


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("x", model="m"),
        RequestRefused("x", model="m"),
        WindowTooLarge("x", model="m", tokens=2, limit=1),
        MalformedReply("x", model="m", retryable=False),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_will_fail_again_is_not_asked_again(error: ModelError) -> None:
    model = Failing(error)
    retrying, waits = wrapped(model)
    with pytest.raises(type(error)) as caught:
        await events_of(retrying)
    assert caught.value is error
    assert (model.asked, waits) == (1, [])


@pytest.mark.requirement("FAULT-1")
async def test_nothing_is_said_twice() -> None:
    model = Failing(BUSY, pieces=1)
    retrying, waits = wrapped(model)
    seen: list[StreamEvent] = []
    with pytest.raises(Overloaded):
        async for event in retrying.stream(REQUEST):
            seen.append(event)
    assert seen == [TextDelta("0")]
    assert (model.asked, waits) == (1, [])


async def test_a_cancelled_wait_ends_at_once_and_asks_no_more() -> None:
    model = Failing(limited(50))
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(events_of(RetryingModel(model, sleep=sleep)))
    await asyncio.wait_for(waiting.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert (model.asked, model.ended) == (1, 1)


async def test_closing_the_stream_in_the_middle_ends_the_call() -> None:
    model = Failing()
    retrying, _ = wrapped(model)
    async with aclosing(retrying.stream(REQUEST)) as stream:
        assert await anext(stream) == TextDelta("one ")
        assert model.ended == 0
    assert model.ended == 1


async def test_everything_else_is_the_model_s_own() -> None:
    model = Failing()
    retrying, _ = wrapped(model)
    window = Window("s", "", (), "", (user("hi"),))
    assert retrying.encode(window) == model.encode(window)
    assert (retrying.name, retrying.profile, retrying.framing) == (model.name, model.profile, model.framing)
    assert (retrying.context_limit, retrying.max_output_tokens) == (None, 1024)
    assert await retrying.count_text("eight by") == await model.count_text("eight by")
    assert await retrying.count_request(REQUEST) == await model.count_request(REQUEST)
    assert await retrying.expected_cached(REQUEST) == 0
    await retrying.close()
    assert model.closed


@pytest.mark.parametrize(
    ("name", "retried"),
    [
        ("anthropic:claude-sonnet-5", True),
        ("openai:gpt-5.6", True),
        ("gemini:gemini-3-pro", True),
        ("compatible:m@http://127.0.0.1:9/v1", True),
        ("echo", False),
    ],
)
async def test_models_behind_a_network_are_opened_with_it(
    name: str, retried: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "key")
    selection = select_model(parse_model_name(name), framing=None, overrides={}, max_output_tokens=9)
    model = await open_model(selection, cache_dir=tmp_path, local_context=1024, announce=lambda said: None)
    await model.close()
    assert isinstance(model, RetryingModel) is retried
    assert model.name == name
