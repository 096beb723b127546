"""Searching: what is found and what is not, whose it is, what holds, and in which order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest
import pytest_asyncio

from frontmind.recall import candidates
from frontmind.recall.embedder_source import GivenEmbedder
from frontmind.recall.indexing import Indexer
from frontmind.recall.ranking import RELEVANT
from frontmind.recall.search import Recall
from frontmind.recall.search_indexes import SearchIndexes
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.memories import LinkKind, Memory, MemoryLink, NewMemory
from frontmind.values.message import assistant, user
from frontmind.values.passages import NewPassage, PassageKind, Recollection
from frontmind.values.records import Completion
from frontmind.values.usage import Usage
from recall.concepts import ConceptEmbedder
from support import START, remember

CERTAIN = RELEVANT
EVERYTHING = tuple(PassageKind)


@pytest_asyncio.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.open(":memory:")
    yield opened
    await opened.close()


async def exchange(store: Store, asked: str, replied: str, *, at: datetime = START, conversation: str = "main") -> None:
    turn = await store.begin_turn(conversation, user(asked), at, segment_pause=timedelta(hours=1))
    await store.complete_turn(turn.id, Completion(assistant(replied), at, "0" * 64, "m", Usage(1, 0, 0, 1), False, {}))


async def with_vectors(store: Store) -> Recall:
    indexes = SearchIndexes(store)
    await Indexer(store, indexes, GivenEmbedder(ConceptEmbedder())).catch_up()
    return Recall(store, indexes)


async def search(recall: Recall, query: str, **more: object) -> list[str]:
    arguments: dict[str, object] = {"now": START, "limit": 8, **more}
    return texts(await recall.search(query, **arguments))  # type: ignore[arg-type]


async def surface(
    recall: Recall, query: str, *, now: datetime = START, limit: int = 8, before: str = ""
) -> list[Recollection]:
    return list(await recall.surface(query, now=now, limit=limit, least=CERTAIN, before=before))


def texts(found: object) -> list[str]:
    assert isinstance(found, list)
    return [find.hit.passage.text for find in found]


async def supersede(store: Store, older: Memory, newer: Memory) -> None:
    await store.save_memory(
        replace(older, superseded_by=newer.id, superseded_at=newer.observed_at),
        links=[MemoryLink(newer.id, older.id, LinkKind.SUPERSEDES)],
    )


async def test_memories_exchanges_and_documents_are_found_together_and_apart(store: SqliteStore) -> None:
    await remember(store, "Your locker code is 4417.", START)
    await exchange(store, "Where is the locker?", "In the cellar.")
    await store.put_document("house", "# Locker\n\nThe locker is grey.", START)
    await store.enable_document("house", False)
    recall = Recall(store)
    assert len(await search(recall, "locker")) == 3
    assert await search(recall, "locker", kinds=(PassageKind.MEMORY,)) == ["Your locker code is 4417."]
    assert await search(recall, "locker", kinds=(PassageKind.EXCHANGE,)) == [
        "User: Where is the locker?\nAssistant: In the cellar."
    ]
    assert await search(recall, "locker", kinds=(PassageKind.DOCUMENT,)) == ["# Locker\n\nThe locker is grey."]


async def test_what_is_said_in_other_words_is_found_by_its_meaning(store: SqliteStore) -> None:
    await remember(store, "You have a puppy called Bo.", START)
    await remember(store, "You prefer green tea.", START)
    assert await search(Recall(store), "which pets are there?") == []
    assert (await search(await with_vectors(store), "which pets are there?"))[0] == "You have a puppy called Bo."


async def test_another_owner_s_passages_are_never_found(store: SqliteStore) -> None:
    await remember(store, "Your locker code is 4417.", START)
    theirs = store.of("another")
    await remember(theirs, "You have a dog.", START)
    assert await search(Recall(theirs), "locker code") == []
    by_meaning = await with_vectors(theirs)
    # By meaning everything is a candidate, so that what comes is all that there is of theirs.
    assert set(await search(by_meaning, "locker code", limit=99)) <= {"You have a dog."}
    for recall in (Recall(theirs), by_meaning):
        assert await search(recall, "dog") == ["You have a dog."]
    assert await search(Recall(store), "locker code") == ["Your locker code is 4417."]


async def test_what_is_excluded_is_not_found(store: SqliteStore) -> None:
    await remember(store, "You have a dog.", START)
    await remember(store, "You have a puppy.", START)
    recall = await with_vectors(store)
    (first, second) = await store.passages_after(0, limit=2)
    assert await search(recall, "dog", excluded=[first.id]) == ["You have a puppy."]
    assert await search(recall, "dog", excluded=[first.id, second.id]) == []


async def test_only_what_was_said_in_the_asked_time_is_found(store: SqliteStore) -> None:
    for day in range(5):
        await exchange(store, f"tea number {day}", "Noted.", at=START + timedelta(days=day))
    recall = Recall(store)
    since, until = START + timedelta(days=1), START + timedelta(days=3)
    found = await search(recall, "tea", since=since, until=until)
    assert sorted(text.partition("\n")[0] for text in found) == ["User: tea number 1", "User: tea number 2"]


async def test_few_that_may_be_shown_are_found_behind_many_that_may_not(store: SqliteStore) -> None:
    for number in range(150):
        await exchange(store, f"tea tea tea {number}", "tea", at=START)
    await exchange(
        store, "a long talk in which tea comes once and much else as well", "Yes.", at=START - timedelta(days=9)
    )
    found = await search(Recall(store), "tea", until=START)
    assert [text[:17] for text in found] == ["User: a long talk"]


async def _alike(store: Store, count: int) -> None:
    """As many exchanges with the same words, an hour apart, which no index can tell apart."""
    said = [
        (START + timedelta(hours=number), NewPassage(f"User: coffee again\nAssistant: Noted, {number:05}.", ""))
        for number in range(count)
    ]
    await store.add_passages("old", said)


@pytest.mark.parametrize("hours", [3, 30, 300])
@pytest.mark.parametrize("by_meaning", [False, True])
async def test_the_asked_time_is_found_where_all_that_was_said_is_alike(
    store: SqliteStore, hours: int, by_meaning: bool
) -> None:
    await _alike(store, 2_000)
    recall = await with_vectors(store) if by_meaning else Recall(store)
    end = START + timedelta(hours=2_000)
    found = await recall.search("coffee", now=end, limit=2_000, since=end - timedelta(hours=hours))
    assert min(hours, 50) <= len(found) <= hours
    assert all(find.hit.passage.at >= end - timedelta(hours=hours) for find in found)


async def test_a_time_with_more_passages_than_are_compared_one_by_one_is_found_too(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MOST_WITHIN", 100)
    await _alike(store, 4_000)
    end = START + timedelta(hours=4_000)
    found = await Recall(store).search("coffee", now=end, limit=50, since=end - timedelta(hours=300))
    assert len(found) == 50
    assert all(find.hit.passage.at >= end - timedelta(hours=300) for find in found)


async def test_enabled_documents_are_not_found_but_for_collapsed_sections(store: SqliteStore) -> None:
    await store.put_document("house", "# Locker\n\nThe locker is grey.\n\n# Attic\n\nThe attic is dusty.", START)
    recall = Recall(store)
    assert await search(recall, "locker attic") == []
    await store.collapse_document("house", ("Attic",))
    assert await search(recall, "locker attic") == ["# Attic\n\nThe attic is dusty."]
    assert texts(await surface(recall, "Is the attic dusty?")) == ["# Attic\n\nThe attic is dusty."]


async def test_a_document_that_was_taken_away_is_found_on_purpose_only(store: SqliteStore) -> None:
    await store.put_document("house", "The locker is grey.", START)
    await store.enable_document("house", False)
    recall = Recall(store)
    assert await search(recall, "locker") == ["The locker is grey."]
    assert await surface(recall, "locker") == []


async def test_the_newer_fact_comes_in_the_place_of_the_older_one_and_brings_it_along(store: SqliteStore) -> None:
    older = await remember(store, "You live in Berlin.", START - timedelta(days=90))
    newer = await remember(store, "Home is Hamburg now.", START - timedelta(days=2))
    await supersede(store, older, newer)
    recall = Recall(store)
    (find,) = await surface(recall, "Berlin")
    assert find.memory is not None
    assert (find.memory.id, find.hit.passage.text, find.hit.passage.ref) == (newer.id, newer.text, newer.id)
    ((kind, before),) = find.linked
    assert (kind, before.id, before.observed_at, before.superseded_at) == (
        LinkKind.SUPERSEDES,
        older.id,
        older.observed_at,
        newer.observed_at,
    )
    # Found by its own words, it brings the older one along as well.
    (find,) = await surface(recall, "Hamburg")
    assert [(kind, memory.id) for kind, memory in find.linked] == [(LinkKind.SUPERSEDES, older.id)]
    # Who searches on purpose finds the older one itself, which says that it no longer holds.
    found = await recall.search("Berlin", now=START, limit=8)
    assert [find.memory and find.memory.superseded_by for find in found] == [newer.id]


async def test_a_chain_of_facts_leads_to_the_newest_and_a_ring_to_nothing(store: SqliteStore) -> None:
    facts = [await remember(store, f"You work at {place}.", START) for place in ("Acme", "Bolt", "Corp")]
    await supersede(store, facts[0], facts[1])
    await supersede(store, await store.memory(facts[1].id), facts[2])
    (find,) = await surface(Recall(store), "Acme")
    assert find.memory is not None and find.memory.id == facts[2].id
    assert {memory.id for _, memory in find.linked} == {facts[0].id, facts[1].id}
    await supersede(store, facts[2], facts[0])
    assert await surface(Recall(store), "Acme") == []


async def test_the_older_fact_stays_away_when_the_newer_one_was_removed(store: SqliteStore) -> None:
    older = await remember(store, "You live in Berlin.", START)
    newer = await remember(store, "You live in Hamburg.", START)
    await supersede(store, older, newer)
    await store.remove_memory(newer.id)
    assert await surface(Recall(store), "Berlin") == []


@pytest.mark.parametrize(
    ("until", "holds"),
    [
        (date(2026, 11, 29), False),
        (date(2026, 11, 30), True),
        (START, False),
        (START + timedelta(minutes=1), True),
        (None, True),
    ],
)
async def test_what_has_ended_does_not_come_by_itself(
    store: SqliteStore, until: datetime | date | None, holds: bool
) -> None:
    await store.add_memories([NewMemory("You have a parking permit.", START, valid_until=until)], START)
    recall = Recall(store)
    assert bool(await surface(recall, "parking permit")) is holds
    assert len(await search(recall, "parking permit")) == 1


async def test_links_bring_what_hangs_together_and_not_what_has_ended(store: SqliteStore) -> None:
    wife = await remember(store, "You are married to Ingrid.", START)
    birthday = await remember(store, "Her birthday is in May.", START)
    (ended,) = await store.add_memories([NewMemory("She is away.", START, valid_until=date(2026, 11, 1))], START)
    far = await remember(store, "Cake is from the corner.", START)
    await store.save_memory(
        wife,
        links=[MemoryLink(wife.id, birthday.id, LinkKind.RELATED), MemoryLink(ended.id, wife.id, LinkKind.SUPPORTS)],
    )
    await store.save_memory(birthday, links=[MemoryLink(birthday.id, far.id, LinkKind.SUPPORTS)])
    (find,) = await surface(Recall(store), "Ingrid")
    assert [(kind, memory.id) for kind, memory in find.linked] == [
        (LinkKind.RELATED, birthday.id),
        (LinkKind.RELATED, far.id),
    ]


async def test_what_says_the_same_is_there_once_and_the_memory_stands_for_the_exchange(store: SqliteStore) -> None:
    await exchange(store, "I prefer green tea in the morning.", "Noted.", conversation="old")
    await remember(store, "You prefer green tea in the morning.", START)
    await remember(store, "In the morning you prefer green tea.", START)
    await remember(store, "You prefer black tea in the evening.", START)
    found = await surface(Recall(store), "Which tea do I prefer in the morning?")
    memories = [find.memory.id for find in found if find.memory is not None]
    assert len(found) == len(memories)
    assert sorted(memories) == [1, 3]
    # On purpose both the memory and where it was said are found.
    kinds = {find.hit.passage.kind for find in await Recall(store).search("green tea", now=START, limit=8)}
    assert kinds == {PassageKind.MEMORY, PassageKind.EXCHANGE}


async def test_two_codes_are_two_facts(store: SqliteStore) -> None:
    await remember(store, "The code of the grey locker in the cellar is 4417.", START)
    await remember(store, "The code of the grey locker in the cellar is 4418.", START)
    assert len(await surface(Recall(store), "code of the grey locker")) == 2


async def test_of_equal_memories_the_one_that_was_used_comes_first(store: SqliteStore) -> None:
    first = await remember(store, "You like the Alpha bakery.", START)
    second = await remember(store, "You like the Gamma bakery.", START)
    recall = Recall(store)
    assert [find.hit.passage.ref for find in await recall.search("bakery", now=START, limit=8)] == [first.id, second.id]
    await exchange(store, "hello", "hi")
    await store.note_memory_uses([second.id], START)
    assert [
        find.hit.passage.ref for find in await recall.search("bakery", now=START, limit=8, kinds=(PassageKind.MEMORY,))
    ] == [second.id, first.id]


async def test_what_was_said_before_helps_to_understand_a_short_question(store: SqliteStore) -> None:
    await remember(store, "Ingrid is allergic to walnuts.", START)
    recall = Recall(store)
    assert await surface(recall, "And what is she allergic against?") != []
    assert await surface(recall, "What about her?") == []
    before = "Who comes to dinner? Is Ingrid there? Is she allergic to walnuts?"
    assert texts(await surface(recall, "What about her?", before=before)) == ["Ingrid is allergic to walnuts."]


async def test_the_same_state_gives_the_same_finds_in_the_same_order(store: SqliteStore) -> None:
    for number in range(30):
        await remember(store, f"You have seen film {number}.", START)
    first, second = [
        [
            (find.hit.passage.id, find.hit.score, find.hit.why)
            for find in await recall.search("film", now=START, limit=20)
        ]
        for recall in (await with_vectors(store), await with_vectors(store))
    ]
    assert first == second
    # Equal scores come by id.
    ranked = [(-score, passage_id) for passage_id, score, _ in first]
    assert ranked == sorted(ranked)


async def test_a_removed_memory_is_not_found_by_its_meaning_either(store: SqliteStore) -> None:
    puppy = await remember(store, "You have a puppy.", START)
    await remember(store, "You have a hound.", START)
    recall = await with_vectors(store)
    assert len(await search(recall, "dog")) == 2
    await store.remove_memory(puppy.id)
    assert await search(recall, "dog") == ["You have a hound."]


@pytest.mark.parametrize("query", ["", "   ", "?!", "the of and", "\x00", "\ud800", "茶", "x" * 10_000, "a " * 5_000])
async def test_any_text_can_be_searched_for(store: SqliteStore, query: str) -> None:
    await remember(store, "You prefer 茶.", START)
    recall = await with_vectors(store)
    assert len(await recall.search(query, now=START, limit=5)) <= 1
    await surface(recall, query, before=query)
