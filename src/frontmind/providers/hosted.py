"""What every model behind an SDK has in common: from a request's events to a reply, and sizes by estimate.

A subclass only calls its SDK: it gives the raw events of the stream and says its errors in the words of
`frontmind.errors`. It does not decode anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from frontmind.errors import MalformedReply, RequestRefused
from frontmind.providers.decoding.decode import DECODERS
from frontmind.providers.decoding.reply import Reply
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.estimate import calibrate, estimate_request, estimate_tokens
from frontmind.providers.faults import on_one_line
from frontmind.providers.profiles.profile import Mark, Profile, UsageMeaning
from frontmind.providers.protocol import Finished, ReplyEvent, Request, StopReason, TextDelta, TokenCount
from frontmind.values.parts import is_blank, part_text
from frontmind.values.usage import Usage
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window

_REPLIES_TO_LEARN_FROM = 8


class HostedModel(ABC):
    """A `Model` over an SDK.

    Args:
        profile: what is known of the model.
        name: the full name as it could be given to ``--model``.
        framing: how its windows are framed, where a window does not say.
        max_output_tokens: the most tokens of a reply.
        context_limit: the most tokens of a request and its reply; None where the provider alone knows.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        name: str,
        framing: FramingChoice,
        max_output_tokens: int,
        context_limit: int | None = None,
    ) -> None:
        self.profile = profile
        self.name = name
        self.framing = framing
        self.max_output_tokens = max_output_tokens
        self.context_limit = context_limit
        self._counts: deque[tuple[int, int]] = deque(maxlen=_REPLIES_TO_LEARN_FROM)

    def encode(self, window: Window) -> Request:
        return encode_window(window, self.profile, max_output_tokens=self.max_output_tokens, framing=self.framing)

    async def stream(self, request: Request) -> AsyncGenerator[ReplyEvent, None]:
        decoder = DECODERS[self.profile.wire]
        assembler = decoder.assembler()
        try:
            async with aclosing(self._events(request)) as events:
                async for event in events:
                    text = assembler.add(event)
                    if text:
                        yield TextDelta(text)
            reply = decoder.reply(assembler.body(), self._meaning())
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            # No SDK checks what a server sends: another shape comes through as it is.
            reason = f"{self.name} sent what is no reply of this API ({one_line(error)})"
            raise MalformedReply(f"{reason}; check the server and try again", model=self.name, reason=reason) from error
        yield self._finished(reply, request)

    @abstractmethod
    def _events(self, request: Request) -> AsyncGenerator[Mapping[str, Any], None]:
        """Ask the SDK; the events of the stream as JSON objects.

        Raises:
            ModelError: in the words of `frontmind.errors`, for every error that the SDK knows.
        """

    def _meaning(self) -> UsageMeaning | None:
        """What the server's figures mean, where the user said so; otherwise the format tells."""
        source = self.profile.sources.get("usage")
        return self.profile.usage if source is not None and source.mark is Mark.YOURS else None

    def _finished(self, reply: Reply, request: Request) -> Finished:
        if reply.stop is None:
            reason = f"{self.name} broke off in the middle of its reply"
            raise MalformedReply(f"{reason}; try again", model=self.name, reason=reason)
        said = [part_text(part) for part in reply.message.parts]
        # Whoever asks for no token wants the prompt read and nothing else.
        if all(is_blank(part) for part in reply.message.parts) and request.get("max_tokens") != 0:
            raise self._empty(reply.stop)
        usage = reply.usage
        if usage is None or usage.cached > usage.input:
            # Figures that cannot be, or none.
            written = sum(estimate_tokens(text) for text in said)
            usage = Usage(estimate_request(request), 0, 0, written, estimated=True)
        else:
            self._counts.append((estimate_request(request), usage.input))
        return Finished(reply.message, usage, reply.stop, reply.id, reply.diagnosis)

    def _empty(self, stop: StopReason) -> MalformedReply | RequestRefused:
        if stop is StopReason.REFUSAL:
            return RequestRefused(
                f"{self.name} refuses to answer this and says nothing; ask differently", model=self.name
            )
        at_limit = stop is StopReason.LENGTH
        why = f" (it stopped at its limit of {self.max_output_tokens} output tokens)" if at_limit else ""
        reason = f"{self.name} gave an empty reply{why}"
        # What thought up to its limit will do so again, and costs as much.
        return MalformedReply(
            f"{reason}; try again", model=self.name, retryable=False if at_limit else None, reason=reason
        )

    async def count_request(self, request: Request) -> TokenCount:
        return self._corrected(estimate_request(request))

    async def count_text(self, text: str) -> TokenCount:
        return self._corrected(estimate_tokens(text))

    def _corrected(self, estimate: int) -> TokenCount:
        learned = calibrate(self._counts)
        return TokenCount(learned.corrected(estimate), exact=False, learned_from=learned.replies)

    async def expected_cached(self, request: Request) -> int | None:
        return None

    @abstractmethod
    async def close(self) -> None: ...


def one_line(error: Exception) -> str:
    """The error's own words on one line, or its name where it has none."""
    return on_one_line(str(error)) or type(error).__name__
