"""Conversations as the API gives them out."""

from __future__ import annotations

from datetime import tzinfo

from pydantic import AwareDatetime, BaseModel

from frontmind.server.schemas.texts import Shown
from frontmind.values.records import ConversationOverview


class Conversation(BaseModel):
    """A conversation. One that has no turn yet has no title and no dates.

    Attributes:
        title: what its first segment is about.
        started_at, last_at: when its first message was accepted, and its last message or reply stored.
        turns: how many turns it has.
        last: the number of its last turn.
        running: the number of the turn that runs on this server; null where none does.
    """

    name: Shown
    title: Shown
    started_at: AwareDatetime | None
    last_at: AwareDatetime | None
    turns: int
    last: int
    running: int | None


class ConversationList(BaseModel):
    """Conversations, the one with the newest message first.

    Attributes:
        next: passed as ``before``, it gives those that follow; null behind the last.
    """

    conversations: list[Conversation]
    next: str | None


def conversation_view(overview: ConversationOverview, zone: tzinfo, running: int | None) -> Conversation:
    """The conversation as the API gives it out, its moments in this zone."""
    return Conversation(
        name=overview.name,
        title=overview.title,
        started_at=overview.started_at.astimezone(zone),
        last_at=overview.last_at.astimezone(zone),
        turns=overview.turns,
        last=overview.last,
        running=running,
    )
