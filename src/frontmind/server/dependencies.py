"""What the functions of routes ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeAlias
from unicodedata import category

from fastapi import Depends, Path, Request
from pydantic import AfterValidator

from frontmind.server.errors import Problem, not_found
from frontmind.server.hub import Hub
from frontmind.server.identity import Access, Person

StillHolds: TypeAlias = Callable[[], Awaitable[bool]]

SLASH: Final = "\x1f"
"""Stands in a path for a slash that was percent-encoded, so that a name may have one. The guards refuse every other
control character of a path.
"""


# Coroutines all: what is no coroutine runs in a thread, which costs more than it does and mixes up the order in which
# requests came.
async def the_hub(request: Request) -> Hub:
    """The assistants that this server runs."""
    hub: Hub = request.app.state.hub
    return hub


async def the_access(request: Request) -> Access:
    """Who may use this server."""
    access: Access = request.app.state.access
    return access


async def asking(request: Request) -> Person:
    """Who is asking: found out before any route, by the guards.

    Raises:
        Problem: nobody: the path needs no key, and none was given.
    """
    person: Person | None = request.scope.get("state", {}).get("person")
    if person is None:
        raise Problem(401, "unauthorized", "pass a key: Authorization: Bearer fm_...")
    return person


async def still_holding(request: Request) -> StillHolds:
    """Whether the key of this request still opens something, for replies that go on for long."""
    holds: StillHolds = request.scope.get("state", {}).get("holds", _always)
    return holds


async def _always() -> bool:
    return True


def path_name(text: str) -> str:
    """A name out of a path as it was meant.

    Raises:
        Problem: nothing can have this name.
    """
    name = text.replace(SLASH, "/")
    if any(category(character) == "Cc" for character in name):
        raise not_found("such name; it has control characters")
    return name


TheHub = Annotated[Hub, Depends(the_hub)]
TheAccess = Annotated[Access, Depends(the_access)]
Holding = Annotated[StillHolds, Depends(still_holding)]
Asking = Annotated[Person, Depends(asking)]
PathName: TypeAlias = Annotated[str, Path(min_length=1, max_length=100), AfterValidator(path_name)]
"""The name of a conversation or document in a path."""
