"""The same thing asked again is done once; what nobody waits for any more is not done."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from frontmind.server.attempts import Attempts
from frontmind.server.errors import Problem


@dataclass(eq=False)
class Said:
    """An answer that the test ends."""

    ended_at: float | None = None
    has_failed: bool = False


@dataclass
class Work:
    """Counts how often it was begun, and comes to its end when the test lets it.

    Attributes:
        is_stubborn: whether a cancellation comes too late.
    """

    begun: int = 0
    cancelled: int = 0
    is_stubborn: bool = False
    began: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    async def __call__(self) -> Said:
        self.begun += 1
        self.began.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            if not self.is_stubborn:
                raise
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return Said()


async def gave_up(task: asyncio.Task[Said]) -> None:
    task.cancel()
    await asyncio.wait({task})


async def test_who_asks_again_while_it_is_begun_or_behind_that_gets_the_same_answer() -> None:
    attempts, work = Attempts[Said](60), Work()
    first = asyncio.create_task(attempts.join("anna", "m", work))
    await work.began.wait()
    second = asyncio.create_task(attempts.join("anna", "m", work))
    work.gate.set()
    assert await first is await second is await attempts.join("anna", "m", work)
    assert work.begun == 1


async def test_another_person_another_mark_and_what_is_asked_anew_are_begun_by_themselves() -> None:
    attempts, work = Attempts[Said](60), Work()
    work.gate.set()
    answers = {id(await attempts.join(owner, mark, work)): 0 for owner in ("anna", "ben") for mark in "mn"}
    newer = await attempts.join("anna", "m", work, again=False)
    assert len(answers) == 4 and id(newer) not in answers
    assert await attempts.join("anna", "m", work) is newer
    assert work.begun == 5


async def test_what_the_last_one_gives_up_waiting_for_is_not_done() -> None:
    attempts, work = Attempts[Said](60), Work()
    both = [asyncio.create_task(attempts.join("anna", "m", work)) for _ in range(2)]
    await work.began.wait()
    await gave_up(both[0])
    assert work.cancelled == 0
    again = asyncio.create_task(attempts.join("anna", "m", work))
    await gave_up(both[1])
    # The one that came back in time holds it.
    assert work.cancelled == 0
    await gave_up(again)
    work.gate.set()
    assert isinstance(await attempts.join("anna", "m", work), Said)
    assert (work.begun, work.cancelled) == (2, 1)


async def test_who_comes_back_while_what_was_given_up_is_done_after_all_gets_that() -> None:
    attempts, work = Attempts[Said](60), Work(is_stubborn=True)
    first = asyncio.create_task(attempts.join("anna", "m", work))
    await work.began.wait()
    await gave_up(first)
    again = asyncio.create_task(attempts.join("anna", "m", work))
    work.gate.set()
    assert await again is await attempts.join("anna", "m", work)
    assert (work.begun, work.cancelled) == (1, 1)


async def test_what_failed_is_told_to_all_who_waited_and_begun_anew_by_the_next() -> None:
    attempts, work = Attempts[Said](60), Work(error=Problem(503, "store_failed", "try again"))
    both = [asyncio.create_task(attempts.join("anna", "m", work)) for _ in range(2)]
    await work.began.wait()
    work.gate.set()
    for each in both:
        with pytest.raises(Problem):
            await each
    work.error = None
    answer = await attempts.join("anna", "m", work)
    assert work.begun == 2
    # Begun well, it may fail later.
    answer.has_failed = True
    assert await attempts.join("anna", "m", work) is not answer


async def test_an_answer_is_kept_as_long_as_it_goes_on_and_for_its_time_behind_that() -> None:
    attempts, work = Attempts[Said](0.0), Work()
    work.gate.set()
    answer = await attempts.join("anna", "m", work)
    assert await attempts.join("anna", "m", work) is answer
    answer.ended_at = asyncio.get_running_loop().time()
    assert await attempts.join("anna", "m", work) is not answer


async def test_one_who_asks_much_does_not_push_out_what_others_asked() -> None:
    attempts, work = Attempts[Said](60, most_of_one=3), Work()
    work.gate.set()
    bens = await attempts.join("ben", "m", work)
    running = await attempts.join("anna", "runs", work)
    for number in range(10):
        answer = await attempts.join("anna", str(number), work)
        answer.ended_at = asyncio.get_running_loop().time()
    assert attempts.kept <= 2 + 3 + 1
    assert await attempts.join("ben", "m", work) is bens
    assert await attempts.join("anna", "runs", work) is running
    assert await attempts.join("anna", "9", work) is answer


async def test_only_the_answer_that_is_meant_is_forgotten() -> None:
    attempts, work = Attempts[Said](60), Work()
    work.gate.set()
    older = await attempts.join("anna", "m", work)
    newer = await attempts.join("anna", "m", work, again=False)
    attempts.forget("anna", "m", older)
    attempts.forget("anna", "unknown", older)
    assert await attempts.join("anna", "m", work) is newer
    attempts.forget("anna", "m", newer)
    assert attempts.kept == 0
