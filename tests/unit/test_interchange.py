"""Memories go to files and come back: JSON lines lose nothing, Markdown is for people, and nothing comes twice."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontmind.recall.facts import FactKeeper
from frontmind.recall.interchange import (
    FileFormat,
    export_memories,
    import_memories,
    read_records,
    write_records,
)
from frontmind.recall.memory_records import MemoryRecord
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.memories import LinkKind, Memory, MemoryChanges, MemoryLink, MemoryOrigin, NewMemory
from support import BERLIN, START, HandClock, remember

DAY = timedelta(days=1)
JSON_LINES, MARKDOWN = FileFormat.JSON_LINES, FileFormat.MARKDOWN
both = pytest.mark.parametrize("form", [JSON_LINES, MARKDOWN])
many = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Not lone surrogates: no file in UTF-8 can hold them.
plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(str.strip)
moments = st.datetimes(
    datetime(1901, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    datetime(2900, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
news = st.builds(
    NewMemory,
    text=plain,
    observed_at=moments,
    origin=st.sampled_from(MemoryOrigin),
    conversation=plain | st.just(""),
    turn=st.none() | st.integers(1, 10**9),
    confidence=st.floats(0, 1),
    happens_at=st.none() | moments | st.dates(date(1901, 1, 1), date(2900, 1, 1)),
    valid_until=st.none() | moments | st.dates(date(1901, 1, 1), date(2900, 1, 1)),
)


@pytest.fixture
async def stores() -> AsyncIterator[tuple[SqliteStore, SqliteStore]]:
    """Two stores, of which the first is full."""
    full, empty = SqliteStore.open(IN_MEMORY), SqliteStore.open(IN_MEMORY)
    await remember(full, "a memory that is gone, so that the ids differ", START)
    await full.remove_memory(1)
    changes = MemoryChanges(
        added=(
            NewMemory("You live in Paris", START - 900 * DAY, MemoryOrigin.EXTRACTED, "main", 3, 0.7),
            NewMemory("You live in Rome", START, MemoryOrigin.EXTRACTED, 'a "b"; c', 12, 0.9),
            NewMemory("You fly to Oslo", START, happens_at=date(2027, 3, 14), valid_until=START + DAY),
            NewMemory("You lived in Bonn, (near: the river)", START - 999 * DAY),
        ),
        superseded=((-1, -2, START), (-4, 0, START - 950 * DAY)),
        links=(MemoryLink(-2, -1, LinkKind.SUPERSEDES), MemoryLink(-3, -2, LinkKind.RELATED)),
        uses=((-2, date(2026, 11, 29)), (-2, date(2026, 11, 30))),
    )
    await full.change_memories(changes, START)
    yield full, empty
    await full.close()
    await empty.close()


async def written(store: SqliteStore, form: FileFormat) -> str:
    return write_records(await export_memories(store, BERLIN), form)


async def taken(store: SqliteStore, text: str, form: FileFormat, clock: HandClock | None = None) -> tuple[int, int]:
    """Import a file of which every line can be read; how many are new, and how many known."""
    contents = read_records(text, form)
    assert contents.skipped == ()
    imported = await import_memories(store, contents.records, clock or HandClock(START + 99 * DAY))
    return len(imported.added), imported.known


def renamed(text: str) -> str:
    """The file with ids that count from the first."""
    ids = [json.loads(line)["id"] for line in text.splitlines()]
    for number, name in enumerate(ids, 1):
        text = text.replace(f'"{name}"', f'"x{number}"')
    return text


async def test_json_lines_lose_nothing_but_the_numbers_of_the_ids(stores: tuple[SqliteStore, SqliteStore]) -> None:
    full, empty = stores
    text = await written(full, JSON_LINES)
    assert text.count("\n") == 4
    assert await taken(empty, text, JSON_LINES) == (4, 0)
    again = await written(empty, JSON_LINES)
    assert renamed(again) == renamed(text)
    assert again != text
    assert '"used_on": ["2026-11-29", "2026-11-30"]' in again
    assert [memory.superseded_by for memory in await empty.memories()] == [2, None, None, 0]


@both
async def test_importing_twice_adds_nothing_twice(stores: tuple[SqliteStore, SqliteStore], form: FileFormat) -> None:
    full, empty = stores
    text = await written(full, form)
    assert await taken(empty, text, form) == (4, 0)
    before = await written(empty, JSON_LINES)
    assert await taken(empty, text, form) == (0, 4)
    assert await taken(full, text, form) == (0, 4)
    assert await written(empty, JSON_LINES) == before


async def test_markdown_comes_back_with_all_that_is_known(stores: tuple[SqliteStore, SqliteStore]) -> None:
    full, empty = stores
    text = await written(full, MARKDOWN)
    assert text.splitlines()[:4] == [
        "# Memories",
        "",
        "- You live in Rome",
        "  (id: m3; observed_at: 2026-11-30T09:15:00+01:00; recorded_at: 2026-11-30T09:15:00+01:00; origin: extracted; "
        'conversation: "a \\"b\\"; c"; turn: 12; confidence: 0.9; links: [supersedes m2]; '
        "used_on: [2026-11-29, 2026-11-30])",
    ]
    assert "\n## Superseded\n" in text
    await taken(empty, text, MARKDOWN)
    kept = {memory.text: memory for memory in await empty.memories()}
    before = {memory.text: memory for memory in await full.memories()}
    same = ("observed_at", "recorded_at", "origin", "conversation", "turn", "confidence", "happens_at", "valid_until")
    for words, memory in kept.items():
        assert [getattr(memory, name) for name in same] == [getattr(before[words], name) for name in same]
        assert (memory.superseded_by is None) == (before[words].superseded_by is None)
    assert len(await empty.memory_links(list(range(9)))) == 2


@both
@many
@given(st.lists(news, max_size=4, unique_by=lambda new: (" ".join(new.text.split()), new.observed_at)))
async def test_any_memory_survives_the_way_through_a_file(form: FileFormat, memories: Sequence[NewMemory]) -> None:
    first, second = SqliteStore.open(IN_MEMORY), SqliteStore.open(IN_MEMORY)
    try:
        await first.add_memories(memories, START)
        text = await written(first, form)
        back = read_records(text.encode().decode(), form)
        assert back.skipped == ()
        if form is JSON_LINES:
            await import_memories(second, back.records, HandClock())
            assert list(await second.memories()) == list(await first.memories())
        else:
            assert len(back.records) == len(memories)
    finally:
        await first.close()
        await second.close()


@both
@many
@given(
    st.lists(
        st.builds(NewMemory, text=st.text(st.characters(), max_size=40) | st.text("a═\ud800 \n\x00", max_size=8),
                  observed_at=moments, conversation=st.text(st.characters(), max_size=20)),
        max_size=4, unique_by=lambda new: new.observed_at,
    )
)  # fmt: skip
async def test_a_file_adds_nothing_to_the_store_that_it_comes_from(
    form: FileFormat, memories: Sequence[NewMemory]
) -> None:
    store = SqliteStore.open(IN_MEMORY)
    try:
        await store.add_memories(memories, START)
        text = (await written(store, form)).encode().decode()
        imported = await import_memories(store, read_records(text, form).records, HandClock())
        assert imported.added == ()
    finally:
        await store.close()


async def test_markdown_says_what_was_said_and_not_how_a_prompt_spells_it() -> None:
    store, other = SqliteStore.open(IN_MEMORY), SqliteStore.open(IN_MEMORY)
    said = NewMemory("You draw ═══  with\nlines", START, conversation="═ main\nof\u2028Müller")
    await store.add_memories([said], START)
    text = await written(store, MARKDOWN)
    assert "- You draw ═══ with lines\n" in text
    assert await taken(store, text, MARKDOWN) == (0, 1)
    assert await taken(other, text, MARKDOWN) == (1, 0)
    assert [memory.conversation for memory in await other.memories()] == [said.conversation]
    await store.close()
    await other.close()


@both
async def test_whatever_a_store_holds_is_exported_and_told_where_no_file_may_hold_it(form: FileFormat) -> None:
    store, other = SqliteStore.open(IN_MEMORY), SqliteStore.open(IN_MEMORY)
    odd = [
        NewMemory("You live long", datetime(2999, 12, 31, 23, 59, tzinfo=UTC) + 2 * DAY),
        NewMemory("You live longer", datetime(9999, 12, 31, 23, 59, tzinfo=UTC)),
        NewMemory("You lived", datetime(1, 1, 1, tzinfo=UTC)),
        NewMemory("You have a visa", START, valid_until=date(9999, 12, 31)),
        NewMemory("You write " + "x" * 20_000, START),
        NewMemory("You are nobody", START, turn=0),
    ]
    await store.add_memories([*odd, NewMemory("", START), NewMemory("You prefer tea", START)], START)
    contents = read_records(await written(store, form), form)
    assert [record.text for record in contents.records] == ["You prefer tea"]
    # A blank item of a list is none.
    assert len(contents.skipped) == len(odd) + (form is JSON_LINES)
    imported = await import_memories(other, contents.records, HandClock())
    assert len(imported.added) == 1
    await store.close()
    await other.close()


@pytest.mark.parametrize("moment", ["2999-12-30T00:00:00+00:00", "1900-01-02T00:00:00+00:00"])
async def test_the_farthest_moment_that_is_read_is_written_in_every_zone_such_that_it_is_read_again(
    moment: str,
) -> None:
    store = SqliteStore.open(IN_MEMORY)
    assert await taken(store, json.dumps({"text": "x", "observed_at": moment}), JSON_LINES) == (1, 0)
    for zone in (BERLIN, ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Pacific/Niue")):
        text = write_records(await export_memories(store, zone), JSON_LINES)
        assert await taken(store, text, JSON_LINES) == (0, 1)
    await store.close()


def test_an_item_of_many_lines_takes_as_long_as_it_is() -> None:
    def seconds(lines: int) -> float:
        text = "- a\n" + "  b\n" * lines + "- c\n"
        started = time.process_time()
        contents = read_records(text, MARKDOWN)
        assert [record.text for record in contents.records] == ["c"]
        assert "at most 10,000 characters" in contents.skipped[0]
        return time.process_time() - started

    # Four times as much took 16 times as long when each line copied those before it.
    assert seconds(400_000) < 9 * seconds(100_000)


async def test_importing_a_chain_of_superseded_memories_again_takes_as_long_as_it_is() -> None:
    async def seconds(count: int) -> float:
        store = SqliteStore.open(IN_MEMORY)
        added = tuple(NewMemory(f"fact {number}", START + number * DAY) for number in range(count))
        superseded = tuple((-number, -number - 1, START + number * DAY) for number in range(1, count))
        await store.change_memories(MemoryChanges(added=added, superseded=superseded), START)
        records = await export_memories(store, BERLIN)
        started = time.process_time()
        assert (await import_memories(store, records, HandClock())).known == count
        taken = time.process_time() - started
        await store.close()
        return taken

    # Four times as much took 16 times as long when the whole chain was followed, and the store read, for each of them.
    assert await seconds(4_000) < 9 * await seconds(1_000)


@pytest.mark.requirement("MEMORY-2")
async def test_two_imports_of_one_file_at_the_same_time_keep_each_memory_once(tmp_path: Path) -> None:
    stores = [SqliteStore.open(str(tmp_path / "mind.db")) for _ in range(2)]
    records = read_records("".join(f"- fact number {number}\n" for number in range(50)), MARKDOWN).records
    imported = await asyncio.gather(*(import_memories(store, records, HandClock()) for store in stores))
    assert sorted(len(each.added) for each in imported) == [0, 50]
    assert len(await stores[0].memories()) == 50
    for store in stores:
        await store.close()


async def test_a_list_that_a_person_wrote_becomes_memories_that_were_observed_now(tmp_path: Path) -> None:
    store = SqliteStore.open(IN_MEMORY)
    text = """\
# About me

I like lists.

* You prefer tea
- Your sister
  Anna lives in Rome (since 2019)
1. You have [ ] a cat
    - You have - two dogs

- You swim
  (valid_until: 2027-01-01)
"""
    assert await taken(store, text, MARKDOWN) == (5, 0)
    kept = await store.memories()
    assert [memory.text for memory in kept] == [
        "You prefer tea",
        "Your sister Anna lives in Rome (since 2019)",
        "You have [ ] a cat",
        "You have - two dogs",
        "You swim",
    ]
    assert {(memory.origin, memory.observed_at) for memory in kept} == {(MemoryOrigin.IMPORTED, START + 99 * DAY)}
    assert kept[-1].valid_until == date(2027, 1, 1)
    assert await taken(store, text, MARKDOWN, HandClock(START + 200 * DAY)) == (0, 5)
    await store.close()


async def test_what_holds_and_says_the_same_is_known_and_not_changed() -> None:
    store = SqliteStore.open(IN_MEMORY)
    kept = await remember(store, "You prefer tea", START)
    line = '{"text": "you prefer tea!", "observed_at": "2020-01-01T00:00Z", "used_on": ["2020-01-01"]}'
    assert await taken(store, line, JSON_LINES) == (0, 1)
    assert list(await store.memories()) == [kept]
    assert len(await store.memory_uses([kept.id])) == 1
    await store.close()


async def test_a_file_tells_that_a_known_memory_was_superseded_but_not_by_an_older_one() -> None:
    store = SqliteStore.open(IN_MEMORY)
    paris = await remember(store, "You live in Paris", START)
    newer = '{"id": "m1", "text": "You live in Paris", "superseded_by": "m2", "superseded_at": "%s"}\n'
    rome = '{"id": "m2", "text": "You live in Rome", "observed_at": "%s"}'
    old, new = "2020-01-01T00:00+00:00", "2027-01-01T00:00+00:00"
    paris_line = newer.replace("{", '{"observed_at": "2026-11-30T09:15+01:00", ', 1)
    await taken(store, paris_line % old + rome % old, JSON_LINES)
    assert (await store.memory(paris.id)).superseded_by is None
    await taken(store, paris_line % new + (rome % new).replace("Rome", "Oslo"), JSON_LINES)
    oslo = (await store.memories())[-1]
    assert (oslo.text, (await store.memory(paris.id)).superseded_by) == ("You live in Oslo", oslo.id)
    assert [memory.text for memory in await FactKeeper(store, HandClock()).list()] == ["You live in Oslo"]
    await store.close()


async def test_memories_of_a_file_that_supersede_each_other_in_a_ring_end_with_one_that_holds() -> None:
    store = SqliteStore.open(IN_MEMORY)
    at = '"observed_at": "2026-01-01T00:00Z", "superseded_at": "2026-01-01T00:00Z"'
    lines = [f'{{"id": "m{n}", "text": "fact {n}", "superseded_by": "m{n % 3 + 1}", {at}}}' for n in (1, 2, 3)]
    assert await taken(store, "\n".join(lines), JSON_LINES) == (3, 0)
    assert len(await FactKeeper(store, HandClock()).list()) == 1
    assert await taken(store, "\n".join(lines), JSON_LINES) == (0, 3)
    await store.close()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not JSON"),
        ("[1]", "no JSON object"),
        ('"x"', "no JSON object"),
        ("{}", "text: it must be a text"),
        ('{"text": " "}', "text: it must be a text that is not blank"),
        ('{"text": 5}', "text: it must be a text"),
        ('{"text": "x", "text": "y"}', "it has 'text' twice"),
        ('{"text": "x", "links": [{"kind": "related", "to": "m1", "to": "m2"}]}', "it has 'to' twice"),
        ('{"text": "x", "id": "5"}', "id: it must be an id such as m3"),
        ('{"text": "x", "observed_at": "yesterday"}', "observed_at"),
        ('{"text": "x", "observed_at": "2026-01-01T00:00"}', "observed_at"),
        ('{"text": "x", "observed_at": 5}', "observed_at"),
        ('{"text": "x", "observed_at": "9999-12-31T23:59-23:00"}', "observed_at"),
        ('{"text": "x", "observed_at": "2999-12-31T23:59:59-23:00"}', "of the years 1900 to 2999"),
        ('{"text": "x", "observed_at": "1900-01-01T00:00:00+14:00"}', "of the years 1900 to 2999"),
        ('{"text": "x", "happens_at": "3000-01-01"}', "of the years 1900 to 2999"),
        ('{"text": "x", "happens_at": "2026-02-30"}', "happens_at: it must be a day such as"),
        ('{"text": "x", "confidence": 2}', "confidence: it must be a number from 0 to 1"),
        ('{"text": "x", "confidence": true}', "confidence: it must be a number"),
        ('{"text": "x", "confidence": "0.5"}', "confidence: it must be a number"),
        ('{"text": "x", "confidence": 1%s}' % ("0" * 400), "confidence"),
        ('{"text": "x", "turn": 0}', "turn: it must be a whole number from 1"),
        ('{"text": "x", "turn": "3"}', "turn: it must be a whole number"),
        ('{"text": "x", "turn": true}', "turn: it must be a whole number"),
        ('{"text": "x", "turn": 1%s}' % ("0" * 5_000), "a number is none or too long"),
        ('{"text": "x", "links": [{"kind": "hates", "to": "m1"}]}', "links: it must be a list of links"),
        ('{"text": "x", "links": 5}', "links: it must be a list of links"),
        ('{"text": "x", "used_on": ["2026"]}', "used_on: it must be a list of days"),
        ('{"text": "x", "origin": "nobody"}', "one of person, extracted, imported"),
        ('{"text": "x", "confidence": NaN}', "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"text": "%s"}' % ("x" * 10_001), "text"),
    ],
)
async def test_a_line_that_cannot_be_read_is_named_and_the_others_are_read(line: str, why: str) -> None:
    good = '{"text": "You prefer tea"}'
    contents = read_records(f"{good}\n\n{line}\n{good.replace('tea', 'rain')}\n", JSON_LINES)
    assert [record.text for record in contents.records] == ["You prefer tea", "You prefer rain"]
    assert len(contents.skipped) == 1
    assert contents.skipped[0].startswith("line 3: ")
    assert why in contents.skipped[0]
    assert not re.search(r"input should|value error|sys\.|valid ", contents.skipped[0], re.IGNORECASE)
    assert "\n" not in contents.skipped[0]


def test_a_fact_that_cannot_be_read_in_markdown_is_named_with_its_line() -> None:
    contents = read_records("- You swim\n  (valid_until: soon)\n- You run\n", MARKDOWN)
    assert [record.text for record in contents.records] == ["You run"]
    assert contents.skipped[0].startswith("line 1: valid_until: it must be a day such as")
    odd = read_records(
        "- You swim\n  (turn: 1.5)\n- You run\n  (confidence: high)\n- a\n  (turn: 3; confidence: 1)\n", MARKDOWN
    )
    assert [(record.turn, record.confidence) for record in odd.records] == [(3, 1.0)]
    assert [line.split(":")[1] for line in odd.skipped] == [" turn", " confidence"]


@both
def test_a_printed_file_does_nothing_to_a_terminal(form: FileFormat) -> None:
    hostile = "You \x1b[2Jsee\x9b \u202enothing\x7f"
    text = write_records([MemoryRecord(text=hostile)], form)
    assert not {"\x1b", "\x9b", "\x7f"} & set(text)
    if form is JSON_LINES:
        assert read_records(text, form).records[0].text == hostile
        assert "\u202e" not in text


@given(st.text(alphabet='-*() :;[]"\\\nmid1 \t'))
def test_no_markdown_breaks_the_reading(text: str) -> None:
    for record in read_records(text, MARKDOWN).records:
        assert record.text.strip()


async def test_line_ends_of_other_systems_are_read(stores: tuple[SqliteStore, SqliteStore]) -> None:
    full, empty = stores
    for form in (JSON_LINES, MARKDOWN):
        text = (await written(full, form)).replace("\n", "\r\n")
        assert len(read_records(text, form).records) == 4
    assert await taken(empty, (await written(full, MARKDOWN)).replace("\n", "\r\n"), MARKDOWN) == (4, 0)
    assert {memory.text for memory in await empty.memories()} == {memory.text for memory in await full.memories()}


async def test_the_memories_of_another_owner_are_not_exported(stores: tuple[SqliteStore, SqliteStore]) -> None:
    full, _ = stores
    assert list(await export_memories(full.of("bob"), BERLIN)) == []


async def test_a_memory_that_was_superseded_by_one_that_is_deleted_stays_superseded(
    stores: tuple[SqliteStore, SqliteStore],
) -> None:
    full, empty = stores
    rome = next(memory for memory in await full.memories() if memory.text == "You live in Rome")
    await full.remove_memory(rome.id)
    await taken(empty, await written(full, JSON_LINES), JSON_LINES)
    paris = next(memory for memory in await empty.memories() if memory.text == "You live in Paris")
    assert (paris.superseded_by, paris.superseded_at) == (0, START)
    restored: Memory = await FactKeeper(empty, HandClock()).edit(
        paris.id, lambda kept: replace(kept, superseded_by=None, superseded_at=None)
    )
    assert restored.superseded_by is None
