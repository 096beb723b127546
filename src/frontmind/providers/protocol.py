"""The seam to a language model: a request goes in, text and at the end the usage come out.

A request is a plain JSON object, made by a pure encoder; it is exactly what is stored, printed and sent.
Whoever uses a `Model` does not know whose model it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from frontmind.providers.profiles.profile import Profile
from frontmind.values.message import Message
from frontmind.values.usage import Usage
from frontmind.window.canonical import Json
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window

Request: TypeAlias = Mapping[str, Json]


class StopReason(StrEnum):
    """Why a model stopped; PAUSED: in the middle of a long turn, which it goes on with when it is asked again."""

    END = "end"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A further piece of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the stream.

    Attributes:
        message: the whole reply.
        usage: the token counts of this call.
        stop: why the model stopped.
        response: the provider's id of the reply; empty where it has none.
        diagnosis: why the cache gave less than it could have, in one line and the provider's terms; empty where it
            says nothing.
    """

    message: Message
    usage: Usage
    stop: StopReason
    response: str = ""
    diagnosis: str = ""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The model failed before it said anything, and is asked again after a wait that begins now.

    Attributes:
        reason: what happened, on one line.
        seconds: how long the wait is.
        attempt: which attempt failed, counted from 1.
    """

    reason: str
    seconds: float
    attempt: int


ReplyEvent: TypeAlias = TextDelta | Finished
"""What a reply consists of."""

StreamEvent: TypeAlias = ReplyEvent | Retrying
"""What a caller sees, the attempts before the reply included."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens.

    Attributes:
        exact: whether the model's own tokenizer counted it; otherwise it is an estimate.
        learned_from: how many replies with the provider's own count have corrected the estimate.
    """

    tokens: int
    exact: bool
    learned_from: int = 0


class Model(Protocol):
    """A model that can be asked.

    ``name`` is the full name as it could be given to ``--model``; ``context_limit`` is the most tokens that a
    request and its reply may have together, or None where the provider alone knows.
    """

    @property
    def name(self) -> str: ...

    @property
    def context_limit(self) -> int | None: ...

    @property
    def max_output_tokens(self) -> int:
        """The most tokens that a reply may have."""
        ...

    @property
    def profile(self) -> Profile:
        """What is known of the model."""
        ...

    @property
    def framing(self) -> FramingChoice:
        """How its windows are framed, where a window does not say."""
        ...

    def encode(self, window: Window) -> Request:
        """The request for this window; pure."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Ask the model. Yields text as it comes and `Finished` exactly once, last; `Retrying` only before any text.

        Closing the iterator early ends the call at the provider.

        Raises:
            RequestRefused: the provider will never take this request.
            ModelError: it failed for another reason.
        """
        ...

    async def count_request(self, request: Request) -> TokenCount:
        """The prompt tokens of the whole request."""
        ...

    async def count_text(self, text: str) -> TokenCount:
        """The tokens of a text by itself."""
        ...

    async def expected_cached(self, request: Request) -> int | None:
        """How many prompt tokens the cache should give if this request were sent now.

        None where no rule is known that would tell.
        """
        ...

    async def close(self) -> None: ...
