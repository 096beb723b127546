"""The local model's file and engine, and a loopback server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import platformdirs
import pytest
import pytest_asyncio

from frontmind.providers.engine import Engine
from frontmind.providers.gguf import default_model_path
from frontmind.providers.local import LocalModel
from providers.loopback import Loopback, serving


@pytest.fixture(scope="session")
def model_path() -> Path:
    """The default model's file; fetched into the user's cache the first time."""
    return default_model_path(platformdirs.user_cache_path("frontmind"))


@pytest_asyncio.fixture
async def local_model(model_path: Path) -> AsyncIterator[LocalModel]:
    """A local model that nobody has asked anything yet."""
    # One thread: several wait for each other by spinning, which is very slow on a machine that does other work.
    model = LocalModel(Engine(model_path, threads=1), max_output_tokens=20)
    try:
        yield model
    finally:
        await model.close()


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving() as server:
        yield server
