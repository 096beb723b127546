"""A process that is killed in the middle of a turn with tools breaks no promise; `make soak` kills a thousand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support import REPOSITORY

RUNS = 24


@pytest.mark.requirement("TOOL-3")
@pytest.mark.parametrize("seed", [1, 500])
def test_killed_turns_lose_nothing_and_tell_nothing_twice(seed: int) -> None:
    # In a program of its own: it forks, and must have one thread.
    ended = subprocess.run(
        [sys.executable, "-m", "soak.killed_turns", "--runs", str(RUNS), "--seed", str(seed)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert f"{RUNS} processes killed in the middle of a turn with tools" in ended.stdout
