"""A scripted model that counts and caches as a provider does, by the rules of its profile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.providers.protocol import Finished, Request, StreamEvent
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.values.message import Message
from frontmind.window.choice import Framing
from support import HandClock, selected

CLAUDE = "anthropic:claude-sonnet-4-5"


class CachingModel(ScriptedModel):
    """Counts with sizes of its own, and caches by the rules of its profile."""

    def __init__(
        self,
        script: Sequence[str | Message] | Callable[[Request], str | Message],
        clock: HandClock,
        name: str = CLAUDE,
        framing: Framing | None = None,
    ) -> None:
        selection = selected(name, framing)
        super().__init__(
            script if callable(script) else list(script),
            name=str(selection.name),
            profile=selection.profile,
            framing=selection.framing,
            max_output_tokens=99,
        )
        self._cache = CacheSimulator(self.profile)
        self._clock = clock

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        usage = self._cache.send(size_request(read_request(request), factor=1.3, tail=7), self._clock.now()).usage
        async for event in super().stream(request):
            if isinstance(event, Finished):
                yield replace(event, usage=replace(usage, output=9, estimated=False))
            else:
                yield event

    async def expected_cached(self, request: Request) -> int | None:
        return None
