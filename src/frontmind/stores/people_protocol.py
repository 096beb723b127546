"""The seams of persistence for many people: accounts and keys of a database, and what one owner has set.

The promises that `frontmind.stores.protocols` makes hold here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from frontmind.values.people import Account, ApiKey, PersonSettings


class AccountStore(Protocol):
    """The accounts of a database. It belongs to no owner: it says who the owners are."""

    async def add_account(self, name: str, at: datetime) -> Account:
        """Store a new account.

        Raises:
            UsageError: the name is empty, longer than 64 characters or has others than letters, digits and ``._-@``,
                or an account has it, also one that was revoked.
        """
        ...

    async def accounts(self) -> Sequence[Account]:
        """All of them by name, those that were revoked as well."""
        ...

    async def revoke_account(self, name: str, at: datetime) -> Account:
        """Close it: with it its keys are taken back. What is stored for the person stays.

        Raises:
            UsageError: there is no open account of this name.
        """
        ...

    async def add_key(
        self,
        account: str,
        digest: str,
        *,
        label: str,
        hint: str,
        at: datetime,
        expires_at: datetime | None = None,
        parent: int | None = None,
    ) -> ApiKey:
        """Store a key of an open account.

        Args:
            parent: the id of the account's key that it is made with; where that has a parent, it is made with that one.
                Of the keys that were made with others, those of the account that hold no longer are forgotten.

        Raises:
            UsageError: there is no open account of this name, or it has no such parent, or the key is there already.
        """
        ...

    async def keys(self, account: str | None = None) -> Sequence[ApiKey]:
        """The keys of this account, or of all, by id; those that hold no longer as well."""
        ...

    async def key_of(self, digest: str) -> ApiKey | None:
        """The key with this digest, also one that holds no longer; None where there is none."""
        ...

    async def revoke_key(self, key_id: int, at: datetime) -> ApiKey:
        """Take a key back, and with it those that were made with it. A second time changes nothing.

        Raises:
            UsageError: there is none with this id.
        """
        ...


class SettingsStore(Protocol):
    """What one owner has set."""

    async def settings(self) -> PersonSettings:
        """The owner's settings; the defaults where nothing was saved."""
        ...

    async def save_settings(self, settings: PersonSettings) -> None:
        """Keep them in the place of what was there."""
        ...
