"""The seam between the one encoder and the wire formats: what a format has to know how to spell.

A dialect spells single messages and puts a request together. It does not decide where anything stands: the order of
the messages comes from the framing and the markers' places from the breakpoint plan, the same for every format.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from frontmind.errors import UsageError
from frontmind.providers.profiles.profile import Profile
from frontmind.values.parts import Document, Image, Notice, Part, ProviderBlock, Text, Thinking, ToolResult
from frontmind.values.tool import AnyTool
from frontmind.window.canonical import parse_json
from frontmind.window.framing import FramedMessage

JsonDict: TypeAlias = dict[str, Any]

DEFAULT_TTL = "5m"
"""The lifetime of a marker that names none."""


@dataclass(frozen=True, slots=True)
class Head:
    """Everything of a request beside its messages.

    Attributes:
        system_ttl: the lifetime of the marker at the end of ``cached_system``; None for no marker.
        called_tools: the names of the tools that the messages call, sorted; empty where the window has tools.
        session: names the conversation to a provider that routes by it; empty for none.
        operator_messages: whether a message in the operator's voice is among the messages.
        explicit_breakpoints: whether the provider's own breakpoint would stand on the wrong message.
        extra: further keys of the body, as they are.
    """

    model: str
    max_output_tokens: int
    cached_system: str = ""
    uncached_system: str = ""
    system_ttl: str | None = None
    tools: tuple[AnyTool, ...] = ()
    called_tools: tuple[str, ...] = ()
    session: str = ""
    operator_messages: bool = False
    explicit_breakpoints: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


class Dialect(Protocol):
    """One wire format. All three are pure; what they return is never changed afterwards."""

    def message(self, framed: FramedMessage, profile: Profile, place: str) -> list[JsonDict]:
        """The message as the format spells it, without markers; several where the format splits it.

        Args:
            place: names the message in errors.

        Raises:
            UsageError: the format has no way to say a part of it.
        """
        ...

    def marked(self, message: JsonDict, ttl: str, profile: Profile) -> JsonDict | None:
        """A copy of a spelled message with a marker at its end; None where the format allows none on it."""
        ...

    def request(self, head: Head, messages: list[JsonDict], profile: Profile) -> JsonDict:
        """The whole request."""
        ...


def require_supported(framed: FramedMessage, profile: Profile, wire: str, place: str) -> None:
    """Check that the model takes every part of the message.

    Raises:
        UsageError: it does not; the error names the message and the part.
    """
    # Counted as in the message itself, without what the application put beside it.
    for number, part in enumerate(part for part in framed.parts if not isinstance(part, Notice)):
        for item in (part, *(part.attachments if isinstance(part, ToolResult) else ())):
            problem = _problem(item, profile, wire)
            if problem:
                raise UsageError(f"{place}, part {number}: {problem}")


def _problem(part: Part, profile: Profile, wire: str) -> str:
    who = f"{profile.provider}:{profile.model}".rstrip(":")
    if isinstance(part, Image | Document):
        if part.media_type not in profile.inputs:
            taken = ", ".join(sorted(profile.inputs)) or "text only"
            return (
                f"{who} does not take {part.media_type} (it takes {taken}); leave it out, choose another model, or say "
                f"that it does with inputs={part.media_type}"
            )
        if bool(part.data) == bool(part.url):
            return f"a {part.media_type} with both bytes and an address, or with neither; give one of them"
        if part.data and not is_base64(part.data):
            return f"the bytes of a {part.media_type} are no base64 text; give them as base64 without line breaks"
    if isinstance(part, ProviderBlock) and part.wire != wire and not part.text:
        return f"a block of the format {part.wire}, which {who} cannot read; leave it out or choose another model"
    return ""


def is_base64(text: str) -> bool:
    """Whether it is base64 without line breaks, as every provider takes it."""
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return False
    return True


def own_data(part: Thinking | ProviderBlock | ToolResult) -> JsonDict:
    """The block that goes back to the format that it came from."""
    data = parse_json(part.data)
    if not isinstance(data, dict):
        raise UsageError("a block of a provider's own is no JSON object; keep it as it was decoded")
    return data


def as_text(part: Part, wire: str) -> str | None:
    """What a part is where it can only be said in words; None for a part that is no text."""
    if isinstance(part, Text):
        return part.text
    if isinstance(part, ProviderBlock) and part.wire != wire:
        return part.text
    return None


def documents_of(parts: Iterable[Part]) -> Iterator[Document]:
    """The documents among the parts and in their tool results, in order."""
    for part in parts:
        for item in part.attachments if isinstance(part, ToolResult) else (part,):
            if isinstance(item, Document):
                yield item
