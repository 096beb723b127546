"""``frontmind user``: who may use a server over this database, and with which keys. Knows nothing of the server.

A key is shown once, when it is made.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Final, TypeVar

import typer

from frontmind.cli.options import DbOption, JsonOption, NowOption, named_path, resolve_clock, resolve_db
from frontmind.cli.settings import load_settings
from frontmind.cli.terminal import emit, json_text, note, on_one_line, say
from frontmind.errors import UsageError
from frontmind.server.keys import digest_of, hint_of, new_key
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.clock import Clock, find_zone
from frontmind.values.people import Account, ApiKey

T = TypeVar("T")

LONGEST_LABEL: Final = 100
_MOST_DAYS: Final = 36_500
# No account can be called so: a name has no colon.
_KEY_ID: Final = re.compile(r"key:(\d{1,18})", re.ASCII | re.IGNORECASE)

_NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the person is called.", show_default=False)]
_LabelOption = Annotated[
    str, typer.Option("--label", metavar="TEXT", help="What the key is for, such as laptop.", show_default=False)
]
_ExpiresOption = Annotated[
    int | None,
    typer.Option(
        "--expires",
        metavar="DAYS",
        min=1,
        max=_MOST_DAYS,
        help="After how many days the key opens nothing any more; never without it.",
        show_default=False,
    ),
]

user_app = typer.Typer(help="The people who may use a server, and their keys.", no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class _Database:
    """The database of this run, and its clock."""

    store: SqliteStore
    clock: Clock


@user_app.command("add")
def add_user(
    name: _NameArgument,
    label: _LabelOption = "",
    expires: _ExpiresOption = None,
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", metavar="ZONE", help="The person's IANA time zone.", show_default=False),
    ] = None,
    db: DbOption = None,
    now: NowOption = None,
) -> None:
    """Add an account, and print its first key. It is not shown again."""

    async def run(database: _Database) -> None:
        if timezone is not None:
            find_zone(timezone)
        _require_label(label)
        accounts = database.store.accounts_of_database()
        is_first = not await accounts.accounts()
        account = await accounts.add_account(name, database.clock.now())
        if timezone is not None:
            owned = database.store.of(account.name)
            await owned.save_settings(replace(await owned.settings(), timezone=timezone))
        await _add_key(database, account.name, label, expires)
        if is_first:
            note(
                "This is the first account: from now on a server over this database asks everybody for a key, one that "
                "runs already within seconds. What was said without one stays with frontmind chat."
            )

    _with_database(db, now, run)


@user_app.command("key")
def add_key(
    name: _NameArgument,
    label: _LabelOption = "",
    expires: _ExpiresOption = None,
    db: DbOption = None,
    now: NowOption = None,
) -> None:
    """Print one more key of an account. It is not shown again."""

    async def run(database: _Database) -> None:
        _require_label(label)
        await _add_key(database, name, label, expires)

    _with_database(db, now, run)


@user_app.command("list")
def list_users(db: DbOption = None, now: NowOption = None, as_json: JsonOption = False) -> None:
    """List the accounts with their keys, by which nobody can log in. Nothing is written to the database."""

    async def run(database: _Database) -> None:
        accounts = database.store.accounts_of_database()
        keys = await accounts.keys()
        found = [
            _Listed(account, await _zone(database, account), _of(account, keys))
            for account in await accounts.accounts()
        ]
        if as_json:
            emit(json_text([_as_json(listed, database.clock) for listed in found]) + "\n")
            return
        for listed in found:
            for line in _lines(listed, database.clock):
                say(line)
        if not found:
            _say_none()

    file = resolve_db(db, load_settings())
    if file == IN_MEMORY or not named_path(file).exists():
        # Whoever only looks makes no database.
        if as_json:
            emit(json_text([]) + "\n")
        else:
            _say_none()
        return
    _with_database(db, now, run, writes=False)


@user_app.command("revoke")
def revoke(
    what: Annotated[
        str, typer.Argument(metavar="NAME|KEY-ID", help="An account, or a key such as key:3.", show_default=False)
    ],
    db: DbOption = None,
    now: NowOption = None,
) -> None:
    """Close an account with all its keys, or take one key back. What is stored for the person stays."""

    async def run(database: _Database) -> None:
        accounts, at = database.store.accounts_of_database(), database.clock.now()
        key_id = _KEY_ID.fullmatch(what)
        if key_id is None:
            account = await accounts.revoke_account(what, at)
            say(
                f"{account.name} is revoked: none of its keys opens anything any more. What is stored for it stays, "
                "and the name is not given again."
            )
            return
        key = await accounts.revoke_key(int(key_id[1]), at)
        say(
            f"key:{key.id} ({on_one_line(key.hint)}…) of {key.account} opens nothing any more, and neither does a page "
            "that was opened with it."
        )

    _with_database(db, now, run)


@dataclass(frozen=True, slots=True)
class _Listed:
    """An account with its zone, empty for that of the program, and its keys."""

    account: Account
    zone: str
    keys: Sequence[ApiKey]


async def _add_key(database: _Database, account: str, label: str, days: int | None) -> None:
    now, key = database.clock.now(), new_key()
    stored = await database.store.accounts_of_database().add_key(
        account,
        digest_of(key),
        label=label,
        hint=hint_of(key),
        at=now,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    # Alone on standard output, so that a script can take it.
    emit(f"{key}\n")
    until = "" if stored.expires_at is None else f" It holds until {_day(stored.expires_at, database.clock)}."
    note(
        f"This is key:{stored.id} of {account}. Keep it now: it is not shown again.{until} Log in with it on the page "
        "that frontmind serve opens, or give it to a client as its API key."
    )


async def _zone(database: _Database, account: Account) -> str:
    return (await database.store.of(account.name).settings()).timezone


def _of(account: Account, keys: Sequence[ApiKey]) -> list[ApiKey]:
    return [key for key in keys if key.account == account.name]


def _lines(listed: _Listed, clock: Clock) -> list[str]:
    account = listed.account
    zone = f"  {listed.zone}" if listed.zone else ""
    gone = "" if account.revoked_at is None else f"  revoked {_day(account.revoked_at, clock)}"
    lines = [f"{account.name}  since {_day(account.created_at, clock)}{on_one_line(zone)}{gone}"]
    for key in listed.keys:
        label = f"  {on_one_line(key.label)}" if key.label else ""
        label += "" if key.parent is None else f"  opened with key:{key.parent}"
        state = f"  {_state(key, clock)}" if account.revoked_at is None else ""
        lines.append(f"  key:{key.id}  {on_one_line(key.hint)}…{label}  since {_day(key.created_at, clock)}{state}")
    return lines


def _state(key: ApiKey, clock: Clock) -> str:
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at, clock)}"
    if key.expires_at is None:
        return "never expires"
    over = "expired" if key.expires_at <= clock.now() else "expires"
    return f"{over} {_day(key.expires_at, clock)}"


def _as_json(listed: _Listed, clock: Clock) -> dict[str, object]:
    return {
        "name": listed.account.name,
        "created_at": _moment(listed.account.created_at, clock),
        "revoked_at": _moment(listed.account.revoked_at, clock),
        "timezone": listed.zone,
        "keys": [
            {
                "id": f"key:{key.id}",
                "label": key.label,
                "hint": key.hint,
                "created_at": _moment(key.created_at, clock),
                "expires_at": _moment(key.expires_at, clock),
                "revoked_at": _moment(key.revoked_at, clock),
                "opened_with": None if key.parent is None else f"key:{key.parent}",
            }
            for key in listed.keys
        ],
    }


def _moment(moment: datetime | None, clock: Clock) -> str | None:
    return None if moment is None else moment.astimezone(clock.zone).isoformat()


def _day(moment: datetime, clock: Clock) -> str:
    return f"{moment.astimezone(clock.zone):%Y-%m-%d %H:%M}"


def _say_none() -> None:
    say("No accounts. Add one: frontmind user add NAME")


def _require_label(label: str) -> None:
    if len(label) > LONGEST_LABEL:
        raise UsageError(f"a label has at most {LONGEST_LABEL} characters; say in a few words what the key is for")


def _with_database(
    db: str | None, now: str | None, run: Callable[[_Database], Awaitable[T]], *, writes: bool = True
) -> T:
    settings = load_settings()
    clock = resolve_clock(now, None, settings)
    file = resolve_db(db, settings)
    if file == IN_MEMORY:
        raise UsageError("accounts in :memory: are gone when this command ends; pass a file with --db")

    async def opened() -> T:
        store = SqliteStore.open(file) if writes else SqliteStore.open_existing_read_only(file)
        try:
            return await run(_Database(store, clock))
        finally:
            await store.close()

    return asyncio.run(opened())
