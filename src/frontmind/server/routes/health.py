"""Whether the server is there. Needs no key."""

from __future__ import annotations

from fastapi import APIRouter

from frontmind.server.dependencies import TheHub
from frontmind.server.errors import problems
from frontmind.server.schemas.health import Health
from frontmind.server.version import VERSION

router = APIRouter(tags=["server"])


@router.get("/api/health", response_model=Health, summary="Whether the server is there", responses=problems())
async def get_health(hub: TheHub) -> Health:
    """Whether the server takes turns, its version, and who answers."""
    return Health(status="shutting_down" if hub.is_closing else "ok", version=VERSION, model=hub.model.name)
