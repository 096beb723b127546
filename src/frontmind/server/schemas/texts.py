"""Texts as the API gives them out, whatever stands in the store."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator


def speakable(value: object) -> object:
    """A text without lone surrogates, which UTF-8 cannot say; anything else as it is."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


Shown: TypeAlias = Annotated[str, BeforeValidator(speakable)]
"""A text out of the store, a model or a request."""
