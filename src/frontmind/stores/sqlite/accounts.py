"""The accounts of a database and their keys, each function inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import decoding, from_moment, from_text, to_moment, to_text
from frontmind.values.people import Account, ApiKey

LONGEST_NAME: Final = 64
_SIGNS: Final = frozenset("._-@")

# A key holds as long as its account and its parent do.
_SELECT_KEY: Final = """
    SELECT
        api_keys.id, accounts.name, api_keys.parent, api_keys.label, api_keys.digest, api_keys.hint,
        api_keys.created_at, api_keys.expires_at,
        coalesce(api_keys.revoked_at, parents.revoked_at, accounts.revoked_at) AS revoked_at
    FROM api_keys
    JOIN accounts ON accounts.id = api_keys.account
    LEFT JOIN api_keys AS parents ON parents.id = api_keys.parent
"""

# No key is made with one that has a parent, so none of these is a parent.
_FORGET: Final = """
    DELETE FROM api_keys
    WHERE account = :account AND parent IS NOT NULL AND (revoked_at IS NOT NULL OR expires_at <= :now)
"""


def add_account(connection: sqlite3.Connection, name: str, at: datetime) -> Account:
    """Store a new account.

    Raises:
        UsageError: nobody can have this name, or an account has it or had it.
    """
    _require_name(name)
    row = connection.execute("SELECT revoked_at FROM accounts WHERE name = ?", (name,)).fetchone()
    if row is not None and row["revoked_at"] is not None:
        raise UsageError(
            f"the account {name!r} was revoked, and its name is not given again, because what is stored under it is "
            "another person's; choose another name"
        )
    if row is not None:
        raise UsageError(f"there is an account {name!r} already; add a key to it, or choose another name")
    inserted = connection.execute("INSERT INTO accounts (name, created_at) VALUES (?, ?)", (name, to_moment(at)))
    return _account(
        connection.execute("SELECT * FROM accounts WHERE id = ?", (inserted.lastrowid,)).fetchone(),
    )


def accounts(connection: sqlite3.Connection) -> Sequence[Account]:
    """All of them by name."""
    return [_account(row) for row in connection.execute("SELECT * FROM accounts ORDER BY name")]


def revoke_account(connection: sqlite3.Connection, name: str, at: datetime) -> Account:
    """Close an account.

    Raises:
        UsageError: there is no open account of this name.
    """
    account = _open_account(connection, name)
    connection.execute("UPDATE accounts SET revoked_at = ? WHERE id = ?", (to_moment(at), account.id))
    return _account(connection.execute("SELECT * FROM accounts WHERE id = ?", (account.id,)).fetchone())


def add_key(
    connection: sqlite3.Connection,
    account: str,
    digest: str,
    *,
    label: str,
    hint: str,
    at: datetime,
    expires_at: datetime | None,
    parent: int | None,
) -> ApiKey:
    """Store a key of an open account.

    Raises:
        UsageError: there is no open account of this name, or it has no such parent, or the key is there already.
    """
    owner = _open_account(connection, account)
    if connection.execute("SELECT 1 FROM api_keys WHERE digest = ?", (to_text(digest),)).fetchone():
        raise UsageError("this key is stored already; make a new one")
    if parent is not None:
        made_with = _key_with(connection, parent)
        if made_with.account != account:
            raise UsageError(f"the key {parent} opens another account than {account!r}; pass one of its own")
        parent = made_with.id if made_with.parent is None else made_with.parent
        connection.execute(_FORGET, {"account": owner.id, "now": to_moment(at)})
    inserted = connection.execute(
        "INSERT INTO api_keys (account, parent, digest, label, hint, created_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            owner.id,
            parent,
            to_text(digest),
            to_text(label),
            to_text(hint),
            to_moment(at),
            None if expires_at is None else to_moment(expires_at),
        ),
    )
    return _key_with(connection, inserted.lastrowid or 0)


def keys(connection: sqlite3.Connection, account: str | None) -> Sequence[ApiKey]:
    """The keys of this account, or of all, by id."""
    rows = connection.execute(
        f"{_SELECT_KEY} WHERE :account IS NULL OR accounts.name = :account ORDER BY api_keys.id",
        {"account": None if account is None else to_text(account)},
    )
    return [_key(row) for row in rows]


def key_of(connection: sqlite3.Connection, digest: str) -> ApiKey | None:
    """The key with this digest."""
    row = connection.execute(f"{_SELECT_KEY} WHERE api_keys.digest = ?", (to_text(digest),)).fetchone()
    return None if row is None else _key(row)


def revoke_key(connection: sqlite3.Connection, key_id: int, at: datetime) -> ApiKey:
    """Take a key back.

    Raises:
        UsageError: there is none with this id.
    """
    connection.execute("UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (to_moment(at), key_id))
    return _key_with(connection, key_id)


def _require_name(name: str) -> None:
    if not name or len(name) > LONGEST_NAME or not all(sign.isalnum() or sign in _SIGNS for sign in name):
        raise UsageError(
            f"no account can be called {name[:80]!r}; use 1 to {LONGEST_NAME} letters, digits and the signs . _ - @"
        )


def _open_account(connection: sqlite3.Connection, name: str) -> Account:
    row = connection.execute(
        "SELECT * FROM accounts WHERE name = ? AND revoked_at IS NULL", (to_text(name),)
    ).fetchone()
    if row is None:
        raise UsageError(f"there is no open account {name[:80]!r}; pass the name of one, or add it first")
    return _account(row)


def _key_with(connection: sqlite3.Connection, key_id: int) -> ApiKey:
    row = connection.execute(f"{_SELECT_KEY} WHERE api_keys.id = ?", (key_id,)).fetchone()
    if row is None:
        raise UsageError(f"no key has the id {key_id}; pass one from the list of keys")
    return _key(row)


@decoding("an account")
def _account(row: sqlite3.Row) -> Account:
    revoked_at = row["revoked_at"]
    return Account(
        id=row["id"],
        name=row["name"],
        created_at=from_moment(row["created_at"]),
        revoked_at=None if revoked_at is None else from_moment(revoked_at),
    )


@decoding("a key")
def _key(row: sqlite3.Row) -> ApiKey:
    expires_at, revoked_at = row["expires_at"], row["revoked_at"]
    return ApiKey(
        id=row["id"],
        account=row["name"],
        label=from_text(row["label"]),
        digest=row["digest"],
        hint=from_text(row["hint"]),
        created_at=from_moment(row["created_at"]),
        expires_at=None if expires_at is None else from_moment(expires_at),
        revoked_at=None if revoked_at is None else from_moment(revoked_at),
        parent=row["parent"],
    )
