"""What every `Store` promises of memories, their links and uses, and of how far extracting them has come."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmind.errors import Conflict, UsageError
from frontmind.stores.protocols import Store
from frontmind.values.memories import (
    Extraction,
    LinkKind,
    Memory,
    MemoryChanges,
    MemoryLink,
    MemoryOrigin,
    MemoryUse,
    NewMemory,
)
from frontmind.values.message import user
from frontmind.values.passages import PassageKind
from support import remember

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
in_one_store = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
any_moment = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.timezones(),
)


def in_utc(value: object) -> object:
    """A moment in UTC: Python takes no moment of a zone's gap for equal to any of another zone."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


async def found(store: Store, word: str) -> list[int]:
    """The ids of the memories that a word finds."""
    hits = await store.search_words([word], kind=PassageKind.MEMORY, limit=10)
    return [passage.ref for passage in await store.passages([passage_id for passage_id, _ in hits])]


async def be_there(store: Store, at: datetime, conversation: str = "main") -> None:
    await store.begin_turn(conversation, user("hello"), at, segment_pause=HOUR)


def extraction(last: int, **more: object) -> Extraction:
    return replace(Extraction("main", 1, last, "openai:gpt", NINE), **more)  # type: ignore[arg-type]


@in_one_store
@given(
    st.builds(
        NewMemory,
        text=st.text(st.characters()),
        observed_at=any_moment,
        origin=st.sampled_from(MemoryOrigin),
        conversation=st.text(st.characters()),
        turn=st.none() | st.integers(1, 2**60),
        confidence=st.floats(0, 1),
        happens_at=st.none() | any_moment | st.dates(),
        valid_until=st.none() | any_moment | st.dates(),
        recorded_at=st.none() | any_moment,
    )
)
async def test_a_memory_comes_back_as_it_was_given(store: Store, new: NewMemory) -> None:
    (kept,) = await store.add_memories([new], NINE)
    fields = ("text", "observed_at", "origin", "conversation", "turn", "confidence", "happens_at", "valid_until")
    assert [getattr(kept, name) for name in fields] == [in_utc(getattr(new, name)) for name in fields]
    assert kept.recorded_at == in_utc(new.recorded_at or NINE)
    assert await store.memory(kept.id) == kept


async def test_a_memory_is_found_by_its_words_until_it_is_removed(store: Store) -> None:
    kept = await remember(store, "You prefer tea", NINE)
    assert await found(store, "tea") == [kept.id]
    changed = await store.save_memory(replace(kept, text="You prefer coffee"))
    assert (await found(store, "tea"), await found(store, "coffee")) == ([], [kept.id])
    assert changed.version == kept.version + 1
    assert await store.remove_memory(kept.id) == changed
    assert await found(store, "coffee") == []
    with pytest.raises(UsageError, match="m1"):
        await store.memory(kept.id)


async def test_the_id_of_a_removed_memory_is_not_given_again(store: Store) -> None:
    first = await remember(store, "a", NINE)
    await store.remove_memory(first.id)
    assert (await remember(store, "b", NINE)).id > first.id


async def test_memories_are_listed_by_id_and_by_those_that_are_asked_for(store: Store) -> None:
    kept = [await remember(store, text, NINE) for text in "abc"]
    assert list(await store.memories()) == kept
    assert list(await store.memories([kept[2].id, 99, kept[0].id])) == [kept[0], kept[2]]
    assert list(await store.memories([])) == []


async def test_another_owners_memories_are_not_there(store: Store) -> None:
    theirs = await remember(store.of("bob"), "You prefer tea", NINE)
    assert await store.memories() == await store.memories([theirs.id]) == []
    with pytest.raises(Conflict, match="removed"):
        await store.change_memories(MemoryChanges(uses=((theirs.id, NINE.date()),)), NINE)
    await store.note_memory_uses([theirs.id], NINE)
    assert list(await store.of("bob").memory_uses([theirs.id])) == []
    assert list(await store.of("bob").memories()) == [theirs]


async def test_only_the_first_of_two_changes_of_one_version_is_stored(store: Store) -> None:
    read = await remember(store, "a", NINE)
    changed = await store.save_memory(replace(read, text="b"))
    with pytest.raises(Conflict):
        await store.save_memory(replace(read, text="c"))
    assert await store.memory(read.id) == changed


async def test_changes_are_stored_together_and_negative_ids_stand_for_what_is_added(store: Store) -> None:
    old = await remember(store, "You live in Paris", NINE)
    changes = MemoryChanges(
        added=(NewMemory("You live in Rome", NINE + DAY), NewMemory("You lived in Oslo", NINE - DAY)),
        changed=(replace(old, superseded_by=-1, superseded_at=NINE + DAY),),
        superseded=((-2, old.id, NINE),),
        links=(MemoryLink(-1, old.id, LinkKind.SUPERSEDES), MemoryLink(old.id, -2, LinkKind.SUPERSEDES)),
        uses=((-1, date(2026, 12, 1)), (-1, date(2026, 12, 1))),
    )
    rome, oslo = await store.change_memories(changes, NINE + DAY)
    paris = await store.memory(old.id)
    assert (paris.superseded_by, paris.superseded_at, paris.version) == (rome.id, NINE + DAY, 2)
    assert (oslo.superseded_by, oslo.superseded_at, oslo.version) == (old.id, NINE, 1)
    assert rome.superseded_by is None
    assert list(await store.memory_links([oslo.id])) == [MemoryLink(old.id, oslo.id, LinkKind.SUPERSEDES)]
    assert list(await store.memory_uses([rome.id])) == [MemoryUse(rome.id, date(2026, 12, 1))]
    assert list(await store.active_days()) == []
    assert await found(store, "Rome") == [rome.id]


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (MemoryChanges(links=(MemoryLink(-1, -3, LinkKind.RELATED),)), UsageError),
        (MemoryChanges(links=(MemoryLink(-1, 77, LinkKind.RELATED),)), Conflict),
        (MemoryChanges(superseded=((-1, 77, NINE),)), Conflict),
        (MemoryChanges(uses=((77, date(2026, 1, 1)),)), Conflict),
        (MemoryChanges(changed=(Memory(1, "b", NINE, NINE, version=9),)), Conflict),
        (MemoryChanges(changed=(Memory(77, "b", NINE, NINE),)), Conflict),
    ],
)
async def test_changes_of_which_one_cannot_be_made_change_nothing(
    store: Store, broken: MemoryChanges, error: type[UsageError]
) -> None:
    kept = await remember(store, "a", NINE)
    await be_there(store, NINE)
    changes = replace(broken, added=(NewMemory("new", NINE), NewMemory("newer", NINE)))
    with pytest.raises(error):
        await store.change_memories(changes, NINE, extraction=extraction(1))
    assert list(await store.memories()) == [kept]
    assert await found(store, "new") == []
    assert list(await store.extractions()) == []


async def test_what_a_removed_memory_superseded_stays_superseded_and_its_links_go(store: Store) -> None:
    old, new = await remember(store, "a", NINE), await remember(store, "b", NINE)
    link = MemoryLink(new.id, old.id, LinkKind.SUPERSEDES)
    await store.save_memory(replace(old, superseded_by=new.id, superseded_at=NINE), links=[link, link])
    assert list(await store.memory_links([old.id])) == [link]
    await store.remove_memory(new.id)
    assert list(await store.memory_links([old.id])) == []
    left = await store.memory(old.id)
    assert left.superseded_by == new.id
    edited = (replace(left, text="c"),)
    await store.change_memories(MemoryChanges(changed=edited), NINE)
    assert (await store.memory(old.id)).text == "c"


async def test_uses_count_once_a_day(store: Store) -> None:
    kept, other = await remember(store, "a", NINE), await remember(store, "b", NINE)
    await store.note_memory_uses([kept.id, 99], NINE)
    await store.note_memory_uses([kept.id], NINE + HOUR)
    later = NINE + 90 * DAY
    await store.note_memory_uses([other.id, kept.id], later)
    assert list(await store.memory_uses([other.id, kept.id])) == [
        MemoryUse(kept.id, NINE.date()),
        MemoryUse(kept.id, later.date()),
        MemoryUse(other.id, later.date()),
    ]


@pytest.mark.requirement("MEMORY-2")
async def test_only_days_with_a_message_are_active(store: Store) -> None:
    kept = await remember(store, "a", NINE)
    await be_there(store, NINE)
    await store.note_memory_uses([kept.id], NINE + DAY)
    uses = tuple((kept.id, NINE.date() + number * DAY) for number in range(-500, 500))
    await store.change_memories(MemoryChanges(uses=uses), NINE)
    await be_there(store, NINE + 90 * DAY)
    assert len(await store.memory_uses([kept.id])) == 1000
    assert list(await store.active_days()) == [NINE.date(), (NINE + 90 * DAY).date()]
    assert list(await store.of("bob").active_days()) == []


async def test_changes_that_do_not_know_the_newest_memory_are_refused(store: Store) -> None:
    await remember(store.of("bob"), "x", NINE)
    read = await remember(store, "a", NINE)
    changes = MemoryChanges(added=(NewMemory("b", NINE),), newest=read.id)
    await remember(store.of("bob"), "y", NINE)
    (added,) = await store.change_memories(changes, NINE)
    with pytest.raises(Conflict, match="added"):
        await store.change_memories(changes, NINE)
    assert [memory.text for memory in await store.memories()] == ["a", "b"]
    await store.remove_memory(added.id)
    assert len(await store.change_memories(changes, NINE)) == 1


async def test_links_are_found_from_either_end_once_and_never_another_owners(store: Store) -> None:
    one, two, three = [await remember(store, text, NINE) for text in "abc"]
    theirs = [await remember(store.of("bob"), text, NINE) for text in "de"]
    links = (MemoryLink(one.id, two.id, LinkKind.RELATED), MemoryLink(three.id, one.id, LinkKind.SUPPORTS))
    await store.change_memories(MemoryChanges(links=links), NINE)
    await store.of("bob").change_memories(
        MemoryChanges(links=(MemoryLink(theirs[0].id, theirs[1].id, LinkKind.RELATED),)), NINE
    )
    assert list(await store.memory_links([one.id])) == list(links)
    assert list(await store.memory_links([two.id, one.id])) == list(links)
    assert list(await store.memory_links([three.id])) == [links[1]]
    assert list(await store.memory_links([memory.id for memory in theirs])) == []
    assert list(await store.memory_links([])) == []


async def test_an_extraction_is_noted_with_its_memories_and_only_once(store: Store) -> None:
    await be_there(store, NINE)
    done = extraction(4, kept=1)
    changes = MemoryChanges(added=(NewMemory("a", NINE),))
    await store.change_memories(changes, NINE, extraction=done)
    assert list(await store.extractions()) == [done]
    assert list(await store.of("bob").extractions()) == []
    for late in (done, extraction(3), extraction(3, problem="it failed", failures=1)):
        with pytest.raises(Conflict):
            await store.change_memories(changes, NINE, extraction=late)
    assert len(await store.memories()) == 1
    failed = extraction(4, problem="it failed", failures=1)
    await store.change_memories(MemoryChanges(), NINE, extraction=failed)
    assert list(await store.extractions()) == [failed]
    await store.change_memories(changes, NINE, extraction=extraction(6))
    assert [each.last for each in await store.extractions()] == [6]


async def test_the_extraction_of_a_segment_that_is_not_there_is_refused(store: Store) -> None:
    await be_there(store, NINE)
    with pytest.raises(UsageError, match="has no segment 2"):
        await store.change_memories(MemoryChanges(), NINE, extraction=extraction(1, segment=2))
    await be_there(store, NINE, "other")
    await be_there(store, NINE + DAY)
    for each in (extraction(1, segment=2), extraction(1), extraction(1, conversation="other")):
        await store.change_memories(MemoryChanges(), NINE, extraction=each)
    assert [(each.conversation, each.segment) for each in await store.extractions()] == [
        ("main", 1),
        ("main", 2),
        ("other", 1),
    ]
