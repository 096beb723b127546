"""What every wire format's decoder gives: a reply, whether it came whole or in a stream, and a request read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from frontmind.providers.profiles.profile import UsageMeaning
from frontmind.providers.protocol import StopReason
from frontmind.values.message import Message
from frontmind.values.parts import Part, ToolCall
from frontmind.values.tool import AnyTool
from frontmind.values.usage import Usage

JsonObject: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        message: what it said; its parts can be sent back byte for byte. Without parts when it said nothing.
        usage: the tokens of the call in one meaning for all; None where the server gave no usable figures.
        stop: why it stopped; None when the stream ended before it said so.
        id: the provider's id of it; empty where it has none.
        diagnosis: what the provider says of the cache; empty where that is nothing.
    """

    message: Message
    usage: Usage | None
    stop: StopReason | None
    id: str = ""
    diagnosis: str = ""


@dataclass(frozen=True, slots=True)
class DecodedRequest:
    """A request as values.

    Attributes:
        model: the model's name; empty where the body does not tell.
        system: the system texts in order, one for each block.
        tools: in order.
        messages: as they stand, not yet normalised; a message in the operator's voice is a `Notice` in the user
            message in front of it.
        rest: every other key of the body.
    """

    model: str
    system: tuple[str, ...]
    tools: tuple[AnyTool, ...]
    messages: tuple[Message, ...]
    rest: JsonObject = field(default_factory=dict)


class StreamAssembler(Protocol):
    """Puts the events of a stream together to the JSON that the same reply would have had in one piece."""

    def add(self, event: JsonObject) -> str:
        """Take the next event in; gives back the text in it that people can read."""
        ...

    def body(self) -> JsonObject:
        """The reply so far."""
        ...


class Decoder(Protocol):
    """One wire format read back. Pure; raises ValueError, TypeError or LookupError for what is no such JSON."""

    def reply(self, body: JsonObject, meaning: UsageMeaning | None = None) -> Reply:
        """The reply that the JSON of a response is.

        Args:
            meaning: what the server's count of input tokens holds; None for what it holds in this format.
        """
        ...

    def usage(self, usage: JsonObject, meaning: UsageMeaning | None = None) -> Usage | None:
        """The counts as the provider gave them, in one meaning; None where they are not usable.

        Args:
            meaning: as for `reply`.
        """
        ...

    def assembler(self) -> StreamAssembler:
        """For one stream."""
        ...

    def request(self, body: JsonObject) -> DecodedRequest:
        """The values that a request was made from. Cache markers are left out."""
        ...


def stop_of(reason: StopReason | None, parts: Iterable[Part]) -> StopReason | None:
    """Why it stopped: several servers end a reply with calls in it as if it were finished."""
    calls = reason is StopReason.END and any(isinstance(part, ToolCall) for part in parts)
    return StopReason.TOOL_CALLS if calls else reason


def input_tokens(counted: int, cached: int, written: int, meaning: UsageMeaning) -> int:
    """All input tokens, from a server's count of this meaning."""
    return counted if meaning is UsageMeaning.TOTAL else counted + cached + written
