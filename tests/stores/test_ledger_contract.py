"""What every `LedgerStore` does, and what becomes of a file that was written before there was a ledger."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmind.errors import StoreError, UsageError
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from frontmind.values.calls import CacheVerdict, Call, CallEnd, CallPart, Cause, NewCall, Purpose
from frontmind.values.message import user
from frontmind.values.usage import Usage

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NEW = NewCall(
    conversation="main",
    turn=3,
    step=1,
    purpose=Purpose.TURN,
    model="anthropic:claude-sonnet-5",
    layout="assistant",
    request="ab" * 32,
    sent_at=NINE,
    expected=Usage(9_000, 8_000, 500, 0, estimated=True, written_by_ttl=(("1h", 100), ("5m", 400))),
)
END = CallEnd(
    ended_at=NINE + MINUTE,
    usage=Usage(9_010, 7_000, 1_500, 20, written_by_ttl=(("5m", 1_500),)),
    cost=Decimal("0.0123456789012345678901234567890123"),
    full_price=Decimal("0.030"),
    verdict=CacheVerdict(Cause.MOVED, 1_000, "domaindoc moved", "system[1] (domaindoc)", "a\0b", "a\ud800c"),
    diagnosis="messages_changed",
    parts=(
        CallPart("domaindoc", "DomaindocTrinket", 0, 1_000, 0),
        CallPart("history", "", 7_000, 500, 510),
    ),
)
texts = st.text(st.characters(), max_size=20)
counts = st.integers(0, 2**53)
money = st.none() | st.decimals(0, 10**6, places=12)
usages = st.builds(
    Usage,
    counts,
    counts,
    counts,
    counts,
    st.booleans(),
    st.dictionaries(st.sampled_from(["5m", "1h", "24h"]), counts).map(lambda found: tuple(sorted(found.items()))),
)
moments = st.datetimes(datetime(1900, 1, 2), datetime(2999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
new_calls = st.builds(
    NewCall,
    texts,
    st.integers(0, 2**40),
    st.integers(0, 99),
    st.sampled_from(Purpose),
    texts,
    texts,
    texts,
    moments,
    st.none() | usages,
)
ends = st.builds(
    CallEnd,
    moments,
    usages,
    money,
    money,
    st.builds(CacheVerdict, st.sampled_from(Cause), counts, texts, texts, texts, texts),
    texts,
    st.lists(st.builds(CallPart, texts, texts, counts, counts, counts), max_size=3).map(tuple),
)


async def keep(store: Store, new: NewCall, end: CallEnd | None = END) -> int:
    call_id = await store.begin_call(new)
    if end is not None:
        await store.finish_call(call_id, end)
    return call_id


@pytest.mark.requirement("LAB-5")
async def test_a_call_comes_back_as_it_was_noted(store: Store) -> None:
    first = await store.begin_call(NEW)
    assert list(await store.calls()) == [Call(first, NEW, None)]
    await store.finish_call(first, END)
    (call,) = await store.calls()
    assert call == Call(first, NEW, END)
    assert call.end is not None
    assert str(call.end.cost) == "0.0123456789012345678901234567890123", "no digit is rounded"


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(new=new_calls, end=st.none() | ends)
async def test_every_call_comes_back_as_it_was_noted(new: NewCall, end: CallEnd | None) -> None:
    store = SqliteStore.open(IN_MEMORY)
    call_id = await keep(store, new, end)
    assert list(await store.calls(conversation=new.conversation)) == [Call(call_id, new, end)]
    await store.close()


async def test_what_is_not_known_stays_unknown(store: Store) -> None:
    new = replace(NEW, expected=None)
    end = CallEnd(NINE, Usage(5, 0, 0, 1))
    await keep(store, new, end)
    (call,) = await store.calls()
    assert (call.new, call.end) == (new, end)
    assert call.end is not None
    assert (call.end.cost, call.end.full_price, call.new.expected) == (None, None, None)


async def test_a_second_end_of_a_call_changes_nothing(store: Store) -> None:
    call_id = await keep(store, NEW)
    await store.finish_call(call_id, CallEnd(NINE, Usage(1, 1, 1, 1)))
    assert [call.end for call in await store.calls()] == [END]


async def test_the_end_of_a_call_that_nobody_began_is_refused(store: Store) -> None:
    call_id = await keep(store, NEW, None)
    with pytest.raises(UsageError, match=f"no call {call_id + 1}"):
        await store.finish_call(call_id + 1, END)
    assert [call.end for call in await store.calls()] == [None]


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-Infinity"])
async def test_an_amount_that_is_no_number_is_refused(store: Store, amount: str) -> None:
    call_id = await keep(store, NEW, None)
    for end in (replace(END, cost=Decimal(amount)), replace(END, full_price=Decimal(amount))):
        with pytest.raises(UsageError, match="no finite number"):
            await store.finish_call(call_id, end)
    assert [call.end for call in await store.calls()] == [None]


async def test_calls_come_in_the_order_in_which_they_were_sent(store: Store) -> None:
    back = [await keep(store, replace(NEW, sent_at=NINE - number * MINUTE)) for number in range(3)]
    assert [call.id for call in await store.calls()] == back, "a clock that was set back changes no order"
    assert back == sorted(set(back))


async def test_calls_are_chosen_by_conversation_time_and_number(store: Store) -> None:
    east = timezone(timedelta(hours=9))
    ids = [
        await keep(store, replace(NEW, conversation=name, sent_at=NINE + number * MINUTE))
        for number, name in enumerate(("main", "other", "main", "main"))
    ]

    async def chosen(
        conversation: str | None = None, since: int | None = None, until: int | None = None, newest: int | None = None
    ) -> list[int]:
        found = await store.calls(
            conversation=conversation,
            since=None if since is None else (NINE + since * MINUTE).astimezone(east),
            until=None if until is None else (NINE + until * MINUTE).astimezone(east),
            newest=newest,
        )
        return [ids.index(call.id) for call in found]

    assert await chosen() == [0, 1, 2, 3]
    assert await chosen("main") == [0, 2, 3]
    assert await chosen("nobody") == []
    assert await chosen(since=1, until=3) == [1, 2], "the first moment is included, the last is not"
    assert await chosen(newest=2) == [2, 3]
    assert await chosen("main", until=3, newest=1) == [2]
    assert await chosen(newest=0) == []


async def test_a_moment_without_a_zone_is_refused(store: Store) -> None:
    for use in (
        store.begin_call(replace(NEW, sent_at=NINE.replace(tzinfo=None))),
        store.calls(since=NINE.replace(tzinfo=None)),
    ):
        with pytest.raises(UsageError, match="no time zone"):
            await use


async def test_another_owner_sees_and_ends_no_call_of_ours(store: Store) -> None:
    call_id = await keep(store, NEW, None)
    other = store.of("other")
    own = await keep(other, replace(NEW, conversation="theirs"))
    with pytest.raises(UsageError, match="no call"):
        await other.finish_call(call_id, END)
    assert [call.id for call in await other.calls()] == [own]
    assert [(call.id, call.end) for call in await store.calls()] == [(call_id, None)]


class TestFiles:
    async def test_a_call_outlasts_the_process_that_began_it(self, tmp_path: Path) -> None:
        store = SqliteStore.open(tmp_path / "store.db")
        call_id = await keep(store, NEW, None)
        await store.close()
        again = SqliteStore.open(tmp_path / "store.db")
        await again.finish_call(call_id, END)
        await again.close()
        looking = SqliteStore.open_existing_read_only(tmp_path / "store.db")
        assert list(await looking.calls()) == [Call(call_id, NEW, END)]
        with pytest.raises(StoreError, match="reading only"):
            await looking.begin_call(NEW)
        await looking.close()

    async def test_a_file_from_before_the_ledger_gets_one_and_loses_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for migration in MIGRATIONS[:4]:
                for statement in migration:
                    connection.execute(statement)
            connection.execute("PRAGMA user_version = 4")
            connection.execute("INSERT INTO conversations (owner, name) VALUES ('', 'main')")
            connection.execute(
                """
                INSERT INTO turns (conversation, number, segment, state, asked_at, user_message)
                VALUES (1, 1, 1, 'open', '2026-11-30T09:00:00.000000+00:00',
                        '{"parts":[{"text":"hello","type":"text"}],"role":"user"}')
                """
            )
        before = path.read_bytes()
        looking = SqliteStore.open_existing_read_only(path)
        assert list(await looking.calls()) == []
        await looking.close()
        assert path.read_bytes() == before, "looking changes nothing"
        store = SqliteStore.open(path)
        call_id = await keep(store, NEW)
        assert [turn.user for turn in await store.turns("main")] == [user("hello")]
        assert list(await store.calls()) == [Call(call_id, NEW, END)]
        await store.close()
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION >= 5

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("cost", "much"),
            ("full_price", "NaN"),
            ("usage", "[]"),
            ("usage", '{"input":"9","cached":0,"written":0,"output":0,"estimated":false,"written_by_ttl":{}}'),
            ("expected", "{"),
            ("cause", "weather"),
            ("purpose", "fun"),
            ("parts", '[["history","",1,2]]'),
            ("sent_at", "2026-13-01"),
            ("lost_tokens", None),
        ],
    )
    async def test_a_damaged_row_is_an_error_of_the_store(self, tmp_path: Path, column: str, value: str | None) -> None:
        path = tmp_path / "store.db"
        store = SqliteStore.open(path)
        await keep(store, NEW)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"UPDATE calls SET {column} = ?", (value,))
        with pytest.raises(StoreError, match=r"a call of the ledger in .* is damaged"):
            await store.calls()
        await store.close()
