"""The first command of the README, as a new user gives it, with the real model."""

from __future__ import annotations

import re
import subprocess

import pytest

from support import REPOSITORY


@pytest.mark.requirement("CLI-3")
def test_make_chat_answers_piped_input_from_the_real_model_and_prints_the_cache_line(
    environment: dict[str, str],
) -> None:
    result = subprocess.run(
        ["make", "chat"],
        input="hello\n/context\n/quit\n",
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        # As from a person's shell, also where the tests themselves were started by make.
        env={
            name: value
            for name, value in environment.items()
            if name not in ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
        },
        timeout=280,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    # Without a tilde: the engine counted, nobody estimated.
    line = r"\[turn 1 · cache: 0 of \d+ prompt tokens \(0 %\), expected 0 · \d+ tokens out · first after "
    assert re.search(line, result.stdout), result.stdout
    assert "│ base_prompt" in result.stdout
    assert result.stdout.endswith("> /quit\n")
