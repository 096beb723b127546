"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No key, setting or settings file of the person who runs the tests reaches them."""
    keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY")
    for name in (*keys, *(name for name in os.environ if name.startswith("FRONTMIND_"))):
        monkeypatch.delenv(name, raising=False)
    settings: Path = tmp_path_factory.getbasetemp() / "no-settings"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings))
