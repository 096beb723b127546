"""Where the embedder comes from that the assistant searches with: opened when it is first needed, or passed in.

What is asked of a source may take long; whoever asks does so in the background. Knows nothing of passages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from frontmind.errors import EmbedderUnavailable, ModelError, UsageError
from frontmind.providers.wheel_files import wheel_file
from frontmind.recall.embedding import Embedder
from frontmind.recall.minilm import MODEL, TOKENIZER, MiniLM, require_packages
from frontmind.recall.opening_embedder import EmbedderKind, EmbedderName, open_embedder, parse_embedder_name
from frontmind.trinkets.threads import start_in_thread


class EmbedderSource(Protocol):
    """Opens embedders. What it opened belongs to who asked."""

    async def open(self) -> Embedder | None:
        """The embedder that is to be used; None where none is wanted.

        Raises:
            EmbedderUnavailable: it cannot be had until something is changed.
            ModelError: it failed this time.
        """
        ...

    async def former(self, name: str) -> Embedder | None:
        """The embedder with this name, which was used before; None where it cannot be had any more."""
        ...


@dataclass(frozen=True, slots=True)
class GivenEmbedder:
    """An embedder that is there already. It stays the giver's to close."""

    embedder: Embedder | None

    async def open(self) -> Embedder | None:
        return None if self.embedder is None else _Lent(self.embedder)

    async def former(self, name: str) -> Embedder | None:
        return None


@dataclass(frozen=True, slots=True)
class ChosenEmbedder:
    """The embedder of a name, fetched when it is not on this machine yet.

    Attributes:
        cache_dir: the folder where fetched files are kept.
        announce: told in one line when something takes long; may be called in another thread.
    """

    name: EmbedderName
    cache_dir: Path
    announce: Callable[[str], None] = lambda _: None

    async def open(self) -> Embedder | None:
        if self.name.kind is EmbedderKind.MINILM:
            await self._fetch()
        return await open_embedder(self.name, cache_dir=self.cache_dir, announce=self.announce)

    async def former(self, name: str) -> Embedder | None:
        try:
            if name == MiniLM.name:
                return await SavedEmbedder(self.cache_dir).open()
            # An endpoint's name begins with how it was chosen.
            chosen = parse_embedder_name(name.partition("#")[0])
            opened = await open_embedder(chosen, cache_dir=self.cache_dir)
        except (UsageError, ModelError):
            return None
        if opened is not None and opened.name != name:
            await opened.close()
            return None
        return opened

    async def _fetch(self) -> None:
        """Have the files of the default model on this machine.

        In a thread that does not hold the process: the loop's own threads are waited for at its end, and whoever
        leaves in the middle of a fetch need not wait for it.
        """

        def fetch() -> None:
            # Before much is fetched that nothing here can use.
            require_packages()
            for file in (MODEL, TOKENIZER):
                wheel_file(file, self.cache_dir / "models", announce=self.announce)

        try:
            await start_in_thread(fetch, "fetch-embedder").outcome
        except ModelError as error:
            raise EmbedderUnavailable(str(error), model=str(self.name)) from error


@dataclass(frozen=True, slots=True)
class SavedEmbedder:
    """The default model where its files are on this machine already. Nothing is fetched and nobody is asked."""

    cache_dir: Path

    async def open(self) -> Embedder | None:
        folder = self.cache_dir / "models"
        if not all((folder / file.filename).is_file() for file in (MODEL, TOKENIZER)):
            return None
        try:
            return await MiniLM.open(self.cache_dir)
        except EmbedderUnavailable:
            return None

    async def former(self, name: str) -> Embedder | None:
        return await self.open() if name == MiniLM.name else None


class SharedEmbedder:
    """One embedder for all who ask: opened when the first does, and lent to the others. What it opened is its own to
    close, when nobody needs it any more.

    Args:
        source: where the embedder comes from. One that failed is asked again by whoever asks next.
    """

    def __init__(self, source: EmbedderSource) -> None:
        self._source = source
        self._opening = asyncio.Lock()
        self._embedder: Embedder | None = None
        self._former: dict[str, Embedder] = {}

    async def open(self) -> Embedder | None:
        async with self._opening:
            if self._embedder is None:
                self._embedder = await self._source.open()
            return None if self._embedder is None else _Lent(self._embedder)

    async def former(self, name: str) -> Embedder | None:
        async with self._opening:
            if name not in self._former:
                found = await self._source.former(name)
                if found is None:
                    return None
                self._former[name] = found
            return _Lent(self._former[name])

    async def close(self) -> None:
        """Close what was opened; nothing that was lent can be used any more."""
        async with self._opening:
            opened = [*self._former.values(), *([] if self._embedder is None else [self._embedder])]
            self._embedder = None
            self._former.clear()
        for embedder in opened:
            await embedder.close()


class _Lent:
    """An embedder of somebody else; closing it does nothing."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.embed = embedder.embed

    async def close(self) -> None:
        return None
