"""What is taken over from another program's history, ready to be stored. Frozen; knows no file format."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from frontmind.values.message import Message


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    """An exchange that took place in another program.

    Attributes:
        key: what it is called in everything that this program exports; the same again in a later export. Where more
            was said in reply meanwhile, the exchange has another key.
        user: never empty; where the assistant spoke first, a text that says so.
        asked_at: when the first of the user's messages was sent; aware.
        reply: never empty; where nothing was said in reply, a text that says so.
        answered_at: when the last of the reply's messages was sent, not before ``asked_at``; aware.
    """

    key: str
    user: Message
    asked_at: datetime
    reply: Message
    answered_at: datetime
