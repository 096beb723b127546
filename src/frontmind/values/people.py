"""The people of a database: their accounts, the keys that open them, and how they want to be served. Frozen, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Account:
    """A person who may use a server.

    Attributes:
        name: also the owner of all that is stored for the person; never given again, also when it was revoked.
        revoked_at: when the account was closed; None while it is open.
    """

    id: int
    name: str
    created_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key that opens an account. The key itself is not stored, only its digest.

    Attributes:
        account: the account's name.
        label: what it is for, in the person's words.
        digest: SHA-256 of the key, in hex. The key has 256 random bits, so a slow digest would add nothing.
        hint: the first characters of the key, by which a person tells it from others.
        expires_at: from when on it opens nothing any more; None for never.
        revoked_at: when it was taken back, or its account or its parent was; None while it holds.
        parent: the id of the key that it was made with, without which it opens nothing; None for a key of its own.
    """

    id: int
    account: str
    label: str
    digest: str
    hint: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class PersonSettings:
    """How a person wants to be served.

    Attributes:
        timezone: an IANA zone; empty for that of the program.
        instructions: what the person tells the assistant about itself, for every conversation; behind the persona.
    """

    timezone: str = ""
    instructions: str = ""
