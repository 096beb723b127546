"""``frontmind user``: accounts and their keys, as whoever runs a server handles them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from frontmind.server.keys import digest_of
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.people import PersonSettings
from support import Run

NOW = ("--now", "2026-11-30T09:15:00+01:00")
NINE = datetime(2026, 11, 30, 8, 15, tzinfo=UTC)
ADVICE = "Keep it now: it is not shown again."


@pytest.fixture
def user(frontmind: Run, tmp_path: Path) -> Run:
    """``frontmind user`` over a database of its own."""

    def run(*arguments: str, env: dict[str, str] | None = None, db: str = "mind.db") -> object:
        return frontmind("user", *arguments, "--db", str(tmp_path / db), env=env)

    return run  # type: ignore[return-value]


def names_in(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM accounts ORDER BY name")]


def key_of(user: Run, *arguments: str) -> str:
    finished = user(*arguments, *NOW)
    assert finished.returncode == 0, finished.stderr
    key: str = finished.stdout.strip()
    return key


async def test_a_key_is_printed_alone_and_once_and_opens_the_account(user: Run, tmp_path: Path) -> None:
    finished = user("add", "anna", "--label", "laptop", "--expires", "30", "--timezone", "America/New_York", *NOW)
    key = finished.stdout.removesuffix("\n")
    assert (finished.returncode, len(key), key[:3]) == (0, 46, "fm_")
    assert ADVICE in finished.stderr
    assert "until 2026-12-30" in finished.stderr
    assert key not in finished.stderr + user("list", *NOW).stdout + user("list", "--json", *NOW).stdout
    store = SqliteStore.open(tmp_path / "mind.db")
    found = await store.accounts_of_database().key_of(digest_of(key))
    settings, others = await store.of("anna").settings(), await store.settings()
    await store.close()
    assert found is not None
    assert (found.account, found.label, found.created_at) == ("anna", "laptop", NINE)
    assert found.expires_at == NINE + timedelta(days=30)
    assert (settings, others) == (PersonSettings("America/New_York"), PersonSettings())


def test_the_first_account_is_told_what_changes_with_it(user: Run) -> None:
    first, second = user("add", "anna", *NOW), user("add", "bert", *NOW)
    assert "asks everybody for a key, one that runs already within seconds" in first.stderr
    assert "asks everybody" not in second.stderr


async def test_an_account_gets_one_more_key(user: Run, tmp_path: Path) -> None:
    first, second = key_of(user, "add", "anna"), key_of(user, "key", "anna", "--label", "phone")
    assert first != second
    store = SqliteStore.open(tmp_path / "mind.db")
    keys = await store.accounts_of_database().keys("anna")
    await store.close()
    assert [key.digest for key in keys] == [digest_of(first), digest_of(second)]


def test_accounts_are_listed_with_their_keys_and_what_became_of_them(user: Run) -> None:
    hints = [key_of(user, *arguments)[:7] for arguments in (("add", "bert"), ("add", "anna", "--expires", "1"))]
    hints.append(key_of(user, "key", "anna", "--label", "the\tphone\nof \x1b[31mAnna")[:7])
    assert user("revoke", "key:3", *NOW).returncode == 0
    later = ("--now", "2026-12-02T09:15:00+01:00")
    assert user("revoke", "bert", *later).returncode == 0
    finished = user("list", *later)
    assert finished.stdout.splitlines() == [
        "anna  since 2026-11-30 09:15",
        f"  key:2  {hints[1]}…  since 2026-11-30 09:15  expired 2026-12-01 09:15",
        f"  key:3  {hints[2]}…  the\tphone\\nof \ufffd[31mAnna  since 2026-11-30 09:15  revoked 2026-11-30 09:15",
        "bert  since 2026-11-30 09:15  revoked 2026-12-02 09:15",
        f"  key:1  {hints[0]}…  since 2026-11-30 09:15",
    ]
    listed = json.loads(user("list", "--json", *later).stdout)
    assert [(each["name"], [key["id"] for key in each["keys"]]) for each in listed] == [
        ("anna", ["key:2", "key:3"]),
        ("bert", ["key:1"]),
    ]
    assert listed[0]["keys"][0] == {
        "id": "key:2",
        "label": "",
        "hint": hints[1],
        "created_at": "2026-11-30T09:15:00+01:00",
        "expires_at": "2026-12-01T09:15:00+01:00",
        "revoked_at": None,
        "opened_with": None,
    }
    assert [key["revoked_at"] for key in listed[1]["keys"]] == ["2026-12-02T09:15:00+01:00"]
    assert (listed[0]["timezone"], listed[1]["revoked_at"]) == ("", "2026-12-02T09:15:00+01:00")


async def test_a_revoked_account_is_closed_for_good_and_its_things_stay(user: Run, tmp_path: Path) -> None:
    key = key_of(user, "add", "anna", "--timezone", "UTC")
    finished = user("revoke", "anna", *NOW)
    assert finished.returncode == 0
    assert "none of its keys opens anything any more" in finished.stdout
    for arguments in (("add", "anna"), ("key", "anna"), ("revoke", "anna")):
        again = user(*arguments, *NOW)
        assert (again.returncode, again.stdout, len(again.stderr.splitlines())) == (2, "", 1)
    store = SqliteStore.open(tmp_path / "mind.db")
    found = await store.accounts_of_database().key_of(digest_of(key))
    assert found is not None and found.revoked_at == NINE
    assert await store.of("anna").settings() == PersonSettings("UTC")
    await store.close()


async def test_a_revoked_key_leaves_the_others(user: Run, tmp_path: Path) -> None:
    first, second = key_of(user, "add", "anna"), key_of(user, "key", "anna")
    finished = user("revoke", "KEY:1", *NOW)
    said = f"key:1 ({first[:7]}…) of anna opens nothing any more, and neither does a page that was opened with it.\n"
    assert (finished.returncode, finished.stdout) == (0, said)
    store = SqliteStore.open(tmp_path / "mind.db")
    keys = [await store.accounts_of_database().key_of(digest_of(key)) for key in (first, second)]
    await store.close()
    assert [key is not None and key.revoked_at for key in keys] == [NINE, None]


async def test_a_page_that_is_open_is_listed_with_its_key(user: Run, tmp_path: Path) -> None:
    key_of(user, "add", "anna")
    store = SqliteStore.open(tmp_path / "mind.db")
    await store.accounts_of_database().add_key("anna", "0" * 64, label="page", hint="fm_page", at=NINE, parent=1)
    await store.close()
    listed = user("list", *NOW).stdout.splitlines()
    assert listed[2] == "  key:2  fm_page…  page  opened with key:1  since 2026-11-30 09:15  never expires"
    assert [key["opened_with"] for key in json.loads(user("list", "--json", *NOW).stdout)[0]["keys"]] == [None, "key:1"]
    assert user("revoke", "key:1", *NOW).returncode == 0
    assert "revoked" in user("list", *NOW).stdout.splitlines()[2]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("add", "a b"), "no account can be called 'a b'"),
        (("add", ""), "no account can be called ''"),
        (("add", "\x1b]0;x\x07"), "no account can be called"),
        (("add", "anna", "--timezone", "Mars/Olympus"), "unknown time zone"),
        (("add", "anna", "--label", "x" * 101), "at most 100 characters"),
        (("key", "nobody"), "no open account 'nobody'"),
        (("revoke", "nobody"), "no open account 'nobody'"),
        (("revoke", "key:1"), "no key has the id 1"),
        (("revoke", "1"), "no open account '1'"),
    ],
)
def test_what_cannot_be_done_is_said_on_one_line_and_leaves_nothing(
    user: Run, tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    finished = user(*arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert reason in finished.stderr
    assert len(finished.stderr.splitlines()) == 1
    assert "\x1b" not in finished.stderr
    assert names_in(tmp_path / "mind.db") == []


@pytest.mark.parametrize("days", ["0", "-1", "36501", "soon"])
def test_a_number_of_days_that_cannot_be_is_not_taken(user: Run, tmp_path: Path, days: str) -> None:
    assert user("add", "anna", "--expires", days).returncode == 2
    assert not (tmp_path / "mind.db").exists()


def test_whoever_only_lists_makes_no_database(user: Run, tmp_path: Path) -> None:
    finished = user("list", db="other.db")
    assert (finished.returncode, finished.stdout) == (0, "No accounts. Add one: frontmind user add NAME\n")
    assert json.loads(user("list", "--json", db="other.db").stdout) == []
    assert not (tmp_path / "other.db").exists()


def test_accounts_in_memory_are_refused(frontmind: Run) -> None:
    finished = frontmind("user", "add", "anna", "--db", ":memory:")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "pass a file with --db" in finished.stderr


def test_the_database_of_the_environment_is_used(frontmind: Run, tmp_path: Path) -> None:
    finished = frontmind("user", "add", "anna", env={"FRONTMIND_DB": str(tmp_path / "environment.db")})
    assert finished.returncode == 0
    assert names_in(tmp_path / "environment.db") == ["anna"]
