"""Numbers in paths: ids of reminders and memories, and turns."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Path

from frontmind.server.schemas.times import LARGEST_NUMBER

Number: TypeAlias = Annotated[int, Path(ge=1, le=LARGEST_NUMBER)]
TurnNumber: TypeAlias = Annotated[int, Path(ge=1, le=LARGEST_NUMBER, description="The number of the turn.")]
