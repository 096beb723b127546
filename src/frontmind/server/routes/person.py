"""The person who asks: who it is, its settings, and coming and going with the page."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from frontmind.server.dependencies import Asking, TheAccess, TheHub
from frontmind.server.errors import problems
from frontmind.server.guards import SESSION_COOKIE, client_address, session_key
from frontmind.server.hub import Hub
from frontmind.server.identity import PAGE_KEY_LASTS, Access, Person
from frontmind.server.schemas.person import Login, Me, NewSettings
from frontmind.server.version import VERSION
from frontmind.values.clock import find_zone
from frontmind.values.people import PersonSettings

router = APIRouter(prefix="/api", tags=["person"])


@router.get("/me", response_model=Me, summary="The person who asks", responses=problems())
async def get_me(hub: TheHub, access: TheAccess, person: Asking) -> Me:
    """Who asks, its settings, the zone in force and the model that answers."""
    return await _me(hub, access, person)


@router.put("/me", response_model=Me, summary="Set the zone and the instructions", responses=problems())
async def set_me(hub: TheHub, access: TheAccess, person: Asking, new: NewSettings) -> Me:
    """What is said from now on goes by the new settings."""
    if new.timezone:
        find_zone(new.timezone)
    await hub.save_settings(person, PersonSettings(new.timezone, new.instructions))
    return await _me(hub, access, person)


@router.post("/login", status_code=204, summary="Open the page with a key", responses=problems())
async def log_in(request: Request, access: TheAccess, asked: Login) -> Response:
    """Sets a cookie for the page: a key of its own, which holds for 30 days."""
    key = await access.open_page(asked.key, address=client_address(request.scope))
    reply = Response(status_code=204)
    if key:
        reply.set_cookie(
            SESSION_COOKIE,
            key,
            max_age=int(PAGE_KEY_LASTS.total_seconds()),
            httponly=True,
            samesite="strict",
            # Behind a proxy that speaks https with the browser, its page says so.
            secure=request.url.scheme == "https" or request.headers.get("origin", "").startswith("https:"),
        )
    return reply


@router.post("/logout", status_code=204, summary="Close the page", responses=problems())
async def log_out(request: Request, access: TheAccess, _: Asking) -> Response:
    """Takes back the key in the page's cookie."""
    if key := session_key(request.headers):
        await access.close_page(key)
    reply = Response(status_code=204)
    reply.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
    return reply


async def _me(hub: Hub, access: Access, person: Person) -> Me:
    settings = await hub.store_of(person).settings()
    clock = hub.sessions.clock_for(settings)
    return Me(
        name=person.name,
        accounts=access.has_accounts,
        timezone=settings.timezone,
        instructions=settings.instructions,
        zone=str(clock.zone),
        model=hub.model.name,
        framing=hub.model.framing.framing.value,
        version=VERSION,
        now=clock.now(),
    )
