"""What a message is made of. Frozen, equal by content, no I/O; knows no provider's JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, exactly as it was written."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's call of a tool.

    Attributes:
        id: the provider's id for this call; its result carries the same one.
        name: the tool's name.
        arguments: the arguments as the JSON text the model wrote, byte for byte.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back.

    Attributes:
        call_id: the id of the `ToolCall` that this answers.
        text: the result as text.
        is_error: whether the tool failed.
    """

    call_id: str
    text: str
    is_error: bool = False


Part: TypeAlias = Text | ToolCall | ToolResult
