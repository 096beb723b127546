"""Who is asking: keys and the people that they stand for. Knows nothing of HTTP."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from frontmind.errors import FrontmindError
from frontmind.server.errors import Problem
from frontmind.server.keys import digest_of, hint_of, new_key
from frontmind.server.limits import Buckets, Limits
from frontmind.stores.people_protocol import AccountStore
from frontmind.values.people import ApiKey

_PAGE_KEY_LABEL: Final = "page"
PAGE_KEY_LASTS: Final = timedelta(days=30)
_REMEMBERED_SECONDS: Final = 3.0
"""How long the database is believed without asking it again: so late a key that another process revokes opens nothing,
and the first account that another process makes asks for keys.
"""

_MOST_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever a call is answered for.

    Attributes:
        owner: whose things it may see and change; empty for the one person of a server without accounts.
    """

    owner: str

    @property
    def name(self) -> str:
        """What the person is called; empty where there are no accounts."""
        return self.owner


THE_ONLY_ONE: Final = Person("")
"""The person of a server without accounts: the one of the terminal."""


class Access:
    """Finds out who is asking.

    As long as the database has no accounts, everybody is the one person; accounts are never deleted.

    Args:
        accounts: those of the database.
        now: the present moment.
        limits: how often wrong keys are answered as such.
        timer: seconds from an arbitrary start.
    """

    def __init__(
        self,
        accounts: AccountStore,
        now: Callable[[], datetime],
        *,
        limits: Limits | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = limits or Limits()
        self._accounts = accounts
        self._now = now
        self._timer = timer
        self._failures = Buckets(limits.failures, limits.failures_per_second, timer=timer)
        self._known: OrderedDict[str, tuple[ApiKey, float]] = OrderedDict()
        self._has_accounts = False
        self._looks_at = -math.inf

    @property
    def has_accounts(self) -> bool:
        """Whether people need a key, as it was last seen."""
        return self._has_accounts

    async def look(self) -> bool:
        """Whether people need a key. Asks the database every few seconds, until there is an account."""
        if not self._has_accounts and self._timer() >= self._looks_at:
            self._has_accounts = bool(await self._accounts.accounts())
            self._looks_at = self._timer() + _REMEMBERED_SECONDS
        return self._has_accounts

    async def person_of(self, key: str, *, address: str) -> Person:
        """Whom the key stands for.

        Args:
            address: where it comes from. Wrong keys from there are answered as such only so often; one that holds
                opens in any case, since behind a proxy all people have one address.

        Raises:
            Problem: it opens nothing: it is missing or unknown, has expired or was revoked, or its account was.
        """
        if not await self.look():
            return THE_ONLY_ONE
        return Person((await self._holding(key, address)).account)

    async def holds(self, key: str) -> bool:
        """Whether a key that was let in before would be let in now; not while nobody can say."""
        try:
            if await self.look():
                _require_holding(await self._found(key), self._now())
        except (Problem, FrontmindError):
            return False
        return True

    async def open_page(self, key: str, *, address: str) -> str:
        """A key of its own for the page, in exchange for one that holds; it holds as long as that one does. Empty where
        there are no accounts.

        Raises:
            Problem: as `person_of`.
        """
        if not await self.look():
            return ""
        held = await self._holding(key, address)
        made, now = new_key(), self._now()
        expires = now + PAGE_KEY_LASTS
        await self._accounts.add_key(
            held.account,
            digest_of(made),
            label=_PAGE_KEY_LABEL,
            hint=hint_of(made),
            at=now,
            expires_at=expires if held.expires_at is None else min(expires, held.expires_at),
            parent=held.id,
        )
        return made

    async def close_page(self, key: str) -> None:
        """Take back a key that `open_page` made; any other stays, since it opens more than the page."""
        digest = digest_of(key)
        held = await self._accounts.key_of(digest)
        if held is not None and held.parent is not None:
            await self._accounts.revoke_key(held.id, self._now())
        self._known.pop(digest, None)

    async def _holding(self, key: str, address: str) -> ApiKey:
        if not key:
            raise _closed("unauthorized", "pass a key: Authorization: Bearer fm_...")
        try:
            return _require_holding(await self._found(key), self._now())
        except Problem:
            if seconds := math.ceil(self._failures.take(address)):
                raise Problem(
                    429,
                    "rate_limited",
                    f"too many wrong keys came from this address; try again in {seconds} s",
                    headers={"Retry-After": str(seconds)},
                ) from None
            raise

    async def _found(self, key: str) -> ApiKey | None:
        digest, now = digest_of(key), self._timer()
        found, until = self._known.get(digest, (None, 0.0))
        if found is not None and now < until:
            return found
        self._known.pop(digest, None)
        found = await self._accounts.key_of(digest)
        if found is not None:
            self._known[digest] = (found, now + _REMEMBERED_SECONDS)
            while len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
        return found


def _require_holding(key: ApiKey | None, now: datetime) -> ApiKey:
    if key is None:
        raise _closed("unauthorized", "no account has this key; ask whoever runs the server for one")
    if key.revoked_at is not None:
        raise _closed("key_revoked", "this key was revoked; ask whoever runs the server for another")
    if key.expires_at is not None and now >= key.expires_at:
        raise _closed("key_expired", "this key has expired; ask whoever runs the server for another")
    return key


def _closed(code: str, message: str) -> Problem:
    return Problem(401, code, message, headers={"WWW-Authenticate": "Bearer"})
