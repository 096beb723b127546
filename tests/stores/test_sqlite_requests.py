"""How requests share what they have in common, and that a damaged one is noticed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from frontmind.errors import StoreError
from frontmind.stores.sqlite import SqliteStore
from frontmind.window.canonical import Json, JsonObject


async def test_one_more_turn_adds_only_what_is_new_in_its_request(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore.open(path)
    messages: list[Json] = [{"role": "user", "content": f"{i} " + "x" * 1000} for i in range(100)]
    head: JsonObject = {"model": "m", "system": "s" * 5000}
    await store.save_request({**head, "messages": messages[:98]})
    await store.save_request({**head, "messages": [*messages[:98], "notifications 1"]})
    await store.save_request({**head, "messages": [*messages, "notifications 2"]})
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        count = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("requests", "request_blobs", "request_messages")
        }
    assert count == {"requests": 3, "request_blobs": 1 + 100 + 2, "request_messages": 98 + 1 + 3}


async def test_left_out_turns_cost_no_second_copy_of_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore.open(path)
    messages: list[Json] = [f"{i} " + "x" * 1000 for i in range(50)]
    await store.save_request({"messages": messages})
    await store.save_request({"messages": messages[10:]})
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM request_blobs").fetchone() == (51,)


async def test_a_changed_request_is_a_store_error(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.db")
    saved = await store.save_request({"model": "m", "messages": ["a", "b"]})
    await store.close()
    for change in (
        "UPDATE request_blobs SET data = '\"c\"' WHERE data = '\"b\"'",
        "UPDATE request_blobs SET data = 'no json'",
        "UPDATE request_blobs SET data = x'ff'",
        "UPDATE requests SET last_message = NULL",
    ):
        with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
            connection.execute(change)
        store = SqliteStore.open(tmp_path / "store.db")
        with pytest.raises(StoreError, match=r"the stored request .* is damaged"):
            await store.load_request(saved)
        await store.close()
