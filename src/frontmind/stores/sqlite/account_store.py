"""`SqliteAccounts`: the accounts of a SQLite database. Only says which work runs in which transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from frontmind.stores.sqlite import accounts as stored
from frontmind.stores.sqlite.connection import Database
from frontmind.values.people import Account, ApiKey


class SqliteAccounts:
    """The `AccountStore` of a database. Given by `SqliteStore.accounts_of_database`; closed with that store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_account(self, name: str, at: datetime) -> Account:
        """Store a new account."""
        return await self._database.write(lambda db: stored.add_account(db, name, at))

    async def accounts(self) -> Sequence[Account]:
        """All of them by name, those that were revoked as well."""
        return await self._database.read(stored.accounts)

    async def revoke_account(self, name: str, at: datetime) -> Account:
        """Close it; what is stored for the person stays."""
        return await self._database.write(lambda db: stored.revoke_account(db, name, at))

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
        """Store a key of an open account."""
        return await self._database.write(
            lambda db: stored.add_key(
                db, account, digest, label=label, hint=hint, at=at, expires_at=expires_at, parent=parent
            )
        )

    async def keys(self, account: str | None = None) -> Sequence[ApiKey]:
        """The keys of this account, or of all, by id."""
        return await self._database.read(lambda db: stored.keys(db, account))

    async def key_of(self, digest: str) -> ApiKey | None:
        """The key with this digest."""
        return await self._database.read(lambda db: stored.key_of(db, digest))

    async def revoke_key(self, key_id: int, at: datetime) -> ApiKey:
        """Take a key back."""
        return await self._database.write(lambda db: stored.revoke_key(db, key_id, at))
