"""The real program, started as a person starts it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support import PROGRAM, Run

_KEYS = ("ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "AWS_", "DEEPSEEK_", "OPENROUTER_")
_WITH_DATABASE = (("chat",), ("window", "show"), ("window", "explain"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The machine's environment with a home folder of its own, and no key, setting or settings file."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FRONTMIND_", *_KEYS))}
    home = tmp_path / "home"
    home.mkdir()
    return kept | {
        "HOME": str(home),
        "XDG_DATA_HOME": "",
        "XDG_CONFIG_HOME": "",
        "TZ": "Europe/Berlin",
        "COLUMNS": "100",
        "FRONTMIND_EMBEDDER": "none",
    }


@pytest.fixture
def frontmind(environment: dict[str, str], tmp_path: Path) -> Run:
    """Run the program with a database in a folder of its own; the second run sees what the first stored."""

    def run(
        *arguments: str,
        given: str | bytes = "",
        db: str | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        options = ["--db", db if db is not None else str(tmp_path / "mind.db")]
        command = [
            str(PROGRAM),
            *arguments,
            *(options if arguments[:1] in _WITH_DATABASE or arguments[:2] in _WITH_DATABASE else []),
        ]
        finished = subprocess.run(
            command,
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            env=environment | (env or {}),
            timeout=timeout,
            check=False,
            cwd=tmp_path,
        )
        return subprocess.CompletedProcess(
            command, finished.returncode, finished.stdout.decode(), finished.stderr.decode()
        )

    return run
