"""A process that is killed while it stores and indexes loses nothing; `python -m soak.killed_ingest` kills hundreds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support import REPOSITORY

RUNS = 12


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_killed_ingests_lose_nothing_and_every_passage_is_found_once() -> None:
    # In a program of its own: it forks, and must have one thread.
    ended = subprocess.run(
        [sys.executable, "-m", "soak.killed_ingest", "--runs", str(RUNS), "--seed", "3"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert f"{RUNS} processes killed while they stored and indexed" in ended.stdout
