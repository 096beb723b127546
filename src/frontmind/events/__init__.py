"""The closed vocabulary of events, and the bus that carries them."""

from frontmind.events.bus import EventBus, HandlerFailure, Unsubscribe
from frontmind.events.vocabulary import (
    ComposeSystemPromptEvent,
    Event,
    SystemPromptComposedEvent,
    TrinketContentEvent,
    TurnCompletedEvent,
    TurnContext,
    UpdateTrinketEvent,
)

__all__ = [
    "ComposeSystemPromptEvent",
    "Event",
    "EventBus",
    "HandlerFailure",
    "SystemPromptComposedEvent",
    "TrinketContentEvent",
    "TurnCompletedEvent",
    "TurnContext",
    "Unsubscribe",
    "UpdateTrinketEvent",
]
