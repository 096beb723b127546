"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No key or setting of the person who runs the tests reaches them."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "FRONTMIND_MODEL", "FRONTMIND_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("FRONTMIND_TIMEZONE", raising=False)
    yield
