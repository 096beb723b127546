"""What any store promises of thread keys: a client that sends all that was said before is recognised by them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.stores.protocols import Store
from frontmind.stores.thread_protocol import ThreadPlace
from frontmind.values.message import user

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


async def turns(store: Store, count: int, conversation: str = "main") -> None:
    for _ in range(count):
        await store.begin_turn(conversation, user("a"), NINE, segment_pause=timedelta(hours=1))


async def note(store: Store, key: str, parent: str, number: int, conversation: str = "main") -> None:
    await store.note_thread(key, parent=parent, conversation=conversation, number=number)


async def test_a_thread_is_found_with_all_its_turns_in_order(store: Store) -> None:
    await turns(store, 3)
    await note(store, "one", "", 1)
    await note(store, "two", "one", 2)
    await note(store, "three", "two", 3)
    assert await store.find_thread("three") == ThreadPlace("main", (1, 2, 3))
    assert await store.find_thread("one") == ThreadPlace("main", (1,))
    assert await store.find_thread("") is None
    assert await store.find_thread("four") is None


async def test_threads_with_the_same_beginning_part_where_they_do(store: Store) -> None:
    await turns(store, 5)
    for key, parent, number in (("a", "", 1), ("ab", "a", 2), ("ac", "a", 3), ("acd", "ac", 4), ("abe", "ab", 5)):
        await note(store, key, parent, number)
    assert await store.find_thread("abe") == ThreadPlace("main", (1, 2, 5))
    assert await store.find_thread("acd") == ThreadPlace("main", (1, 3, 4))


async def test_the_same_key_again_takes_the_newer_place_and_its_threads_stay_where_they_are(store: Store) -> None:
    await turns(store, 3)
    await turns(store, 3, "second")
    await note(store, "a", "", 1)
    await note(store, "ab", "a", 2)
    await note(store, "a", "", 1, "second")
    assert await store.find_thread("a") == ThreadPlace("second", (1,))
    assert await store.find_thread("ab") == ThreadPlace("main", (1, 2))
    await note(store, "abc", "ab", 3)
    assert await store.find_thread("abc") == ThreadPlace("main", (1, 2, 3))
    await note(store, "a", "", 1)
    assert await store.find_thread("a") == ThreadPlace("main", (1,))


async def test_only_an_earlier_turn_of_the_same_conversation_was_said_before(store: Store) -> None:
    await turns(store, 3)
    await turns(store, 3, "second")
    await note(store, "later", "", 3)
    await note(store, "elsewhere", "", 1, "second")
    for parent in ("later", "elsewhere", "unknown", "own"):
        await note(store, "own", parent, 2)
        assert await store.find_thread("own") == ThreadPlace("main", (2,))


async def test_the_turns_with_a_key_are_told_by_number(store: Store) -> None:
    await turns(store, 4)
    await turns(store, 1, "second")
    for key, number in (("d", 4), ("b", 2), ("b again", 2)):
        await note(store, key, "", number)
    await note(store, "x", "", 1, "second")
    assert list(await store.thread_turns("main")) == [2, 4]
    assert list(await store.thread_turns("second")) == [1]
    assert list(await store.thread_turns("none")) == []


async def test_each_owner_has_its_own_threads(store: Store) -> None:
    other = store.of("somebody else")
    await turns(store, 2)
    await turns(other, 2)
    await note(store, "a", "", 1)
    assert await other.find_thread("a") is None
    await note(other, "ab", "a", 2)
    assert await other.find_thread("ab") == ThreadPlace("main", (2,))
    assert await store.find_thread("ab") is None
    assert list(await other.thread_turns("main")) == [2]
    assert list(await store.thread_turns("main")) == [1]


async def test_a_turn_that_was_replaced_is_still_found(store: Store) -> None:
    await turns(store, 2)
    await note(store, "a", "", 1)
    await note(store, "ab", "a", 2)
    await store.set_line("main", ())
    place = await store.find_thread("ab")
    assert place is not None
    await store.set_line("main", place.numbers)
    assert [turn.state.value for turn in await store.turns("main")] == ["open", "open"]


@pytest.mark.parametrize(("conversation", "number"), [("main", 0), ("main", 3), ("main", 10**30), ("none", 1)])
async def test_a_thread_ends_with_a_turn_that_is_there(store: Store, conversation: str, number: int) -> None:
    await turns(store, 2)
    with pytest.raises(UsageError):
        await note(store, "a", "", number, conversation)
    assert await store.find_thread("a") is None


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys=st.lists(st.text(st.characters(), min_size=1), min_size=1, max_size=4, unique=True), data=st.data())
async def test_every_key_finds_its_own_thread(store: Store, keys: list[str], data: st.DataObject) -> None:
    conversation = data.draw(st.text(st.characters()))
    first = len(await store.turns(conversation))
    await turns(store, len(keys), conversation)
    for offset, key in enumerate(keys, 1):
        await note(store, key, keys[offset - 2] if offset > 1 else "", first + offset, conversation)
    numbers = tuple(range(first + 1, first + len(keys) + 1))
    assert await store.find_thread(keys[-1]) == ThreadPlace(conversation, numbers)
