"""A turn that is stopped comes to its end before the program goes."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from frontmind.cli.interrupt import interruptible


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_end_of_the_terminal_ends_the_turn_and_then_the_program(number: signal.Signals) -> None:
    steps: list[str] = []

    async def turn() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("kept")

    with pytest.raises(SystemExit) as ended:
        asyncio.run(interruptible(turn()))
    assert (steps, ended.value.code) == (["kept"], 128 + number)


def test_ctrl_c_ends_the_turn_alone() -> None:
    async def turn() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()
        return "never"

    assert asyncio.run(interruptible(turn())) is None
