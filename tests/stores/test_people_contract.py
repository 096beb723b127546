"""What any store promises of accounts, their keys, and what each person has set."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmind.errors import StoreError, UsageError
from frontmind.server.keys import KEY_PREFIX, digest_of, hint_of, new_key
from frontmind.stores.people_protocol import AccountStore
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.people import Account, ApiKey, PersonSettings

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DIGESTS = [digest_of(f"fm_{number}") for number in range(7)]

ACCOUNT_STORES: dict[str, Callable[[Path], SqliteStore]] = {
    "sqlite file": lambda folder: SqliteStore.open(folder / "store.db"),
    "sqlite memory": lambda folder: SqliteStore.open(IN_MEMORY),
}


@pytest.fixture(params=list(ACCOUNT_STORES.values()), ids=list(ACCOUNT_STORES))
async def accounts(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AccountStore]:
    opened: SqliteStore = request.param(tmp_path)
    yield opened.accounts_of_database()
    await opened.close()


async def key_for(
    accounts: AccountStore,
    account: str,
    number: int = 0,
    *,
    at: datetime = NINE,
    expires_at: datetime | None = None,
    parent: int | None = None,
) -> ApiKey:
    return await accounts.add_key(
        account, DIGESTS[number], label="laptop", hint="fm_0", at=at, expires_at=expires_at, parent=parent
    )


class TestAccounts:
    async def test_accounts_are_listed_by_name_with_when_they_were_made(self, accounts: AccountStore) -> None:
        assert list(await accounts.accounts()) == []
        added = [await accounts.add_account(name, NINE) for name in ("bert", "anna", "carl")]
        assert added[0] == Account(added[0].id, "bert", NINE)
        assert [account.name for account in await accounts.accounts()] == ["anna", "bert", "carl"]
        assert set(await accounts.accounts()) == set(added)

    @pytest.mark.parametrize("name", ["a", "Anna.Müller-2@example_x", "x" * 64, "安娜", "42"])
    async def test_a_name_is_of_letters_digits_and_a_few_signs(self, accounts: AccountStore, name: str) -> None:
        assert (await accounts.add_account(name, NINE)).name == name

    @pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "x" * 65, "a\0", "\ud800", "a\n", "key:1", "<b>", "a©"])
    async def test_another_name_is_nobodys(self, accounts: AccountStore, name: str) -> None:
        with pytest.raises(UsageError, match="no account can be called") as caught:
            await accounts.add_account(name, NINE)
        assert len(str(caught.value).splitlines()) == 1
        assert list(await accounts.accounts()) == []

    async def test_a_name_is_given_once_also_when_it_was_revoked(self, accounts: AccountStore) -> None:
        first = await accounts.add_account("anna", NINE)
        with pytest.raises(UsageError, match="already"):
            await accounts.add_account("anna", NINE)
        await accounts.revoke_account("anna", NINE + HOUR)
        with pytest.raises(UsageError, match="not given again"):
            await accounts.add_account("anna", NINE)
        assert list(await accounts.accounts()) == [replace(first, revoked_at=NINE + HOUR)]

    async def test_only_an_open_account_is_revoked_or_gets_keys(self, accounts: AccountStore) -> None:
        await accounts.add_account("anna", NINE)
        revoked = await accounts.revoke_account("anna", NINE + HOUR)
        assert revoked.revoked_at == NINE + HOUR
        for name in ("anna", "bert", "", "\ud800"):
            with pytest.raises(UsageError, match="no open account"):
                await accounts.revoke_account(name, NINE)
            with pytest.raises(UsageError, match="no open account"):
                await key_for(accounts, name)
        assert list(await accounts.keys()) == []


class TestKeys:
    async def test_a_key_is_found_by_its_digest(self, accounts: AccountStore) -> None:
        await accounts.add_account("anna", NINE)
        berlin = NINE.astimezone(ZoneInfo("Europe/Berlin"))
        key = await accounts.add_key(
            "anna", DIGESTS[0], label="\0 \ud800", hint="fm_0", at=berlin, expires_at=berlin + HOUR
        )
        assert key == ApiKey(key.id, "anna", "\0 \ud800", DIGESTS[0], "fm_0", NINE, expires_at=NINE + HOUR)
        assert await accounts.key_of(DIGESTS[0]) == key
        for other in (DIGESTS[1], "", "\ud800", DIGESTS[0].upper(), DIGESTS[0][:-1], "%"):
            assert await accounts.key_of(other) is None

    async def test_keys_are_listed_by_id_of_one_account_or_of_all(self, accounts: AccountStore) -> None:
        for name in ("bert", "anna"):
            await accounts.add_account(name, NINE)
        keys = [await key_for(accounts, name, number) for number, name in enumerate(("bert", "anna", "bert"))]
        assert list(await accounts.keys()) == keys
        assert list(await accounts.keys("bert")) == [keys[0], keys[2]]
        assert list(await accounts.keys("nobody")) == []

    async def test_a_key_opens_one_account(self, accounts: AccountStore) -> None:
        for name in ("anna", "bert"):
            await accounts.add_account(name, NINE)
        key = await key_for(accounts, "anna")
        for name in ("anna", "bert"):
            with pytest.raises(UsageError, match="stored already"):
                await key_for(accounts, name)
        assert list(await accounts.keys()) == [key]

    async def test_a_key_is_taken_back_once(self, accounts: AccountStore) -> None:
        await accounts.add_account("anna", NINE)
        key, other = await key_for(accounts, "anna", 0), await key_for(accounts, "anna", 1)
        revoked = await accounts.revoke_key(key.id, NINE + HOUR)
        assert revoked == replace(key, revoked_at=NINE + HOUR)
        assert await accounts.revoke_key(key.id, NINE + 2 * HOUR) == revoked
        assert await accounts.key_of(DIGESTS[0]) == revoked, "whoever asks is told that it was taken back"
        assert await accounts.key_of(DIGESTS[1]) == other

    @pytest.mark.parametrize("unknown", [0, -1, 99, 10**30])
    async def test_a_key_that_is_not_there_cannot_be_taken_back(self, accounts: AccountStore, unknown: int) -> None:
        with pytest.raises(UsageError):
            await accounts.revoke_key(unknown, NINE)

    async def test_no_key_opens_a_revoked_account(self, accounts: AccountStore) -> None:
        for number, name in enumerate(("anna", "bert")):
            await accounts.add_account(name, NINE)
            await key_for(accounts, name, number)
        await accounts.revoke_account("anna", NINE + HOUR)
        revoked = await accounts.key_of(DIGESTS[0])
        assert revoked is not None and revoked.revoked_at == NINE + HOUR
        assert list(await accounts.keys("anna")) == [revoked]
        (other,) = await accounts.keys("bert")
        assert other.revoked_at is None and other == await accounts.key_of(DIGESTS[1])

    async def test_a_key_is_taken_back_with_the_one_that_it_was_made_with(self, accounts: AccountStore) -> None:
        await accounts.add_account("anna", NINE)
        first, other = await key_for(accounts, "anna", 0), await key_for(accounts, "anna", 1)
        child = await key_for(accounts, "anna", 2, parent=first.id)
        grandchild = await key_for(accounts, "anna", 3, parent=child.id)
        assert [first.parent, child.parent, grandchild.parent] == [None, first.id, first.id]
        await accounts.revoke_key(child.id, NINE + HOUR)
        assert [key.revoked_at for key in await accounts.keys()] == [None, None, NINE + HOUR, None]
        await accounts.revoke_key(first.id, NINE + 2 * HOUR)
        assert [key.revoked_at for key in await accounts.keys()] == [
            NINE + 2 * HOUR,
            None,
            NINE + HOUR,
            NINE + 2 * HOUR,
        ]
        found = await accounts.key_of(DIGESTS[3])
        assert found is not None and found.revoked_at == NINE + 2 * HOUR
        assert await accounts.key_of(DIGESTS[1]) == other

    async def test_a_key_is_made_with_one_of_its_own_account_alone(self, accounts: AccountStore) -> None:
        for name in ("anna", "bert"):
            await accounts.add_account(name, NINE)
        key = await key_for(accounts, "anna")
        for account, parent in (("bert", key.id), ("anna", 99), ("anna", 10**30)):
            with pytest.raises(UsageError):
                await key_for(accounts, account, 1, parent=parent)
        assert list(await accounts.keys()) == [key]

    async def test_of_keys_that_were_made_with_others_those_that_hold_no_longer_are_forgotten(
        self, accounts: AccountStore
    ) -> None:
        for name in ("anna", "bert"):
            await accounts.add_account(name, NINE)
        expired = await key_for(accounts, "anna", 0, expires_at=NINE + HOUR)
        bert = await key_for(accounts, "bert", 1)
        of_bert = await key_for(accounts, "bert", 2, parent=bert.id, expires_at=NINE + HOUR)
        await key_for(accounts, "anna", 3, parent=expired.id, expires_at=NINE + HOUR)
        await accounts.revoke_key((await key_for(accounts, "anna", 4, parent=expired.id)).id, NINE)
        stays = await key_for(accounts, "anna", 5, parent=expired.id, expires_at=NINE + 2 * HOUR)
        newest = await key_for(accounts, "anna", 6, parent=expired.id, at=NINE + HOUR)
        assert list(await accounts.keys()) == [expired, bert, of_bert, stays, newest]

    async def test_a_moment_without_zone_is_not_taken(self, accounts: AccountStore) -> None:
        naive = NINE.replace(tzinfo=None)
        with pytest.raises(UsageError, match="time zone"):
            await accounts.add_account("anna", naive)
        await accounts.add_account("anna", NINE)
        with pytest.raises(UsageError, match="time zone"):
            await accounts.add_key("anna", DIGESTS[0], label="", hint="", at=NINE, expires_at=naive)
        assert list(await accounts.keys()) == []


class TestKeyTexts:
    def test_a_key_has_256_bits_behind_its_prefix(self) -> None:
        asked: list[int] = []

        def entropy(size: int) -> bytes:
            asked.append(size)
            return bytes(range(size))

        assert new_key(entropy) == "fm_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
        assert asked == [32]

    def test_no_two_keys_are_the_same_and_each_is_url_safe(self) -> None:
        keys = {new_key() for _ in range(500)}
        assert len(keys) == 500
        for key in keys:
            assert key.startswith(KEY_PREFIX)
            assert len(key) == len(KEY_PREFIX) + 43
            assert set(key[3:]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

    @given(st.text(st.characters()))
    def test_any_text_has_a_digest_and_a_short_hint(self, text: str) -> None:
        assert len(digest_of(text)) == 64
        assert len(hint_of(text)) <= 7
        assert text.startswith(hint_of(text))

    @pytest.mark.requirement("WEB-2")
    async def test_the_database_holds_nothing_of_a_key_but_its_digest_and_its_first_characters(
        self, tmp_path: Path
    ) -> None:
        store, key = SqliteStore.open(tmp_path / "store.db"), new_key()
        accounts = store.accounts_of_database()
        await accounts.add_account("anna", NINE)
        await accounts.add_key("anna", digest_of(key), label="", hint=hint_of(key), at=NINE)
        await store.close()
        content = (tmp_path / "store.db").read_bytes()
        assert digest_of(key).encode() in content
        assert hint_of(key).encode() in content
        assert key[: len(hint_of(key)) + 1].encode() not in content
        assert key[len(KEY_PREFIX) : len(KEY_PREFIX) + 8].encode() not in content


class TestSettings:
    async def test_without_settings_the_defaults_hold(self, store: Store) -> None:
        assert await store.settings() == PersonSettings()

    async def test_settings_take_the_place_of_earlier_ones_and_belong_to_their_owner(self, store: Store) -> None:
        other = store.of("anna")
        await store.save_settings(PersonSettings("Europe/Berlin", "Call me Bert"))
        await other.save_settings(PersonSettings("UTC"))
        await store.save_settings(PersonSettings("", "Call me Carl"))
        assert await store.settings() == PersonSettings("", "Call me Carl")
        assert await other.settings() == PersonSettings("UTC")
        assert await store.of("third").settings() == PersonSettings()

    @settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(timezone=st.text(st.characters()), instructions=st.text(st.characters()))
    async def test_every_text_comes_back(self, store: Store, timezone: str, instructions: str) -> None:
        await store.save_settings(PersonSettings(timezone, instructions))
        assert await store.settings() == PersonSettings(timezone, instructions)


class TestFiles:
    async def test_accounts_and_settings_outlive_the_store_and_are_read_without_writing(self, tmp_path: Path) -> None:
        store = SqliteStore.open(tmp_path / "store.db")
        account = await store.of("anna").accounts_of_database().add_account("anna", NINE)
        key = await key_for(store.accounts_of_database(), "anna")
        await store.of("anna").save_settings(PersonSettings("UTC"))
        await store.close()
        looking = SqliteStore.open_existing_read_only(tmp_path / "store.db")
        assert list(await looking.accounts_of_database().accounts()) == [account]
        assert await looking.accounts_of_database().key_of(DIGESTS[0]) == key
        assert await looking.of("anna").settings() == PersonSettings("UTC")
        with pytest.raises(StoreError, match="reading only"):
            await looking.accounts_of_database().revoke_account("anna", NINE)
        await looking.close()

    @pytest.mark.parametrize(("table", "column"), [("accounts", "created_at"), ("api_keys", "created_at")])
    async def test_a_damaged_row_is_a_store_error(self, tmp_path: Path, table: str, column: str) -> None:
        store = SqliteStore.open(tmp_path / "store.db")
        accounts = store.accounts_of_database()
        await accounts.add_account("anna", NINE)
        await key_for(accounts, "anna")
        with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
            connection.execute(f"UPDATE {table} SET {column} = 'yesterday'")
        with pytest.raises(StoreError, match="damaged"):
            await (accounts.accounts() if table == "accounts" else accounts.keys())
        await store.close()
