"""The implementations of `Store` that the contract tests run against."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite file": lambda folder: SqliteStore.open(folder / "store.db"),
    "sqlite memory": lambda folder: SqliteStore.open(IN_MEMORY),
}


@pytest.fixture(params=list(STORES.values()), ids=list(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = request.param(tmp_path)
    yield opened
    await opened.close()
