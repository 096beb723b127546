"""What the values that clients send have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Sent(BaseModel):
    """A body, or a part of one: nothing but what is named, each of exactly its type.

    A misspelt key that was passed over, or a `false` that was taken for the number 0, would change what the client
    did not mean.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
