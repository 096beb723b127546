"""The local model: the engine in this process, its own tokenizer's counts, and what its cache will give.

The engine keeps the tokens of the last prompt and of the reply to it, and reuses the longest common prefix of
those with the next prompt. It tells how many tokens it holds, not which; this module remembers which. What a
request holds beyond its messages and tools, it does not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from frontmind.errors import RequestRefused
from frontmind.providers.encoding.local import encode_local
from frontmind.providers.engine import DEFAULT_CONTEXT, Engine, EngineClient, Slot, try_loading
from frontmind.providers.gguf import keeps_running_state, resolve_local
from frontmind.providers.openai_chat import OpenAIChatModel
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta, TokenCount
from frontmind.providers.wheel_files import Announce
from frontmind.window.canonical import Json
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.window import Window

Token: TypeAlias = tuple[int, object]

_MAX_OUTPUT_TOKENS = 1024
_KEPT = FramingChoice(
    Framing.APPEND, "the model keeps a running state of all that it has read, which cannot be cut back to a prefix"
)
# What the chat template sees of a request.
_TEMPLATE_FIELDS = ("messages", "tools", "chat_template_kwargs")
# After a stream was closed the engine works on until the end of its batch, about a second; ten are waited for.
_POLLS, _POLL_SECONDS = 500, 0.02


@dataclass(frozen=True, slots=True)
class Held:
    """What the engine is known to hold.

    Attributes:
        prompt: the ids of the prompt's tokens.
        reply: the texts of the reply's tokens. The stream does not tell their ids, and a model may spell a word
            with other tokens than the tokenizer would.
        more: whether further tokens follow that nobody has seen.
    """

    prompt: tuple[int, ...] = ()
    reply: tuple[str, ...] = ()
    more: bool = False

    def reused(self, prompt: Sequence[Token]) -> int | None:
        """How many tokens of the next prompt need not be processed again; None where it cannot be known."""
        common = _common([identifier for identifier, _ in prompt], self.prompt)
        if common == len(self.prompt):
            common += _common([piece for _, piece in prompt[common:]], self.reply)
            if self.more and common == len(self.prompt) + len(self.reply):
                return None
        # The last token is always processed: the first of the reply comes out of it.
        return min(common, len(prompt) - 1)


@dataclass(slots=True)
class _Call:
    """The last call, until it is known what the engine holds after it.

    Attributes:
        before: the engine's last task before the call.
        pieces: the texts that came, one per token unless a character took several tokens.
        generated: how many tokens of the reply count as held; None if the reply was cut off.
        refused: whether the engine refused the request, which changes nothing in what it holds.
    """

    request: Request
    before: int | None
    pieces: list[str] = field(default_factory=list)
    generated: int | None = None
    refused: bool = False

    def held(self, prompt: Sequence[Token], tokens: int) -> Held:
        """What the engine holds after it, by the number of tokens that it says it holds."""
        if self.generated is None:
            one_each = all(piece.isascii() for piece in self.pieces)
        else:
            one_each = len(self.pieces) == self.generated
        replied = max(tokens - len(prompt), 0)
        reply = tuple(self.pieces[:replied]) if one_each else ()
        return Held(tuple(identifier for identifier, _ in prompt[:tokens]), reply, more=replied > len(reply))


class LocalModel:
    """A `Model` over an `Engine` that belongs to it.

    Args:
        engine: closed with the model.
        profile: what is known of the model; None for what holds for every local one.
        framing: how its windows are framed, where a window does not say; None for what the profile says.
        name: the full name as it could be given to ``--model``.
        reuses_any_prefix: False for a model whose memory of a prompt cannot be cut back.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        profile: Profile | None = None,
        framing: FramingChoice | None = None,
        name: str = "local",
        max_output_tokens: int = _MAX_OUTPUT_TOKENS,
        reuses_any_prefix: bool = True,
    ) -> None:
        self.profile = profile or resolve_profile("local", "")
        self.framing = framing or choose_framing(self.profile)
        self.name = name
        self.max_output_tokens = max_output_tokens
        self.context_limit: int | None = engine.context_limit
        self._engine = engine
        self._reuses_any_prefix = reuses_any_prefix
        http = engine.client()
        self._client = EngineClient(http, name=name)
        self._chat = OpenAIChatModel(
            self.profile,
            name=name,
            framing=self.framing,
            base_url=f"{engine.address}/v1",
            api_key=engine.api_key,
            max_output_tokens=max_output_tokens,
            # A closed stream is noticed when the engine writes to it: have it write during a long prompt, too.
            stream_options={"return_progress": True},
            http_client=http,
        )
        # One slot: a second stream waits for the first.
        self._streaming = asyncio.Lock()
        self._task: int | None = None
        self._held: Held | None = Held()
        self._call: _Call | None = None

    @classmethod
    async def open(
        cls,
        spec: str,
        *,
        cache_dir: Path,
        announce: Announce,
        profile: Profile | None = None,
        framing: FramingChoice | None = None,
        context: int = DEFAULT_CONTEXT,
        max_output_tokens: int = _MAX_OUTPUT_TOKENS,
    ) -> LocalModel:
        """The model that ``local:SPEC`` means, fetched if need be and loaded.

        Raises:
            ModelUnavailable: the file cannot be had or loaded, or a package is missing.
            UsageError: the name of a file on the hub is not complete.
        """
        name = f"local:{spec}" if spec else "local"

        def load() -> LocalModel:
            path = resolve_local(spec, cache_dir, announce)
            if spec:
                # The default model's file is known by its hash; any other may be one that ends the process.
                try_loading(path, name=name, context=context, stamps=cache_dir / "loaded")
            engine = Engine(path, name=name, context=context)
            free = not keeps_running_state(path)
            chosen = framing or choose_framing(profile or resolve_profile("local", ""))
            if not free and not chosen.asked:
                chosen = _KEPT
            return cls(
                engine,
                profile=profile,
                framing=chosen,
                name=name,
                max_output_tokens=max_output_tokens,
                reuses_any_prefix=free,
            )

        return await asyncio.to_thread(load)

    def encode(self, window: Window) -> Request:
        return encode_local(window, self.profile, max_output_tokens=self.max_output_tokens, framing=self.framing)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        async with self._streaming:
            await self._settle()
            call = self._call = _Call(request, self._task)
            try:
                async with aclosing(self._chat.stream(request)) as events:
                    async for event in events:
                        if isinstance(event, TextDelta):
                            call.pieces.append(event.text)
                        else:
                            call.generated = _generated(event)
                        yield event
            except RequestRefused:
                call.refused = True
                raise

    async def count_request(self, request: Request) -> TokenCount:
        return TokenCount(len(await self._prompt(request)), exact=True)

    async def count_text(self, text: str) -> TokenCount:
        return TokenCount(len(await self._client.tokens(text, template=False)), exact=True)

    async def expected_cached(self, request: Request) -> int | None:
        if self._streaming.locked() or not self._reuses_any_prefix:
            return None
        await self._settle()
        return self._held.reused(await self._prompt(request)) if self._held is not None else None

    async def prefix_tokens(
        self, messages: Sequence[Mapping[str, Json]], *, generation_prompt: bool = False
    ) -> list[int]:
        """The ids of the tokens of these messages as the model's chat template writes them.

        Args:
            generation_prompt: whether the beginning of the reply stands at the end, as it does in a request.
        """
        fields: dict[str, Json] = {"messages": list(messages), "add_generation_prompt": generation_prompt}
        text = await self._client.render(fields)
        return [identifier for identifier, _ in await self._client.tokens(text, template=True)]

    async def close(self) -> None:
        await self._chat.close()
        self._engine.close()

    async def _prompt(self, request: Request) -> list[Token]:
        text = await self._client.render({key: request[key] for key in _TEMPLATE_FIELDS if key in request})
        return await self._client.tokens(text, template=True)

    async def _settle(self) -> None:
        """Find out what the engine holds now."""
        slot, call, self._call = await self._idle_slot(), self._call, None
        if slot is None:
            self._held = None
        elif call is not None and not call.refused and (call.generated is not None or slot.task != call.before):
            # Unknown until the call's tokens are: what was held before is gone.
            self._held = None
            self._held = call.held(await self._prompt(call.request), slot.tokens)
        self._task = slot.task if slot is not None else None

    async def _idle_slot(self) -> Slot | None:
        for _ in range(_POLLS):
            slot = await self._client.slot()
            if not slot.busy:
                return slot
            await asyncio.sleep(_POLL_SECONDS)
        return None


def _generated(event: Finished) -> int:
    """How many tokens the reply has without the one that ends it, which the engine counts but never holds."""
    return event.usage.output - (event.stop is StopReason.END)


def _common(left: Sequence[object], right: Sequence[object]) -> int:
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))
