"""Every router of the server, in the order in which the API's document lists them."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from frontmind.server.compat import routes as compatible
from frontmind.server.routes import (
    calls,
    conversations,
    documents,
    events,
    health,
    ledger,
    memories,
    page,
    person,
    reminders,
    search,
    trinkets,
    turns,
    windows,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    health.router,
    person.router,
    events.router,
    conversations.router,
    turns.router,
    windows.router,
    calls.router,
    trinkets.router,
    ledger.router,
    reminders.router,
    memories.router,
    documents.router,
    search.router,
    compatible.router,
    page.router,
)
