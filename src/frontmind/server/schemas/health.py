"""What the server says of itself."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class Health(BaseModel):
    """Whether the server takes calls.

    Attributes:
        status: "shutting_down" when it takes no new turns any more.
        version: that of Frontmind.
        model: the name of the model that answers.
    """

    status: Literal["ok", "shutting_down"]
    version: str
    model: str
