"""A tool as the model is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call.

    Attributes:
        name: unique within a window.
        parameters: the JSON schema of its arguments, as JSON text.
        description: what it does; None where nothing is said.
        strict: whether the provider must hold the model to the schema; None leaves it to the provider.
    """

    name: str
    parameters: str = '{"type":"object"}'
    description: str | None = None
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class ProviderTool:
    """A tool that the provider itself carries out; known to one wire format only.

    Attributes:
        name: for sorting and for errors.
        wire: the name of the wire format.
        data: its definition as JSON text.
    """

    name: str
    wire: str
    data: str


AnyTool: TypeAlias = Tool | ProviderTool
